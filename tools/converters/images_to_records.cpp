// SPDX-License-Identifier: Apache-2.0

// A folder with a folder of PNG or JPEG files for each label becomes records, with the features
// that TensorFlow's models call image/encoded, image/class/label and so on.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/records.hpp>

#include "common.hpp"
#include "pictures.hpp"

namespace {

namespace tf = typeflow;
namespace fs = std::filesystem;

/// What a folder has, in the order of the names. Hidden files are left out.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> out;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().front() != '.') out.push_back(at->path());
  }
  if (error) throw tf::Error(folder.string(), "cannot be read (" + error.message() + ")");
  std::sort(out.begin(), out.end());
  return out;
}
std::string_view format_of(const fs::path& file) {
  std::string extension = file.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return tools::picture_format(extension);
}

std::vector<std::int64_t> one(std::int64_t number) { return {number}; }
std::vector<std::string> one(std::string text) { return {std::move(text)}; }

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Writes a TFRecord file with an Example for each PNG or JPEG file. FOLDER has a folder for "
      "each "
      "label, with its images.");
  std::string folder;
  std::string output;
  std::string packing;
  bool pixels = false;
  app.add_option("FOLDER", folder, "folder of folders of pictures")->required();
  app.add_option("OUTPUT", output, "TFRecord file")->required();
  app.add_flag("--pixels", pixels, "image/pixels, decoded bytes, instead of image/encoded");
  tools::add_packing(app, packing);
  return tools::run(app, argc, argv, [&] {
    const std::vector<fs::path> labels = sorted_entries(folder);
    if (labels.empty()) throw tf::Error(folder, "a folder for each label", "nothing");
    tf::TfRecordWriter writer(output, {.packing = tools::packing_of(packing)});
    for (std::size_t label = 0; label < labels.size(); ++label) {
      if (!fs::is_directory(labels[label])) {
        throw tf::Error(labels[label].string(), "a folder of images of one label", "a file");
      }
      for (const fs::path& file : sorted_entries(labels[label])) {
        const std::string_view format = format_of(file);
        if (format.empty()) throw tf::Error(file.string(), tools::picture_formats, "another one");
        std::string bytes = tools::bytes_of(file);
        tf::Image image;
        try {
          image = tools::decoded_picture(format, bytes);
        } catch (const tf::Error& error) {
          throw tf::Error(file.string(), error.what());
        }
        tf::Example example{{{"image/height", one(image.height)},
                             {"image/width", one(image.width)},
                             {"image/channels", one(image.channels)},
                             {"image/filename", one(file.filename().string())},
                             {"image/class/label", one(static_cast<std::int64_t>(label))},
                             {"image/class/text", one(labels[label].filename().string())}}};
        if (pixels) {
          example.features["image/pixels"] =
              one(std::string(image.pixels.begin(), image.pixels.end()));
        } else {
          example.features["image/format"] = one(std::string(format));
          example.features["image/encoded"] = one(std::move(bytes));
        }
        writer.write(tf::encode(example));
      }
    }
    writer.finish();
  });
}
