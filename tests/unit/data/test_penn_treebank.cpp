// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/mnist.hpp"
#include "typeflow/data/penn_treebank.hpp"
#include "typeflow/data/text_streams.hpp"

namespace {

namespace tf = typeflow;
namespace fs = std::filesystem;
using Words = std::vector<std::int32_t>;

/// A folder for a test case, empty at first and gone after it.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("typeflow_ptb_" + std::to_string(std::rand()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
};

}  // namespace

TEST_CASE("words are numbered by frequency, and lines end with <eos>") {
  const tf::Corpus text = tf::text_of(" a c\n b c <unk> \n", "c a\n", "zebra b\n");
  CHECK(text.words == std::vector<std::string>{"<eos>", "c", "<unk>", "a", "b"});
  CHECK(text.train == Words{3, 1, 0, 4, 1, 2, 0});
  CHECK(text.validation == Words{1, 3, 0});
  CHECK(text.test == Words{2, 4, 0});  // an unknown one
  CHECK_THROWS_WITH_AS(
      tf::text_of("a b\n", "a\n", "c\n"),
      "the text of the test: expected words of the training text, or that this has "
      "<unk>, got 'c'",
      tf::Error);
}

TEST_CASE("the Penn Treebank's files are read from a folder, or from its subfolder") {
  const Folder folder;
  CHECK_FALSE(tf::has_ptb(folder.path));
  CHECK_THROWS_WITH_AS(
      tf::read_ptb(folder.path),
      (folder.path.string() +
       ": expected the files of the Penn Treebank (ptb.train.txt, ...), got none of "
       "them, nor in a subfolder ptb")
          .c_str(),
      tf::Error);
  folder.write("ptb/ptb.train.txt", "a b a\n");
  CHECK(tf::has_ptb(folder.path));
  const std::string missing = (folder.path / "ptb/ptb.valid.txt").string();
  CHECK_THROWS_WITH_AS(tf::read_ptb(folder.path),
                       (missing + ": expected a text that can be read, got none").c_str(),
                       tf::Error);
  folder.write("ptb/ptb.valid.txt", "b\n");
  folder.write("ptb/ptb.test.txt", "");
  const std::string empty = (folder.path / "ptb/ptb.test.txt").string();
  CHECK_THROWS_WITH_AS(tf::read_ptb(folder.path),
                       (empty + ": expected a text of one line or more, got an empty file").c_str(),
                       tf::Error);
  folder.write("ptb/ptb.test.txt", "a a");
  const tf::Corpus text = tf::read_ptb(folder.path / "ptb");
  CHECK(text.words == std::vector<std::string>{"a", "<eos>", "b"});
  CHECK(text.train == Words{0, 2, 0, 1});
  CHECK(text.validation == Words{2, 1});
  CHECK(text.test == Words{0, 0, 1});
}

TEST_CASE("the Penn Treebank has the published numbers of words") {
  if (!tf::has_ptb(tf::data_folder())) {
    MESSAGE("skipped: TYPEFLOW_DATA names no folder with the Penn Treebank");
    return;
  }
  const tf::Corpus text = tf::read_ptb(tf::data_folder());
  CHECK(text.train.size() == 929589);
  CHECK(text.validation.size() == 73760);
  CHECK(text.test.size() == 82430);
  CHECK(text.words.size() == 10000);
  CHECK(text.words[0] == "the");
}

TEST_CASE("streams are parts of a text, side by side") {
  Words text(24);
  for (int i = 0; i < 24; ++i) text[static_cast<std::size_t>(i)] = i;
  tf::TextStreams streams(text, {.batch = 2, .steps = 3});  // of 12 words; 3 parts, of 9 + 1
  CHECK(streams.parts() == 3);
  for (int round = 0; round < 2; ++round) {
    for (int part = 0; part < 3; ++part) {
      const tf::TextPart now = streams.next();
      REQUIRE(now.words.size() == 6);
      for (int t = 0; t < 3; ++t) {
        for (int b = 0; b < 2; ++b) {
          const auto at = static_cast<std::size_t>(t * 2 + b);
          CHECK(now.words[at] == 12 * b + 3 * part + t);
          CHECK(now.next[at] == now.words[at] + 1);
        }
      }
    }
  }
  CHECK(streams.taken() == 6);
  streams.seek(4);  // the second part of the second round
  CHECK(streams.next().words[0] == 3);
  CHECK(streams.taken() == 5);
  CHECK(streams.settings() == "24 words, 2 streams, 3 steps");
  CHECK_THROWS_AS(streams.seek(-1), tf::Error);
  CHECK_THROWS_AS(streams.seek(std::numeric_limits<std::int64_t>::max()), tf::Error);
  static_assert(!std::is_constructible_v<tf::TextStreams, Words&&>);
  static_assert(std::is_constructible_v<tf::TextStreams, Words&>);
  CHECK(tf::TextStreams(text, {.batch = 1, .steps = 23}).parts() == 1);
  CHECK_THROWS_WITH_AS(
      tf::TextStreams(text, {.batch = 1, .steps = 24}),
      "text streams: expected at least 25 words for each of 1 streams, got 24 words", tf::Error);
  CHECK_THROWS_WITH_AS(tf::TextStreams({}, {.batch = 2, .steps = 1}),
                       "text streams: expected at least 2 words for each of 2 streams, got 0 words",
                       tf::Error);
  CHECK_THROWS_WITH_AS(tf::TextStreams(text, {.batch = 0, .steps = 1}),
                       "text streams: expected a batch and steps of 1 or more, got 0 and 1",
                       tf::Error);
}
