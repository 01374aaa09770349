// SPDX-License-Identifier: Apache-2.0

// From one sequence to another: a net reads three to eight digits and says them in reverse order. A
// GRU (gated recurrent unit) reads them. A second one, the speaker, says one word at a time, and
// looks with Bahdanau's attention at the first one's outputs. In training its inputs are the right
// words. Afterwards they are its own last outputs: either always the most probable word (raw_rnn),
// or those of a beam search of width four. Expected: a sequence accuracy, the share of sequences
// without a wrong word, of at least 0.95.
//
//   reverse_digits --steps 600

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <typeflow/attention.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"
#include "reverse_digits/beam_search.hpp"

namespace reversing {

namespace tf = typeflow;

constexpr int batch = 64;
constexpr int shortest = 3;
constexpr int longest = 8;          // digits
constexpr int steps = longest + 1;  // words to say, including the end
constexpr int words = 11;           // possible words: digits and the end
constexpr int end = 10;
constexpr int start = 11;  // the input before the first word
constexpr int width = 24;  // the length of a word's vector
constexpr int units = 64;
constexpr int beams = 4;

/// Reader and speaker, for this many beams of each sample.
template <int Beams>
class Net {
 public:
  static constexpr int rows = batch * Beams;
  using Word = tf::Expr<std::int32_t, tf::Shape<rows>>;

  constexpr explicit Net(tf::Graph& g)
      : vectors_(variable<float, words + 1, width>(g, "vectors", tf::normal(0, 0.3))),
        attention_(attention(g)),
        speaker_(g, "speaker", tf::GRU<width + units, units>(g, "speaker/gru"), attention_),
        weights_(variable<float, units, words>(g, "say/W")),
        bias_(variable<float, words>(g, "say/b", tf::zeros())) {}

  constexpr const auto& speaker() const { return speaker_; }
  /// The speaker begins with the reader's last state.
  constexpr auto first_state(tf::Graph& g) const {
    const auto none = tf::zero_state<rows>(g, speaker_);
    return std::tuple{known_, std::get<1>(none)};
  }
  constexpr auto vectors_of(const auto& said) const { return embedding_lookup(vectors_, said); }
  /// Logits of the speaker's outputs. (rows,units) -> (rows,words)
  constexpr auto logits_of(const auto& output) const { return matmul(output, weights_) + bias_; }

 private:
  /// The memory for the speaker's attention, from the placeholders `digits` and `lengths`.
  constexpr auto attention(tf::Graph& g) {
    auto digits = placeholder<std::int32_t, batch, longest>(g, "digits");
    auto lengths = placeholder<std::int32_t, batch>(g, "lengths");
    const tf::GRU<width, units> reader(g, "reader");
    const auto read =
        dynamic_rnn(reader, vectors_of(digits), tf::zero_state<batch>(g, reader), lengths);
    // Each sample's memory for all of its beams.
    known_ = each_beam(read.state);
    auto for_beams =
        tf::reshape<rows>(tf::broadcast_to<batch, Beams>(tf::expand_dims<-1>(lengths)));
    return tf::bahdanau_attention<units, units>(
        g, "attention",
        tf::reshape<rows, longest, units>(each_beam(reshape<batch, longest * units>(read.outputs))),
        for_beams);
  }
  template <tf::Extent N>
  static constexpr auto each_beam(const tf::Expr<float, tf::Shape<batch, N>>& x) {
    return tf::reshape<rows, N>(tf::broadcast_to<batch, Beams, N>(tf::expand_dims<1>(x)));
  }
  using Attention =
      tf::BahdanauAttention<units, units, tf::Expr<float, tf::Shape<rows, longest, units>>>;

  tf::Variable<float, tf::Shape<words + 1, width>> vectors_;
  tf::Expr<float, tf::Shape<rows, units>> known_;
  Attention attention_;
  tf::AttentionCell<tf::GRU<width + units, units>, Attention> speaker_;
  tf::Variable<float, tf::Shape<units, words>> weights_;
  tf::Variable<float, tf::Shape<words>> bias_;
};

/// Learns to say `right` (steps,batch); reads `before`, the same words one step later.
constexpr void learner(tf::Graph& g) {
  const Net<1> net(g);
  auto before = placeholder<std::int32_t, steps, batch>(g, "before");
  auto right = placeholder<std::int32_t, steps, batch>(g, "right");
  auto counts = placeholder<float, steps, batch>(g, "counts");  // 1, or 0 past the end
  auto rate = placeholder<float>(g, "rate", 0.005f);

  auto said =
      dynamic_rnn<tf::time_major>(net.speaker(), net.vectors_of(before), net.first_state(g));
  auto logits = net.logits_of(tf::reshape<steps * batch, units>(said.outputs));
  auto costs = softmax_cross_entropy(logits, tf::reshape<steps * batch>(right));
  auto loss = (sum(costs * tf::reshape<steps * batch>(counts)) / sum(counts)).named("loss");
  const auto clipped = clip_by_global_norm(gradients(loss), 5.0f);
  tf::Adam{.rate = rate}.apply(clipped).named("train");
}

/// Always says the most probable word.
constexpr void greedy(tf::Graph& g) {
  const Net<1> net(g);
  auto first = tf::fill<batch>(tf::constant<std::int32_t>(g, start));
  auto none = tf::fill<batch>(tf::constant<bool>(g, false));
  const auto result = tf::raw_rnn<steps>(
      net.speaker(), tf::RawRnnStart{none, net.vectors_of(first), net.first_state(g)},
      [&](auto, auto output, auto state, auto) {
        auto word = argmax<1>(net.logits_of(output));
        return tf::RawRnnStep{equal(word, end), net.vectors_of(word), state, word};
      });
  result.outputs.named("said");  // (steps,batch), zeros behind an end
}

/// Says the best result of a beam search.
constexpr void searching(tf::Graph& g) {
  const Net<beams> net(g);
  const auto speak = [&](const auto& word, const auto& state) {
    const auto now = net.speaker()(net.vectors_of(word), state);
    return std::pair{net.logits_of(now.output), now.state};
  };
  const auto found =
      examples::beam_search<steps, batch, beams>(g, net.first_state(g), start, end, 0.6f, speak);
  select<2>(found.words, 0).named("said");  // (steps,batch)
}

/// Random digits, and the words to say for them.
struct Sequences {
  explicit Sequences(std::mt19937_64& random)
      : digits(batch * longest),
        lengths(batch),
        before(steps * batch, end),
        right(steps * batch, end),
        counts(steps * batch) {
    const auto draw = [&](int n) {
      return static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
    };
    for (std::size_t b = 0; b < batch; ++b) {
      lengths[b] = shortest + draw(longest - shortest + 1);
      const auto length = static_cast<std::size_t>(lengths[b]);
      before[b] = start;
      for (std::size_t t = 0; t <= length; ++t) counts[t * batch + b] = 1;
      for (std::size_t t = 0; t < length; ++t) {
        digits[b * longest + t] = draw(10);
        right[(length - 1 - t) * batch + b] = digits[b * longest + t];
      }
      for (std::size_t t = 0; t < length; ++t) before[(t + 1) * batch + b] = right[t * batch + b];
    }
  }

  std::vector<std::int32_t> digits, lengths, before, right;
  std::vector<float> counts;
};

/// The share of sequences whose words are all right, up to the end.
double share_right(const Sequences& sequences, const auto& said) {
  int right = 0;
  for (std::size_t b = 0; b < batch; ++b) {
    bool all = true;
    for (std::size_t t = 0; t <= static_cast<std::size_t>(sequences.lengths[b]); ++t) {
      all = all && said(t, b) == sequences.right[t * batch + b];
    }
    right += all;
  }
  return right / static_cast<double>(batch);
}

void train(const examples::Options& options) {
  tf::Variables variables;
  std::mt19937_64 random(options.seed);
  tf::Session<learner> session(variables, {.seed = options.seed});
  tf::Progress progress({.steps = options.steps, .batch_size = batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const Sequences drawn(random);
    const float loss = session.run<"loss", "train">(
        tf::feed<"digits">(drawn.digits), tf::feed<"lengths">(drawn.lengths),
        tf::feed<"before">(drawn.before), tf::feed<"right">(drawn.right),
        tf::feed<"counts">(drawn.counts), tf::feed<"rate">(options.rate));
    progress.show(step, loss);
  }

  tf::Session<greedy, tf::inference> one_by_one(variables);
  tf::Session<searching, tf::inference> by_beams(variables);
  constexpr int tests = 20;
  double of_greedy = 0;
  double of_beams = 0;
  for (int i = 0; i < tests; ++i) {
    const Sequences drawn(random);
    const auto digits = tf::feed<"digits">(drawn.digits);
    const auto lengths = tf::feed<"lengths">(drawn.lengths);
    of_greedy += share_right(drawn, one_by_one.run<"said">(digits, lengths)) / tests;
    of_beams += share_right(drawn, by_beams.run<"said">(digits, lengths)) / tests;
  }
  std::printf("greedy sequence accuracy %.4f\n", of_greedy);
  std::printf("sequence accuracy %.4f\n", of_beams);
}

}  // namespace reversing

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Digits said in reverse: an encoder, a decoder with attention, a beam search.",
      {.steps = 1500, .rate = 0.005f}, reversing::train);
}
