// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of two tensors that broadcast, against plain C++ on every pair of elements.
//
//   struct Sums {
//     template <class T, class A, class B>  // element type and shapes
//     static constexpr void model(tf::Graph& g) {
//       auto a = test::input<T, A>(g, "a");
//       auto b = test::input<T, B>(g, "b");
//       (a + b).named("add");
//     }
//   };
//   test::check_pairs<Sums>("add", [](auto a, auto b) { return a + b; }, ...);

#include <string>

#include "support/check_elementwise.hpp"
#include "support/check_gradients.hpp"

namespace test {

/// Small whole numbers and halves, so that equal pairs and exact quotients are frequent.
inline tf::HostTensor ordinary(Random& random, tf::DType type, const tf::Dims& shape) {
  tf::HostTensor x = tf::host_tensor(type, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const bool floating = tf::is_floating(type);
    x.set(i, random.chance(0.5) ? random.below(9) - (type == tf::DType::uint8 ? 0 : 4)
             : floating         ? random.uniform(-4, 4)
                                : random.below(40));
  }
  return x;
}
inline tf::HostTensor any_extreme(tf::DType type, const tf::Dims& shape, std::uint64_t seed) {
  return tf::is_floating(type) ? extreme(type, shape, seed) : extreme_integers(type, shape, seed);
}

/// The reference of every pair of elements of type T.
template <class T, class Reference>
tf::HostTensor pairs(const tf::HostTensor& a, const tf::HostTensor& b, const Reference& reference) {
  using R = decltype(reference(T{}, T{}));
  tf::HostTensor y = tf::host_tensor(tf::dtype_of<R>, tf::broadcast(a.dims, b.dims));
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y[i] = tf::number_from(reference(tf::to<T>(a[tf::broadcast_index(i, y.dims, a.dims)]),
                                     tf::to<T>(b[tf::broadcast_index(i, y.dims, b.dims)])));
  }
  return y;
}

enum class Types { all, floating };

/// Compares the result `name` of the family's model with the reference: at ordinary and extreme
/// numbers of each type, in shapes of every kind, and as `call` makes it in graphs of random
/// shapes.
template <class Family, Types Which = Types::all, class Reference, class Call>
void check_pairs(const std::string& name, const Reference& reference, const Call& call,
                 double ulps) {
  using tf::Shape;
  Random random(1);
  const auto check = [&]<class T, class A, class B>(std::type_identity<Family>, T, A, B,
                                                    const tf::HostTensor& a,
                                                    const tf::HostTensor& b) {
    INFO("element type ", static_cast<int>(a.dtype));
    check_result<Family::template model<T, A, B>>(name, {{"a", a}, {"b", b}},
                                                  pairs<T>(a, b, reference), ulps);
  };
  constexpr std::type_identity<Family> family;
  const auto in_shapes = [&]<class A, class B>(A, B) {
    check(family, float{}, A{}, B{}, ordinary(random, tf::DType::float32, A::dims),
          ordinary(random, tf::DType::float32, B::dims));
  };
  in_shapes(Shape<2, 3, 37>{}, Shape<2, 3, 37>{});
  in_shapes(Shape<5, 1, 3>{}, Shape<4, 1>{});
  in_shapes(Shape<3, 0, 2>{}, Shape<>{});
  in_shapes(Shape<131>{}, Shape<1>{});
  in_shapes(Shape<>{}, Shape<>{});
  for (const std::int64_t batch : {0, 1, 33}) {
    check(family, float{}, Shape<tf::batch, 5>{}, Shape<5>{},
          ordinary(random, tf::DType::float32, dims({batch, 5})),
          ordinary(random, tf::DType::float32, dims({5})));
  }
  const auto with_type = [&]<class T>(T) {
    constexpr tf::DType type = tf::dtype_of<T>;
    {  // every number with every other
      check(family, T{}, Shape<40, 1>{}, Shape<41>{}, any_extreme(type, dims({40, 1}), 1),
            any_extreme(type, dims({41}), 2));
    }
    for (int i = 0; i < 8; ++i) {
      const tf::Dims shape = random_shape(random, random.below(5));
      tf::Dims other{};
      for (int axis = random.below(shape.rank + 1); axis < shape.rank; ++axis) {
        other.append(random.chance(0.3) ? 1 : shape.extent[axis]);
      }
      const auto a = ordinary(random, type, shape);
      const auto b = ordinary(random, type, other);
      tf::Graph g;
      test::name(call(input(g, "a", type, shape), input(g, "b", type, other)), "y");
      REQUIRE(tf::ir::verify(g).view() == "");
      check_ulps("y", tf::Interpreter(g).run({"y"}, {{"a", a}, {"b", b}})[0],
                 pairs<T>(a, b, reference), ulps);
    }
  };
  with_type(float{});
  with_type(double{});
  if constexpr (Which == Types::all) {
    with_type(std::int32_t{});
    with_type(std::int64_t{});
    with_type(std::uint8_t{});
  }
}

/// First and second derivatives, for both inputs.
template <class F>
void check_pair_gradients(const F& f, Range range = {}, double tolerance = 1e-7) {
  using tf::Shape;
  check_gradients<Shape<>, Shape<>>(f, range, tolerance);
  check_gradients<Shape<2, 3>, Shape<2, 3>>(f, range, tolerance);
  check_gradients<Shape<2, 1, 3>, Shape<4, 1>>(f, range, tolerance);
  check_gradients<Shape<5>, Shape<>>(f, range, tolerance);
  check_gradients<Shape<3>, Shape<2, 1>>(
      [&](auto a, auto b) { return gradients(sum(f(a, b) * square(a)), a) + 0 * sum(b); }, range,
      tolerance * 10);
}

}  // namespace test
