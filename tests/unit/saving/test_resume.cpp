// SPDX-License-Identifier: Apache-2.0

// A training that is saved, and goes on from the file, ends where one without a break ends.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/folder.hpp"
#include "typeflow/data.hpp"
#include "typeflow/rnn.hpp"
#include "typeflow/saving.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

/// Momentum by hand, its slot a variable, on a loss with random noise: values, slot, step and
/// draws.
constexpr void model(tf::Graph& g) {
  auto w = variable<float, 3, 2>(g, "fc/W", tf::ones());
  auto m = variable<float, 3, 2>(g, "fc/W/momentum", tf::zeros(), false);
  auto step = variable<std::int64_t>(g, "step", tf::zeros(), false);
  auto noise = random_normal<float, 3, 2>(g, "noise");
  auto gradient = 2 * w * square(noise);
  auto slope = assign(m, 0.9f * m + gradient);
  (slope + assign_sub(w, 0.01f * slope.value()) + assign_add(step, 1)).named("train");
}

/// An LSTM that carries its state from part to part of a text, with dropout.
constexpr void language(tf::Graph& g) {
  auto words = placeholder<std::int32_t, 3, 2>(g, "words");
  auto next = placeholder<std::int32_t, 3, 2>(g, "next");
  auto x = tf::embedding<5, 3>(g, "embedding", words);  // (steps,batch,3)
  const tf::BasicLSTM<3, 4> lstm(g, "lstm");
  auto start = tf::kept_state<2>(g, "state", lstm);
  auto result = dynamic_rnn<tf::time_major>(lstm, x, start);
  auto logits = tf::dense<5>(g, "softmax", dropout(result.outputs, {.keep = 0.5}));
  auto loss = mean(softmax_cross_entropy(logits, next)).named("loss");
  const tf::Effect keep = keep_state(start, result.state);
  (tf::Adam{.rate = 0.05}.minimize(loss) + keep).named("train");
}

/// All that a process makes to train it.
struct Training {
  explicit Training(const std::vector<std::int32_t>& text)
      : session(variables, {.seed = 3}), streams(text, {.batch = 2, .steps = 3}) {
    extras.add("states", session.states());
    extras.add("streams", streams);
  }
  std::vector<float> train(int steps) {
    std::vector<float> losses;
    for (int i = 0; i < steps; ++i) {
      const tf::TextPart part = streams.next();
      losses.push_back(
          session.run<"loss", "train">(tf::feed<"words">(part.words), tf::feed<"next">(part.next)));
    }
    return losses;
  }

  tf::Variables variables;
  tf::Session<language> session;
  tf::TextStreams streams;
  tf::Extras extras;
};
const std::vector<std::int32_t> text = [] {
  std::vector<std::int32_t> words(40);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<std::int32_t>(i * i % 7 % 5);
  }
  return words;
}();

std::string refusal(const auto& f) {
  try {
    f();
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}
bool has(const std::string& sentence, std::string_view part) {
  return sentence.find(part) != sentence.npos;
}

void train(tf::Session<model>& session, int steps) {
  for (int i = 0; i < steps; ++i) session.run<"train">();
}
bool equal(const tf::Variables& a, const tf::Variables& b) {
  return a.names() == b.names() && a.draws() == b.draws() &&
         std::ranges::all_of(a.names(), [&](const std::string& name) {
           return std::ranges::equal(a.find(name)->bytes, b.find(name)->bytes);
         });
}

}  // namespace

TEST_CASE("a training that goes on from a file equals one without a break") {
  const Folder folder;
  tf::Variables whole;
  tf::Session<model> session(whole, {.seed = 5});
  train(session, 4);
  save(whole, folder / "x");
  train(session, 6);

  tf::Variables resumed;
  load(resumed, folder / "x");
  CHECK_FALSE(equal(resumed, whole));
  CHECK(resumed.get<std::int64_t>("step")[0] == 4);
  tf::Session<model> second(resumed, {.seed = 5});
  train(second, 6);
  CHECK(resumed.get<std::int64_t>("step")[0] == 10);
  CHECK(equal(resumed, whole));

  // The same with the session open meanwhile: the store is restored in place.
  load(whole, folder / "x");
  train(session, 6);
  CHECK(equal(resumed, whole));
}

TEST_CASE("a net that carries its state goes on from a file as if there had been no break") {
  const Folder folder;
  Training whole(text);
  whole.train(8);  // the text has 6 parts
  save(whole.variables, folder / "x", {.extras = &whole.extras});
  const std::vector<float> losses = whole.train(9);

  Training resumed(text);
  load(resumed.variables, folder / "x", {.extras = &resumed.extras});
  CHECK(resumed.streams.taken() == 8);
  CHECK(resumed.train(9) == losses);
  CHECK(equal(resumed.variables, whole.variables));
  CHECK(equal(resumed.session.states(), whole.session.states()));
  CHECK(resumed.session.states().names().size() == 2);

  // The variables alone make another training.
  Training without(text);
  load(without.variables, folder / "x");
  without.streams.seek(8);
  const std::vector<float> others = without.train(9);
  CHECK(others != losses);
  CHECK(without.variables.names() == whole.variables.names());
}

TEST_CASE("checkpoints restore states and positions with the variables") {
  const Folder folder;
  std::vector<float> losses;
  {
    Training whole(text);
    tf::BatchSampler batches(10, {.size = 3});
    tf::Checkpoints saver(folder.path());
    saver.include("states", whole.session.states());
    saver.include("streams", whole.streams);
    saver.include("batches", batches);
    whole.train(2);
    for (int i = 0; i < 7; ++i) batches.next();
    saver.save(whole.variables, 2);
    losses = whole.train(3);
  }
  Training resumed(text);
  tf::BatchSampler batches(10, {.size = 3});
  tf::Checkpoints saver(folder.path());
  saver.include("states", resumed.session.states());
  saver.include("streams", resumed.streams);
  saver.include("batches", batches);
  CHECK(saver.restore_latest(resumed.variables) == 2);
  CHECK(batches.taken() == 7);
  CHECK(resumed.train(3) == losses);
}

TEST_CASE("states and positions that do not fit are an Error, and nothing is restored") {
  const Folder folder;
  Training whole(text);
  whole.train(1);
  save(whole.variables, folder / "bare");
  save(whole.variables, folder / "x", {.extras = &whole.extras});

  const std::vector<std::int32_t> shorter(text.begin(), text.begin() + 30);
  Training other(shorter);
  other.train(1);
  const std::vector<float> before(other.variables.get<float>("softmax/b").begin(),
                                  other.variables.get<float>("softmax/b").end());
  const auto message = [&](const char* file, const tf::Extras& extras) {
    return refusal([&] { load(other.variables, folder / file, {.extras = &extras}); });
  };
  CHECK(has(message("x", other.extras),
            "the sampler 'streams' has '30 words, 2 streams, 3 steps', that of the file '40 words, "
            "2 streams, 3 steps'"));
  CHECK(has(message("bare", other.extras), "it has no position of the sampler 'streams'"));
  CHECK(has(message("bare", other.extras), "it has no tensor 'typeflow.state/states/state/c'"));
  tf::Variables states;
  states.set<float>("state/c", std::vector<float>(3), {1, {3}});
  tf::Extras wrong;
  wrong.add("states", states);
  CHECK(has(message("x", wrong), "variable 'state/c': expected float [3], got float [2, 4]"));
  CHECK(has(message("x", wrong),
            "the states 'states' have none for the tensor float [2, 4] "
            "'typeflow.state/states/state/h'"));
  CHECK(std::ranges::equal(other.variables.get<float>("softmax/b"), before));
  CHECK(other.streams.taken() == 1);
  // A partial load takes what there is.
  load(other.variables, folder / "bare", {.partial = true, .extras = &other.extras});
  CHECK(other.streams.taken() == 1);

  CHECK(has(refusal([&] { wrong.add("states", other.streams); }), "there is a 'states' already"));
  CHECK(has(refusal([&] { wrong.add("a/b", other.streams); }), "a name without '/', got 'a/b'"));
  tf::Variables reserved;
  reserved.set<float>("typeflow.state/x", std::vector<float>(1), {1, {1}});
  CHECK(has(refusal([&] { save(reserved, folder / "y"); }), "'typeflow.state/x'"));
}
