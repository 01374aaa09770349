// SPDX-License-Identifier: Apache-2.0

// Tensors of strings: sources, feeds, fetches, and the operations of the umbrella that take them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/typeflow.hpp"
#include "unit/strings/strings.hpp"

namespace tf = typeflow;

namespace {

constexpr std::string_view with_zero("a rather longer string\0with a zero", 34);

/// A user's operation on strings.
struct Shout : tf::custom {
  static constexpr std::string_view name = "test/Shout";
  static constexpr bool takes_strings = true;
  static constexpr tf::Derivative derivative = tf::Derivative::zero;
  static constexpr tf::Type infer(Shout, const tf::Type& x) { return x; }
};

constexpr void moves(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch, 3>(g, "x");
  auto words = constant<std::string_view, 3>(g, {"alpha", "", with_zero});
  auto i = placeholder<std::int32_t, 2>(g, "i");
  words.named("words");
  transpose(x).named("transposed");
  reshape<tf::batch, 3, 1>(x).named("reshaped");
  concat<1>(x, x).named("twice");
  gather(words, i).named("gathered");
  equal(x, words).named("equal");
  not_equal(x, constant<std::string_view>(g, "beta")).named("not_beta");
  where(equal(x, words), x, constant<std::string_view>(g, "?")).named("chosen");
  slice<tf::whole, tf::range(1, 3)>(x).named("slice");
  reverse<1>(x).named("reversed");
  broadcast_to<2, 3>(words).named("rows");
  select<0>(words, 0).named("first");
  tile<1, 2>(x).named("tiled");
  const auto columns = split<3, 1>(x);
  stack<0>(columns[2], columns[0]).named("stacked");
  apply(Shout{}, identity(x)).named("shouted");
}

}  // namespace

template <>
struct tf::cpu_kernels::kernel_of<Shout> {
  template <class A>
  static void run(const Shout&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    for (std::int64_t i = 0; i < out->size(); ++i) {
      const std::string_view x = static_cast<const std::string_view*>(in->data)[i];
      char* const bytes = call.characters->allocate(x.size() + 1);
      std::copy(x.begin(), x.end(), bytes);
      bytes[x.size()] = '!';
      static_cast<std::string_view*>(out->data)[i] = {bytes, x.size() + 1};
    }
  }
};

TEST_CASE("strings: what moves elements moves strings") {
  tf::Variables variables;
  tf::Session<moves> session(variables);
  const Strings x = {"alpha", "beta", "", "beta", "", "gamma"};
  const auto of = tf::feed<"x">(x);
  const std::vector<std::int32_t> i = {2, 0};
  CHECK(flat(session.run<"words">()) == Strings{"alpha", "", std::string(with_zero)});
  CHECK(flat(session.run<"transposed">(of)) == Strings{"alpha", "beta", "beta", "", "", "gamma"});
  CHECK(flat(session.run<"reshaped">(of)) == x);
  CHECK(flat(session.run<"twice">(of)) == Strings{"alpha", "beta", "", "alpha", "beta", "", "beta",
                                                  "", "gamma", "beta", "", "gamma"});
  CHECK(flat(session.run<"gathered">(tf::feed<"i">(i)))[1] == "alpha");
  CHECK(flat(session.run<"equal">(of)) ==
        std::vector<bool>{true, false, false, false, true, false});
  CHECK(flat(session.run<"not_beta">(of)) ==
        std::vector<bool>{true, false, true, false, true, true});
  CHECK(flat(session.run<"chosen">(of)) == Strings{"alpha", "?", "?", "?", "", "?"});
  CHECK(flat(session.run<"slice">(of)) == Strings{"beta", "", "", "gamma"});
  CHECK(flat(session.run<"reversed">(of)) == Strings{"", "beta", "alpha", "gamma", "", "beta"});
  CHECK(flat(session.run<"rows">())[3] == "alpha");
  CHECK(session.run<"first">() == "alpha");
  CHECK(flat(session.run<"tiled">(of)) == Strings{"alpha", "beta", "", "alpha", "beta", "", "beta",
                                                  "", "gamma", "beta", "", "gamma"});
  CHECK(flat(session.run<"stacked">(of)) == Strings{"", "gamma", "alpha", "beta"});
  CHECK(flat(session.run<"shouted">(of)) ==
        Strings{"alpha!", "beta!", "!", "beta!", "!", "gamma!"});
  for (const auto& y : {session.run<"twice">(tf::feed<"x">(Strings{})),
                        session.run<"tiled">(tf::feed<"x">(Strings{}))}) {
    CHECK(y.size() == 0);
  }
}
