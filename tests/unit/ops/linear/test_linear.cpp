// SPDX-License-Identifier: Apache-2.0

// Layers, outer products, Gram matrices and diagonals against plain loops.

#include <cstdint>
#include <limits>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using Place = std::vector<std::int64_t>;

/// A tensor whose element at c is f(c).
template <class F>
tf::HostTensor make(tf::DType type, const std::vector<tf::Extent>& extents, const F& f) {
  tf::HostTensor y = tf::host_tensor(type, test::dims(extents));
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, f(test::coordinates(i, y.dims)));
  return y;
}
double at(const tf::HostTensor& x, const Place& c) { return x.value(test::position(c, x.dims)); }

template <class T>
constexpr void layers(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 3, 7>(g, "x");
  auto w = tf::placeholder<T, 7, 5>(g, "w");
  auto b = tf::placeholder<T, 5>(g, "b");
  auto c = tf::placeholder<T, 7>(g, "c");
  bias_add(x, c).named("bias_add");
  bias_add(c, c).named("bias_add_vector");
  xw_plus_b(x, w, b).named("xw_plus_b");
  relu_layer(x, w, b).named("relu_layer");
  outer(x, b).named("outer");
  outer(b, c).named("outer_vectors");
  gram(x).named("gram");
  gram(w).named("gram_matrix");
}

template <class T>
void check_layers(double tolerance) {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::DType type = tf::dtype_of<T>;
  const tf::HostTensors f = test::random_feeds<layers<T>>(4, 2, -3, 3);
  const tf::HostTensor& x = f.at("x");
  const tf::HostTensor& w = f.at("w");
  const tf::HostTensor& b = f.at("b");
  const tf::HostTensor& c = f.at("c");
  const auto dense = [&](const Place& p) {
    double total = at(b, {p[2]});
    for (std::int64_t k = 0; k < 7; ++k) total += at(x, {p[0], p[1], k}) * at(w, {k, p[2]});
    return total;
  };
  const auto bias = [&](const Place& p) { return at(x, p) + at(c, {p[2]}); };
  const auto pairs = [&](const Place& p) { return at(x, {p[0], p[1], p[2]}) * at(b, {p[3]}); };
  const auto vectors = [&](const Place& p) { return at(b, {p[0]}) * at(c, {p[1]}); };
  const auto gram = [&](const Place& p) {
    double total = 0;
    for (std::int64_t k = 0; k < 3; ++k) total += at(x, {p[0], k, p[1]}) * at(x, {p[0], k, p[2]});
    return total;
  };
  const auto gram_matrix = [&](const Place& p) {
    double total = 0;
    for (std::int64_t k = 0; k < 7; ++k) total += at(w, {k, p[0]}) * at(w, {k, p[1]});
    return total;
  };
  test::check_values<layers<T>>(
      f,
      {{"bias_add", make(type, {4, 3, 7}, bias)},
       {"bias_add_vector", test::map(c, [](double e) { return 2 * e; })},
       {"xw_plus_b", make(type, {4, 3, 5}, dense)},
       {"relu_layer",
        make(type, {4, 3, 5}, [&](const Place& p) { return std::max(dense(p), 0.0); })},
       {"outer", make(type, {4, 3, 7, 5}, pairs)},
       {"outer_vectors", make(type, {5, 7}, vectors)},
       {"gram", make(type, {4, 7, 7}, gram)},
       {"gram_matrix", make(type, {5, 5}, gram_matrix)}},
      tolerance);
}

constexpr void features(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 5, 4>(g, "x");
  gram(x).named("gram");
}

template <class T>
constexpr void diagonals(tf::Graph& g) {
  auto v = tf::placeholder<T, tf::batch, 13>(g, "v");
  auto u = tf::placeholder<T, 1>(g, "u");
  auto none = tf::placeholder<T, 2, 0>(g, "none");
  auto m = tf::placeholder<T, tf::batch, 5, 5>(g, "m");
  auto wide = tf::placeholder<T, 3, 19>(g, "wide");
  auto tall = tf::placeholder<T, 2, 6, 4>(g, "tall");
  auto one = tf::placeholder<T, 1, 1>(g, "one");
  auto square = tf::placeholder<T, tf::batch, tf::batch>(g, "square");
  diag(v).named("diag");
  diag(u).named("diag_one");
  diag(none).named("diag_none");
  diag_part(m).named("part");
  diag_part(wide).named("part_wide");
  diag_part(tall).named("part_tall");
  diag_part(one).named("part_one");
  diag_part(square).named("part_square");
  trace(m).named("trace");
  trace(wide).named("trace_wide");
  trace(tall).named("trace_tall");
  trace(one).named("trace_one");
  trace(square).named("trace_square");
}

tf::HostTensor part(const tf::HostTensor& m) {
  std::vector<tf::Extent> extents(m.dims.extent, m.dims.extent + m.dims.rank - 2);
  extents.push_back(std::min(m.dims[m.dims.rank - 2], m.dims[m.dims.rank - 1]));
  return make(m.dtype, extents, [&](Place c) {
    c.push_back(c.back());
    return at(m, c);
  });
}
tf::HostTensor trace_of(const tf::HostTensor& m) {
  const tf::HostTensor diagonal = part(m);
  const std::int64_t n = diagonal.dims[diagonal.dims.rank - 1];
  std::vector<tf::Extent> extents(m.dims.extent, m.dims.extent + m.dims.rank - 2);
  return make(m.dtype, extents, [&](Place c) {
    double total = 0;
    c.push_back(0);
    for (std::int64_t i = 0; i < n; ++i) {
      c.back() = i;
      total += at(diagonal, c);
    }
    return total;
  });
}
tf::HostTensor diag_of(const tf::HostTensor& v) {
  std::vector<tf::Extent> extents(v.dims.extent, v.dims.extent + v.dims.rank);
  extents.push_back(extents.back());
  return make(v.dtype, extents, [&](Place c) {
    const bool on_diagonal = c.back() == c[c.size() - 2];
    c.pop_back();
    return on_diagonal ? at(v, c) : 0.0;
  });
}

template <class T>
void check_diagonals(double tolerance, bool special = false) {
  INFO(tf::name_of(tf::dtype_of<T>));
  tf::HostTensors f = test::random_feeds<diagonals<T>>(3);
  if (special) {  // off the diagonal it does not matter; on it, it stays
    f.at("wide").set(1, std::numeric_limits<double>::quiet_NaN());
    f.at("wide").set(25, std::numeric_limits<double>::infinity());
    f.at("wide").set(20, -std::numeric_limits<double>::infinity());
    f.at("m").set(6, std::numeric_limits<double>::quiet_NaN());
    f.at("v").set(2, std::numeric_limits<double>::quiet_NaN());
    f.at("v").set(4, std::numeric_limits<double>::infinity());
  }
  test::Outcome expected = {{"diag", diag_of(f.at("v"))},
                            {"diag_one", diag_of(f.at("u"))},
                            {"diag_none", diag_of(f.at("none"))}};
  for (const char* name : {"wide", "tall", "one", "square"}) {
    expected[std::string("part_") + name] = part(f.at(name));
    expected[std::string("trace_") + name] = trace_of(f.at(name));
  }
  expected["part"] = part(f.at("m"));
  expected["trace"] = trace_of(f.at("m"));
  test::check_values<diagonals<T>>(f, expected, tolerance);
}

/// Random shapes in graphs made at run time.
template <class F>
void check_random(int least_rank, const F& function,
                  tf::HostTensor (*expected)(const tf::HostTensor&)) {
  test::Random random(5);
  for (int i = 0; i < 40; ++i) {
    const tf::Dims dims = test::random_shape(random, least_rank + random.below(3));
    const tf::DType type = i % 2 == 0 ? tf::DType::float64 : tf::DType::int64;
    tf::Graph g;
    test::name(function(test::input(g, "x", type, dims)), "y");
    REQUIRE(tf::ir::verify(g).view() == "");
    const tf::HostTensor x = test::random_tensor(random, type, dims, -9, 9);
    test::check_interpreter(g, {{"x", x}}, {{"y", expected(x)}}, 1e-14);
  }
}

}  // namespace

TEST_CASE("bias_add: values") {
  check_layers<float>(1e-6);
  check_layers<double>(1e-14);
}
TEST_CASE("xw_plus_b: values") { check_layers<std::int32_t>(0); }
TEST_CASE("relu_layer: values") { check_layers<std::int64_t>(0); }
TEST_CASE("outer: values") { check_layers<tf::bfloat16>(2e-2); }
TEST_CASE("gram: values") {
  const tf::HostTensors f = test::random_feeds<features>(3);
  const tf::HostTensor& x = f.at("x");
  test::check_values<features>(f,
                               {{"gram", make(tf::DType::float32, {3, 4, 4},
                                              [&](const Place& p) {
                                                double total = 0;
                                                for (std::int64_t i = 0; i < 6; ++i) {
                                                  for (std::int64_t j = 0; j < 5; ++j) {
                                                    total += at(x, {p[0], i, j, p[1]}) *
                                                             at(x, {p[0], i, j, p[2]});
                                                  }
                                                }
                                                return total;
                                              })}},
                               1e-6);
}
TEST_CASE("diag: values") {
  check_diagonals<float>(1e-6, true);
  check_diagonals<double>(1e-14);
  check_random(1, [](const tf::AnyExpr& x) { return diag(x); }, diag_of);
}
TEST_CASE("diag_part: values") {
  check_diagonals<std::int32_t>(0);
  check_random(2, [](const tf::AnyExpr& x) { return diag_part(x); }, part);
}
TEST_CASE("trace: values") {
  check_diagonals<std::uint8_t>(0);
  check_random(2, [](const tf::AnyExpr& x) { return trace(x); }, trace_of);
}

TEST_CASE("bias_add: gradient") {
  test::check_gradients<tf::Shape<2, 3, 4>, tf::Shape<4>>(
      [](const auto& x, const auto& b) { return bias_add(x, b); });
}
TEST_CASE("xw_plus_b: gradient") {
  test::check_gradients<tf::Shape<2, 3, 4>, tf::Shape<4, 5>, tf::Shape<5>>(
      [](const auto& x, const auto& w, const auto& b) { return xw_plus_b(x, w, b); });
}
TEST_CASE("relu_layer: gradient") {
  test::check_gradients<tf::Shape<3, 4>, tf::Shape<4, 5>, tf::Shape<5>>(
      [](const auto& x, const auto& w, const auto& b) { return relu_layer(x, w, b); });
}
TEST_CASE("outer: gradient") {
  test::check_gradients<tf::Shape<3>, tf::Shape<4>>(
      [](const auto& a, const auto& b) { return outer(a, b); });
  test::check_gradients<tf::Shape<2, 3>, tf::Shape<4>>(
      [](const auto& a, const auto& b) { return outer(a, b); });
}
TEST_CASE("gram: gradient") {
  test::check_gradients<tf::Shape<2, 3, 2, 3>>([](const auto& x) { return gram(x); });
  test::check_gradients<tf::Shape<4, 3>>([](const auto& x) { return gram(x); });
}
TEST_CASE("diag: gradient") {
  test::check_gradients<tf::Shape<3>>([](const auto& v) { return diag(v); });
  test::check_gradients<tf::Shape<2, 3>>([](const auto& v) { return diag(v); });
}
TEST_CASE("diag_part: gradient") {
  test::check_gradients<tf::Shape<3, 4>>([](const auto& m) { return diag_part(m); });
  test::check_gradients<tf::Shape<2, 4, 3>>([](const auto& m) { return diag_part(m); });
}
TEST_CASE("trace: gradient") {
  test::check_gradients<tf::Shape<2, 3, 3>>([](const auto& m) { return trace(m); });
  test::check_gradients<tf::Shape<4, 3>>([](const auto& m) { return trace(m); });
}
