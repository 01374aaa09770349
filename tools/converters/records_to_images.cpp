// SPDX-License-Identifier: Apache-2.0

// Records of images become a folder with a folder of PNG or JPEG files for each label.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <typeflow/records.hpp>

#include "common.hpp"
#include "pictures.hpp"

namespace {

namespace tf = typeflow;
namespace fs = std::filesystem;

/// A folder that is filled under a temporary name, and has its own from finish() on.
class WholeFolder {
 public:
  explicit WholeFolder(const fs::path& path) : path_(path), temporary_(tools::temporary_of(path)) {
    if (fs::exists(path)) throw tf::Error(path.string(), "a new folder", "one that exists");
    std::error_code error;
    fs::create_directory(temporary_, error);
    if (error) throw tf::Error(path.string(), "cannot be written (" + error.message() + ")");
  }
  WholeFolder(const WholeFolder&) = delete;
  WholeFolder& operator=(const WholeFolder&) = delete;
  ~WholeFolder() {
    std::error_code ignored;
    if (!finished_) fs::remove_all(temporary_, ignored);
  }
  const fs::path& path() const { return temporary_; }
  void finish() {
    std::error_code error;
    fs::rename(temporary_, path_, error);
    if (error) throw tf::Error(path_.string(), "cannot be written (" + error.message() + ")");
    finished_ = true;
  }

 private:
  fs::path path_;
  fs::path temporary_;
  bool finished_ = false;
};

/// Names come from the file, and must not lead out of the folder.
void check_name(const std::string& name, const char* feature) {
  if (name.empty() || name.front() == '.' || name.find('/') != name.npos ||
      name.find('\0') != name.npos) {
    throw tf::Error("expected a plain name as feature '" + std::string(feature) + "', got '" +
                    name + "'");
  }
}

template <class T>
const T* value_of(const tf::Example& example, std::string_view name) {
  const auto found = example.features.find(name);
  if (found == example.features.end()) return nullptr;
  const auto* const values = std::get_if<std::vector<T>>(&found->second);
  if (values == nullptr || values->size() != 1) {
    throw tf::Error("expected one value of another type as feature '" + std::string(name) + "'");
  }
  return values->data();
}
int extent_of(const tf::Example& example, std::string_view name) {
  const auto* const extent = value_of<std::int64_t>(example, name);
  if (extent == nullptr) throw tf::Error("has no feature '" + std::string(name) + "'");
  if (*extent < 1 || *extent > std::numeric_limits<int>::max()) {
    throw tf::Error("expected a number from 1 as feature '" + std::string(name) + "', got " +
                    std::to_string(*extent));
  }
  return static_cast<int>(*extent);
}

/// The bytes of the file, and its format. Pixels become a PNG file.
struct PictureFile {
  std::string bytes;
  std::string format;
  bool encoded;  ///< as the record has them
};
PictureFile file_of(const tf::Example& example) {
  if (const auto* const encoded = value_of<std::string>(example, "image/encoded")) {
    const auto* const given = value_of<std::string>(example, "image/format");
    std::string format = given == nullptr ? "png" : *given;
    std::transform(format.begin(), format.end(), format.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (format == "jpg") format = "jpeg";
    if (tools::picture_format('.' + format).empty()) {
      throw tf::Error("expected " + std::string(tools::picture_formats) +
                      " as feature 'image/format', got '" + *given + "'");
    }
    tools::decoded_picture(format, *encoded);
    return {*encoded, format, true};
  }
  const auto* const pixels = value_of<std::string>(example, "image/pixels");
  if (pixels == nullptr) throw tf::Error("has no feature 'image/encoded' or 'image/pixels'");
  tf::Image image{.height = extent_of(example, "image/height"),
                  .width = extent_of(example, "image/width"),
                  .channels = extent_of(example, "image/channels"),
                  .pixels = {pixels->begin(), pixels->end()}};
  const auto bytes = tf::encode_png(image);
  return {{bytes.begin(), bytes.end()}, "png", false};
}

void write_image(const fs::path& folder, const tf::Example& example, std::int64_t number) {
  std::string label;
  if (const auto* const text = value_of<std::string>(example, "image/class/text")) {
    label = *text;
    check_name(label, "image/class/text");
  } else if (const auto* const index = value_of<std::int64_t>(example, "image/class/label")) {
    label = std::to_string(*index);
  } else {
    throw tf::Error("has no feature 'image/class/text' or 'image/class/label'");
  }
  const PictureFile picture = file_of(example);
  char name[32];
  std::snprintf(name, sizeof name, "%06lld.%s", static_cast<long long>(number),
                picture.format.c_str());
  const auto* const given = value_of<std::string>(example, "image/filename");
  if (given != nullptr) check_name(*given, "image/filename");
  fs::path path = folder / label / (given != nullptr ? *given : std::string(name));
  if (!picture.encoded) path.replace_extension(".png");
  fs::create_directory(folder / label);
  if (fs::exists(path)) {
    throw tf::Error("expected another file than " + label + "/" + path.filename().string() +
                    ", which an earlier record has");
  }
  tools::WholeFile file(path);
  file.write(picture.bytes);
  file.finish();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Writes the pictures of a TFRecord file to a new folder, with a folder for each label.");
  std::string input;
  std::string output;
  app.add_option("INPUT", input, "TFRecord file that images_to_records has written")->required();
  app.add_option("FOLDER", output, "folder that does not exist yet")->required();
  return tools::run(app, argc, argv, [&] {
    tf::TfRecordReader reader(input);
    WholeFolder folder(output);
    while (const auto record = reader.next()) {
      const std::int64_t number = reader.count() - 1;
      try {
        write_image(folder.path(), tf::decode_example(*record), number);
      } catch (const std::exception& error) {
        throw tf::Error(tools::place(input, number), error.what());
      }
    }
    folder.finish();
  });
}
