// SPDX-License-Identifier: Apache-2.0

// Summaries as operations of a model: TensorFlow's bytes and pixels.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <protozero/pbf_reader.hpp>
#include <typeflow/image.hpp>
#include <typeflow/operations.hpp>
#include <typeflow/records/tf_record.hpp>
#include <typeflow/summaries.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "unit/records/golden.hpp"

namespace {

namespace tf = typeflow;

std::string_view view(const auto& bytes) {
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}

/// The tags of a serialized summary.
std::vector<std::string> tags_of(std::string_view summary) {
  std::vector<std::string> tags;
  protozero::pbf_reader all(summary.data(), summary.size());
  while (all.next(1)) {
    protozero::pbf_reader value = all.get_message();
    REQUIRE(value.next(1));
    tags.push_back(value.get_string());
  }
  return tags;
}
using Tags = std::vector<std::string>;

constexpr void numbers(tf::Graph& g) {
  tf::Summaries summaries(g);
  auto rate = placeholder<std::int32_t>(g, "rate");
  {
    tf::NameScope in(g, "layer");
    auto loss = summaries.scalar("loss", placeholder<float>(g, "loss"));
    (loss + 1).named("more");
    summaries.histogram("w", placeholder<float, tf::batch>(g, "w"));
  }
  summaries.scalar("rate", rate);
  summaries.merge().named("summaries");
  summaries.merge("layer").named("of_layer");
  summaries.merge("lay").named("of_nothing");
}

constexpr void media(tf::Graph& g) {
  tf::Summaries summaries(g);
  summaries.image("grey", placeholder<float, 4, 2, 2, 1>(g, "grey"));
  summaries.image("red", placeholder<float, 1, 2, 2, 3>(g, "red"), 1);
  summaries.image("bytes", placeholder<std::uint8_t, tf::batch, 2, 2, 4>(g, "bytes"), 2);
  summaries.merge().named("pictures");
  tf::Summaries sounds(g);
  auto tone = placeholder<float, 3, 4>(g, "tone");
  sounds.audio("tone", tone, 8000, 2);
  sounds.audio("one", reshape<3, 2, 2>(tone), 44100, 1);
  sounds.merge().named("sounds");
}

constexpr void others(tf::Graph& g) {
  tf::Summaries summaries(g);
  auto x = placeholder<double, 3>(g, "x");
  for (int i = 0; i < 3; ++i) summaries.scalar("twice", sum(x));
  summaries.scalar({"unit", 4}, sum(x));
  summaries.text("note", placeholder<std::string_view>(g, "note"));
  summaries.merge().named("summaries");
  tf::Summaries distributions(g);
  distributions.histogram("x", x);
  distributions.merge().named("distributions");
  tf::Summaries pictures(g);
  pictures.image("two", reshape<1, 1, 1, 2>(constant<float, 2>(g, {1, 2})));
  pictures.merge().named("pictures");
}

/// A model with the summaries' tensors, but without their merge.
constexpr void unmerged(tf::Graph& g) {
  auto x = placeholder<float, 4>(g, "x");
  tf::Summaries summaries(g);
  summaries.scalar("sum", sum(x).named("s"));
  summaries.histogram("x", x);
}
constexpr void without(tf::Graph& g) { sum(placeholder<float, 4>(g, "x")).named("s"); }

}  // namespace

TEST_CASE("summaries of a run have TensorFlow's bytes") {
  tf::Variables variables;
  tf::Session<numbers> session(variables);
  const std::vector<float> w{-3.5f, 0, 0, 1e-13f, 0.25f, 0.26f, 7, 1e30f};
  const auto [all, of_layer, of_nothing] = session.run<"summaries", "of_layer", "of_nothing">(
      tf::feed<"layer/loss">(0.5f), tf::feed<"layer/w">(w), tf::feed<"rate">(3));
  CHECK(all == view(golden::merged));
  CHECK(tags_of(of_layer) == Tags{"layer/loss", "layer/w"});
  CHECK(all.starts_with(of_layer));
  CHECK(of_nothing == "");
  CHECK(session.run<"layer/more">(tf::feed<"layer/loss">(1.0f)) == 2);

  const Folder folder;
  tf::EventWriter writer(folder.path());
  writer.add(all, 7);
  writer.flush();
  tf::TfRecordReader reader(writer.path());
  REQUIRE(reader.next());
  const auto event = reader.next();
  REQUIRE(event);
  CHECK(event->ends_with(all));
}

TEST_CASE("images and sounds of a run are TensorFlow's") {
  tf::Variables variables;
  tf::Session<media> session(variables);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> grey{0, 1, -4, 2, 0, 0.5f, 1, 2, 0, 0, 0, 0, 9, 9, 9, 9};
  const std::vector<float> red{1, 2, 3, nan, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<std::uint8_t> bytes(16);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  const std::string pictures = session.run<"pictures">(tf::feed<"grey">(grey), tf::feed<"red">(red),
                                                       tf::feed<"bytes">(bytes));
  std::size_t count = 0;
  protozero::pbf_reader all(pictures);
  for (; all.next(1); ++count) {
    REQUIRE(count < golden::pictures.size());
    const golden::Shown& expected = golden::pictures[count];
    protozero::pbf_reader value = all.get_message();
    REQUIRE(value.next(1));
    CHECK(value.get_string() == expected.tag);
    REQUIRE(value.next(4));
    protozero::pbf_reader image = value.get_message();
    while (image.next()) {
      switch (image.tag()) {
        case 1:
          CHECK(image.get_int32() == expected.height);
          break;
        case 2:
          CHECK(image.get_int32() == expected.width);
          break;
        case 3:
          CHECK(image.get_int32() == expected.channels);
          break;
        default: {
          const std::string png = image.get_bytes();
          const tf::Image got =
              tf::decode_image({reinterpret_cast<const std::uint8_t*>(png.data()), png.size()},
                               {.channels = expected.channels});
          CHECK(got.height == expected.height);
          CHECK(got.width == expected.width);
          CHECK(got.pixels == expected.pixels);
        }
      }
    }
  }
  CHECK(count == golden::pictures.size());

  const std::vector<float> tone{0, 0.5f, -1, 1, 1, 2, -2, 0.25f, 1, 1, 1, 1};
  CHECK(session.run<"sounds">(tf::feed<"tone">(tone)) == view(golden::sounds));
}

TEST_CASE("a tag that is taken gets a suffix") {
  tf::Variables variables;
  tf::Session<others> session(variables);
  const std::vector<double> x{1, 2, 3};
  const std::string got =
      session.run<"summaries">(tf::feed<"x">(x), tf::feed<"note">(std::string("**bold**")));
  CHECK(tags_of(got) == Tags{"twice", "twice_1", "twice_2", "unit_4", "note"});
  CHECK(got.ends_with(tf::Summary().text("note", "**bold**").encoded()));
  CHECK(tags_of(tf::Summary().scalar("a", 1).encoded()) == Tags{"a"});
}

TEST_CASE("a run names what its summaries can't show") {
  tf::Variables variables;
  tf::Session<others> session(variables);
  const std::string nan = message_of([&] {
    session.run<"distributions">(tf::feed<"x">(std::vector<double>{1, std::nan(""), 3}));
  });
  CHECK_MESSAGE(
      nan.find("Summary::histogram(\"x\"): expected finite values, got nan") != std::string::npos,
      nan);
  const std::string two = message_of([&] { session.run<"pictures">(); });
  CHECK_MESSAGE(
      two.find("image summary \"two\": expected 1, 3 or 4 channels, got 2") != std::string::npos,
      two);
}

TEST_CASE("summaries that are not merged add nothing to a model") {
  static_assert(tf::ir::Lowering<unmerged>::node_count == tf::ir::Lowering<without>::node_count);
  static_assert(tf::ir::Lowering<unmerged>::kernel_count ==
                tf::ir::Lowering<without>::kernel_count);
  CHECK(tf::ir::Lowering<unmerged>::node_count == 2);
}
