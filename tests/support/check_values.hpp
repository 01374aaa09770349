// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values of operations against references that know nothing of typeflow: plain loops on doubles.
//
//   template <class S>                               // S: a tf::Shape
//   constexpr void model(tf::Graph& g) {
//     auto x = test::input<float, S>(g, "x");
//     exp(x).named("exp");
//   }
//   const tf::HostTensors feeds = test::random_feeds(...);
//   test::check_values<model<S>>(feeds, {{"exp", test::map(feeds.at("x"), [](double x) {...})}});
//
// check_values compares the reference with the compiled kernels and with the interpreter.
// check_interpreter does the same for a graph made at run time, of shapes drawn by chance.

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/check_kernels.hpp"

namespace test {

/// Shapes that every operation on one tensor is tested with: a scalar, one element, no element,
/// axes of extent 1, lengths that no vector divides, several vectors.
template <class F>
void for_each_shape(const F& f) {
  f(tf::Shape<>{});
  f(tf::Shape<1>{});
  f(tf::Shape<3, 0, 2>{});
  f(tf::Shape<5, 1, 3>{});
  f(tf::Shape<2, 3, 37>{});
  f(tf::Shape<131>{});
}

/// Calls f(T{}, number) for every element type, in the order of tf::DType.
template <class F>
constexpr void for_each_element_type(const F& f) {
  [&]<class... T>(tf::detail::ElementTypes<T...>) {
    int i = 0;
    (f(T{}, i++), ...);
  }(tf::detail::AllElements{});
}

/// placeholder<T, D...> of a Shape<D...>.
template <class T, class S>
constexpr auto input(tf::Graph& g, tf::Label name) {
  return [&]<tf::Extent... D>(std::type_identity<tf::Shape<D...>>) {
    return tf::placeholder<T, D...>(g, name);
  }(std::type_identity<S>{});
}

/// A placeholder of a graph that is made at run time.
inline tf::AnyExpr input(tf::Graph& g, tf::Label name, tf::DType type, const tf::Dims& shape) {
  const tf::AnyExpr x =
      add_node(g, tf::ops::Placeholder{{}, 0, 0, 0}, nullptr, 0, tf::Type(type, shape));
  tf::ir::records(g).add_name(name, tf::ir::NameKind::placeholder, x.id);
  return x;
}
/// Names a tensor of such a graph.
inline void name(const tf::AnyExpr& x, tf::Label label) {
  x.graph->add_name(label, tf::ir::NameKind::value, x.id);
}

/// A shape of `rank` axes with extents in 0 .. 6; most often 1 and more.
inline tf::Dims random_shape(Random& random, int rank) {
  tf::Dims shape{};
  for (int i = 0; i < rank; ++i) shape.append(random.chance(0.05) ? 0 : 1 + random.below(6));
  return shape;
}

// References.

/// f of every element.
template <class F>
tf::HostTensor map(const tf::HostTensor& x, const F& f, tf::DType type) {
  tf::HostTensor y = tf::host_tensor(type, x.dims);
  for (std::int64_t i = 0; i < x.size(); ++i) y.set(i, static_cast<double>(f(x.value(i))));
  return y;
}
template <class F>
tf::HostTensor map(const tf::HostTensor& x, const F& f) {
  return map(x, f, x.dtype);
}

/// f of every two elements that broadcasting brings together.
template <class F>
tf::HostTensor zip(const tf::HostTensor& a, const tf::HostTensor& b, const F& f, tf::DType type) {
  tf::HostTensor y = tf::host_tensor(type, tf::broadcast(a.dims, b.dims));
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y.set(i, static_cast<double>(f(a.value(tf::broadcast_index(i, y.dims, a.dims)),
                                   b.value(tf::broadcast_index(i, y.dims, b.dims)))));
  }
  return y;
}
template <class F>
tf::HostTensor zip(const tf::HostTensor& a, const tf::HostTensor& b, const F& f) {
  return zip(a, b, f, a.dtype);
}

/// The coordinates of element i of a tensor of this shape.
inline std::vector<std::int64_t> coordinates(std::int64_t i, const tf::Dims& shape) {
  std::vector<std::int64_t> c(static_cast<std::size_t>(shape.rank));
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    c[static_cast<std::size_t>(axis)] = i % shape.extent[axis];
    i /= shape.extent[axis];
  }
  return c;
}
/// The element with these coordinates.
inline std::int64_t position(const std::vector<std::int64_t>& coordinates, const tf::Dims& shape) {
  std::int64_t i = 0;
  for (int axis = 0; axis < shape.rank; ++axis) {
    i = i * shape.extent[axis] + coordinates[static_cast<std::size_t>(axis)];
  }
  return i;
}
/// A tensor whose element at c is x's at f(c).
template <class F>
tf::HostTensor pick(const tf::HostTensor& x, const tf::Dims& shape, const F& f) {
  tf::HostTensor y = tf::host_tensor(x.dtype, shape);
  for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[position(f(coordinates(i, shape)), x.dims)];
  return y;
}

// Checks.

/// Compares a graph's named values, interpreted, with what is expected.
void check_interpreter(const tf::ir::Graph& graph, const tf::HostTensors& feeds,
                       const Outcome& expected, double tolerance = 0);

/// Compares a model's kernels, and its interpreted graph, with what is expected. The kernels must
/// give the same bits however their loops are divided, and allocate nothing from the second run on.
/// The tolerance is relative to the largest element; 0 asks for equality.
void check_values(const TestedModel& model, const tf::HostTensors& feeds, const Outcome& expected,
                  double tolerance);
template <auto Model>
void check_values(const tf::HostTensors& feeds, const Outcome& expected, double tolerance = 0) {
  check_values(tested<Model>(), feeds, expected, tolerance);
}

}  // namespace test

#ifndef TYPEFLOW_COMPILED_TESTING
#include "support/check_values.ipp"
#endif
