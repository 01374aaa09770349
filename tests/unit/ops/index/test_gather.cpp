// SPDX-License-Identifier: Apache-2.0

// gather, gather_nd, scatter_nd: against plain loops over coordinates.

#include <cmath>
#include <limits>
#include <utility>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

using Coordinates = std::vector<std::int64_t>;

/// x[:axis] + indices[shared:] + x[axis+1:], by coordinates.
tf::HostTensor gathered(const tf::HostTensor& x, const tf::HostTensor& indices, int axis,
                        int shared) {
  tf::Dims shape{};
  for (int i = 0; i < axis; ++i) shape.append(x.dims[i]);
  for (int i = shared; i < indices.dims.rank; ++i) shape.append(indices.dims[i]);
  for (int i = axis + 1; i < x.dims.rank; ++i) shape.append(x.dims[i]);
  const int chosen = indices.dims.rank - shared;
  return test::pick(x, shape, [&](const Coordinates& c) {
    Coordinates place(c.begin(), c.begin() + shared);
    place.insert(place.end(), c.begin() + axis, c.begin() + axis + chosen);
    Coordinates from(c.begin(), c.begin() + axis);
    from.push_back(static_cast<std::int64_t>(indices.value(test::position(place, indices.dims))));
    from.insert(from.end(), c.begin() + axis + chosen, c.end());
    return from;
  });
}

/// Random integers in [0, below), as elements of this type.
tf::HostTensor random_indices(test::Random& random, tf::DType type, const tf::Dims& shape,
                              int below) {
  tf::HostTensor out = tf::host_tensor(type, shape);
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, random.below(below));
  return out;
}

constexpr void gathers(tf::Graph& g) {
  auto table = tf::placeholder<float, 7, 5>(g, "table");
  auto cube = tf::placeholder<double, 3, 4, 6>(g, "cube");
  auto words = tf::placeholder<std::int32_t, tf::batch, 3>(g, "words");
  auto wide = tf::placeholder<std::int64_t, 2, 2>(g, "wide");
  auto one = tf::placeholder<std::int64_t>(g, "one");
  auto none = tf::placeholder<std::int32_t, 0>(g, "none");
  auto per_row = tf::placeholder<std::uint8_t, 3>(g, "per_row");
  auto per_rows = tf::placeholder<std::int16_t, 3, 4, 2>(g, "per_rows");
  auto q = tf::placeholder<float, tf::batch, 4>(g, "q");
  auto a = tf::placeholder<std::int32_t, tf::batch>(g, "a");

  gather(table, words).named("rows");
  gather(table, one).named("row");
  gather(table, none).named("nothing");
  gather<tf::GatherOptions{.batch_dims = 1}>(cube, per_row).named("planes");
  tf::gather<tf::GatherOptions{.batch_dims = 2}>(cube, per_rows).named("elements");
  tf::gather<tf::GatherOptions{.batch_dims = 1}>(q, a).named("chosen");
  tf::gather<0>(a, wide).named("of_batch");
  tf::gather<tf::GatherOptions{.batch_dims = 1, .axis = -1}>(cube, per_row).named("mixed");

  tf::gather<0>(cube, wide).named("along_0");
  tf::gather<1>(cube, wide).named("along_1");
  tf::gather<-1>(cube, wide).named("along_2");
  tf::gather<1>(q, none).named("along_nothing");
  tf::gather<1>(q, wide).named("along_batch");
  tf::gather<1>(cube, one).named("along_one");
}

tf::HostTensors feeds_of_gathers(std::int64_t batch) {
  test::Random random(static_cast<std::uint64_t>(batch) + 3);
  const auto floats = [&](tf::DType type, const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, type, test::dims(extents), -2, 2);
  };
  const auto indices = [&](tf::DType type, const std::vector<tf::Extent>& extents, int below) {
    return random_indices(random, type, test::dims(extents), below);
  };
  return {
      {"table", floats(tf::DType::float32, {7, 5})},
      {"cube", floats(tf::DType::float64, {3, 4, 6})},
      {"words", indices(tf::DType::int32, {batch, 3}, 7)},
      {"wide", indices(tf::DType::int64, {2, 2}, 3)},
      {"one", indices(tf::DType::int64, {}, 3)},
      {"none", indices(tf::DType::int32, {0}, 1)},
      {"per_row", indices(tf::DType::uint8, {3}, 4)},
      {"per_rows", indices(tf::DType::int16, {3, 4, 2}, 6)},
      {"q", floats(tf::DType::float32, {batch, 4})},
      {"a", indices(tf::DType::int32, {batch}, 4)},
  };
}

constexpr void large(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, 50, 700>(g, "x");
  auto i = tf::placeholder<std::int32_t, 900>(g, "i");
  auto each = tf::placeholder<std::int64_t, 3, 600>(g, "each");
  tf::gather<1>(x, i).named("along");
  tf::gather<2>(x, i).named("elements");
  tf::gather<tf::GatherOptions{.batch_dims = 1}>(x, each).named("gather");
}

/// Elements of all types, moved as bytes.
template <class T>
constexpr void of_type(tf::Graph& g) {
  auto x = tf::placeholder<T, 4, 3>(g, "x");
  auto i = tf::placeholder<std::int32_t, 5>(g, "i");
  tf::gather(x, i).named("rows");
  tf::gather<1>(x, i).named("columns");
}
template <class T>
void check_type() {
  test::Random random(5);
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, test::dims({4, 3}));
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, random.below(2) + static_cast<int>(i % 3));
  const tf::HostTensor i = test::ints({5}, {2, 0, 2, 1, 1});
  test::check_values<of_type<T>>(
      {{"x", x}, {"i", i}}, {{"rows", gathered(x, i, 0, 0)}, {"columns", gathered(x, i, 1, 0)}});
}

/// A node of an operation with shapes drawn by chance, interpreted.
void check_random(int axis, int shared) {
  test::Random random(static_cast<std::uint64_t>(100 * axis + shared));
  for (int round = 0; round < 20; ++round) {
    tf::Dims x = test::random_shape(random, axis + 1 + random.below(3));
    if (x.extent[axis] == 0) x.extent[axis] = 1;
    tf::Dims i{};
    for (int k = 0; k < shared; ++k) i.append(x.extent[k]);
    const tf::Dims more = test::random_shape(random, random.below(3));
    for (int k = 0; k < more.rank; ++k) i.append(more.extent[k]);
    tf::Graph g;
    const tf::AnyExpr tensor = test::input(g, "x", tf::DType::float64, x);
    const tf::AnyExpr indices = test::input(g, "i", tf::DType::int64, i);
    test::name(gather(tensor, indices, axis, shared), "y");
    const tf::HostTensors feeds = {
        {"x", test::random_tensor(random, tf::DType::float64, x, -2, 2)},
        {"i", random_indices(random, tf::DType::int64, i, static_cast<int>(x.extent[axis]))}};
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, feeds,
                            {{"y", gathered(feeds.at("x"), feeds.at("i"), axis, shared)}});
  }
}

// gather_nd and scatter_nd.

constexpr void by_coordinates(tf::Graph& g) {
  auto cube = tf::placeholder<float, 3, 4, 5>(g, "cube");
  auto sheet = tf::placeholder<double, tf::batch, 6>(g, "sheet");
  auto rows = tf::placeholder<std::int32_t, 7, 1>(g, "rows");
  auto pairs = tf::placeholder<std::int64_t, tf::batch, 2, 2>(g, "pairs");
  auto points = tf::placeholder<std::uint16_t, 9, 3>(g, "points");
  auto one = tf::placeholder<std::int32_t, 2>(g, "one");
  auto cells = tf::placeholder<std::int32_t, 2 * tf::batch, 2>(g, "cells");
  gather_nd(cube, rows).named("rows_of");
  gather_nd(cube, pairs).named("pairs_of");
  gather_nd(cube, points).named("points_of");
  gather_nd(cube, one).named("one_of");
  gather_nd(sheet, cells).named("cells_of");

  auto row_values = tf::placeholder<float, 7, 5>(g, "row_values");
  auto pair_values = tf::placeholder<double, tf::batch, 2, 2>(g, "pair_values");
  auto point_values = tf::placeholder<std::int32_t, 9>(g, "point_values");
  auto cell_values = tf::placeholder<float, 2 * tf::batch>(g, "cell_values");
  tf::scatter_nd<4, 5>(rows, row_values).named("from_rows");
  tf::scatter_nd<3, 4, 2>(pairs, pair_values).named("from_pairs");
  tf::scatter_nd<3, 4, 5>(points, point_values).named("from_points");
  tf::scatter_nd<tf::batch, 6>(cells, cell_values).named("from_cells");
}

/// Rows of coordinates in a tensor of this shape.
tf::HostTensor random_coordinates(test::Random& random, tf::DType type,
                                  const std::vector<tf::Extent>& rows,
                                  const std::vector<int>& extents) {
  std::vector<tf::Extent> shape = rows;
  shape.push_back(static_cast<tf::Extent>(extents.size()));
  tf::HostTensor out = tf::host_tensor(type, test::dims(shape));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out.set(i, random.below(extents[static_cast<std::size_t>(i) % extents.size()]));
  }
  return out;
}
Coordinates row_of(const tf::HostTensor& indices, const Coordinates& c) {
  const std::int64_t depth = indices.dims[indices.dims.rank - 1];
  Coordinates row(c.begin(), c.begin() + (indices.dims.rank - 1));
  row.push_back(0);
  const std::int64_t first = test::position(row, indices.dims);
  Coordinates out;
  for (std::int64_t k = 0; k < depth; ++k) {
    out.push_back(static_cast<std::int64_t>(indices.value(first + k)));
  }
  out.insert(out.end(), c.begin() + (indices.dims.rank - 1), c.end());
  return out;
}
tf::HostTensor gathered_nd(const tf::HostTensor& x, const tf::HostTensor& indices) {
  tf::Dims shape{};
  for (int i = 0; i + 1 < indices.dims.rank; ++i) shape.append(indices.dims[i]);
  const auto depth = static_cast<int>(indices.dims[indices.dims.rank - 1]);
  for (int i = depth; i < x.dims.rank; ++i) shape.append(x.dims[i]);
  return test::pick(x, shape, [&](const Coordinates& c) { return row_of(indices, c); });
}
tf::HostTensor scattered_nd(const std::vector<tf::Extent>& shape, const tf::HostTensor& indices,
                            const tf::HostTensor& values) {
  tf::HostTensor y = tf::host_tensor(values.dtype, test::dims(shape));
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const Coordinates at = row_of(indices, test::coordinates(i, values.dims));
    const std::int64_t place = test::position(at, y.dims);
    y.set(place, y.value(place) + values.value(i));
  }
  return y;
}

tf::HostTensors feeds_of_coordinates(std::int64_t batch) {
  test::Random random(static_cast<std::uint64_t>(batch) + 11);
  const auto numbers = [&](tf::DType type, const std::vector<tf::Extent>& extents) {
    return test::random_tensor(random, type, test::dims(extents), -9, 9);
  };
  const int rows = static_cast<int>(batch);
  return {
      {"cube", numbers(tf::DType::float32, {3, 4, 5})},
      {"sheet", numbers(tf::DType::float64, {batch, 6})},
      {"rows", random_coordinates(random, tf::DType::int32, {7}, {3})},
      {"pairs", random_coordinates(random, tf::DType::int64, {batch, 2}, {3, 4})},
      {"points", random_coordinates(random, tf::DType::uint16, {9}, {3, 4, 5})},
      {"one", random_coordinates(random, tf::DType::int32, {}, {3, 4})},
      {"cells", random_coordinates(random, tf::DType::int32, {2 * batch}, {rows, 6})},
      {"row_values", numbers(tf::DType::float32, {7, 5})},
      {"pair_values", numbers(tf::DType::float64, {batch, 2, 2})},
      {"point_values", numbers(tf::DType::int32, {9})},
      {"cell_values", numbers(tf::DType::float32, {2 * batch})},
  };
}

// Errors.

constexpr void mistakes(tf::Graph& g) {
  auto x = tf::placeholder<float, 5, 2>(g, "x");
  auto i = tf::placeholder<std::int32_t, 2, 3>(g, "i");
  auto j = tf::placeholder<std::int64_t>(g, "j");
  gather(x, i).named("gather");
  tf::gather<1>(x, j).named("along");
  gather_nd(x, tf::reshape<3, 2>(i)).named("gather_nd");
  tf::scatter_nd<4, 4>(tf::reshape<3, 2>(i), tf::placeholder<float, 3>(g, "v")).named("scatter_nd");
  const auto dx = gradients(sum(gather(x, i)), x);
  dx.named("dx");
}

/// Checks what a run of the kernels and one of the interpreter say, after which step it was.
template <tf::Text Name>
void check_error(const std::vector<std::int32_t>& i, std::int64_t j, const std::string& sentence) {
  const auto check = [&](const auto& run) {
    std::string what;
    try {
      run();
    } catch (const tf::Error& e) {
      what = e.what();
    }
    CAPTURE(what);
    CHECK(std::string_view(what).ends_with(sentence));
  };
  const std::vector<float> x(10, 1.0f);
  const std::vector<float> v(3, 1.0f);
  tf::Variables variables;
  tf::Session<mistakes> session(variables);
  check([&] {
    session.run<Name>(tf::feed<"x">(x), tf::feed<"i">(i), tf::feed<"j">(j), tf::feed<"v">(v));
  });
  tf::Graph graph;
  mistakes(graph);
  check([&] {
    tf::Interpreter(graph).run(std::vector<std::string>(1, Name.characters),
                               {{"x", test::floats({5, 2}, std::vector<double>(10, 1))},
                                {"i", test::ints({2, 3}, std::vector<double>(i.begin(), i.end()))},
                                {"j", test::tensor(tf::DType::int64, {}, {static_cast<double>(j)})},
                                {"v", test::floats({3}, {1, 1, 1})}});
  });
}

}  // namespace

TEST_CASE("gather: values") {
  for (const std::int64_t batch : {0, 1, 2, 5, 64}) {
    CAPTURE(batch);
    tf::HostTensors feeds = feeds_of_gathers(batch);
    const auto& f = feeds;
    test::Outcome expected = {
        {"rows", gathered(f.at("table"), f.at("words"), 0, 0)},
        {"row", gathered(f.at("table"), f.at("one"), 0, 0)},
        {"nothing", gathered(f.at("table"), f.at("none"), 0, 0)},
        {"planes", gathered(f.at("cube"), f.at("per_row"), 1, 1)},
        {"elements", gathered(f.at("cube"), f.at("per_rows"), 2, 2)},
        {"chosen", gathered(f.at("q"), f.at("a"), 1, 1)},
        {"mixed", gathered(f.at("cube"), f.at("per_row"), 2, 1)},
    };
    if (batch < 3) {  // "wide" has indices up to 2
      for (tf::Number& n : feeds.at("wide").elements) n.integer = 0;
    }
    if (batch > 0) {
      expected["of_batch"] = gathered(f.at("a"), f.at("wide"), 0, 0);
      test::check_values<gathers>(feeds, expected);
    } else {
      CHECK_THROWS_AS(test::check_values<gathers>(feeds, expected), tf::Error);
    }
  }
  check_type<bool>();
  check_type<std::uint16_t>();
  check_type<tf::bfloat16>();
  check_type<std::complex<float>>();
  check_type<std::complex<double>>();
  for (int axis = 0; axis < 4; ++axis) {
    for (int shared = 0; shared <= axis; ++shared) check_random(axis, shared);
  }
}

TEST_CASE("gather: values along an axis") {
  for (const std::int64_t batch : {1, 3, 40}) {
    tf::HostTensors feeds = feeds_of_gathers(batch);
    if (batch < 3) {
      for (tf::Number& n : feeds.at("wide").elements) n.integer = 0;
    }
    const auto& f = feeds;
    test::check_values<gathers>(feeds,
                                {
                                    {"along_0", gathered(f.at("cube"), f.at("wide"), 0, 0)},
                                    {"along_1", gathered(f.at("cube"), f.at("wide"), 1, 0)},
                                    {"along_2", gathered(f.at("cube"), f.at("wide"), 2, 0)},
                                    {"along_nothing", gathered(f.at("q"), f.at("none"), 1, 0)},
                                    {"along_batch", gathered(f.at("q"), f.at("wide"), 1, 0)},
                                    {"along_one", gathered(f.at("cube"), f.at("one"), 1, 0)},
                                });
  }

  test::Random random(1);
  const tf::HostTensors feeds = {
      {"x", test::random_tensor(random, tf::DType::float32, test::dims({3, 50, 700}), -2, 2)},
      {"i", random_indices(random, tf::DType::int32, test::dims({900}), 50)},
      {"each", random_indices(random, tf::DType::int64, test::dims({3, 600}), 50)}};
  test::check_values<large>(feeds, {{"along", gathered(feeds.at("x"), feeds.at("i"), 1, 0)},
                                    {"elements", gathered(feeds.at("x"), feeds.at("i"), 2, 0)},
                                    {"gather", gathered(feeds.at("x"), feeds.at("each"), 1, 1)}});
}

TEST_CASE("gather_nd: values") {
  for (const std::int64_t batch : {1, 2, 33}) {
    const tf::HostTensors f = feeds_of_coordinates(batch);
    test::check_values<by_coordinates>(f,
                                       {{"rows_of", gathered_nd(f.at("cube"), f.at("rows"))},
                                        {"pairs_of", gathered_nd(f.at("cube"), f.at("pairs"))},
                                        {"points_of", gathered_nd(f.at("cube"), f.at("points"))},
                                        {"one_of", gathered_nd(f.at("cube"), f.at("one"))},
                                        {"cells_of", gathered_nd(f.at("sheet"), f.at("cells"))}});
  }
}

TEST_CASE("scatter_nd: values") {
  for (const std::int64_t batch : {1, 2, 33}) {
    const tf::HostTensors f = feeds_of_coordinates(batch);
    test::check_values<by_coordinates>(
        f,
        {{"from_rows", scattered_nd({4, 5}, f.at("rows"), f.at("row_values"))},
         {"from_pairs", scattered_nd({3, 4, 2}, f.at("pairs"), f.at("pair_values"))},
         {"from_points", scattered_nd({3, 4, 5}, f.at("points"), f.at("point_values"))},
         {"from_cells", scattered_nd({batch, 6}, f.at("cells"), f.at("cell_values"))}},
        1e-6);
  }
}

namespace {
/// Constant indices in a graph with a tensor: 0, 1, 2... of a shape, modulo n.
template <class X, tf::Extent... D>
auto counting(const X& x, tf::Extent n) {
  tf::Graph& g = x.graph();
  auto along = [&](const tf::Dims& dims) {
    tf::AnyExpr sum = tf::index_along(g, dims, 0);
    for (int axis = 1; axis < dims.rank; ++axis) sum = sum * 3 + tf::index_along(g, dims, axis);
    return sum - sum / n * n;
  };
  return tf::Expr<std::int32_t, tf::Shape<D...>>(g, along(tf::Shape<D...>::dims).id);
}
}  // namespace

TEST_CASE("gather: gradient") {
  test::check_gradients<tf::Shape<5, 3>>(
      [](auto x) { return gather(x, counting<decltype(x), 4, 2>(x, 5)); });
  test::check_gradients<tf::Shape<5>>(
      [](auto x) { return square(gather(x, counting<decltype(x), 9>(x, 5))); });
  test::check_gradients<tf::Shape<4, 3>>([](auto x) {
    return tf::gather<tf::GatherOptions{.batch_dims = 1}>(x, counting<decltype(x), 4>(x, 3));
  });
  test::check_gradients<tf::Shape<2, 4, 3, 2>>([](auto x) {
    return tf::gather<tf::GatherOptions{.batch_dims = 2}>(x, counting<decltype(x), 2, 4, 5>(x, 3));
  });
  // Read twice, and of a gradient.
  test::check_gradients<tf::Shape<5, 2>>([](auto x) {
    return gather(x, counting<decltype(x), 4>(x, 5)) *
           gather(x * x, counting<decltype(x), 4>(x, 3));
  });
  test::check_gradients<tf::Shape<5, 2>>([](auto x) {
    const auto y = sum(tf::square(gather(x, counting<decltype(x), 7>(x, 5))) * 0.5);
    return tf::square(gradients(y, x));
  });
}

TEST_CASE("gather: gradient along an axis") {
  test::check_gradients<tf::Shape<3, 5>>(
      [](auto x) { return tf::gather<1>(x, counting<decltype(x), 4, 2>(x, 5)); });
  test::check_gradients<tf::Shape<2, 4, 3>>(
      [](auto x) { return tf::gather<1>(x, counting<decltype(x), 7>(x, 4)); });
  test::check_gradients<tf::Shape<4, 3>>([](auto x) {
    const auto y = sum(tf::square(tf::gather<1>(x, counting<decltype(x), 5>(x, 3))));
    return tf::square(gradients(y, x));
  });
}

TEST_CASE("gather_nd: gradient") {
  test::check_gradients<tf::Shape<3, 3>>(
      [](auto x) { return gather_nd(x, counting<decltype(x), 7, 2>(x, 3)); });
  test::check_gradients<tf::Shape<4, 2>>(
      [](auto x) { return gather_nd(x, counting<decltype(x), 3, 2, 1>(x, 4)); });
}

TEST_CASE("scatter_nd: gradient") {
  test::check_gradients<tf::Shape<7>>(
      [](auto v) { return tf::scatter_nd<3, 3>(counting<decltype(v), 7, 2>(v, 3), v); });
  test::check_gradients<tf::Shape<3, 2, 2>>(
      [](auto v) { return square(tf::scatter_nd<4, 2>(counting<decltype(v), 3, 2, 1>(v, 4), v)); });
}

TEST_CASE("gather: errors") {
  check_error<"gather">({0, 1, 2, 3, 5, 4}, 0, "gather: index 5 at [1, 1] is not in [0, 5)");
  check_error<"gather">({0, 1, -1, 3, 7, 4}, 0, "gather: index -1 at [0, 2] is not in [0, 5)");
  // The gradient has the same rule.
  check_error<"dx">({0, 1, 2, 9, 5, 4}, 0, "gather: index 9 at [1, 0] is not in [0, 5)");
}
TEST_CASE("gather: errors along an axis") {
  check_error<"along">({0, 0, 0, 0, 0, 0}, 2, "gather: index 2 is not in [0, 2)");
}
TEST_CASE("gather_nd: errors") {
  check_error<"gather_nd">({4, 1, 0, 2, 0, 0}, 0, "gather_nd: index 2 at [1, 1] is not in [0, 2)");
  check_error<"gather_nd">({4, 1, -3, 1, 0, 0}, 0,
                           "gather_nd: index -3 at [1, 0] is not in [0, 5)");
}
TEST_CASE("scatter_nd: errors") {
  check_error<"scatter_nd">({3, 1, 0, 3, 0, 4}, 0,
                            "scatter_nd: index 4 at [2, 1] is not in [0, 4)");
}

namespace {

constexpr void in_place(tf::Graph& g) {
  auto table = tf::placeholder<float, 5, 67>(g, "table");
  auto ids = tf::placeholder<std::int64_t, tf::batch, 2>(g, "ids");
  const auto rows = gather(table, ids);
  (-rows).named("negated");
  sum<1>(rows).named("bags");
  max<2>(rows).named("largest");
}

}  // namespace

TEST_CASE("gather: rows that kernels read in place, with infinities, NaN and signed zeros") {
  constexpr std::size_t width = 67;
  std::vector<float> table(5 * width);
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<float>((i * 37) % 101) / 8 - 5;
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  table[1 * width + 3] = infinity;
  table[2 * width + 3] = -infinity;
  table[2 * width + 66] = std::numeric_limits<float>::quiet_NaN();
  table[4 * width] = -0.0f;
  tf::Variables variables;
  tf::Session<in_place> session(variables);
  for (const std::size_t batch : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{9}}) {
    std::vector<std::int64_t> ids(2 * batch);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * 7 % 5);
    std::vector<float> negated(ids.size() * width);
    std::vector<float> bags(batch * width);
    std::vector<float> largest(ids.size());
    session.run(tf::feed<"table">(table), tf::feed<"ids">(ids), tf::into<"negated">(negated),
                tf::into<"bags">(bags), tf::into<"largest">(largest));
    const auto same = [](float a, float b) {
      return std::isnan(b) ? std::isnan(a) : a == b && std::signbit(a) == std::signbit(b);
    };
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const float* const row = table.data() + static_cast<std::size_t>(ids[i]) * width;
      bool has_nan = false;
      float most = -infinity;
      for (std::size_t j = 0; j < width; ++j) {
        CHECK(same(negated[i * width + j], -row[j]));
        has_nan = has_nan || std::isnan(row[j]);
        if (row[j] > most) most = row[j];
        if (i % 2 == 0) continue;
        const float* const before = table.data() + static_cast<std::size_t>(ids[i - 1]) * width;
        CHECK(same(bags[i / 2 * width + j], before[j] + row[j]));
      }
      CHECK(same(largest[i], has_nan ? std::numeric_limits<float>::quiet_NaN() : most));
    }
  }
}

TEST_CASE("gather: errors of rows that kernels read in place") {
  tf::Variables variables;
  tf::Session<in_place> session(variables);
  const std::vector<float> table(5 * 67, 1.0f);
  for (const auto& [wrong, sentence] :
       {std::pair{std::int64_t{5}, "gather: index 5 at [1, 0] is not in [0, 5)"},
        std::pair{std::int64_t{-1}, "gather: index -1 at [1, 0] is not in [0, 5)"},
        std::pair{std::int64_t{1} << 40,
                  "gather: index 1099511627776 at [1, 0] is not in [0, 5)"}}) {
    const std::vector<std::int64_t> ids = {0, 4, wrong, 1};
    std::vector<float> bags(2 * 67);
    std::string what;
    try {
      session.run(tf::feed<"table">(table), tf::feed<"ids">(ids), tf::into<"bags">(bags));
    } catch (const tf::Error& e) {
      what = e.what();
    }
    CAPTURE(what);
    CHECK(what.starts_with("Gather (test_gather.cpp:"));
    CHECK(what.ends_with(sentence));
    CHECK(bags == std::vector<float>(2 * 67));
  }
}
