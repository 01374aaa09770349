// SPDX-License-Identifier: Apache-2.0

// Operations on images, applied to six images: each column is one operation, drawn anew with every
// --seed. One run computes the whole sheet, including gaps, enlargement and the order of the
// pixels.
//
//   image_augmentation --data DIR   DIR, or DIR/cifar-10-batches-bin, has data_batch_1.bin of
//                                   CIFAR-10's binary version
//   image_augmentation              takes TYPEFLOW_DATA, otherwise drawn pictures

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/image.hpp>
#include <typeflow/images.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int count = 6;   // images
constexpr int side = 32;   // pixels
constexpr int cell = 100;  // pixels of the sheet, with a gap of 4

constexpr void augmentation(tf::Graph& g) {
  auto bytes = placeholder<std::uint8_t, count, 3, side, side>(g, "bytes");
  auto x = convert_image_dtype<float>(transpose<0, 2, 3, 1>(bytes));  // (6,32,32,3)

  auto flipped = random_flip_left_right(x);
  auto part = resize<side, side>(random_crop<24, 24>(x));
  auto brighter = random_brightness(x, 0.4);
  auto contrast = random_contrast(x, 0.3, 2);
  auto saturated = random_saturation(x, 0, 2.5);
  auto hue = random_hue(x, 0.3);

  // A box of each image, as a frame and enlarged.
  auto corner = random_uniform<float, count, 2>(g, "corner", 0, 0.5);
  auto boxes = concat<1>(corner, corner + 0.5f);  // (6,4)
  auto framed = draw_bounding_boxes(x, reshape<count, 1, 4>(boxes));
  auto cut = crop_and_resize<side, side>(x, boxes, range<std::int32_t, count>(g, 0, 1));

  constexpr int columns = 9;
  auto all = stack<1>(x, flipped, part, brighter, contrast, saturated, hue, framed, cut);
  auto large = resize<cell - 4, cell - 4>(reshape<count * columns, side, side, 3>(all));
  auto cells = reshape<count, columns, cell, cell, 3>(crop_or_pad<cell, cell>(large));
  auto sheet = reshape<count * cell, columns * cell, 3>(transpose<0, 2, 1, 3, 4>(cells));
  convert_image_dtype<std::uint8_t>(clip_by_value(sheet, 0, 1)).named("sheet");
}

using Images = std::vector<std::uint8_t>;  // (count,3,side,side)

/// CIFAR-10's first file in a folder, or in its subfolder; empty if it is in neither.
std::filesystem::path cifar_file(const std::filesystem::path& folder) {
  return examples::find_file(folder, {"data_batch_1.bin", "cifar-10-batches-bin/data_batch_1.bin"});
}
bool has_cifar(const std::string& folder) { return !cifar_file(folder).empty(); }

/// The file's first images. Each is a byte for the class, then 1024 red, green and blue ones.
Images read_images(const std::filesystem::path& path) {
  Images images;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 1 + 3 * side * side> record;
  for (int i = 0; i < count; ++i) {
    if (!file.read(record.data(), record.size())) {
      throw std::runtime_error(path.string() + " ends within its first images");
    }
    images.insert(images.end(), record.begin() + 1, record.end());
  }
  return images;
}

/// Pictures of a sun over a hill, each with its own colors.
Images draw_images(std::mt19937_64& random) {
  Images images;
  for (int i = 0; i < count; ++i) {
    const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const int sun_x = 6 + draw(20);
    const int sun_y = 5 + draw(10);
    const int slope = draw(7) - 3;
    for (int channel = 0; channel < 3; ++channel) {
      const int sky = 120 + draw(80);
      const int sun = 180 + draw(76);
      const int hill = 20 + draw(120);
      for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
          const bool in_sun = (x - sun_x) * (x - sun_x) + (y - sun_y) * (y - sun_y) < 20;
          const bool in_hill = y > 20 + slope * (x - side / 2) / 8;
          images.push_back(static_cast<std::uint8_t>(in_hill  ? hill + x % 4 * 6
                                                     : in_sun ? sun
                                                              : sky + y));
        }
      }
    }
  }
  return images;
}

void show(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  const std::filesystem::path file = cifar_file(tf::data_folder(options.data));
  const Images images = file.empty() ? draw_images(random) : read_images(file);
  std::printf("%d images of %s\n", count, file.empty() ? "drawn hills" : file.c_str());

  tf::Variables variables;
  tf::Session<augmentation> session(variables, {.seed = options.seed});
  const auto sheet = session.run<"sheet">(tf::feed<"bytes">(images));
  tf::Image picture{static_cast<int>(sheet.shape(0)), static_cast<int>(sheet.shape(1)), 3, {}};
  picture.pixels.assign(sheet.begin(), sheet.end());
  tf::write_png(options.output, picture);
  std::printf(
      "columns: as it is, perhaps mirrored, a part of 24 x 24 pixels, brightness, contrast,\n"
      "saturation, hue, a box, what is in the box\n");
  std::printf("%s: %d x %d pixels\n", options.output.c_str(), picture.width, picture.height);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "What operations on images do.",
                               {.data_set = {"CIFAR-10's binary version", has_cifar},
                                .steps = 0,
                                .batch = 0,
                                .rate = 0,
                                .output = "augmented.png"},
                               show);
}
