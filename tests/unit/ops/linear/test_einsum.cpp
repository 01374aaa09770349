// SPDX-License-Identifier: Apache-2.0

// einsum against nested loops over all labels: known equations in kernels, random ones in graphs
// made at run time; and what the usual equations are lowered to.

#include <cstdint>
#include <string>
#include <string_view>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::detail::Equation;
using tf::ir::records;

/// The element of x where the labels have these values.
double at(const tf::HostTensor& x, std::string_view labels, const std::int64_t* value) {
  std::int64_t i = 0;
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    i = i * x.dims.extent[axis] + value[static_cast<int>(labels[axis])];
  }
  return x.value(i);
}

/// The sum over all values of all labels; of one operand, if b is null.
tf::HostTensor reference(const tf::HostTensor& a, std::string_view of_a, const tf::HostTensor* b,
                         std::string_view of_b, std::string_view result) {
  std::int64_t extent[128] = {};
  std::string all;
  const auto add = [&](const tf::HostTensor& x, std::string_view labels) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const char c = labels[i];
      extent[static_cast<int>(c)] = x.dims.extent[i];
      if (all.find(c) == std::string::npos) all += c;
    }
  };
  add(a, of_a);
  if (b != nullptr) add(*b, of_b);
  tf::Dims shape{};
  for (const char c : result) shape.append(extent[static_cast<int>(c)]);
  tf::HostTensor y = tf::host_tensor(a.dtype, shape);
  std::vector<double> total(static_cast<std::size_t>(y.size()));
  std::int64_t count = 1;
  for (const char c : all) count *= extent[static_cast<int>(c)];
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t value[128] = {};
    std::int64_t rest = n;
    for (const char c : all) {
      value[static_cast<int>(c)] = rest % extent[static_cast<int>(c)];
      rest /= extent[static_cast<int>(c)];
    }
    std::int64_t i = 0;
    for (const char c : result) i = i * extent[static_cast<int>(c)] + value[static_cast<int>(c)];
    total[static_cast<std::size_t>(i)] +=
        at(a, of_a, value) * (b != nullptr ? at(*b, of_b, value) : 1);
  }
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, total[static_cast<std::size_t>(i)]);
  return y;
}

template <class T>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, tf::batch, 3, 4>(g, "a");
  auto b = tf::placeholder<T, tf::batch, 4, 5>(g, "b");
  auto c = tf::placeholder<T, 3, 4>(g, "c");
  auto d = tf::placeholder<T, 4, 3, 2>(g, "d");
  auto v = tf::placeholder<T, 4>(g, "v");
  tf::einsum<"bij,bjk->bik">(a, b).named("batched");
  tf::einsum<"bij, bjk -> kbi">(a, b).named("moved");
  tf::einsum<"bij,bjk->bki">(a, b).named("swapped");
  tf::einsum<"bij,kj->bik">(a, c).named("transposed");
  tf::einsum<"bij,jik->bk">(a, d).named("two_summed");
  tf::einsum<"bij,jkl->bikl">(a, d).named("two_columns");
  tf::einsum<"bij,bjk->ik">(a, b).named("summed_batch");
  tf::einsum<"bij,j">(a, v).named("vector");
  tf::einsum<"j,bij->ib">(v, a).named("vector_first");
  tf::einsum<"i,j->ji">(v, v).named("outer");
  tf::einsum<"j,j->">(v, v).named("dot");
  tf::einsum<"bij,ij->ij">(a, c).named("sum_of_products");
  tf::einsum<"bij,bij->jbi">(a, a).named("elementwise");
  tf::einsum<"ZaY,Yaz">(a, d).named("implicit");
}

template <class T>
constexpr void single(tf::Graph& g) {
  auto a = tf::placeholder<T, tf::batch, 3, 4>(g, "a");
  auto s = tf::placeholder<T, 6, 6>(g, "s");
  auto t = tf::placeholder<T, 3, tf::batch, 3, tf::batch>(g, "t");
  auto x = tf::placeholder<T>(g, "x");
  tf::einsum<"bij->jbi">(a).named("transposed");
  tf::einsum<"bij->j">(a).named("columns");
  tf::einsum<"bij->">(a).named("all");
  tf::einsum<"bij">(a).named("same");
  tf::einsum<"ii->i">(s).named("diagonal");
  tf::einsum<"ii">(s).named("trace");
  tf::einsum<"ibib->bi">(t).named("diagonals");
  tf::einsum<"->">(x).named("scalar");
  tf::einsum<"ii,ij->j">(s, s).named("with_diagonal");
}

template <class T>
void check_products(double tolerance) {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensors f = test::random_feeds<products<T>>(3, 4, -3, 3);
  const auto y = [&](const char* a, const char* of_a, const char* b, const char* of_b,
                     const char* result) {
    return reference(f.at(a), of_a, &f.at(b), of_b, result);
  };
  test::check_values<products<T>>(f,
                                  {{"batched", y("a", "bij", "b", "bjk", "bik")},
                                   {"moved", y("a", "bij", "b", "bjk", "kbi")},
                                   {"swapped", y("a", "bij", "b", "bjk", "bki")},
                                   {"transposed", y("a", "bij", "c", "kj", "bik")},
                                   {"two_summed", y("a", "bij", "d", "jik", "bk")},
                                   {"two_columns", y("a", "bij", "d", "jkl", "bikl")},
                                   {"summed_batch", y("a", "bij", "b", "bjk", "ik")},
                                   {"vector", y("a", "bij", "v", "j", "bi")},
                                   {"vector_first", y("v", "j", "a", "bij", "ib")},
                                   {"outer", y("v", "i", "v", "j", "ji")},
                                   {"dot", y("v", "j", "v", "j", "")},
                                   {"sum_of_products", y("a", "bij", "c", "ij", "ij")},
                                   {"elementwise", y("a", "bij", "a", "bij", "jbi")},
                                   {"implicit", y("a", "ZaY", "d", "Yaz", "Zz")}},
                                  tolerance);
}

template <class T>
void check_single(double tolerance) {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensors f = test::random_feeds<single<T>>(5);
  const auto y = [&](const char* a, const char* of_a, const char* result) {
    return reference(f.at(a), of_a, nullptr, "", result);
  };
  test::check_values<single<T>>(
      f,
      {{"transposed", y("a", "bij", "jbi")},
       {"columns", y("a", "bij", "j")},
       {"all", y("a", "bij", "")},
       {"same", f.at("a")},
       {"diagonal", y("s", "ii", "i")},
       {"trace", y("s", "ii", "")},
       {"diagonals", y("t", "ibib", "bi")},
       {"scalar", f.at("x")},
       {"with_diagonal", reference(f.at("s"), "ii", &f.at("s"), "ij", "j")}},
      tolerance);
}

std::string random_labels(test::Random& random, int most) {
  std::string labels;
  for (int i = random.below(5) == 0 ? 0 : 2 + random.below(most - 1); i > 0; --i) {
    const char c = static_cast<char>('a' + random.below(6));
    if (labels.find(c) == std::string::npos || random.chance(0.1)) labels += c;
  }
  return labels;
}

/// How often the equation's lowering uses an operation.
template <class O, tf::Text E, class... X>
int count(const X&... x) {
  tf::Graph& g = tf::detail::graph_of(x...);
  const int first = records(g).nodes.size();
  const auto y = tf::einsum<E>(x...);
  CHECK(y.id() >= 0);
  int found = 0;
  for (int i = first; i < records(g).nodes.size(); ++i) found += tf::is<O>(*records(g).nodes[i].op);
  return found;
}

}  // namespace

TEST_CASE("einsum: values") {
  SUBCASE("products") {
    check_products<float>(1e-6);
    check_products<double>(1e-14);
    check_products<std::int32_t>(0);
  }
  SUBCASE("one operand") {
    check_single<float>(1e-6);
    check_single<std::int64_t>(0);
  }
  SUBCASE("random equations and shapes") {
    test::Random random(11);
    int products = 0;
    for (int n = 0; n < 1000; ++n) {
      const int operands = random.chance(0.3) ? 1 : 2;
      std::string labels[2] = {random_labels(random, 5), ""};
      if (operands == 2) labels[1] = random_labels(random, 5);
      std::string result;
      for (char c = 'a'; c < 'g'; ++c) {
        if ((labels[0] + labels[1]).find(c) == std::string::npos || random.chance(0.5)) continue;
        result.insert(result.begin() + random.below(static_cast<int>(result.size()) + 1), c);
      }
      const std::string text =
          labels[0] + (operands == 2 ? "," + labels[1] : std::string()) + "->" + result;
      INFO(text);
      const Equation e = tf::detail::parse_equation(text);
      REQUIRE(e.is_valid);
      REQUIRE(e.operands == operands);
      tf::Extent extent[6] = {};
      for (tf::Extent& x : extent) x = random.chance(0.05) ? 0 : 1 + random.below(3);
      const tf::DType type = n % 4 == 0 ? tf::DType::int32 : tf::DType::float64;
      tf::Graph g;
      tf::HostTensors feeds;
      tf::AnyExpr x[2];
      for (int i = 0; i < operands; ++i) {
        tf::Dims shape{};
        for (const char c : labels[i]) shape.append(extent[c - 'a']);
        const std::string name = i == 0 ? "a" : "b";
        x[i] = test::input(g, i == 0 ? tf::Label("a") : tf::Label("b"), type, shape);
        feeds[name] = test::random_tensor(random, type, shape, -5, 5);
      }
      test::name(
          operands == 1 ? tf::detail::einsum_of(e, x[0]) : tf::detail::einsum_of(e, x[0], x[1]),
          "y");
      REQUIRE(tf::ir::verify(g).view() == "");
      for (const tf::ir::Node& node : records(g).nodes)
        products += tf::is<tf::ops::MatMul>(*node.op);
      const tf::HostTensor expected = reference(
          feeds.at("a"), labels[0], operands == 2 ? &feeds.at("b") : nullptr, labels[1], result);
      test::check_interpreter(g, feeds, {{"y", expected}}, 1e-13);
    }
    CHECK(products > 30);
  }
  SUBCASE("two batches in one axis of a matrix: a product and a sum") {
    tf::Graph g;
    auto a = tf::placeholder<double, tf::batch, tf::batch, 3>(g, "a");
    auto b = tf::placeholder<double, tf::batch, tf::batch, 4>(g, "b");
    tf::einsum<"ijk,ijl->kl">(a, b).named("y");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::Random random(1);
    const tf::HostTensors feeds = {
        {"a", test::random_tensor(random, tf::DType::float64, test::dims({2, 2, 3}), -2, 2)},
        {"b", test::random_tensor(random, tf::DType::float64, test::dims({2, 2, 4}), -2, 2)}};
    test::check_interpreter(
        g, feeds, {{"y", reference(feeds.at("a"), "ijk", &feeds.at("b"), "ijl", "kl")}}, 1e-14);
  }
}

TEST_CASE("einsum transposes nothing where the product's flags do") {
  tf::Graph g;
  auto a = tf::placeholder<float, tf::batch, 3, 4>(g, "a");
  auto b = tf::placeholder<float, tf::batch, 4, 5>(g, "b");
  auto w = tf::placeholder<float, 4, 5>(g, "w");
  auto q = tf::placeholder<float, tf::batch, 7, 3, 4>(g, "q");
  auto k = tf::placeholder<float, tf::batch, 7, 6, 4>(g, "k");
  using Product = tf::ops::MatMul;
  using Transpose = tf::ops::Transpose;
  CHECK(count<Product, "bij,bjk->bik">(a, b) == 1);
  CHECK(count<Transpose, "bij,bjk->bik">(a, b) == 0);
  CHECK(count<Product, "bij,bjk->bki">(a, b) == 1);
  CHECK(count<Transpose, "bij,bjk->bki">(a, b) == 0);
  CHECK(count<Transpose, "bij,bil->bjl">(a, a) == 0);
  CHECK(count<tf::ops::Reshape, "bij,jk->bik">(a, w) == 0);
  CHECK(count<Transpose, "bij,jk->bik">(a, w) == 0);
  CHECK(count<Transpose, "jk,bij->bik">(w, a) == 0);
  CHECK(count<Product, "bhqd,bhkd->bhqk">(q, k) == 1);
  CHECK(count<Transpose, "bhqd,bhkd->bhqk">(q, k) == 0);
  CHECK(count<Product, "bij,bij->">(a, a) == 0);
  CHECK(count<Product, "ij,j->i">(w, tf::placeholder<float, 5>(g, "v")) == 0);
}

TEST_CASE("einsum: gradient") {
  using A = tf::Shape<2, 3, 4>;
  test::check_gradients<A, tf::Shape<2, 4, 5>>(
      [](const auto& a, const auto& b) { return tf::einsum<"bij,bjk->kbi">(a, b); });
  test::check_gradients<A, tf::Shape<4, 5>>(
      [](const auto& a, const auto& b) { return tf::einsum<"bij,jk->bik">(a, b); });
  test::check_gradients<A, tf::Shape<3, 2>>(
      [](const auto& a, const auto& b) { return tf::einsum<"bij,ib->j">(a, b); });
  test::check_gradients<tf::Shape<3, 3, 2>>([](const auto& a) { return tf::einsum<"iij->ji">(a); });
}
