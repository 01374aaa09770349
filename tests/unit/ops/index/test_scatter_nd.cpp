// SPDX-License-Identifier: Apache-2.0

// tensor_scatter_nd_add and its neighbours, scatter_nd_add and its neighbours on variables, and
// assign_slice: against plain loops over coordinates.

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

/// element := f(element, value) for the slice at each row of coordinates, in order.
template <class F>
tf::HostTensor changed(tf::HostTensor x, const tf::HostTensor& indices,
                       const tf::HostTensor& values, const F& f) {
  const int last = indices.dims.rank - 1;
  const std::int64_t depth = indices.dims[last];
  std::int64_t inner = 1;
  for (int i = static_cast<int>(depth); i < x.dims.rank; ++i) inner *= x.dims[i];
  for (std::int64_t row = 0; row < indices.size() / depth; ++row) {
    std::int64_t slice = 0;
    for (int k = 0; k < depth; ++k) {
      slice = slice * x.dims[k] + static_cast<std::int64_t>(indices.value(row * depth + k));
    }
    for (std::int64_t r = 0; r < inner; ++r) {
      const std::int64_t at = slice * inner + r;
      x.set(at, f(x.value(at), values.value(values.size() == 1 ? 0 : row * inner + r)));
    }
  }
  return x;
}
constexpr auto plus = [](double a, double b) { return a + b; };
constexpr auto minus = [](double a, double b) { return a - b; };
constexpr auto second = [](double, double b) { return b; };
constexpr auto larger = [](double a, double b) { return std::max(a, b); };
constexpr auto smaller = [](double a, double b) { return std::min(a, b); };

constexpr void tensors(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 5, 37>(g, "x");
  auto rows = tf::placeholder<std::int32_t, tf::batch, 3>(g, "rows");
  auto bits = tf::placeholder<bool, 6>(g, "bits");
  auto pairs = tf::placeholder<std::int64_t, tf::batch, 2>(g, "pairs");
  auto ones = tf::placeholder<std::int32_t, 2, 3, 1>(g, "ones");
  auto updates = tf::placeholder<float, tf::batch, 37>(g, "updates");
  auto of_rows = tf::placeholder<std::int32_t, 2, 3, 3>(g, "of_rows");
  auto flags = tf::placeholder<bool, 2, 3>(g, "flags");
  tensor_scatter_nd_add(x, pairs, updates).named("add");
  tensor_scatter_nd_sub(x, pairs, updates).named("sub");
  tensor_scatter_nd_max(x, pairs, updates).named("max");
  tensor_scatter_nd_min(rows, ones, of_rows).named("min");
  tensor_scatter_nd_update(x, pairs, updates).named("update");
  tensor_scatter_nd_update(bits, ones, flags).named("update_bits");
  tf::scatter_nd<6>(ones, flags).named("scattered_bits");
}
tf::HostTensors feeds_of(std::int64_t batch) {
  test::Random random(static_cast<std::uint64_t>(batch));
  const auto numbers = [&](tf::DType type, const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, type, test::dims(extents), -9, 9);
  };
  const auto ints = [&](tf::DType type, const std::vector<tf::Extent>& extents, int below) {
    tf::HostTensor out = tf::host_tensor(type, test::dims(extents));
    for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, random.below(below));
    return out;
  };
  return {{"x", numbers(tf::DType::float32, {4, 5, 37})},
          {"rows", numbers(tf::DType::int32, {batch, 3})},
          {"bits", ints(tf::DType::boolean, {6}, 2)},
          {"pairs", ints(tf::DType::int64, {batch, 2}, 4)},
          {"ones",
           ints(tf::DType::int32, {2, 3, 1}, static_cast<int>(std::min<std::int64_t>(batch, 6)))},
          {"updates", numbers(tf::DType::float32, {batch, 37})},
          {"of_rows", numbers(tf::DType::int32, {2, 3, 3})},
          {"flags", ints(tf::DType::boolean, {2, 3}, 2)}};
}
void check(const std::vector<std::string>& names) {
  for (const std::int64_t batch : {1, 5, 50}) {
    CAPTURE(batch);
    const tf::HostTensors f = feeds_of(batch);
    const auto of = [&](const char* x, const char* indices, const char* values, const auto& fold) {
      return changed(f.at(x), f.at(indices), f.at(values), fold);
    };
    const auto either = [](double a, double b) { return a != 0 || b != 0 ? 1. : 0.; };
    const tf::HostTensor zeros = tf::host_tensor(tf::DType::boolean, test::dims({6}));
    const test::Outcome all = {
        {"add", of("x", "pairs", "updates", plus)},
        {"sub", of("x", "pairs", "updates", minus)},
        {"max", of("x", "pairs", "updates", larger)},
        {"min", of("rows", "ones", "of_rows", smaller)},
        {"update", of("x", "pairs", "updates", second)},
        {"scattered_bits", changed(zeros, f.at("ones"), f.at("flags"), either)}};
    test::Outcome expected;
    for (const std::string& name : names) expected[name] = all.at(name);
    if (batch > 5) expected["update_bits"] = of("bits", "ones", "flags", second);
    test::check_values<tensors>(f, expected, 1e-5);
  }
}

// Variables.

constexpr void effects(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 5, 37>(g, "x");
  auto pairs = tf::placeholder<std::int64_t, tf::batch, 2>(g, "pairs");
  auto updates = tf::placeholder<float, tf::batch, 37>(g, "updates");
  auto window = tf::placeholder<float, 2, 19>(g, "window");
  auto one = tf::placeholder<float>(g, "one");
  auto a = tf::variable<float, 4, 5, 37>(g, "a");
  auto s = tf::variable<float, 4, 5, 37>(g, "s");
  auto u = tf::variable<float, 4, 5, 37>(g, "u");
  auto w = tf::variable<float, 4, 5, 37>(g, "w");
  auto n = tf::variable<float, 4, 5, 37>(g, "n");
  const auto start =
      tf::group(assign(a, x), assign(s, x), assign(u, x), assign(w, x), assign(n, x));
  (start + scatter_nd_add(a, pairs, updates)).named("add");
  (start + scatter_nd_sub(s, pairs, 2.0f)).named("sub");
  (start + scatter_nd_update(u, pairs, updates)).named("update");
  (start + tf::assign_slice<tf::every(-2), 3, tf::from(0, 2)>(w, window)).named("slice");
  (start + tf::assign_slice<tf::ellipsis, tf::range(1, 3)>(n, one)).named("literal");
}

}  // namespace

TEST_CASE("tensor_scatter_nd_add: values") { check({"add"}); }
TEST_CASE("tensor_scatter_nd_sub: values") { check({"sub"}); }
TEST_CASE("tensor_scatter_nd_max: values") { check({"max"}); }
TEST_CASE("tensor_scatter_nd_min: values") {
  tf::HostTensors f = feeds_of(6);
  test::check_values<tensors>(
      f, {{"min", changed(f.at("rows"), f.at("ones"), f.at("of_rows"), smaller)}});
}
TEST_CASE("tensor_scatter_nd_update: values") { check({"update"}); }
TEST_CASE("scatter_nd: values of booleans") { check({"scattered_bits"}); }

namespace {

tf::HostTensors feeds_of_effects() {
  tf::HostTensors f = feeds_of(7);
  for (const char* other : {"rows", "bits", "ones", "of_rows", "flags"}) f.erase(other);
  test::Random random(5);
  f["window"] = test::random_tensor(random, tf::DType::float32, test::dims({2, 19}), -2, 2);
  f["one"] = test::floats({}, {0.5});
  return f;
}
/// What the effects make of the variables of these names.
void check_variables(const std::vector<std::string>& names) {
  for (const int threads : {1, 2}) {
    test::Kernels<effects> kernels(threads);
    const tf::HostTensors f = feeds_of_effects();
    tf::Graph graph;
    effects(graph);
    REQUIRE(tf::ir::verify(graph).view() == "");
    tf::Interpreter interpreter(graph);
    interpreter.variables = kernels.values();
    interpreter.run({"add", "sub", "update", "slice", "literal"}, f);
    const test::Outcome got = kernels.run(f);
    const tf::HostTensor& x = f.at("x");
    tf::HostTensor window = x;
    tf::HostTensor literal = x;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::vector<std::int64_t> c = test::coordinates(i, x.dims);
      if (c[1] == 3 && c[2] % 2 == 0 && c[0] % 2 == 1) {
        window[i] = f.at("window")[(3 - c[0]) / 2 * 19 + c[2] / 2];
      }
      if (c[2] == 1 || c[2] == 2) literal.set(i, 0.5);
    }
    const tf::HostTensor& pairs = f.at("pairs");
    const tf::HostTensors expected = {{"a", changed(x, pairs, f.at("updates"), plus)},
                                      {"s", changed(x, pairs, test::floats({}, {2}), minus)},
                                      {"u", changed(x, pairs, f.at("updates"), second)},
                                      {"w", window},
                                      {"n", literal}};
    for (const std::string& name : names) {
      test::check_close(name, got.at(name), expected.at(name), 1e-5);
      test::check_close(name, interpreter.variables.at(name), expected.at(name), 1e-5);
    }
  }
}

}  // namespace

TEST_CASE("scatter_nd_add: values") { check_variables({"a"}); }
TEST_CASE("scatter_nd_sub: values") { check_variables({"s"}); }
TEST_CASE("scatter_nd_update: values") { check_variables({"u"}); }
TEST_CASE("assign_slice: values") { check_variables({"w", "n"}); }
TEST_CASE("scatter_nd_add, scatter_nd_sub, scatter_nd_update, assign_slice: any parts, no memory") {
  test::check_parts(test::tested<effects>(), feeds_of_effects());
  test::check_allocations<effects>(feeds_of_effects());
}

namespace {

/// Rows of coordinates, of which the last one repeats the first.
template <tf::TypedExpr X>
auto rows_of(const X& x) {
  const tf::AnyExpr i = tf::index_along(x.graph(), test::dims({4, 1}), 0);
  return tf::Expr<std::int32_t, tf::Shape<4, 1>>(x.graph(), (i - i / 3 * 3).id);
}

/// What a run says of coordinates that are not in a (3,2) tensor.
template <class F>
std::string message_of(const F& f) {
  tf::Graph g;
  auto x = tf::placeholder<float, 3, 2>(g, "x");
  auto i = tf::placeholder<std::int32_t, 1, 2>(g, "i");
  auto u = tf::placeholder<float, 1>(g, "u");
  f(x, i, u).named("y");
  tf::Interpreter interpreter(g);
  interpreter.variables["v"] = test::floats({3, 2}, {0, 0, 0, 0, 0, 0});
  try {
    interpreter.run({"y"}, {{"x", test::floats({3, 2}, {1, 2, 3, 4, 5, 6})},
                            {"i", test::ints({1, 2}, {1, 2})},
                            {"u", test::floats({1}, {1})}});
  } catch (const tf::Error& e) {
    return e.what();
  }
  return "";
}
auto variable_of(tf::Graph& g) { return tf::variable<float, 3, 2>(g, "v"); }
#define CHECK_ERROR(name, call)                                  \
  CHECK(std::string_view(message_of([](auto x, auto i, auto u) { \
          return tf::call;                                       \
        })).ends_with(name ": index 2 at [0, 1] is not in [0, 2)"))

}  // namespace

TEST_CASE("tensor_scatter_nd_add: gradient") {
  test::check_gradients<tf::Shape<5, 2>, tf::Shape<4, 2>>(
      [](auto x, auto u) { return square(tensor_scatter_nd_add(x, rows_of(x), u)); });
}
TEST_CASE("tensor_scatter_nd_sub: gradient") {
  test::check_gradients<tf::Shape<5, 2>, tf::Shape<4, 2>>(
      [](auto x, auto u) { return square(tensor_scatter_nd_sub(x, rows_of(x), u)); });
}
TEST_CASE("tensor_scatter_nd_max: gradient") {
  test::check_gradients<tf::Shape<5, 2>, tf::Shape<4, 2>>(
      [](auto x, auto u) { return square(tensor_scatter_nd_max(x, rows_of(x), u)); });
}
TEST_CASE("tensor_scatter_nd_min: gradient") {
  test::check_gradients<tf::Shape<5, 2>, tf::Shape<4, 2>>(
      [](auto x, auto u) { return square(tensor_scatter_nd_min(x, rows_of(x), u)); });
}
TEST_CASE("tensor_scatter_nd_update: gradient") {
  // Nothing flows to the first update, which the last one replaces.
  test::check_gradients<tf::Shape<5, 2>, tf::Shape<4, 2>>(
      [](auto x, auto u) { return square(tensor_scatter_nd_update(x, rows_of(x), u)); });
}

TEST_CASE("tensor_scatter_nd_add: errors") {
  CHECK_ERROR("tensor_scatter_nd_add", tensor_scatter_nd_add(x, i, u));
}
TEST_CASE("tensor_scatter_nd_sub: errors") {
  CHECK_ERROR("tensor_scatter_nd_sub", tensor_scatter_nd_sub(x, i, u));
}
TEST_CASE("tensor_scatter_nd_max: errors") {
  CHECK_ERROR("tensor_scatter_nd_max", tensor_scatter_nd_max(x, i, u));
}
TEST_CASE("tensor_scatter_nd_min: errors") {
  CHECK_ERROR("tensor_scatter_nd_min", tensor_scatter_nd_min(x, i, u));
}
TEST_CASE("tensor_scatter_nd_update: errors") {
  CHECK_ERROR("tensor_scatter_nd_update", tensor_scatter_nd_update(x, i, u));
}
TEST_CASE("scatter_nd_add: errors") {
  CHECK_ERROR("scatter_nd_add", scatter_nd_add(variable_of(x.graph()), i, u));
}
TEST_CASE("scatter_nd_sub: errors") {
  CHECK_ERROR("scatter_nd_sub", scatter_nd_sub(variable_of(x.graph()), i, u));
}
TEST_CASE("scatter_nd_update: errors") {
  CHECK_ERROR("scatter_nd_update", scatter_nd_update(variable_of(x.graph()), i, u));
}
