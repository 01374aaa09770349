// SPDX-License-Identifier: Apache-2.0

// reverse_sequence: any two axes, all element sizes, its gradient and its errors.

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

tf::HostTensor reversed(const tf::HostTensor& x, const tf::HostTensor& lengths, int sequence,
                        int batch) {
  return test::pick(x, x.dims, [&](std::vector<std::int64_t> c) {
    const std::int64_t length = lengths[c[static_cast<std::size_t>(batch)]].integer;
    std::int64_t& place = c[static_cast<std::size_t>(sequence)];
    if (place < length) place = length - 1 - place;
    return c;
  });
}

constexpr void sequences(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 7, 19>(g, "a");
  auto b = tf::placeholder<double, 7, tf::batch>(g, "b");
  auto c = tf::placeholder<std::int32_t, 2, tf::batch, 3, 7, 5>(g, "c");
  auto d = tf::placeholder<bool, 3, tf::batch>(g, "d");
  auto e = tf::placeholder<std::uint8_t, 3, 0>(g, "e");
  auto f = tf::placeholder<std::int64_t, tf::batch, tf::batch>(g, "f");
  auto lengths = tf::placeholder<std::int32_t, tf::batch>(g, "lengths");
  auto long_lengths = tf::placeholder<std::int64_t, tf::batch>(g, "long_lengths");
  auto of_d = tf::placeholder<std::int64_t, 3>(g, "of_d");
  tf::reverse_sequence<1>(a, lengths).named("of_a");
  tf::reverse_sequence<0, 1>(b, long_lengths).named("of_b");
  tf::reverse_sequence<-2, 1>(c, lengths).named("of_c");
  tf::reverse_sequence<1>(d, of_d).named("of_d_d");
  tf::reverse_sequence<-1>(e, 0 * of_d).named("of_e");
  tf::reverse_sequence<0, 1>(f, lengths).named("of_f");
  gradients(sum(tf::reverse_sequence<1>(a, lengths) * a), a).named("da");
}

constexpr void wrong(tf::Graph& g) {
  auto x = tf::placeholder<float, 5, 4>(g, "x");
  auto lengths = tf::placeholder<std::int32_t, 5>(g, "lengths");
  tf::reverse_sequence<1>(x, lengths).named("y");
}

}  // namespace

TEST_CASE("reverse_sequence: values") {
  test::Random random(9);
  for (const std::int64_t batch : {0, 1, 5, 7}) {
    tf::HostTensors feeds = test::random_feeds<sequences>(batch, 4);
    const auto lengths = [&](const char* name, int most) {
      tf::HostTensor& x = feeds.at(name);
      for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, random.below(most + 1));
    };
    lengths("lengths", static_cast<int>(batch < 7 ? batch : 7));
    lengths("long_lengths", 7);
    lengths("of_d", static_cast<int>(batch));
    const tf::HostTensor& a = feeds.at("a");
    const tf::HostTensor& l = feeds.at("lengths");
    const tf::HostTensor of_a = reversed(a, l, 1, 0);
    test::check_values<sequences>(
        feeds, {{"of_a", of_a},
                {"of_b", reversed(feeds.at("b"), feeds.at("long_lengths"), 0, 1)},
                {"of_c", reversed(feeds.at("c"), l, 3, 1)},
                {"of_d_d", reversed(feeds.at("d"), feeds.at("of_d"), 1, 0)},
                {"of_e", feeds.at("e")},
                {"of_f", reversed(feeds.at("f"), l, 0, 1)},
                {"da", test::map(of_a, [](double x) { return 2 * x; })}});
  }

  for (int round = 0; round < 40; ++round) {
    tf::Graph g;
    const tf::Dims shape = test::random_shape(random, 2 + random.below(3));
    const int sequence = random.below(shape.rank);
    const int outer = (sequence + 1 + random.below(shape.rank - 1)) % shape.rank;
    tf::HostTensor lengths = tf::host_tensor(tf::DType::int64, test::dims({shape.extent[outer]}));
    for (std::int64_t i = 0; i < lengths.size(); ++i) {
      lengths.set(i, random.below(static_cast<int>(shape.extent[sequence]) + 1));
    }
    const tf::HostTensor x = test::random_tensor(random, tf::DType::float32, shape, -1, 1);
    test::name(tf::reverse_sequence(test::input(g, "x", x.dtype, shape),
                                    test::input(g, "lengths", lengths.dtype, lengths.dims),
                                    sequence, outer),
               "y");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, {{"x", x}, {"lengths", lengths}},
                            {{"y", reversed(x, lengths, sequence, outer)}});
  }
}

TEST_CASE("reverse_sequence: gradient") {
  test::check_gradients<tf::Shape<3, 4, 2>>([](auto x) {
    return tf::reverse_sequence<1>(x, tf::constant<int, 3>(x.graph(), {4, 0, 3}));
  });
  test::check_gradients<tf::Shape<2, 4, 3>>([](auto x) {
    return tf::reverse_sequence<1, -1>(x * x, tf::constant<int, 3>(x.graph(), {2, 1, 3}));
  });
}

TEST_CASE("reverse_sequence: errors") {
  const auto check = [](const std::vector<double>& lengths, const char* text) {
    tf::HostTensors feeds = test::random_feeds<wrong>();
    feeds.at("lengths") = test::ints({5}, lengths);
    test::Kernels<wrong> kernels;
    CHECK_THROWS_WITH_AS(kernels.run(feeds), doctest::Contains(text), tf::Error);
    tf::Graph g;
    wrong(g);
    CHECK_THROWS_WITH_AS(tf::Interpreter(g).run({"y"}, feeds), doctest::Contains(text), tf::Error);
  };
  check({0, 1, 5, 3, 4}, "reverse_sequence: length 5 at [2] is not in [0, 4]");
  check({0, -1, 2, 3, 4}, "reverse_sequence: length -1 at [1] is not in [0, 4]");
}
