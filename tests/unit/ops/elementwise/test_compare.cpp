// SPDX-License-Identifier: Apache-2.0

// Comparisons, logical operations and where, against plain C++ on every pair of elements.

#include "support/check_pairs.hpp"

namespace {

namespace tf = typeflow;

struct Comparisons {
  template <class T, class A, class B>
  static constexpr void model(tf::Graph& g) {
    auto a = test::input<T, A>(g, "a");
    auto b = test::input<T, B>(g, "b");
    equal(a, b).named("equal");
    not_equal(a, b).named("not_equal");
    less(a, b).named("less");
    less_equal(a, b).named("less_equal");
    greater(a, b).named("greater");
    greater_equal(a, b).named("greater_equal");
    where(less(a, 1), b, a).named("where");
  }
};

template <class A, class B>
constexpr void logic(tf::Graph& g) {
  auto a = test::input<bool, A>(g, "a");
  auto b = test::input<bool, B>(g, "b");
  logical_and(a, b).named("logical_and");
  logical_or(a, b).named("logical_or");
  logical_xor(a, b).named("logical_xor");
  logical_not(a).named("logical_not");
  equal(a, b).named("equal");
  not_equal(a, b).named("not_equal");
  where(a, b, a).named("where");
}

tf::HostTensor truths(test::Random& random, const tf::Dims& shape) {
  tf::HostTensor x = tf::host_tensor(tf::DType::boolean, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, random.below(2));
  return x;
}

/// Of boolean tensors.
template <class Reference, class Call>
void check_logic(const std::string& name, const Reference& reference, const Call& call) {
  using tf::Shape;
  test::Random random(1);
  const auto check = [&]<class A, class B>(A, B, const tf::Dims& of_a, const tf::Dims& of_b) {
    const auto a = truths(random, of_a);
    const auto b = truths(random, of_b);
    test::check_result<logic<A, B>>(name, {{"a", a}, {"b", b}}, test::pairs<bool>(a, b, reference),
                                    0);
  };
  const auto in_shapes = [&]<class A, class B>(A, B) { check(A{}, B{}, A::dims, B::dims); };
  in_shapes(Shape<2, 3, 37>{}, Shape<>{});
  in_shapes(Shape<2, 3, 37>{}, Shape<3, 37>{});
  in_shapes(Shape<5, 4, 3>{}, Shape<4, 1>{});
  in_shapes(Shape<3, 0, 2>{}, Shape<>{});
  in_shapes(Shape<>{}, Shape<>{});
  for (const std::int64_t batch : {0, 1, 33}) {
    check(Shape<tf::batch, 5>{}, Shape<5>{}, test::dims({batch, 5}), test::dims({5}));
  }
  for (int i = 0; i < 20; ++i) {
    const tf::Dims shape = test::random_shape(random, random.below(5));
    const auto a = truths(random, shape);
    const auto b = truths(random, shape);
    tf::Graph g;
    test::name(call(test::input(g, "a", a.dtype, shape), test::input(g, "b", a.dtype, shape)), "y");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_ulps("y", tf::Interpreter(g).run({"y"}, {{"a", a}, {"b", b}})[0],
                     test::pairs<bool>(a, b, reference), 0);
  }
}

}  // namespace

TEST_CASE("equal: values") {
  test::check_pairs<Comparisons>(
      "equal", [](auto a, auto b) { return a == b; }, [](auto a, auto b) { return equal(a, b); },
      0);
}
TEST_CASE("equal: gradient") {  // none: what it chooses between has
  test::check_pair_gradients([](auto a, auto b) { return where(equal(a, b), a * b, 2 * b + a); });
}
TEST_CASE("not_equal: values") {
  test::check_pairs<Comparisons>(
      "not_equal", [](auto a, auto b) { return a != b; },
      [](auto a, auto b) { return not_equal(a, b); }, 0);
}
TEST_CASE("not_equal: gradient") {  // none: what it chooses between has
  test::check_pair_gradients(
      [](auto a, auto b) { return where(not_equal(a, b), a * b, 2 * b + a); });
}
TEST_CASE("less: values") {
  test::check_pairs<Comparisons>(
      "less", [](auto a, auto b) { return a < b; }, [](auto a, auto b) { return less(a, b); }, 0);
}
TEST_CASE("less: gradient") {  // none: what it chooses between has
  test::check_pair_gradients([](auto a, auto b) { return where(less(a, b), a * b, 2 * b + a); });
}
TEST_CASE("less_equal: values") {
  test::check_pairs<Comparisons>(
      "less_equal", [](auto a, auto b) { return a <= b; },
      [](auto a, auto b) { return less_equal(a, b); }, 0);
}
TEST_CASE("less_equal: gradient") {  // none: what it chooses between has
  test::check_pair_gradients(
      [](auto a, auto b) { return where(less_equal(a, b), a * b, 2 * b + a); });
}
TEST_CASE("greater: values") {
  test::check_pairs<Comparisons>(
      "greater", [](auto a, auto b) { return a > b; }, [](auto a, auto b) { return greater(a, b); },
      0);
}
TEST_CASE("greater: gradient") {  // none: what it chooses between has
  test::check_pair_gradients([](auto a, auto b) { return where(greater(a, b), a * b, 2 * b + a); });
}
TEST_CASE("greater_equal: values") {
  test::check_pairs<Comparisons>(
      "greater_equal", [](auto a, auto b) { return a >= b; },
      [](auto a, auto b) { return greater_equal(a, b); }, 0);
}
TEST_CASE("greater_equal: gradient") {  // none: what it chooses between has
  test::check_pair_gradients(
      [](auto a, auto b) { return where(greater_equal(a, b), a * b, 2 * b + a); });
}

TEST_CASE("equal and not_equal take booleans") {
  const auto call = [](auto a, auto b) { return equal(a, b); };
  check_logic("equal", [](bool a, bool b) { return a == b; }, call);
  const auto differ = [](auto a, auto b) { return not_equal(a, b); };
  check_logic("not_equal", [](bool a, bool b) { return a != b; }, differ);
}
TEST_CASE("logical_and: values") {
  const auto call = [](auto a, auto b) { return logical_and(a, b); };
  check_logic("logical_and", [](bool a, bool b) { return a && b; }, call);
}
TEST_CASE("logical_or: values") {
  const auto call = [](auto a, auto b) { return logical_or(a, b); };
  check_logic("logical_or", [](bool a, bool b) { return a || b; }, call);
}
TEST_CASE("logical_xor: values") {
  const auto call = [](auto a, auto b) { return logical_xor(a, b); };
  check_logic("logical_xor", [](bool a, bool b) { return (a || b) && !(a && b); }, call);
}
TEST_CASE("logical_not: values") {
  check_logic(
      "logical_not", [](bool a, bool) { return !a; }, [](auto a, auto) { return logical_not(a); });
}
TEST_CASE("where: values") {
  test::check_pairs<Comparisons>(
      "where", []<class T>(T a, T b) { return a < T(1) ? b : a; },
      [](auto a, auto b) { return where(less(a, 1), b, a); }, 0);
  const auto call = [](auto a, auto b) { return where(a, b, a); };
  check_logic("where", [](bool a, bool b) { return a ? b : a; }, call);
}

TEST_CASE("where: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return where(less(a, 0), a * a, b * b * b); });
}
TEST_CASE("logical_and: gradient") {
  test::check_pair_gradients(
      [](auto a, auto b) { return where(logical_and(less(a, 0), less(b, 0)), a * b, a + b); });
}
TEST_CASE("logical_or: gradient") {
  test::check_pair_gradients(
      [](auto a, auto b) { return where(logical_or(less(a, 0), less(b, 0)), a * b, a + b); });
}
TEST_CASE("logical_not: gradient") {
  test::check_pair_gradients(
      [](auto a, auto b) { return where(logical_not(less(a, 0)), a * b, a + b); });
}
