// SPDX-License-Identifier: Apache-2.0

// slice, select, split, split_sizes, unstack and reverse, against elements picked one by one.

#include <array>
#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::ir::records;
using Place = std::vector<std::int64_t>;

/// Elements of several sizes, every kind of slice.
template <class T>
constexpr void elements_of(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, 3, 5, 7>(g, {"x", i});
  tf::slice<tf::whole, 3, tf::range(0, 5, 2)>(x).named({"mixed", i});
  tf::slice<tf::from(-2), tf::every(-1), tf::range(-1, 1, -2)>(x).named({"backwards", i});
  tf::select<-1>(x, -2).named({"select", i});
  tf::reverse<0, 2>(x).named({"reverse", i});
  auto parts = tf::split_sizes<1, 2, 0, 3>(x);
  std::get<0>(parts).named({"first", i});
  std::get<2>(parts).named({"last", i});
}
constexpr void elements(tf::Graph& g) {
  test::for_each_element_type([&]<class T>(T, int i) { elements_of<T>(g, i); });
}

void check_elements() {
  const tf::HostTensors feeds = test::random_feeds<elements>();
  test::Outcome expected;
  for (int i = 0; i < tf::dtype_count; ++i) {
    const std::string of = "_" + std::to_string(i);
    const tf::HostTensor& x = feeds.at("x" + of);
    const auto pick = [&](const std::vector<tf::Extent>& shape, const auto& f) {
      return test::pick(x, test::dims(shape), f);
    };
    const auto mixed = [](const Place& c) { return Place{c[0], 3, 2 * c[1]}; };
    const auto backwards = [](const Place& c) { return Place{1 + c[0], 4 - c[1], 6 - 2 * c[2]}; };
    const auto selected = [](const Place& c) { return Place{c[0], c[1], 5}; };
    const auto reversed = [](const Place& c) { return Place{2 - c[0], c[1], 6 - c[2]}; };
    const auto last = [](const Place& c) { return Place{c[0], c[1] + 2, c[2]}; };
    expected.merge(test::Outcome({{"mixed" + of, pick({3, 3}, mixed)},
                                  {"backwards" + of, pick({2, 5, 3}, backwards)},
                                  {"select" + of, pick({3, 5}, selected)},
                                  {"reverse" + of, pick({3, 5, 7}, reversed)},
                                  {"first" + of, pick({3, 2, 7}, [](const Place& c) { return c; })},
                                  {"last" + of, pick({3, 3, 7}, last)}}));
  }
  test::check_values<elements>(feeds, expected);
}

/// Scalars, axes of extent 1 and 0, lengths that no vector divides, more than one thread's share.
constexpr void shapes(tf::Graph& g) {
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto line = tf::placeholder<float, 131>(g, "line");
  auto thin = tf::placeholder<float, 5, 1, 3>(g, "thin");
  auto empty = tf::placeholder<float, 3, 0, 2>(g, "empty");
  auto large = tf::placeholder<float, 150, 3, 257>(g, "large");
  tf::slice<>(scalar).named("scalar_all");
  tf::slice<tf::new_axis>(scalar).named("scalar_new");
  tf::slice<tf::range(3, 128, 3)>(line).named("line_step");
  tf::slice<-1>(line).named("line_last");
  tf::slice<tf::range(7, 7)>(line).named("line_nothing");
  tf::slice<tf::every(-1)>(line).named("line_back");
  tf::slice<tf::every(2), tf::new_axis, 0>(thin).named("thin_new");
  tf::slice<tf::range(1, 3)>(empty).named("empty_part");
  tf::slice<tf::every(-1), tf::whole, 1>(empty).named("empty_back");
  tf::slice<tf::from(1), 1, tf::range(1, 256)>(large).named("large_part");
  tf::slice<tf::range(148, 2, -3), tf::every(-2), tf::every(5)>(large).named("large_steps");
  tf::reverse<1>(large).named("large_reverse");
  tf::slice<7, tf::ellipsis, tf::from(250), tf::new_axis>(large).named("large_ellipsis");
  tf::slice<tf::ellipsis, 1, 2, 3>(large).named("large_no_ellipsis");
}

constexpr void batches(tf::Graph& g) {
  auto x = tf::placeholder<float, 4 * tf::batch, 6>(g, "x");
  auto y = tf::placeholder<double, 3, tf::batch, 2, tf::batch>(g, "y");
  auto four = tf::split<4, 0>(x);
  auto two = tf::split<2, 0>(x);
  four[1].named("quarter");
  two[1].named("half");
  auto [first, rest] = tf::split_sizes<0, tf::batch, 3 * tf::batch>(x);
  first.named("first");
  rest.named("rest");
  tf::slice<tf::every(-1), tf::from(-1, -2)>(x).named("back");
  tf::slice<tf::range(1, 4)>(x).named("from_start");
  tf::select<0>(x, 2).named("third");
  tf::slice<1, tf::whole, tf::every(-1)>(y).named("second");
  tf::unstack<2>(y)[1].named("unstacked");
}

/// A loop over time.
constexpr auto walk(const auto& x) {
  auto h = tf::select<1>(x, 0);
  for (int t = 1; t < 9; ++t) h = h * 0.5f + tf::select<1>(x, t);
  return h;
}
constexpr void loop(tf::Graph& g) {
  walk(tf::placeholder<float, tf::batch, 9, 5>(g, "x")).named("h");
}
constexpr void loop_gradient(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 9, 5>(g, "x");
  tf::gradients(sum(square(walk(x))), x).named("dx");
}

tf::SliceWindow random_window(test::Random& random, const tf::Dims& x, tf::Dims* size) {
  *size = x;
  tf::SliceWindow window = tf::window_at_start(x);
  for (int i = 0; i < x.rank; ++i) {
    const int n = static_cast<int>(x.extent[i]);
    if (n == 0) continue;
    window.begin[i] = random.below(n);
    window.step[i] = 1 + random.below(3);
    size->extent[i] = random.below((n - window.begin[i] + window.step[i] - 1) / window.step[i] + 1);
  }
  return window;
}

constexpr void slice_model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 2>(g, "x");
  tf::slice<tf::range(1, 4)>(x).named("y");
}

constexpr void split_model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, 8>(g, "x");
  const auto parts = tf::split<4, -1>(x);
  for (int i = 0; i < 4; ++i) parts[static_cast<std::size_t>(i)].named({"part", i});
  tf::split<1, 0>(x)[0].named("all");
  tf::concat<1>(tf::split<2, 1>(x)).named("again");
}

constexpr void split_sizes_model(tf::Graph& g) {
  auto x = tf::placeholder<std::int32_t, 6, 3>(g, "x");
  const auto parts = tf::split_sizes<0, 1, 3, 0, 2>(x);
  std::get<0>(parts).named("a");
  std::get<1>(parts).named("b");
  std::get<2>(parts).named("c");
  std::get<3>(parts).named("d");
}

constexpr void unstack_model(tf::Graph& g) {
  auto x = tf::placeholder<double, 4, 3, 2>(g, "x");
  const auto rows = tf::unstack<1>(x);
  static_assert(rows.size() == 3);
  for (int i = 0; i < 3; ++i) rows[static_cast<std::size_t>(i)].named({"row", i});
}

constexpr void reverse_model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5, 3>(g, "x");
  tf::reverse<-1>(x).named("last");
  tf::reverse<0, 1, 2>(x).named("all");
  tf::reverse<1>(tf::reverse<1>(x) * 2).named("back");
}

}  // namespace

TEST_CASE("slice: values") {
  check_elements();

  const tf::HostTensors feeds = test::random_feeds<shapes>();
  const auto pick = [&](const char* name, const std::vector<tf::Extent>& shape, const auto& f) {
    return test::pick(feeds.at(name), test::dims(shape), f);
  };
  const auto nowhere = [](const Place&) { return Place{0}; };
  test::check_values<shapes>(
      feeds,
      {{"scalar_all", feeds.at("scalar")},
       {"scalar_new", pick("scalar", {1}, [](const Place&) { return Place{}; })},
       {"line_step", pick("line", {42}, [](const Place& c) { return Place{3 + 3 * c[0]}; })},
       {"line_last", pick("line", {}, [](const Place&) { return Place{130}; })},
       {"line_nothing", pick("line", {0}, nowhere)},
       {"line_back", pick("line", {131}, [](const Place& c) { return Place{130 - c[0]}; })},
       {"thin_new",
        pick("thin", {3, 1, 3}, [](const Place& c) { return Place{2 * c[0], 0, c[2]}; })},
       {"empty_part", pick("empty", {2, 0, 2}, nowhere)},
       {"empty_back", pick("empty", {3, 0}, nowhere)},
       {"large_part",
        pick("large", {149, 255}, [](const Place& c) { return Place{c[0] + 1, 1, c[1] + 1}; })},
       {"large_steps",
        pick("large", {49, 2, 52},
             [](const Place& c) { return Place{148 - 3 * c[0], 2 - 2 * c[1], 5 * c[2]}; })},
       {"large_reverse",
        pick("large", {150, 3, 257}, [](const Place& c) { return Place{c[0], 2 - c[1], c[2]}; })},
       {"large_ellipsis",
        pick("large", {3, 7, 1}, [](const Place& c) { return Place{7, c[0], c[1] + 250}; })},
       {"large_no_ellipsis", pick("large", {}, [](const Place&) { return Place{1, 2, 3}; })}});
}

TEST_CASE("slice: values of batch axes") {
  for (const std::int64_t b : {1, 2, 5, 64}) {
    INFO("batch ", b);
    const tf::HostTensors feeds = test::random_feeds<batches>(b);
    const tf::HostTensor& x = feeds.at("x");
    const tf::HostTensor& y = feeds.at("y");
    const auto rows = [&](std::int64_t first, std::int64_t count) {
      return test::pick(x, test::dims({count, 6}),
                        [&](const Place& c) { return Place{first + c[0], c[1]}; });
    };
    test::check_values<batches>(
        feeds,
        {{"quarter", rows(b, b)},
         {"half", rows(2 * b, 2 * b)},
         {"first", rows(0, b)},
         {"rest", rows(b, 3 * b)},
         {"from_start", rows(1, 3)},
         {"back",
          test::pick(x, test::dims({4 * b, 3}),
                     [&](const Place& c) { return Place{4 * b - 1 - c[0], 5 - 2 * c[1]}; })},
         {"third", test::pick(x, test::dims({6}), [](const Place& c) { return Place{2, c[0]}; })},
         {"second", test::pick(y, test::dims({b, 2, b}),
                               [](const Place& c) { return Place{1, c[0], 1 - c[1], c[2]}; })},
         {"unstacked", test::pick(y, test::dims({3, b, b}),
                                  [](const Place& c) { return Place{c[0], c[1], 1, c[2]}; })}});
  }
}

TEST_CASE("slice: values of windows drawn by chance") {
  test::Random random(11);
  for (int i = 0; i < 200; ++i) {
    tf::Graph g;
    const tf::Dims shape = test::random_shape(random, random.below(5));
    const tf::AnyExpr x = test::input(g, "x", tf::DType::float32, shape);
    tf::Dims size{};
    const tf::SliceWindow window = random_window(random, shape, &size);
    const unsigned axes = static_cast<unsigned>(random.below(1 << shape.rank));
    // Twice, so that simplification has something to join.
    tf::Dims inner{};
    const tf::SliceWindow second = random_window(random, size, &inner);
    test::name(tf::slice_to(tf::slice_to(x, window, size), second, inner), "slice");
    test::name(tf::reverse_to(x, axes), "reverse");
    const tf::HostTensors feeds = {
        {"x", test::random_tensor(random, tf::DType::float32, shape, -2, 2)}};
    const auto sliced = [&](Place c) {
      for (std::size_t a = 0; a < c.size(); ++a) {
        c[a] = window.begin[a] + window.step[a] * (second.begin[a] + second.step[a] * c[a]);
      }
      return c;
    };
    const auto reversed = [&](Place c) {
      for (std::size_t a = 0; a < c.size(); ++a) {
        if ((axes >> a & 1u) != 0) c[a] = shape.extent[a] - 1 - c[a];
      }
      return c;
    };
    const test::Outcome expected = {{"slice", test::pick(feeds.at("x"), inner, sliced)},
                                    {"reverse", test::pick(feeds.at("x"), shape, reversed)}};
    test::check_interpreter(g, feeds, expected);

    tf::Pool<tf::Id> roots;
    for (const tf::ir::Name& name : records(g).names) roots.push(name.value);
    const tf::ir::Simplified simplified = tf::ir::simplify(tf::ir::Graph(g), roots);
    REQUIRE(tf::ir::verify(simplified).view() == "");
    tf::Interpreter after(simplified.graph, simplified.order, simplified.map);
    test::check_close("slice", after.run({"slice"}, feeds)[0], expected.at("slice"), 0);
  }
}

TEST_CASE("slice: gradient") {
  test::check_gradients<tf::Shape<4, 5>>(
      [](const auto& x) { return tf::slice<tf::every(-1), tf::range(1, 5, 2)>(square(x)); });
  test::check_gradients<tf::Shape<7>>([](const auto& x) { return tf::slice<-2>(square(x)); });
  test::check_gradients<tf::Shape<2, 3, 4>>([](const auto& x) {
    return tf::slice<tf::whole, tf::new_axis, tf::range(1, 3), tf::from(-1, -3)>(x) * 3;
  });
  // A gradient of a gradient: slices and pads in turn.
  test::check_gradients<tf::Shape<3, 8>>([](const auto& x) {
    const auto part = tf::slice<tf::from(1), tf::every(2)>(x);
    return tf::slice<tf::whole, tf::from(2)>(tf::gradients(sum(part * part * part), x)) * 1;
  });
}

TEST_CASE("slice: errors") {
  // A batch that an index or range reaches out of.
  test::Kernels<slice_model> kernels;
  CHECK_NOTHROW(kernels.run({{"x", test::floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}}));
  CHECK_THROWS_WITH_AS(
      kernels.run({{"x", test::floats({2, 2}, {1, 2, 3, 4})}}),
      doctest::Contains("slice: expected more than 3 elements along axis 0, got 2"), tf::Error);
  tf::Graph g;
  slice_model(g);
  CHECK_THROWS_WITH_AS(
      tf::Interpreter(g).run({"y"}, {{"x", test::floats({2, 2}, {1, 2, 3, 4})}}),
      doctest::Contains("slice: expected more than 3 elements along axis 0, got 2"), tf::Error);
}

TEST_CASE("select: values") {
  const tf::HostTensors feeds = test::random_feeds<loop>(3);
  const tf::HostTensor& x = feeds.at("x");
  tf::HostTensor h = tf::host_tensor(tf::DType::float32, test::dims({3, 5}));
  tf::HostTensor dx = tf::host_tensor(tf::DType::float32, x.dims);
  for (std::int64_t i = 0; i < 15; ++i) {
    double sum = 0;
    for (std::int64_t t = 0; t < 9; ++t) sum = sum * 0.5 + x.value((i / 5 * 9 + t) * 5 + i % 5);
    h.set(i, sum);
    for (std::int64_t t = 8; t >= 0; --t) {
      dx.set((i / 5 * 9 + t) * 5 + i % 5, 2 * sum * std::pow(0.5, static_cast<double>(8 - t)));
    }
  }
  test::check_values<loop>(feeds, {{"h", h}}, 1e-6);
  test::check_values<loop_gradient>(feeds, {{"dx", dx}}, 1e-6);
}

TEST_CASE("select: gradient") {
  test::check_gradients<tf::Shape<3, 4>>(
      [](const auto& x) { return tf::select<0>(x, -1) * tf::select<0>(x, 0); });
  test::check_gradients<tf::Shape<2, 5, 4>>([](const auto& x) {
    auto h = tf::select<1>(x, 0);
    for (int t = 1; t < 5; ++t) h = h * tf::select<1>(x, t);
    return h;
  });
}

TEST_CASE("select: errors") {
  tf::Graph g;
  auto x = tf::placeholder<float, 3, 4>(g, "x");
  CHECK_THROWS_WITH_AS(
      tf::select<1>(x, 4),
      doctest::Contains("select<1>(x, i): there is no element 4 along that axis of [3, 4]"),
      tf::Error);
  CHECK_THROWS_AS(tf::select<0>(x, -4), tf::Error);
}

TEST_CASE("split: values") {
  const tf::HostTensors feeds = test::random_feeds<split_model>();
  const tf::HostTensor& x = feeds.at("x");
  test::Outcome expected;
  for (int i = 0; i < 4; ++i) {
    expected["part_" + std::to_string(i)] = test::pick(
        x, test::dims({3, 2}), [&](const Place& c) { return Place{c[0], 2 * i + c[1]}; });
  }
  test::check_values<split_model>(feeds, expected);
}

TEST_CASE("split: gradient") {
  test::check_gradients<tf::Shape<2, 6>>([](const auto& x) {
    const auto parts = tf::split<3, 1>(x);
    return parts[0] * parts[1] + square(parts[2]);
  });
  test::check_gradients<tf::Shape<4, 3>>([](const auto& x) { return tf::split<2, 0>(x)[1]; });
}

TEST_CASE("split_sizes: values") {
  const tf::HostTensors feeds = test::random_feeds<split_sizes_model>();
  const auto rows = [&](std::int64_t first, std::int64_t count) {
    return test::pick(feeds.at("x"), test::dims({count, 3}),
                      [&](const Place& c) { return Place{first + c[0], c[1]}; });
  };
  test::check_values<split_sizes_model>(
      feeds, {{"a", rows(0, 1)}, {"b", rows(1, 3)}, {"c", rows(4, 0)}, {"d", rows(4, 2)}});
}

TEST_CASE("split_sizes: gradient") {
  test::check_gradients<tf::Shape<2, 5>>([](const auto& x) {
    const auto parts = tf::split_sizes<1, 1, 4>(x);
    return std::get<0>(parts) * square(std::get<1>(parts));
  });
}

TEST_CASE("unstack: values") {
  const tf::HostTensors feeds = test::random_feeds<unstack_model>();
  test::Outcome expected;
  for (int i = 0; i < 3; ++i) {
    expected["row_" + std::to_string(i)] = test::pick(
        feeds.at("x"), test::dims({4, 2}), [&](const Place& c) { return Place{c[0], i, c[1]}; });
  }
  test::check_values<unstack_model>(feeds, expected);
}

TEST_CASE("unstack: gradient") {
  test::check_gradients<tf::Shape<3, 4>>([](const auto& x) {
    const auto columns = tf::unstack<1>(x);
    return columns[0] * columns[3] + square(columns[2]);
  });
}

TEST_CASE("reverse: values") {
  // Also in "slice: values"; here what is reversed back.
  for (const std::int64_t b : {0, 1, 7}) {
    const tf::HostTensors feeds = test::random_feeds<reverse_model>(b);
    const tf::HostTensor& x = feeds.at("x");
    test::check_values<reverse_model>(
        feeds, {{"last",
                 test::pick(x, x.dims, [](const Place& c) { return Place{c[0], c[1], 2 - c[2]}; })},
                {"all", test::pick(x, x.dims,
                                   [&](const Place& c) {
                                     return Place{b - 1 - c[0], 4 - c[1], 2 - c[2]};
                                   })},
                {"back", test::map(x, [](double e) { return 2 * e; })}});
  }
}

TEST_CASE("reverse: gradient") {
  test::check_gradients<tf::Shape<3, 4>>(
      [](const auto& x) { return tf::reverse<1>(square(x)) * x; });
  test::check_gradients<tf::Shape<5>>([](const auto& x) { return tf::reverse<0>(x) * x * x; });
}
