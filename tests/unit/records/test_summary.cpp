// SPDX-License-Identifier: Apache-2.0

// Summaries and event files: TensorFlow's bytes, and damage that a full disk would do.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <protozero/pbf_reader.hpp>
#include <typeflow/records.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "unit/records/golden.hpp"

namespace {

namespace tf = typeflow;

std::string_view view(const auto& bytes) {
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}
std::vector<std::string> events_of(const std::filesystem::path& path) {
  tf::TfRecordReader reader(path);
  std::vector<std::string> events;
  while (const auto event = reader.next()) events.emplace_back(*event);
  return events;
}
/// The floats of the tensor of a summary's only value.
std::vector<float> tensor_of(const std::string& summary) {
  protozero::pbf_reader all(summary);
  REQUIRE(all.next(1));
  protozero::pbf_reader value = all.get_message();
  REQUIRE(value.next(8));
  protozero::pbf_reader tensor = value.get_message();
  REQUIRE(tensor.next(5));
  const auto floats = tensor.get_packed_float();
  return {floats.begin(), floats.end()};
}

}  // namespace

TEST_CASE("summaries have TensorFlow's bytes") {
  CHECK(tf::Summary().scalar("loss", 0.1).encoded() == view(golden::scalar));
  const std::vector<double> data{-3.5, 0.0, 0.0, 1e-13, 0.25, 0.26, 7.0, 1e30};
  CHECK(
      tf::Summary().histogram("weights", std::vector<float>(data.begin(), data.end())).encoded() ==
      view(golden::histogram));
  CHECK(tf::Summary().text("note", "**typeflow**").encoded() == view(golden::text));
  const std::vector<float> sound{0, 1, -1};
  CHECK(tf::Summary().image("picture", "PNG", 3, 2, 1).audio("sound", sound, 8000).encoded() ==
        view(golden::media));
  CHECK(tf::encode_event(tf::Summary().scalar("loss", 0.1), 7, 1.5) == view(golden::event));
}

TEST_CASE("a number is in the bucket of the first limit above it") {
  std::vector<double> positive;
  for (double v = 1.0e-12; v < 1.0e20; v *= 1.1) positive.push_back(v);
  constexpr double most = std::numeric_limits<double>::max();
  std::vector<double> limits{most, 0, -most};
  for (const double v : positive) {
    limits.push_back(v);
    limits.push_back(-v);
  }
  std::sort(limits.begin(), limits.end());
  std::vector<double> numbers{-0.0, 5e-324, -5e-324, std::numeric_limits<double>::min()};
  for (const double v : limits) {
    numbers.push_back(v);
    for (const double to : {-most, most}) numbers.push_back(std::nextafter(v, to));
  }
  std::mt19937_64 random(1);
  while (numbers.size() < 8000) {
    const auto v = std::bit_cast<double>(random());
    if (std::isfinite(v)) numbers.push_back(v);
  }
  int wrong = 0;
  for (const double v : numbers) {
    double expected = most;
    for (std::size_t i = limits.size(); i-- > 0;) {
      if (limits[i] > v) expected = limits[i];
    }
    const std::string summary = tf::Summary().histogram("x", std::vector<double>{v}).encoded();
    protozero::pbf_reader all(summary);
    REQUIRE(all.next(1));
    protozero::pbf_reader value = all.get_message();
    REQUIRE(value.next(5));
    protozero::pbf_reader histogram = value.get_message();
    std::vector<double> ends;
    std::vector<double> counts;
    while (histogram.next()) {
      if (histogram.tag() == 6 || histogram.tag() == 7) {
        std::vector<double>& to = histogram.tag() == 6 ? ends : counts;
        const auto packed = histogram.get_packed_double();
        to.assign(packed.begin(), packed.end());
      } else {
        histogram.skip();
      }
    }
    const auto one = std::find(counts.begin(), counts.end(), 1.0);
    REQUIRE(one != counts.end());
    wrong += ends[static_cast<std::size_t>(one - counts.begin())] < expected ||
             ends[static_cast<std::size_t>(one - counts.begin())] > expected;
  }
  CHECK(wrong == 0);
}

TEST_CASE("precision and recall are TensorBoard's") {
  const std::vector<float> predictions{0.9f, 0.4f, 0.35f, 0.8f, 1.0f};
  const std::vector<float> got = tensor_of(
      tf::Summary().pr_curve("pr", predictions, {true, false, true, false, true}, 5).encoded());
  REQUIRE(got.size() == std::size(golden::pr_curve));
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i] == doctest::Approx(golden::pr_curve[i]).epsilon(1e-6));
  }
}

TEST_CASE("an event file has its version first, and each event at once when it is flushed") {
  const Folder folder;
  tf::EventWriter writer(folder / "logs/run");
  CHECK(writer.path().filename().string().starts_with("events.out.tfevents."));
  REQUIRE(events_of(writer.path()).size() == 1);
  CHECK(events_of(writer.path())[0].find("brain.Event:2") != std::string::npos);
  writer.scalar("loss", 0.5, 1);
  writer.add(tf::Summary().scalar("loss", 0.25).scalar("rate", 0.1), 2);
  CHECK(events_of(writer.path()).size() == 1);
  writer.flush();
  const auto events = events_of(writer.path());
  REQUIRE(events.size() == 3);
  CHECK(events[2].ends_with(tf::Summary().scalar("loss", 0.25).scalar("rate", 0.1).encoded()));
  for (int i = 0; i < 5000; ++i) writer.scalar("more", i, i);  // fills the buffer
  CHECK(events_of(writer.path()).size() > 1000);
  // Two writers of a second have two files.
  tf::EventWriter other(folder / "logs/run");
  CHECK(other.path() != writer.path());
}

TEST_CASE("threads may add events") {
  const Folder folder;
  const std::filesystem::path path = [&] {
    tf::EventWriter writer(folder.path());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&writer, t] {
        for (int i = 0; i < 500; ++i) writer.scalar("x" + std::to_string(t), i, i);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return writer.path();
  }();
  CHECK(events_of(path).size() == 2001);
}

TEST_CASE("what can't be shown is named") {
  CHECK(message_of([] { tf::Summary().histogram("w", std::vector<float>{1, std::nanf("")}); }) ==
        "Summary::histogram(\"w\"): expected finite values, got nan");
  CHECK(message_of([] { tf::Summary().image("i", "", 1, 1, 2); }) ==
        "Summary::image: expected 1, 3 or 4 channels, got 2");
  CHECK(message_of([] {
          tf::Summary().pr_curve("p", std::vector<float>{1.5f}, {true});
        }).find("predictions in [0, 1]") != std::string::npos);
  CHECK(message_of([] { tf::Summary().audio("a", std::vector<float>(3), 8000, 2); }) ==
        "Summary::audio: expected whole frames of 2 channels, got 3 samples");
  const std::array<std::int64_t, 2> extents{2, 2};
  CHECK(message_of([&] { tf::Summary().tensor("t", std::vector<float>(3), extents); }) ==
        "Summary::tensor: expected 4 values, as the extents say, got 3");
  CHECK(message_of([] { tf::EventWriter writer("/proc/no"); }).find("/proc/no") !=
        std::string::npos);
}
