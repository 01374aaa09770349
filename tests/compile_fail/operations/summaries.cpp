// SPDX-License-Identifier: Apache-2.0

// Wrong uses of summaries. Each line below must be an error with the text in its comment; without
// them (-DCORRECTED) the file compiles.

#include "typeflow/graph.hpp"
#include "typeflow/records/summary_operations.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto flag = tf::placeholder<bool>(g, "flag");
  auto words = tf::placeholder<std::string_view, 3>(g, "words");
  tf::Summaries summaries(g);
  summaries.scalar("mean", mean(x));
  summaries.merge().named("summaries");
  flag.named("f");
  words.named("w");
#ifndef CORRECTED
  // clang-format off
  summaries.scalar("x", x);  // error: summaries.scalar(tag, x): x must be a real scalar tensor: take mean(x)
  summaries.scalar("flag", flag);  // error: summaries.scalar(tag, x): x must be a real scalar tensor: take mean(x)
  summaries.histogram("words", words);  // error: summaries.histogram(tag, x): x must be a tensor of real numbers
  summaries.image("x", x);  // error: summaries.image(tag, x): x must be a tensor of real numbers (batch,height,width,channels)
  summaries.audio("sum", sum(x), 8000);  // error: summaries.audio(tag, x, sample_rate): x must be a tensor of real numbers (batch,frames) or (batch,frames,channels)
  summaries.text("words", words);  // error: summaries.text(tag, x): x must be a scalar tensor of strings
  // clang-format on
#endif
}
