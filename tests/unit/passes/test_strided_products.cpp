// SPDX-License-Identifier: Apache-2.0

// Random programs of products whose operands are slices and transposes of what other steps compute:
// as programs, whose memory is planned and whose kernels store at once and in a scattered order,
// and as the interpreter computes the graph. Elements are small whole numbers, so all sums are
// exact.

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/graph.hpp"
#include "typeflow/interpret/interpret.hpp"
#include "typeflow/interpret/program.hpp"

namespace tf = typeflow;

namespace {

class RandomProducts {
 public:
  RandomProducts(tf::Graph& graph, unsigned seed) : graph_(graph), random_(seed) {
    for (int i = 0; i < 3; ++i) {
      tf::Dims dims{};
      const int rank = 2 + below(3);
      for (int k = 0; k < rank; ++k) dims.append(extent());
      tf::ir::Graph& records = tf::ir::records(graph_);
      const tf::AnyExpr x = tf::add_node(records, tf::ops::Placeholder{{}, 0, 0, 0}, nullptr, 0,
                                         tf::Type(tf::DType::float32, dims));
      records.add_name({"x", i}, tf::ir::NameKind::placeholder, x.id);
      values_.push_back(x);
      tf::HostTensor data = tf::host_tensor(tf::DType::float32, dims);
      for (std::int64_t k = 0; k < data.size(); ++k) data[k] = {below(5) - 2.0, 0};
      feeds["x_" + std::to_string(i)] = data;
    }
    for (int i = 0; i < 14; ++i) add();
    int number = 0;
    for (std::size_t i = 3; i < values_.size(); ++i) {
      if (below(3) != 0 && i + 1 != values_.size()) continue;
      tf::ir::records(graph_).add_name({"y", number}, tf::ir::NameKind::value, values_[i].id);
      names.push_back("y_" + std::to_string(number++));
    }
  }

  tf::HostTensors feeds;
  std::vector<std::string> names;

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int extent() {
    constexpr int some[] = {1, 2, 3, 4, 8, 9};
    return some[below(6)];
  }
  tf::AnyExpr any() { return values_[static_cast<std::size_t>(below(int(values_.size())))]; }

  /// Slices, transposes, reshapes: what products may find in another tensor's memory.
  tf::AnyExpr moved(tf::AnyExpr x) {
    for (int times = below(3); times > 0; --times) {
      const tf::Dims dims = x.dims();
      if (below(2) == 0) {
        const int axis = below(dims.rank);
        const auto size = 1 + below(static_cast<int>(dims.extent[axis]));
        x = tf::slice_along(x, axis, below(static_cast<int>(dims.extent[axis]) - size + 1), size);
      } else if (below(4) == 0 && dims.rank > 2) {
        tf::Dims merged{};
        for (int i = 1; i < dims.rank; ++i) {
          merged.append(i == 1 ? dims.extent[0] * dims.extent[1] : dims.extent[i]);
        }
        x = tf::reshape_to(x, merged);
      } else {
        int permutation[tf::max_rank] = {};
        for (int i = 0; i < dims.rank; ++i) permutation[i] = i;
        for (int i = dims.rank - 1; i > 0; --i)
          std::swap(permutation[i], permutation[below(i + 1)]);
        x = tf::transpose_to(x, permutation);
      }
    }
    return x;
  }
  /// x with an extent of n along an axis, from its first element on; shorter ones are repeated.
  static tf::AnyExpr fitted(const tf::AnyExpr& x, int axis, tf::Extent n) {
    if (x.dims().extent[axis] >= n) return tf::slice_along(x, axis, 0, n);
    const tf::AnyExpr one = tf::slice_along(x, axis, 0, 1);
    tf::Dims dims = one.dims();
    dims.extent[axis] = n;
    return tf::broadcast_to(one, dims);
  }

  void add() {
    const tf::AnyExpr x = any();
    if (below(4) == 0) {
      values_.push_back(sign(moved(x)));
      return;
    }
    tf::AnyExpr a = moved(x);
    tf::AnyExpr b = moved(any());
    const bool ta = below(2) == 0;
    const bool tb = below(2) == 0;
    b = fitted(b, b.dims().rank - (tb ? 1 : 2), a.dims().extent[a.dims().rank - (ta ? 2 : 1)]);
    for (int i = 3; i <= a.dims().rank && i <= b.dims().rank; ++i) {
      const tf::Extent n = a.dims().extent[a.dims().rank - i];
      if (n != 1 && b.dims().extent[b.dims().rank - i] != 1) b = fitted(b, b.dims().rank - i, n);
    }
    const tf::AnyExpr y = sign(tf::matmul(a, b, ta, tb));  // so later sums are exact
    // An operand may be read by what follows on the product's tiles, too.
    const bool fits = tf::broadcast(a.dims(), y.dims()) == y.dims();
    values_.push_back(fits && below(2) == 0 ? y - a : y);
  }

  tf::Graph& graph_;
  std::mt19937 random_;
  std::vector<tf::AnyExpr> values_;
};

bool same(const tf::HostTensor& a, const tf::HostTensor& b) {
  if (!(a.dims == b.dims)) return false;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    if (a.value(i) != b.value(i)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("random products of parts of tensors have the values of the graph") {
  int in_place = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    tf::Graph g;
    const RandomProducts model(g, seed);
    tf::Interpreter interpreter(g);
    const std::vector<tf::HostTensor> expected = interpreter.run(model.names, model.feeds);
    for (const int run : {1, 8}) {
      CAPTURE(run);
      tf::ir::FusionLimits limits;
      limits.run.value = run;
      tf::ir::ProgramInterpreter program(g, 0, limits);
      const std::vector<tf::HostTensor> values = program.run(model.names, model.feeds);
      REQUIRE(values.size() == expected.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        CAPTURE(model.names[i]);
        CHECK(same(values[i], expected[i]));
      }
      for (const tf::ir::KernelSpec& kernel : program.program().pools().specs) {
        if (kernel.kind != tf::ir::KernelKind::contraction) continue;
        in_place += (kernel.input[0].is_strided ? 1 : 0) + (kernel.input[1].is_strided ? 1 : 0);
      }
    }
  }
  CHECK(in_place > 500);
}
