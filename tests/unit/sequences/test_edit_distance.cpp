// SPDX-License-Identifier: Apache-2.0

// edit_distance against its recursive definition, and the examples of TensorFlow's documentation.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "support/check_values.hpp"
#include "support/message_of.hpp"
#include "typeflow/sequences.hpp"

namespace {

namespace tf = typeflow;

template <class T, tf::Extent M, tf::Extent N>
constexpr void model(tf::Graph& g) {
  auto hypotheses = tf::placeholder<T, tf::batch, M>(g, "hypotheses");
  auto lengths = tf::placeholder<std::int32_t, tf::batch>(g, "lengths");
  auto truths = tf::placeholder<T, tf::batch, N>(g, "truths");
  auto truth_lengths = tf::placeholder<std::int64_t, tf::batch>(g, "truth_lengths");
  tf::edit_distance(hypotheses, lengths, truths, truth_lengths).named("normalized");
  tf::edit_distance(hypotheses, lengths, truths, truth_lengths, {.normalize = false})
      .named("edits");
}

/// Of the elements of a from i on and those of b from k on.
int edits(const std::vector<int>& a, std::size_t i, const std::vector<int>& b, std::size_t k) {
  if (i == a.size()) return static_cast<int>(b.size() - k);
  if (k == b.size()) return static_cast<int>(a.size() - i);
  if (a[i] == b[k]) return edits(a, i + 1, b, k + 1);
  return 1 + std::min({edits(a, i + 1, b, k), edits(a, i, b, k + 1), edits(a, i + 1, b, k + 1)});
}

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("edit_distance: values") {
  constexpr std::int64_t count = 40;
  test::Random random(5);
  tf::HostTensors feeds = {
      {"hypotheses", tf::host_tensor(tf::DType::int32, test::dims({count, 5}))},
      {"lengths", tf::host_tensor(tf::DType::int32, test::dims({count}))},
      {"truths", tf::host_tensor(tf::DType::int32, test::dims({count, 4}))},
      {"truth_lengths", tf::host_tensor(tf::DType::int64, test::dims({count}))}};
  tf::HostTensor expected = tf::host_tensor(tf::DType::float32, test::dims({count}));
  tf::HostTensor normalized = expected;
  for (std::int64_t b = 0; b < count; ++b) {
    const auto draw = [&](const char* name, const char* length, int most) {
      std::vector<int> drawn(static_cast<std::size_t>(random.below(most + 1)));
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        drawn[i] = random.below(3);
        feeds.at(name).set(b * most + static_cast<std::int64_t>(i), drawn[i]);
      }
      feeds.at(length).set(b, static_cast<double>(drawn.size()));
      return drawn;
    };
    const std::vector<int> hypothesis = draw("hypotheses", "lengths", 5);
    const std::vector<int> truth = draw("truths", "truth_lengths", 4);
    const int distance = edits(hypothesis, 0, truth, 0);
    expected.set(b, distance);
    normalized.set(b, distance == 0   ? 0
                      : truth.empty() ? inf
                                      : distance / static_cast<double>(truth.size()));
  }
  test::check_values<model<std::int32_t, 5, 4>>(
      feeds, {{"edits", expected}, {"normalized", normalized}}, 1e-7);
  // kitten, sitting; nothing, anything; anything, nothing; nothing, nothing.
  test::check_values<model<std::int8_t, 6, 7>>(
      {{"hypotheses", test::tensor(tf::DType::int8, {4, 6}, {'k', 'i', 't', 't', 'e', 'n',  //
                                                             9,   9,   9,   9,   9,   9,    //
                                                             1,   2,   9,   9,   9,   9,    //
                                                             9,   9,   9,   9,   9,   9})},
       {"lengths", test::ints({4}, {6, 0, 2, 0})},
       {"truths", test::tensor(tf::DType::int8, {4, 7}, {'s', 'i', 't', 't', 'i', 'n', 'g',  //
                                                         1,   2,   3,   9,   9,   9,   9,    //
                                                         9,   9,   9,   9,   9,   9,   9,    //
                                                         9,   9,   9,   9,   9,   9,   9})},
       {"truth_lengths", test::tensor(tf::DType::int64, {4}, {7, 3, 0, 0})}},
      {{"edits", test::floats({4}, {3, 3, 2, 0})},
       {"normalized", test::floats({4}, {3. / 7, 1, inf, 0})}},
      1e-7);
}

TEST_CASE("edit_distance: errors") {
  const auto message = [](int hypothesis, std::int64_t truth) {
    return message_of([&] {
      tf::Variables variables;
      tf::Session<model<std::int8_t, 6, 7>> session(variables);
      session.run<"edits">(tf::feed<"hypotheses">(std::vector<std::int8_t>(6)),
                           tf::feed<"lengths">(std::vector<int>{hypothesis}),
                           tf::feed<"truths">(std::vector<std::int8_t>(7)),
                           tf::feed<"truth_lengths">(std::vector<std::int64_t>{truth}));
    });
  };
  CHECK(message(7, 7).find("edit_distance: hypothesis length 7 at [0] is not in [0, 6]") !=
        std::string::npos);
  CHECK(message(6, -1).find("edit_distance: truth length -1 at [0] is not in [0, 7]") !=
        std::string::npos);
  CHECK(message(6, 7).empty());
}
