// SPDX-License-Identifier: Apache-2.0

// Which slices, reversals and transposes are read in place, and which are steps.

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "typeflow/devices.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/lower/describe_passes.hpp"
#include "typeflow/passes/strided_views.hpp"

namespace tf = typeflow;

namespace {

/// The operations of a model's steps, as they are labelled: "Slice MatMul".
template <class M>
std::string steps_of(const M& model, const tf::ir::FusionLimits& limits = {}) {
  tf::Graph g;
  model(g);
  const tf::ir::InterpretedProgram program(g, {}, limits);
  std::string out;
  for (const tf::ir::Step& step : program.pools().steps) {
    out += (out.empty() ? "" : " ") + std::string(step.label.operation.view());
  }
  return out;
}

auto images(tf::Graph& g) { return tf::placeholder<float, 20, 30, 40>(g, "x"); }

}  // namespace

TEST_CASE("a slice whose rows lie together is read by what follows it") {
  CHECK(steps_of([](tf::Graph& g) {
          (2.0f * slice<tf::whole, tf::range(3, 20), tf::range(4, 24)>(images(g))).named("y");
        }) == "Mul");
  CHECK(steps_of([](tf::Graph& g) { (2.0f * slice<tf::whole, 3>(images(g))).named("y"); }) ==
        "Mul");
  CHECK(steps_of([](tf::Graph& g) { (2.0f * slice<tf::every(2)>(images(g))).named("y"); }) ==
        "Mul");
  CHECK(steps_of([](tf::Graph& g) { exp(slice<tf::every(-1)>(images(g))).named("y"); }) == "Exp");
  CHECK(steps_of([](tf::Graph& g) { exp(transpose<1, 0, 2>(images(g))).named("y"); }) == "Exp");
  SUBCASE("also where it is split into other axes") {
    CHECK(steps_of(
              [](tf::Graph& g) {
                const auto x = slice<tf::whole, 3, tf::from(10)>(images(g));
                exp(reshape<20, 3, 10>(x)).named("y");
              },
              {.run = 10}) == "Exp");
  }
  SUBCASE("by all who read it") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto parts = split<2, 2>(images(g));
            (std::get<0>(parts) * sigmoid(std::get<1>(parts))).named("y");
            sum<2>(std::get<0>(parts)).named("sums");
          }) == "Mul Sum");
  }
}

TEST_CASE("a slice whose elements lie apart or in short rows is a step") {
  CHECK(steps_of([](tf::Graph& g) {
          exp(slice<tf::whole, tf::whole, tf::every(2)>(images(g))).named("y");
        }) == "Slice Exp");
  CHECK(steps_of([](tf::Graph& g) {
          exp(slice<tf::whole, tf::whole, tf::every(-1)>(images(g))).named("y");
        }) == "Reverse Exp");
  CHECK(steps_of([](tf::Graph& g) { exp(transpose<2, 0, 1>(images(g))).named("y"); }) ==
        "Transpose Exp");
  const auto narrow = [](tf::Graph& g) {
    exp(slice<tf::whole, tf::whole, tf::range(0, 7)>(images(g))).named("y");
  };
  CHECK(steps_of(narrow) == "Slice Exp");
  CHECK(steps_of(narrow, {.run = 7}) == "Exp");
}

TEST_CASE("loops without folds read every second to fourth element of long rows") {
  const auto rows = [](tf::Graph& g) { return tf::placeholder<float, 20, 160>(g, "x"); };
  CHECK(
      steps_of([&](tf::Graph& g) {
        const auto x = rows(g);
        (slice<tf::whole, tf::every(2)>(x) + slice<tf::whole, tf::range(1, 160, 2)>(x)).named("y");
      }) == "Add");
  CHECK(steps_of([&](tf::Graph& g) { exp(slice<0, tf::every(4)>(rows(g))).named("y"); }) == "Exp");
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = tf::placeholder<std::uint8_t, 2, 8, 33, 3>(g, "x");
          tf::transpose<0, 3, 1, 2>(tf::cast<float>(x)).named("y");
        }) == "Cast");
  SUBCASE("but not of others, or if it pays to copy them once") {
    CHECK(steps_of([&](tf::Graph& g) {
            exp(slice<tf::whole, tf::every(5)>(tf::placeholder<float, 20, 200>(g, "x"))).named("y");
          }) == "Slice Exp");
    CHECK(steps_of([&](tf::Graph& g) {
            exp(slice<tf::whole, tf::range(0, 64, 2)>(rows(g))).named("y");
          }) == "Slice Exp");
    CHECK(steps_of([&](tf::Graph& g) {
            sum<1>(slice<tf::whole, tf::every(2)>(rows(g))).named("y");
          }) == "Slice Sum");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = tf::placeholder<float, 2, 500, 500, 3>(g, "x");
            exp(tf::transpose<0, 3, 1, 2>(x)).named("y");
          }) == "Transpose Exp");
    CHECK(steps_of([&](tf::Graph& g) {
            tf::on<tf::Gpu<0>>(
                g, [&] { return exp(slice<tf::whole, tf::every(2)>(rows(g))).named("y"); });
          }) == "Slice Exp");
  }
}

TEST_CASE("a slice that something else than a loop needs is a step") {
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = slice<3>(images(g));
          sort(x + sort(x)).named("y");
        }) == "Slice TopK Add TopK");
  SUBCASE("the result of a run") {
    CHECK(steps_of([](tf::Graph& g) { slice<3>(images(g)).named("y"); }) == "Slice");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = slice<3>(images(g)).named("part");
            exp(x).named("y");
          }) == "Slice Exp");
  }
}

TEST_CASE("products read operands in place whose rows lie together") {
  const auto x = [](tf::Graph& g) { return tf::placeholder<float, 40, 96>(g, "x"); };
  const auto w = [](tf::Graph& g) { return tf::placeholder<float, 40, 96>(g, "w"); };
  CHECK(steps_of([&](tf::Graph& g) {
          matmul(slice<tf::range(3, 23), tf::range(8, 40)>(x(g)), slice<tf::range(2, 34)>(w(g)))
              .named("y");
        }) == "MatMul");
  CHECK(steps_of([&](tf::Graph& g) {
          const auto part = slice<tf::whole, tf::range(8, 40)>(x(g));
          tf::matmul<tf::transpose_a>(part, w(g)).named("t");
          tf::matmul<tf::transpose_b>(part, slice<tf::whole, tf::from(64)>(w(g))).named("y");
          exp(part).named("z");
        }) == "MatMul MatMul Exp");
  SUBCASE("heads of an attention, whichever way they are transposed") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto q = tf::placeholder<float, tf::batch, 20, 4, 8>(g, "q");
            const auto k = tf::placeholder<float, tf::batch, 30, 4, 8>(g, "k");
            const auto v = tf::placeholder<float, tf::batch, 30, 4, 8>(g, "v");
            const auto scores = matmul(transpose<0, 2, 1, 3>(q), transpose<0, 2, 3, 1>(k));
            matmul(relu(scores), transpose<0, 2, 1, 3>(v)).named("y");
          }) == "Relu MatMul");
  }
  SUBCASE("not if they are short, reversed, or single elements") {
    CHECK(steps_of([&](tf::Graph& g) {
            matmul(w(g), tf::transpose<1, 0>(slice<tf::whole, tf::every(-1)>(x(g)))).named("y");
          }) == "Reverse MatMul");
    CHECK(steps_of([&](tf::Graph& g) {
            tf::matmul<tf::transpose_a>(w(g), slice<tf::whole, tf::range(3, 10)>(x(g))).named("y");
          }) == "Slice MatMul");
    CHECK(steps_of([&](tf::Graph& g) {
            tf::matmul<tf::transpose_a>(w(g), slice<tf::every(-1)>(x(g))).named("y");
          }) == "Reverse MatMul");
  }
  SUBCASE("not what follows on the product's tiles") {
    CHECK(steps_of([&](tf::Graph& g) {
            const auto part = slice<tf::whole, tf::range(8, 48)>(x(g));
            (matmul(part, part) + part).named("y");
          }) == "Slice Add");
  }
  SUBCASE("not many matrices of a few rows that are one if they are copied") {
    const auto model = []<int Rows>(std::integral_constant<int, Rows>) {
      return [](tf::Graph& g) {
        const auto b = tf::placeholder<float, 16, 24>(g, "b");
        const auto a = tf::placeholder<float, 5, 40, 16>(g, "a");
        matmul(slice<tf::whole, tf::range(0, Rows)>(a), b).named("y");
      };
    };
    CHECK(steps_of(model(std::integral_constant<int, 31>{})) == "Slice MatMul");
    CHECK(steps_of(model(std::integral_constant<int, 32>{})) == "MatMul");
  }
  SUBCASE("not variables that the run changes, nor on GPUs") {
    CHECK(steps_of([](tf::Graph& g) {
            auto v = tf::variable<float, 40, 96>(g, "v");
            const auto y = tf::matmul<tf::transpose_a>(slice<tf::whole, tf::from(56)>(v), v);
            assign(v, v + slice<0>(y)).named("next");
          }).find("Slice") != std::string::npos);
    CHECK(steps_of([&](tf::Graph& g) {
            tf::on<tf::Gpu<0>>(g, [&] {
              return tf::matmul<tf::transpose_a>(slice<tf::whole, tf::range(8, 40)>(x(g)), w(g))
                  .named("y");
            });
          }) == "Slice MatMul");
  }
}

TEST_CASE("folds go on over whole rows only") {
  const auto part = [](tf::Graph& g) {
    return slice<tf::whole, tf::range(3, 20), tf::range(4, 24)>(images(g));
  };
  CHECK(steps_of([&](tf::Graph& g) { sum<2>(part(g)).named("y"); }) == "Sum");
  CHECK(steps_of([&](tf::Graph& g) { sum<1>(part(g)).named("y"); }) == "Sum");
  CHECK(steps_of([&](tf::Graph& g) { sum<1, 2>(part(g)).named("y"); }) == "Slice Sum");
  CHECK(steps_of([&](tf::Graph& g) { sum<0>(part(g)).named("y"); }) == "Slice Sum");
  CHECK(steps_of([&](tf::Graph& g) {
          sum<0, 1, 2>(slice<tf::range(3, 20)>(images(g))).named("y");
        }) == "Sum");
}

TEST_CASE("a slice of a variable that the model changes is a step") {
  const auto model = [](bool changes) {
    return [changes](tf::Graph& g) {
      auto w = tf::variable<float, 8, 20>(g, "w");
      exp(slice<tf::range(2, 5)>(w)).named("y");
      if (changes) assign(w, 2.0f * w).named("next");
    };
  };
  CHECK(steps_of(model(false)) == "Exp");
  CHECK(steps_of(model(true)).find("Slice") != std::string::npos);
}

TEST_CASE("symbols: rows of any number, but nothing that only a run can check") {
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = tf::placeholder<float, 5, tf::batch, 20>(g, "x");
          exp(slice<3>(x)).named("y");
        }) == "Exp");
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = tf::placeholder<float, tf::batch, 20>(g, "x");
          exp(slice<3>(x)).named("y");
        }) == "Slice Exp");
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = tf::placeholder<float, tf::batch, 20>(g, "x");
          exp(slice<tf::every(-1)>(x)).named("y");
        }) == "Exp");
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = tf::placeholder<float, 5, tf::batch, 40>(g, "x");
          exp(slice<3, tf::whole, tf::from(20)>(x)).named("y");
        }) == "Exp");
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = tf::placeholder<float, tf::batch, tf::symbol<"time">, 20>(g, "x");
          exp(slice<tf::every(-1), tf::every(-1)>(x)).named("y");
        }) == "Reverse Exp");
}

namespace {

auto table(tf::Graph& g) { return tf::placeholder<float, 100, 40>(g, "table"); }
auto ids(tf::Graph& g) { return tf::placeholder<std::int32_t, tf::batch, 5>(g, "ids"); }

}  // namespace

TEST_CASE("gathered rows are read where they lie") {
  CHECK(steps_of([](tf::Graph& g) { exp(gather(table(g), ids(g))).named("y"); }) ==
        "RowOffsets Exp");
  CHECK(steps_of([](tf::Graph& g) { sum<1>(gather(table(g), ids(g))).named("bag"); }) ==
        "RowOffsets Sum");
  CHECK(steps_of([](tf::Graph& g) { softmax(gather(table(g), ids(g))).named("y"); }) ==
        "RowOffsets Div");
  SUBCASE("by all who read them, and with the same indices of several tables") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto i = ids(g);
            const auto x = gather(table(g), i);
            const auto y = gather(tf::placeholder<float, 100, 40>(g, "other"), i);
            (x * y).named("y");
            sum<1>(y).named("bag");
            sum<2>(x).named("sums");
          }) == "RowOffsets Sum Sum Mul");
  }
  SUBCASE("also where their axes are merged or split") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto i = tf::placeholder<std::int64_t, 6, 5>(g, "i");
            exp(reshape<30, 40>(gather(table(g), i))).named("y");
          }) == "RowOffsets Exp");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = tf::placeholder<double, 9, 4, 50>(g, "x");
            exp(reshape<2, 3, 2, 100>(gather(x, tf::placeholder<std::int64_t, 6>(g, "i"))))
                .named("y");
          }) == "RowOffsets Exp");
  }
  SUBCASE("of a variable that the model changes afterwards") {
    CHECK(steps_of([](tf::Graph& g) {
            auto w = tf::variable<float, 100, 40>(g, "w");
            const auto loss = sum(square(sum<1>(gather(w, ids(g))))).named("loss");
            tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("train");
          }) == "RowOffsets Sum Sum Mul Mul ScatterSub");
  }
}

TEST_CASE("rows are gathered into memory") {
  SUBCASE("if something else than a loop needs them, or a run") {
    CHECK(steps_of([](tf::Graph& g) {
            matmul(gather(table(g), tf::placeholder<std::int32_t, 7>(g, "i")),
                   tf::placeholder<float, 40, 3>(g, "w"))
                .named("y");
          }) == "Gather MatMul");
    CHECK(steps_of([](tf::Graph& g) { exp(gather(table(g), ids(g)).named("rows")).named("y"); }) ==
          "Gather Exp");
  }
  SUBCASE("if they are short, or of elements that are no rows") {
    const auto narrow = [](tf::Graph& g) {
      exp(gather(tf::placeholder<float, 100, 32>(g, "x"), ids(g))).named("y");
    };
    CHECK(steps_of(narrow) == "Gather Exp");
    CHECK(steps_of(narrow, {.row = 32}) == "RowOffsets Exp");
    CHECK(steps_of([](tf::Graph& g) { exp(gather<1>(table(g), ids(g))).named("y"); }) ==
          "Gather Exp");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = gather(tf::placeholder<float, 100>(g, "x"),
                                  tf::placeholder<std::int32_t, 50>(g, "i"));
            (table(g) * tf::expand_dims<1>(tf::concat<0>(x, x))).named("y");
          }) == "Gather Concat Mul");
  }
  SUBCASE("if they are of small integers, or numbers for what is read with them") {
    CHECK(steps_of([](tf::Graph& g) {
            (gather(tf::placeholder<std::uint8_t, 100, 40>(g, "x"), ids(g)) + std::uint8_t{1})
                .named("y");
          }) == "Gather Add");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = gather(tf::placeholder<float, 100, 40, 1>(g, "x"), ids(g));
            (x * tf::placeholder<float, 40, 50>(g, "z")).named("y");
          }) == "Gather Mul");
    CHECK(steps_of([](tf::Graph& g) {
            exp(gather(tf::placeholder<float, 100>(g, "x"), tf::placeholder<std::int8_t>(g, "i")))
                .named("y");
          }) == "Gather Exp");
  }
  SUBCASE("if a fold goes over rows and their elements") {
    CHECK(steps_of([](tf::Graph& g) { sum(gather(table(g), ids(g))).named("y"); }) == "Gather Sum");
  }
  SUBCASE("if the kernel that reads them changes their variable") {
    CHECK(steps_of([](tf::Graph& g) {
            auto w = tf::variable<float, 100, 40>(g, "w");
            const auto i = tf::placeholder<std::int32_t, 100>(g, "i");
            assign(w, 2.0f * gather(w, i)).named("shuffled");
          }) == "Gather Mul");
  }
  SUBCASE("on GPUs") {
    CHECK(steps_of([](tf::Graph& g) {
            tf::on<tf::Gpu<0>>(g, [&] { return exp(gather(table(g), ids(g))).named("y"); });
          }) == "Gather Exp");
  }
}

TEST_CASE("describe_passes shows rows that are read in place") {
  tf::Graph g;
  exp(gather(table(g), ids(g))).named("y");
  const std::string text = tf::describe_passes(g);
  CAPTURE(text);
  CHECK(text.find("RowOffsets(ids)  int32 [batch, 5]") != std::string::npos);
  CHECK(text.find("  gathered rows %2 of table at %4\n") != std::string::npos);
}

TEST_CASE("how strided views lie in a space") {
  const tf::Dims whole{2, {6, 20}};
  tf::Layout layout = tf::row_major(whole);
  SUBCASE("what goes on is one axis") {
    const tf::ir::StridedAxes axes = tf::ir::strided_axes(layout, whole, tf::Dims{1, {120}}, 1u);
    CHECK(axes.fits);
    CHECK(axes.starts == 0u);
    CHECK(axes.run == tf::Count{120, 0});
    CHECK(axes.stride[0] == tf::Stride{1, 0});
  }
  SUBCASE("what does not is cut there, and can't be one axis") {
    const tf::Dims strided_view{2, {6, 10}};
    const tf::ir::StridedAxes axes = tf::ir::strided_axes(layout, strided_view, strided_view, 3u);
    CHECK(axes.fits);
    CHECK(axes.starts == 2u);
    CHECK(axes.run == tf::Count{10, 0});
    CHECK(axes.stride[0] == tf::Stride{20, 0});
    CHECK(!tf::ir::strided_axes(layout, strided_view, tf::Dims{1, {60}}, 1u).fits);
    CHECK(!tf::ir::strided_axes(layout, strided_view, tf::Dims{2, {3, 20}}, 3u).fits);
  }
  SUBCASE("axes of the space that it does not run along are passed over") {
    const tf::Dims strided_view{2, {6, 10}};
    const tf::ir::StridedAxes axes =
        tf::ir::strided_axes(layout, strided_view, tf::Dims{4, {6, 7, 5, 2}}, 0b1101u);
    CHECK(axes.fits);
    CHECK(axes.starts == 0b100u);
    CHECK(axes.stride[0] == tf::Stride{20, 0});
    CHECK(axes.stride[2] == tf::Stride{2, 0});
    CHECK(axes.stride[3] == tf::Stride{1, 0});
  }
  SUBCASE("a begin is the sum of a number and a multiple of the same symbols") {
    CHECK(layout.skip(3, layout.stride[0]));
    CHECK(layout.skip(2, tf::Stride{5, 1}));
    CHECK(layout.skip(tf::batch, tf::Stride{5, 0}));
    CHECK(layout.begin[0] == tf::Stride{60, 0});
    CHECK(layout.begin[1] == tf::Stride{15, 1});
    CHECK(!layout.skip(1, tf::Stride{5, 2}));
  }
}
