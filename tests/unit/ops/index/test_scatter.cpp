// SPDX-License-Identifier: Apache-2.0

// scatter_add, scatter_sub, scatter_mul, scatter_update, their order among other effects, and
// sparse gradients: which slices a step of an optimiser changes.

#include "support/check_values.hpp"
#include "typeflow/lower/cost.hpp"

namespace {

namespace tf = typeflow;
using tf::ir::records;

/// slice := f(slice, value) for each index in order.
template <class F>
tf::HostTensor changed(tf::HostTensor variable, const tf::HostTensor& indices,
                       const tf::HostTensor& values, const F& f) {
  const std::int64_t inner = variable.size() / std::max<std::int64_t>(1, variable.dims[0]);
  for (std::int64_t i = 0; i < indices.size(); ++i) {
    for (std::int64_t r = 0; r < inner; ++r) {
      const std::int64_t place = static_cast<std::int64_t>(indices.value(i)) * inner + r;
      variable.set(place, f(variable.value(place), values.value(i * inner + r)));
    }
  }
  return variable;
}
constexpr auto plus = [](double a, double b) { return a + b; };
constexpr auto minus = [](double a, double b) { return a - b; };
constexpr auto times = [](double a, double b) { return a * b; };
constexpr auto second = [](double, double b) { return b; };

/// A model's variables before a run of all it names, and after, by kernels and interpreter.
struct Run {
  tf::HostTensors before;
  tf::HostTensors feeds;
  test::Outcome kernels;
  tf::HostTensors interpreted;
};
template <auto Model, tf::Mode M = tf::training>
Run run(std::int64_t batch, int threads = 1) {
  test::Kernels<Model, M> kernels(threads);
  Run out;
  out.feeds = test::random_feeds(test::Kernels<Model, M>::Program::view, batch, 7);
  out.before = kernels.values();
  tf::Graph graph(M);
  Model(graph);
  REQUIRE(tf::ir::verify(graph).view() == "");
  tf::Interpreter interpreter(graph);
  interpreter.variables = out.before;
  std::vector<std::string> effects;
  for (const tf::ir::Name& name : records(graph).names) {
    if (name.kind == tf::ir::NameKind::effect) {
      effects.emplace_back(records(graph).text_of(name).view());
    }
  }
  interpreter.run(effects, out.feeds);
  out.interpreted = interpreter.variables;
  out.kernels = kernels.run(out.feeds);
  return out;
}

constexpr auto start = tf::uniform(-2, 2);

constexpr void each(tf::Graph& g) {
  auto a = tf::variable<float, 10, 37>(g, "a", start);
  auto s = tf::variable<double, 10>(g, "s", start);
  auto m = tf::variable<float, 10, 3, 5>(g, "m", start);
  auto u = tf::variable<double, 10, 4>(g, "u", start);
  auto l = tf::variable<float, 10, 4>(g, "l", start);
  auto i = tf::placeholder<std::int32_t, tf::batch>(g, "i");
  auto pairs = tf::placeholder<std::int64_t, tf::batch, 2>(g, "pairs");
  auto bytes = tf::placeholder<std::uint8_t, 3>(g, "bytes");
  auto one = tf::placeholder<std::int16_t>(g, "one");
  auto rows = tf::placeholder<float, tf::batch, 37>(g, "rows");
  auto numbers = tf::placeholder<double, tf::batch, 2>(g, "numbers");
  auto cubes = tf::placeholder<float, 3, 3, 5>(g, "cubes");
  auto row = tf::placeholder<double, 4>(g, "row");
  scatter_add(a, i, rows).named("add");
  scatter_sub(s, pairs, numbers).named("sub");
  scatter_mul(m, bytes, cubes).named("mul");
  scatter_update(u, one, row).named("update");
  scatter_update(l, i, 0.25f).named("literal");
}

template <class T>
constexpr void of_type(tf::Graph& g) {
  auto v = tf::variable<T, 10, 3>(g, "v", tf::ones(), false);
  auto w = tf::variable<T, 10, 3>(g, "w", tf::ones(), false);
  auto i = tf::placeholder<std::int32_t, 6>(g, "i");
  auto x = tf::placeholder<T, 6, 3>(g, "x");
  scatter_add(v, i, x).named("add");
  scatter_update(w, i, x).named("update");
}
template <class T>
void check_type(double tolerance) {
  const Run r = run<of_type<T>>(1);
  const tf::HostTensor& i = r.feeds.at("i");
  const tf::HostTensor& x = r.feeds.at("x");
  const tf::HostTensor v = changed(r.before.at("v"), i, x, plus);
  const tf::HostTensor w = changed(r.before.at("w"), i, x, second);
  test::check_close("v", r.kernels.at("v"), v, tolerance);
  test::check_close("v", r.interpreted.at("v"), v, tolerance);
  test::check_close("w", r.kernels.at("w"), w, 0);
  test::check_close("w", r.interpreted.at("w"), w, 0);
}
constexpr void of_bool(tf::Graph& g) {
  auto v = tf::variable<bool, 10, 3>(g, "v", tf::zeros(), false);
  auto i = tf::placeholder<std::int32_t, 6>(g, "i");
  auto x = tf::placeholder<bool, 6, 3>(g, "x");
  scatter_update(v, i, x).named("update");
}

// 16 bits.

template <class T>
constexpr void updates_of(tf::Graph& g, tf::Label scope) {
  const tf::Scope in(g, scope);
  auto i = tf::placeholder<std::int32_t, tf::batch>(g, "i");
  auto x = tf::placeholder<T, tf::batch, 70>(g, "x");
  auto factor = tf::placeholder<T>(g, "factor");
  const auto zeros = [&](tf::Label name) {
    return tf::variable<T, 5, 70>(g, name, tf::zeros(), false);
  };
  auto product = tf::variable<T, 5, 70>(g, "product", tf::ones(), false);
  scatter_add(zeros("sum"), i, x).named("add");
  scatter_sub(zeros("difference"), i, x).named("sub");
  scatter_mul(product, i, factor).named("mul");
  auto rows = tf::reshape<tf::batch, 1>(i);
  scatter_nd_add(zeros("nd"), rows, x).named("nd_add");
  tensor_scatter_nd_sub(tf::zeros<T, 5, 70>(g), rows, x).named("tensor");
  // One gather, and two.
  auto once = tf::variable<T, 5, 70>(g, "once", tf::zeros());
  auto twice = tf::variable<T, 5, 70>(g, "twice", tf::zeros());
  auto dense = tf::variable<T, 3>(g, "dense", tf::ones());
  auto loss =
      sum(gather(once, i) * x) + sum(gather(twice, i) * x) + sum(gather(twice, i) * x) + sum(dense);
  tf::GradientDescent{.rate = 0.01}.minimize(loss).named("train");
}
constexpr void halves(tf::Graph& g) {
  updates_of<tf::bfloat16>(g, "b");
  updates_of<tf::float16>(g, "f");
}

// Order.

constexpr void ordered(tf::Graph& g) {
  auto v = tf::variable<float, 10, 8>(g, "v", start);
  auto i = tf::placeholder<std::int32_t, tf::batch>(g, "i");
  auto j = tf::placeholder<std::int32_t, tf::batch>(g, "j");
  auto x = tf::placeholder<float, tf::batch, 8>(g, "x");
  auto old_rows = gather(v, i);
  old_rows.named("old_rows");
  auto add = scatter_add(v, i, x);
  after(add, v.read()).named("after_add");
  auto doubled = assign(v, v.read() * 2);
  auto update = scatter_update(v, j, x + old_rows);
  auto sub = scatter_sub(v, i, gather(v.read(), j));
  (add + doubled + update + sub).named("all");
  after(sub, v.read()).named("after_all");
  after(sub, v * 1.5f).named("start_value");
  (after(sub, sum<0>(x)) + v).named("start_value_late");
  after(add + sub, gather(v, j)).named("start_rows_late");
}
/// What `ordered` makes of v.
tf::HostTensor in_order(const Run& r) {
  const tf::HostTensor& v = r.before.at("v");
  const tf::HostTensor& x = r.feeds.at("x");
  const tf::HostTensor& i = r.feeds.at("i");
  const tf::HostTensor& j = r.feeds.at("j");
  const auto rows_of = [](const tf::HostTensor& t, const tf::HostTensor& at) {
    tf::HostTensor rows = tf::host_tensor(t.dtype, test::dims({at.size(), 8}));
    for (std::int64_t k = 0; k < rows.size(); ++k) {
      rows[k] = t[static_cast<std::int64_t>(at.value(k / 8)) * 8 + k % 8];
    }
    return rows;
  };
  const tf::HostTensor added = changed(v, i, x, plus);
  const tf::HostTensor doubled = test::map(added, [](double e) { return 2 * e; });
  const tf::HostTensor updated = changed(doubled, j, test::zip(x, rows_of(v, i), plus), second);
  return changed(updated, i, rows_of(updated, j), minus);
}

/// Updates of the start value next to assignments that other kernels compute.
constexpr void mixed(tf::Graph& g) {
  auto v = tf::variable<float, 10, 8>(g, "v", start);
  auto w = tf::variable<float, 10, 8>(g, "w", start);
  auto n = tf::variable<std::int32_t, 4>(g, "n", tf::ones(), false);
  auto i = tf::placeholder<std::int32_t, tf::batch>(g, "i");
  auto x = tf::placeholder<float, tf::batch, 8>(g, "x");
  auto deep = exp(tanh(v)) * mean<0>(x);
  scatter_add(w, i, x).named("first");
  auto seen = w.read() + 1;
  assign(w, deep + v).named("second");
  scatter_mul(v, i, gather(seen, i)).named("third");
  assign(v, v + deep).named("fourth");
  scatter_sub(v, i, 0.5f).named("fifth");
  scatter_add(n, n, n).named("by_itself");  // indices and values are the start value
  auto t = tf::variable<float, 8, 4>(g, "t", start);
  scatter_add(t, n, 1.0f).named("sixth");
  scatter_update(w, n, tf::reshape<4, 8>(t)).named("seventh");  // a view of the start value
}

constexpr void itself(tf::Graph& g) {
  auto n = tf::variable<std::int32_t, 4>(g, "n", tf::ones(), false);
  scatter_add(n, n, n).named("by_itself");
}

// Sparse gradients.

template <int Kind>
constexpr void embeddings(tf::Graph& g) {
  auto table = tf::variable<float, 1000, 16>(g, "table", start);
  auto words = tf::placeholder<std::int32_t, tf::batch>(g, "words");
  auto fixed = tf::placeholder<std::int64_t, 5>(g, "fixed");
  auto goal = tf::placeholder<float, 16>(g, "goal");
  auto loss = sum(square(gather(table, words) - goal));
  if (Kind > 0) loss = loss + sum(tanh(gather(table, fixed)) * goal);
  if (Kind > 1) loss = loss + sum(square(table)) * 0.001f;
  const auto gradient = gradients(loss, table);
  const int parts = slices_of(gradient.any()).size();
  if (parts != (Kind == 0 ? 1 : Kind == 1 ? 2 : 0)) {
    records(g).fail(tf::Message{} << "the gradient is a sum of " << parts << " slices");
  }
  if (Kind > 2) gradient.named("gradient");
  tf::GradientDescent{.rate = 0.1}.minimize(loss).named("train");
}
/// table - 0.1 * gradient, by hand.
tf::HostTensor step(int kind, const tf::HostTensor& table, const tf::HostTensors& feeds,
                    tf::HostTensor* of = nullptr) {
  std::vector<double> d(static_cast<std::size_t>(table.size()));
  const auto read = [&](const tf::HostTensor& ids, const auto& f) {
    for (std::int64_t k = 0; k < ids.size(); ++k) {
      for (std::int64_t c = 0; c < 16; ++c) {
        const std::int64_t place = static_cast<std::int64_t>(ids.value(k)) * 16 + c;
        d[static_cast<std::size_t>(place)] += f(table.value(place), feeds.at("goal").value(c));
      }
    }
  };
  read(feeds.at("words"), [](double x, double goal) { return 2 * (x - goal); });
  if (kind > 0) {
    read(feeds.at("fixed"),
         [](double x, double goal) { return (1 - std::tanh(x) * std::tanh(x)) * goal; });
  }
  tf::HostTensor out = table;
  tf::HostTensor gradient = table;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    const double all = d[static_cast<std::size_t>(i)] + (kind > 1 ? 0.002 * table.value(i) : 0);
    gradient.set(i, all);
    out.set(i, table.value(i) - 0.1 * all);
  }
  if (of != nullptr) *of = gradient;
  return out;
}

template <int Kind>
void check_step(int batch, int threads) {
  CAPTURE(Kind);
  CAPTURE(batch);
  const Run r = run<embeddings<Kind>>(batch, threads);
  tf::HostTensor gradient;
  const tf::HostTensor expected = step(Kind, r.before.at("table"), r.feeds, &gradient);
  test::check_close("table", r.kernels.at("table"), expected, 1e-5);
  test::check_close("table", r.interpreted.at("table"), expected, 1e-5);
  if (Kind > 2) test::check_close("gradient", r.kernels.at("gradient"), gradient, 1e-5);
  if (Kind > 1) return;
  // Rows that were not read have the same bits.
  std::vector<bool> used(1000);
  for (const tf::Number& n : r.feeds.at("words").elements) {
    used[static_cast<std::size_t>(n.integer)] = true;
  }
  for (const tf::Number& n : r.feeds.at("fixed").elements) {
    used[static_cast<std::size_t>(n.integer)] =
        Kind > 0 || used[static_cast<std::size_t>(n.integer)];
  }
  int changed_rows = 0;
  for (std::int64_t row = 0; row < 1000; ++row) {
    bool same = true;
    for (std::int64_t c = 0; c < 16; ++c) {
      same = same &&
             r.kernels.at("table")[row * 16 + c].real == r.before.at("table")[row * 16 + c].real;
    }
    changed_rows += !same;
    if (!used[static_cast<std::size_t>(row)]) CHECK(same);
  }
  CHECK(changed_rows > 0);
}

/// Steps of a program that read or write something as large as the table.
template <auto Model>
std::vector<std::string> large_steps(std::int64_t size) {
  const tf::ir::ProgramView& v = tf::ir::Lowering<Model, tf::training>::view;
  std::vector<std::string> out;
  for (const tf::ir::Step& s : v.steps) {
    bool large = false;
    for (int i = 0; i < s.operands.count; ++i) {
      const tf::Id slot = v.operands[s.operands.first + i];
      large = large || tf::count_of(v.type_of(slot).dims).resolve(3) >= size;
    }
    if (large) out.emplace_back(s.label.operation.view());
  }
  std::sort(out.begin(), out.end());
  return out;
}

constexpr void mistakes(tf::Graph& g) {
  auto v = tf::variable<float, 5, 2>(g, "v", tf::ones());
  auto i = tf::placeholder<std::int32_t, 2, 2>(g, "i");
  scatter_add(v, i, 1.0f).named("add");
  scatter_sub(v, i, 1.0f).named("sub");
  scatter_mul(v, i, 2.0f).named("mul");
  scatter_update(v, i, 7.0f).named("update");
}
template <tf::Text Name>
void check_error(const std::string& sentence) {
  tf::Variables variables;
  tf::Session<mistakes> session(variables);
  const std::vector<std::int32_t> i = {0, 1, 2, 5};
  std::string what;
  try {
    session.run<Name>(tf::feed<"i">(i));
  } catch (const tf::Error& e) {
    what = e.what();
  }
  CAPTURE(what);
  CHECK(std::string_view(what).ends_with(sentence));
  const auto v = session.run<"v">();
  for (const float x : v) CHECK(x == 1);  // nothing was changed
  tf::Graph graph;
  mistakes(graph);
  tf::Interpreter interpreter(graph);
  interpreter.variables = {{"v", test::floats({5, 2}, std::vector<double>(10, 1))}};
  what.clear();
  try {
    interpreter.run(std::vector<std::string>(1, Name.characters),
                    {{"i", test::ints({2, 2}, {0, 1, 2, 5})}});
  } catch (const tf::Error& e) {
    what = e.what();
  }
  CAPTURE(what);
  CHECK(std::string_view(what).ends_with(sentence));
}

}  // namespace

TEST_CASE("scatter_add: values") {
  for (const int batch : {0, 1, 20, 300}) {
    const Run r = run<each>(batch, batch == 300 ? 2 : 1);
    const tf::HostTensor expected =
        changed(r.before.at("a"), r.feeds.at("i"), r.feeds.at("rows"), plus);
    test::check_close("a", r.kernels.at("a"), expected, 1e-5);
    test::check_close("a", r.interpreted.at("a"), expected, 1e-5);
  }
  check_type<std::int8_t>(0);
  check_type<std::uint64_t>(0);
  check_type<tf::float16>(2e-3);
  check_type<tf::bfloat16>(2e-2);
  check_type<std::complex<double>>(1e-14);
}

TEST_CASE("scatter_sub: values") {
  for (const int batch : {0, 1, 20, 300}) {
    const Run r = run<each>(batch);
    const tf::HostTensor expected =
        changed(r.before.at("s"), r.feeds.at("pairs"), r.feeds.at("numbers"), minus);
    test::check_close("s", r.kernels.at("s"), expected, 1e-13);
    test::check_close("s", r.interpreted.at("s"), expected, 1e-13);
  }
}

TEST_CASE("scatter_mul: values") {
  const Run r = run<each>(3);
  const tf::HostTensor expected =
      changed(r.before.at("m"), r.feeds.at("bytes"), r.feeds.at("cubes"), times);
  test::check_close("m", r.kernels.at("m"), expected, 1e-6);
  test::check_close("m", r.interpreted.at("m"), expected, 1e-6);
}

TEST_CASE("scatter_update: values") {
  for (const int batch : {0, 1, 20}) {
    const Run r = run<each>(batch);
    const tf::HostTensor u =
        changed(r.before.at("u"), r.feeds.at("one"), r.feeds.at("row"), second);
    test::check_close("u", r.kernels.at("u"), u, 0);
    test::check_close("u", r.interpreted.at("u"), u, 0);
    tf::HostTensor quarters = tf::host_tensor(tf::DType::float32, test::dims({batch, 4}));
    for (std::int64_t k = 0; k < quarters.size(); ++k) quarters.set(k, 0.25);
    const tf::HostTensor l = changed(r.before.at("l"), r.feeds.at("i"), quarters, second);
    test::check_close("l", r.kernels.at("l"), l, 0);
    test::check_close("l", r.interpreted.at("l"), l, 0);
  }
  const Run r = run<of_bool>(1);
  const tf::HostTensor v = changed(r.before.at("v"), r.feeds.at("i"), r.feeds.at("x"), second);
  test::check_close("v", r.kernels.at("v"), v, 0);
}

TEST_CASE("variables of 16 bits take all values of an index in float, and round once") {
  constexpr std::int64_t count = 1000;
  tf::HostTensors feeds;
  for (const bool wide : {false, true}) {
    const tf::DType type = wide ? tf::DType::bfloat16 : tf::DType::float16;
    const std::string scope = wide ? "b/" : "f/";
    tf::HostTensor i = tf::host_tensor(tf::DType::int32, test::dims({count}));
    tf::HostTensor x = tf::host_tensor(type, test::dims({count, 70}));
    for (std::int64_t k = 0; k < count; ++k) i.set(k, k % 4 == 0 ? 3 : 1);
    for (std::int64_t k = 0; k < x.size(); ++k) x.set(k, 1);
    feeds.insert({{scope + "i", i}, {scope + "x", x}});
    feeds[scope + "factor"] = test::tensor(type, {}, {1 + 0x1p-7});
  }
  tf::Graph graph;
  halves(graph);
  tf::Interpreter interpreter(graph);
  test::Kernels<halves> kernels(2);
  interpreter.variables = kernels.values();
  std::vector<std::string> effects;
  for (const char* const name : {"add", "sub", "mul", "nd_add", "train"}) {
    for (const char* const scope : {"b/", "f/"}) effects.push_back(std::string(scope) + name);
  }
  interpreter.run(effects, feeds);
  const test::Outcome got = kernels.run(feeds);
  // The 750 values of row 1 and the 250 of row 3, in float.
  const auto folded = [](float start, const auto& f) {
    std::vector<double> rows(5, double{start});
    for (const int row : {1, 3}) {
      float y = start;
      for (int k = 0; k < (row == 1 ? 750 : 250); ++k) y = f(y);
      rows[static_cast<std::size_t>(row)] = static_cast<double>(y);
    }
    return rows;
  };
  const auto check = [&](const std::string& name, const std::vector<double>& rows,
                         bool variable = true) {
    for (const std::string scope : {"b/", "f/"}) {
      const tf::HostTensor& kernel = got.at(scope + name);
      tf::HostTensor expected = kernel;
      for (std::int64_t k = 0; k < expected.size(); ++k) {
        expected.set(k, rows[static_cast<std::size_t>(k / 70)]);
      }
      test::check_close(scope + name, kernel, expected, 0);
      if (variable) {
        test::check_close(scope + name, interpreter.variables.at(scope + name), expected, 0);
      }
    }
  };
  check("sum", folded(0, [](float y) { return y + 1; }));
  check("difference", folded(0, [](float y) { return y - 1; }));
  check("product", folded(1, [](float y) { return y * (1 + 0x1p-7f); }));
  check("nd", folded(0, [](float y) { return y + 1; }));
  check("tensor", folded(0, [](float y) { return y - 1; }), false);
  check("once", folded(0, [](float y) { return y - 0.01f; }));
  check("twice", folded(0, [](float y) { return y - 0.01f - 0.01f; }));
  for (const std::string scope : {"b/", "f/"}) {
    const tf::HostTensor& dense = got.at(scope + "dense");
    tf::HostTensor expected = dense;
    for (std::int64_t k = 0; k < 3; ++k) expected.set(k, static_cast<double>(1 - 0.01f));
    test::check_close("dense", dense, expected, 0);
    test::check_close("dense", interpreter.variables.at(scope + "dense"), expected, 0);
  }
}

TEST_CASE("updates happen in the model's order, and handles mean the start of the run") {
  for (const int batch : {1, 7, 40}) {
    CAPTURE(batch);
    const auto check = [&](const Run& r) {
      const tf::HostTensor expected = in_order(r);
      const tf::HostTensor& v = r.before.at("v");
      test::check_close("v", r.kernels.at("v"), expected, 1e-5);
      test::check_close("v", r.interpreted.at("v"), expected, 1e-5);
      test::check_close("after_all", r.kernels.at("after_all"), expected, 1e-5);
      test::check_close("after_add", r.kernels.at("after_add"),
                        changed(v, r.feeds.at("i"), r.feeds.at("x"), plus), 1e-5);
      test::check_close("start_value", r.kernels.at("start_value"),
                        test::map(v, [](double x) { return 1.5 * x; }), 1e-6);
    };
    check(run<ordered>(batch));
    check(run<ordered>(batch, 2));
    check(run<ordered, tf::debug>(batch));
    test::check_against_interpreter<ordered>(batch);
    test::check_against_interpreter<ordered, tf::debug>(batch);
    test::check_against_interpreter<mixed>(batch, 1e-5);
    test::check_against_interpreter<mixed, tf::debug>(batch, 1e-5);
  }
  test::check_threads<ordered>(50);
  test::check_threads<mixed>(50);
}

TEST_CASE("a session executes the updates that a run names, and shows the old value") {
  tf::Variables variables;
  tf::Session<ordered> session(variables);
  const std::vector<std::int32_t> i = {3, 3};
  const std::vector<std::int32_t> j = {4, 3};
  const std::vector<float> x(16, 1.0f);
  const auto before = session.run<"v">();
  // A value that is fetched executes nothing.
  const auto rows = session.run<"old_rows">(tf::feed<"i">(i));
  CHECK(rows(1, 5) == before(3, 5));
  CHECK(session.run<"v">() == before);
  // The effect that a value follows, and no other; the variable is shown as it was.
  const auto [old, now] = session.run<"v", "after_add">(tf::feed<"i">(i), tf::feed<"x">(x));
  CHECK(old == before);
  CHECK(now(3, 5) == before(3, 5) + 1 + 1);
  CHECK(now(4, 5) == before(4, 5));
  CHECK(session.run<"v">() == now);
  const auto [start_value, after_all] =
      session.run<"start_value", "after_all">(tf::feed<"i">(i), tf::feed<"j">(j), tf::feed<"x">(x));
  CHECK(start_value(2, 2) == now(2, 2) * 1.5f);
  CHECK(session.run<"v">() == after_all);
}

TEST_CASE("an update by the variable itself takes its start value") {
  tf::Variables variables;
  tf::Session<itself> session(variables);
  session.run<"by_itself">();
  const auto n = session.run<"n">();
  CHECK(std::vector<std::int32_t>(n.begin(), n.end()) == std::vector<std::int32_t>{1, 5, 1, 1});
}

TEST_CASE("a step with a sparse gradient changes the rows that were read") {
  for (const int batch : {1, 2, 100}) {
    check_step<0>(batch, 1);
    check_step<1>(batch, 1);
    check_step<1>(batch, 2);
    check_step<2>(batch, 1);
    check_step<3>(batch, 1);
  }
  test::check_threads<embeddings<1>>(60);
  test::check_against_interpreter<embeddings<1>, tf::debug>(9, 1e-5);
}

TEST_CASE("a step with a sparse gradient makes nothing of the table's size") {
  CHECK(large_steps<embeddings<1>>(16000) ==
        std::vector<std::string>{"Gather", "Gather", "ScatterSub", "ScatterSub"});
  // With a part that is dense, the gradient is.
  CHECK(large_steps<embeddings<2>>(16000).size() > 3);
  // What an update costs goes by what it is given: 3 indices of 4 bytes and 3 rows, which it reads,
  // as it does the table's, and writes.
  const tf::ir::ProgramView& v = tf::ir::Lowering<embeddings<0>, tf::training>::view;
  bool found = false;
  for (const tf::ir::Step& s : v.steps) {
    if (s.label.operation.view() != "ScatterSub") continue;
    found = true;
    const tf::ir::StepCost cost = tf::ir::cost_of(v, s, 3);
    CHECK(cost.bytes == 3 * 4 + 3 * 3 * 16 * 4);
    CHECK(cost.flops == 3 * 16);
  }
  CHECK(found);
}

TEST_CASE("map_values keeps a gradient sparse") {
  tf::Graph g;
  auto table = tf::placeholder<double, 6, 2>(g, "table");
  auto i = tf::placeholder<std::int32_t, 4>(g, "i");
  auto j = tf::placeholder<std::int64_t, 2, 1>(g, "j");
  auto w = tf::placeholder<double>(g, "w");
  auto loss = sum(square(gather(table, i))) * w + sum(exp(embedding_lookup(table, j)));
  const auto d = gradients(loss, table);
  const auto half = [](const tf::AnyExpr& x) { return x * 0.5; };
  CHECK(slices_of(d.any()).size() == 2);
  const tf::AnyExpr halved = map_values(d.any(), half);
  const tf::Pool<tf::Slices> slices = slices_of(halved);
  REQUIRE(slices.size() == 2);
  // The one from the last gather arrives first.
  const bool swapped = records(g).dims_of(slices[0].indices).rank == 2;
  CHECK(records(g).dims_of(slices[swapped ? 1 : 0].values) == test::dims({4, 2}));
  CHECK(records(g).dims_of(slices[swapped ? 0 : 1].values) == test::dims({2, 1, 2}));
  const tf::AnyExpr dense = gradients(sum(square(table)), table).any();
  CHECK(slices_of(dense).empty());
  CHECK(slices_of(map_values(dense, half)).empty());
  CHECK(slices_of(d.any() + dense).empty());
  test::name(halved, "halved");
  test::name(d.any() * 0.5, "expected");
  CHECK(tf::ir::verify(g).view() == "");
  test::Random random(4);
  const tf::HostTensors got = tf::interpret(
      g, {{"table", test::random_tensor(random, tf::DType::float64, test::dims({6, 2}), -2, 2)},
          {"i", test::ints({4}, {5, 1, 5, 0})},
          {"j", test::tensor(tf::DType::int64, {2, 1}, {1, 3})},
          {"w", test::doubles({}, {0.75})}});
  CHECK(test::difference(got.at("halved"), got.at("expected")) < 1e-15);
}

TEST_CASE("scatter_add: errors") {
  check_error<"add">("scatter_add: index 5 at [1, 1] is not in [0, 5)");
}
TEST_CASE("scatter_sub: errors") {
  check_error<"sub">("scatter_sub: index 5 at [1, 1] is not in [0, 5)");
}
TEST_CASE("scatter_mul: errors") {
  check_error<"mul">("scatter_mul: index 5 at [1, 1] is not in [0, 5)");
}
TEST_CASE("scatter_update: errors") {
  check_error<"update">("scatter_update: index 5 at [1, 1] is not in [0, 5)");
}

TEST_CASE("the verifier wants a variable as the first input of an update") {
  tf::Graph g;
  const tf::AnyExpr x = test::input(g, "x", tf::DType::float32, test::dims({4, 2}));
  const tf::AnyExpr i = test::input(g, "i", tf::DType::int32, test::dims({4}));
  CHECK(tf::ir::verify(g).view() == "");
  tf::detail::scatter_node<tf::ops::ScatterAdd>(x, i, x, tf::Indexing::scatter_add);
  CHECK(tf::ir::verify(g).view().starts_with("ScatterAdd: its first input is no variable"));
}
