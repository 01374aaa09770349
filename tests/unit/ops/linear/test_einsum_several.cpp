// SPDX-License-Identifier: Apache-2.0

// einsum of several operands and with ellipses: against nested loops over all labels, and in which
// order the products are made.

#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::ir::records;

/// The sum over all values of all labels. Axes of extent 1 are repeated.
tf::HostTensor reference(const std::vector<tf::HostTensor>& x, const std::vector<std::string>& of_x,
                         const std::string& result) {
  std::int64_t extent[128] = {};
  std::string all;
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t i = 0; i < of_x[k].size(); ++i) {
      const char c = of_x[k][i];
      if (all.find(c) == std::string::npos) all += c;
      std::int64_t& e = extent[static_cast<int>(c)];
      if (e <= 1) e = x[k].dims[static_cast<int>(i)];
    }
  }
  std::int64_t count = 1;
  for (const char c : all) count *= extent[static_cast<int>(c)];
  tf::Dims shape{};
  for (const char c : result) shape.append(extent[static_cast<int>(c)]);
  tf::HostTensor y = tf::host_tensor(x[0].dtype, shape);
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t value[128] = {};
    std::int64_t rest = n;
    for (const char c : all) {
      value[static_cast<int>(c)] = rest % extent[static_cast<int>(c)];
      rest /= extent[static_cast<int>(c)];
    }
    double product = 1;
    for (std::size_t k = 0; k < x.size(); ++k) {
      std::int64_t at = 0;
      for (std::size_t i = 0; i < of_x[k].size(); ++i) {
        const std::int64_t e = x[k].dims[static_cast<int>(i)];
        at = at * e + (e == 1 ? 0 : value[static_cast<int>(of_x[k][i])]);
      }
      product *= x[k].value(at);
    }
    std::int64_t at = 0;
    for (const char c : result) at = at * extent[static_cast<int>(c)] + value[static_cast<int>(c)];
    y.set(at, y.value(at) + product);
  }
  return y;
}

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 3, 4>(g, "x");
  auto a = tf::placeholder<double, 4, 5>(g, "a");
  auto b = tf::placeholder<double, 5, 2>(g, "b");
  auto v = tf::placeholder<double, 2>(g, "v");
  auto m = tf::placeholder<double, 1, 4, 6>(g, "m");
  tf::einsum<"...ij,jk,kl->...il">(x, a, b).named("chain");
  tf::einsum<"bij, jk, kl, l">(x, a, b, v).named("implicit");
  tf::einsum<"...ij,...jk->...ik">(x, m).named("broadcast");
  tf::einsum<"i...->...">(x).named("sums");
  tf::einsum<"...ij">(x).named("same");
}

/// The shapes of the matrix products that an equation is lowered to.
template <class... X>
std::vector<tf::Dims> products(const char* text, const X&... shape) {
  tf::Graph g;
  const tf::detail::Equation e = tf::detail::parse_equation(text);
  REQUIRE(e.is_valid);
  const auto source = [&](const tf::Dims& dims) {
    return add_node(g, tf::ops::Placeholder{{}, 0, 0, 0}, nullptr, 0,
                    tf::Type(tf::DType::float32, dims));
  };
  tf::detail::einsum_of(e, source(shape)...);
  std::vector<tf::Dims> found;
  for (const tf::ir::Node& node : records(g).nodes) {
    if (tf::is<tf::ops::MatMul>(*node.op)) found.push_back(records(g).dims_of(node.outputs.first));
  }
  return found;
}

}  // namespace

TEST_CASE("einsum: values of several operands and with ellipses") {
  test::Random random(3);
  const auto tensor = [&](const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, tf::DType::float64, test::dims(extents), -2, 2);
  };
  const tf::HostTensors f = {{"x", tensor({2, 3, 4})},
                             {"a", tensor({4, 5})},
                             {"b", tensor({5, 2})},
                             {"v", tensor({2})},
                             {"m", tensor({1, 4, 6})}};
  const auto of = [&](const std::vector<std::string>& names, const std::vector<std::string>& labels,
                      const std::string& result) {
    std::vector<tf::HostTensor> x;
    for (const std::string& name : names) x.push_back(f.at(name));
    return reference(x, labels, result);
  };
  test::check_values<model>(f,
                            {{"chain", of({"x", "a", "b"}, {"bij", "jk", "kl"}, "bil")},
                             {"implicit", of({"x", "a", "b", "v"}, {"bij", "jk", "kl", "l"}, "bi")},
                             {"broadcast", of({"x", "m"}, {"bij", "bjk"}, "bik")},
                             {"sums", of({"x"}, {"ijk"}, "jk")},
                             {"same", of({"x"}, {"bij"}, "bij")}},
                            1e-14);
  // Random equations and shapes of three and four operands, interpreted.
  for (int n = 0; n < 300; ++n) {
    const int operands = 3 + random.below(2);
    tf::Extent extent[5] = {};
    for (tf::Extent& e : extent) e = random.chance(0.05) ? 0 : 1 + random.below(3);
    std::vector<std::string> labels;
    std::vector<tf::HostTensor> x;
    std::string all;
    std::string text;
    for (int i = 0; i < operands; ++i) {
      std::string own;
      for (int k = random.below(4); k > 0; --k) own += static_cast<char>('a' + random.below(5));
      if (random.chance(0.9)) own.erase(std::unique(own.begin(), own.end()), own.end());
      tf::Dims shape{};
      for (const char c : own) shape.append(extent[c - 'a']);
      x.push_back(test::random_tensor(random, tf::DType::float64, shape, -3, 3));
      labels.push_back(own);
      all += own;
      text += (i == 0 ? "" : ",") + own;
    }
    std::string result;
    for (char c = 'a'; c < 'f'; ++c) {
      if (all.find(c) != std::string::npos && random.chance(0.5)) result.insert(0, 1, c);
    }
    text += "->" + result;
    INFO(text);
    const tf::detail::Equation e = tf::detail::parse_equation(text);
    REQUIRE(e.is_valid);
    tf::Graph g;
    const auto input = [&](tf::Label name, int i) {
      return test::input(g, name, tf::DType::float64, x[static_cast<std::size_t>(i)].dims);
    };
    const tf::AnyExpr p = input("p", 0);
    const tf::AnyExpr q = input("q", 1);
    const tf::AnyExpr r = input("r", 2);
    tf::HostTensors feeds = {{"p", x[0]}, {"q", x[1]}, {"r", x[2]}};
    if (operands == 3) {
      test::name(tf::detail::einsum_of(e, p, q, r), "y");
    } else {
      test::name(tf::detail::einsum_of(e, p, q, r, input("s", 3)), "y");
      feeds["s"] = x[3];
    }
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, feeds, {{"y", reference(x, labels, result)}}, 1e-13);
  }
}

TEST_CASE("einsum multiplies in the order of the fewest multiplications") {
  const tf::Dims tall = test::dims({100, 3});
  const tf::Dims wide = test::dims({3, 100});
  // (tall wide) tall takes 60,000 multiplications, tall (wide tall) 1800.
  CHECK(products("ij,jk,kl->il", tall, wide, tall) ==
        std::vector{test::dims({3, 3}), test::dims({100, 3})});
  CHECK(products("ij,jk,kl->il", wide, tall, wide) ==
        std::vector{test::dims({3, 3}), test::dims({3, 100})});
  // Cormen et al., Introduction to Algorithms, 15.2: ((A1 (A2 A3)) ((A4 A5) A6)).
  CHECK(products("ab,bc,cd,de,ef,fg->ag", test::dims({30, 35}), test::dims({35, 15}),
                 test::dims({15, 5}), test::dims({5, 10}), test::dims({10, 20}),
                 test::dims({20, 25})) == std::vector{test::dims({35, 5}), test::dims({30, 5}),
                                                      test::dims({5, 20}), test::dims({5, 25}),
                                                      test::dims({30, 25})});
}

TEST_CASE("einsum: gradient of several operands and with ellipses") {
  test::check_gradients<tf::Shape<2, 3>, tf::Shape<3, 4>, tf::Shape<4>>(
      [](auto a, auto b, auto c) { return tf::einsum<"ij,jk,k->ki">(a, b, c); });
  test::check_gradients<tf::Shape<2, 3, 4>, tf::Shape<1, 4, 2>>(
      [](auto a, auto b) { return tf::einsum<"...ij,...jk->...ki">(a, b); });
}
