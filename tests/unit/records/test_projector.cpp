// SPDX-License-Identifier: Apache-2.0

// The embedding projector's files. TensorBoard reads them in tests/peers/tensorboard_pages.py.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <typeflow/summaries.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file, path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<float> points{0.1f, -2, 3e-20f, 4, 5.5f, 16777216};  // (3,2)

}  // namespace

TEST_CASE("a table is a line for each point, and the configuration names its files") {
  const Folder folder;
  const std::vector<std::uint8_t> sprite{'P', 'N', 'G', 0};
  tf::write_projector(folder / "logs/run",
                      {{.name = "fc1/W \"x\"",
                        .values = points,
                        .dimensions = 2,
                        .columns = {{"word", {"a\tb", "c\nd", ""}}, {"class", {"0", "1", "2"}}},
                        .sprite = sprite,
                        .image_width = 28,
                        .image_height = 14},
                       {.name = "plain",
                        .values = points,
                        .dimensions = 3,
                        .columns = {{"word", {"alone", "again"}}}},
                       {.name = "bare", .values = points, .dimensions = 6}});
  CHECK(text_of(folder / "logs/run/fc1_W__x_.values.tsv") == "0.1\t-2\n3e-20\t4\n5.5\t16777216\n");
  CHECK(text_of(folder / "logs/run/fc1_W__x_.columns.tsv") == "word\tclass\na b\t0\nc d\t1\n\t2\n");
  CHECK(text_of(folder / "logs/run/plain.columns.tsv") == "alone\nagain\n");
  CHECK(text_of(folder / "logs/run/fc1_W__x_.sprite.png") == std::string("PNG\0", 4));
  CHECK(text_of(folder / "logs/run/projector_config.pbtxt") ==
        R"(embeddings {
  tensor_name: "fc1/W \"x\""
  tensor_shape: 3
  tensor_shape: 2
  tensor_path: "fc1_W__x_.values.tsv"
  metadata_path: "fc1_W__x_.columns.tsv"
  sprite {
    image_path: "fc1_W__x_.sprite.png"
    single_image_dim: 28
    single_image_dim: 14
  }
}
embeddings {
  tensor_name: "plain"
  tensor_shape: 2
  tensor_shape: 3
  tensor_path: "plain.values.tsv"
  metadata_path: "plain.columns.tsv"
}
embeddings {
  tensor_name: "bare"
  tensor_shape: 1
  tensor_shape: 6
  tensor_path: "bare.values.tsv"
}
)");
}

TEST_CASE("a refused table leaves the old files") {
  const Folder folder;
  tf::write_projector(folder.path(), {{.name = "w", .values = points, .dimensions = 2}});
  const std::string old = text_of(folder / "w.values.tsv");
  std::vector<float> bad = points;
  bad[4] = std::nanf("");
  CHECK(message_of([&] {
          tf::write_projector(folder.path(), {{.name = "w", .values = bad, .dimensions = 2}});
        }) == "write_projector: \"w\": expected finite values, got nan at 4");
  CHECK(text_of(folder / "w.values.tsv") == old);
  int files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  CHECK(files == 2);  // no temporary one is left
  CHECK(message_of([&] {
          tf::write_projector(folder.path(), {{.name = "w", .values = points, .dimensions = 4}});
        }) ==
        "write_projector: \"w\": expected values of whole points of 4 dimensions, one or more, got "
        "6 values");
  CHECK(message_of([&] {
          tf::write_projector(
              folder.path(),
              {{.name = "w", .values = points, .dimensions = 2, .columns = {{"class", {"1"}}}}});
        }) == "write_projector: \"w\", column \"class\": expected 3 values, got 1");
  CHECK(message_of([&] {
          const tf::ProjectorTable table{.name = "w", .values = points, .dimensions = 2};
          tf::write_projector(folder.path(), {table, table});
        }) == "write_projector: expected tables of different names, got \"w\" twice");
  CHECK(message_of([&] {
          const std::vector<std::uint8_t> sprite{1};
          tf::write_projector(folder.path(),
                              {{.name = "w", .values = points, .dimensions = 2, .sprite = sprite}});
        }).find("width and height of one image") != std::string::npos);
}
