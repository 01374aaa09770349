// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random forests in models: a forest is a resource, and growing it and asking it are operations.
//
//   constexpr void flowers(tf::Graph& g) {
//     auto x = placeholder<float, tf::batch, 4>(g, "x");
//     auto label = placeholder<std::int32_t, tf::batch>(g, "label");
//     auto forest = tf::random_forest<3>(g, "forest", {.trees = 3, .max_nodes = 1000});
//     grow(forest, x, label).named("train");
//     infer(forest, x).named("probabilities");  // (batch,3)
//   }

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/estimators/forest.hpp"
#include "typeflow/resources/kernels.hpp"
#include "typeflow/resources/resource.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// "ForestInfer 10", a name for each number of outputs.
template <int Outputs>
struct ForestName {
  static constexpr auto with_number(std::string_view stem) {
    std::array<char, 40> text{};
    std::size_t size = 0;
    for (const char c : stem) text[size++] = c;
    int unit = 1;
    while (Outputs / unit >= 10) unit *= 10;
    for (; unit > 0; unit /= 10) text[size++] = static_cast<char>('0' + Outputs / unit % 10);
    return text;
  }
  template <std::size_t N>
  static constexpr std::string_view view(const std::array<char, N>& text) {
    std::size_t size = 0;
    while (text[size] != '\0') ++size;
    return {text.data(), size};
  }
};

/// The options of a forest as attributes of its operations.
struct ForestAttributes {
  double bagging_fraction;
  double feature_bagging_fraction;
  double dominate_fraction;
  std::uint64_t seed;
  int trees;
  int max_nodes;
  int split_after_samples;
  int splits_to_consider;
  int max_fertile_nodes;
  int max_depth;
  int check_every;
  int threads;
  int criterion;
  int dominance;

  RandomForestOptions options() const {
    RandomForestOptions o;
    o.bagging_fraction = bagging_fraction;
    o.feature_bagging_fraction = feature_bagging_fraction;
    o.dominate_fraction = dominate_fraction;
    o.seed = seed;
    o.trees = trees;
    o.max_nodes = max_nodes;
    o.split_after_samples = split_after_samples;
    o.splits_to_consider = splits_to_consider;
    o.max_fertile_nodes = max_fertile_nodes;
    o.max_depth = max_depth;
    o.check_every = check_every;
    o.threads = threads;
    o.criterion = static_cast<SplitCriterion>(criterion);
    o.dominance = static_cast<Dominance>(dominance);
    return o;
  }
};
constexpr ForestAttributes attributes_of(const RandomForestOptions& o) {
  return {o.bagging_fraction,
          o.feature_bagging_fraction,
          o.dominate_fraction,
          o.seed,
          o.trees,
          o.max_nodes,
          o.split_after_samples,
          o.splits_to_consider,
          o.max_fertile_nodes,
          o.max_depth,
          o.check_every,
          o.threads,
          static_cast<int>(o.criterion),
          static_cast<int>(o.dominance)};
}

/// The features of a row, if x is a matrix of floats with a known number of columns.
constexpr bool is_feature_matrix(const Type& x) {
  return x.dtype == DType::float32 && x.dims.rank == 2 && x.dims.extent[1] > 0;
}

inline std::vector<std::int64_t> every_row(std::int64_t rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

}  // namespace detail

namespace ops {

/// Grows a forest by a batch. Inputs: features (N,features), and labels (N) or targets (N,Outputs).
template <int Outputs, bool IsRegression>
struct ForestGrow : resource_operation<Forest> {
  static constexpr auto text = detail::ForestName<Outputs>::with_number(
      IsRegression ? "RegressionForestGrow " : "ForestGrow ");
  static constexpr std::string_view name = detail::ForestName<Outputs>::view(text);
  detail::ForestAttributes attributes;

  static void compute(const ForestGrow& op, Forest& forest, const cpu_kernels::Tensor* in,
                      const cpu_kernels::Tensor*, const KernelCall&) {
    const std::string title(name);
    const std::int64_t rows = in[0].extents[0];
    forest.configure(static_cast<int>(in[0].extents[1]), Outputs, IsRegression,
                     op.attributes.options(), title);
    const auto* const x = static_cast<const float*>(in[0].data);
    if constexpr (IsRegression) {
      const auto* const targets = static_cast<const float*>(in[1].data);
      detail::check_targets({targets, static_cast<std::size_t>(in[1].size())}, rows, Outputs,
                            title);
      forest.grow(x, targets, detail::every_row(rows));
    } else {
      const auto* const labels = static_cast<const std::int32_t*>(in[1].data);
      detail::check_labels({labels, static_cast<std::size_t>(in[1].size())}, rows, Outputs, title);
      forest.grow(x, labels, detail::every_row(rows));
    }
  }
};

/// Predicts rows by a forest. (N,features) -> (N,Outputs)
template <int Outputs, bool IsRegression>
struct ForestInfer : resource_operation<Forest> {
  static constexpr auto text = detail::ForestName<Outputs>::with_number(
      IsRegression ? "RegressionForestInfer " : "ForestInfer ");
  static constexpr std::string_view name = detail::ForestName<Outputs>::view(text);
  detail::ForestAttributes attributes;

  static constexpr Type infer(ForestInfer, const Type&, const Type& x) {
    Dims dims = no_dims;
    if (detail::is_feature_matrix(x)) dims = Dims{2, {x.dims.extent[0], Outputs}};
    return {DType::float32, dims};
  }
  static void compute(const ForestInfer& op, Forest& forest, const cpu_kernels::Tensor* in,
                      const cpu_kernels::Tensor* result, const KernelCall&) {
    forest.configure(static_cast<int>(in->extents[1]), Outputs, IsRegression,
                     op.attributes.options(), std::string(name));
    forest.infer(static_cast<const float*>(in->data), in->extents[0],
                 static_cast<float*>(result->data));
  }
};

}  // namespace ops

/// The handle of a forest in a model. Made by random_forest and regression_forest.
template <int Outputs, bool IsRegression>
class ForestHandle {
 public:
  constexpr ForestHandle(const Resource<Forest>& resource, const RandomForestOptions& options)
      : resource_(resource), attributes_(detail::attributes_of(options)) {}
  constexpr const Resource<Forest>& resource() const { return resource_; }
  constexpr const detail::ForestAttributes& attributes() const { return attributes_; }

 private:
  Resource<Forest> resource_;
  detail::ForestAttributes attributes_;
};

/// Declares a forest that classifies. Sessions on one store share it;
/// variables.resource<tf::Forest>(name) is the object, which can save itself. Options that are out
/// of range are an Error of the first run.
template <int Classes>
constexpr ForestHandle<Classes, false> random_forest(
    Graph& g, Label name, const RandomForestOptions& options = {},
    std::source_location at = std::source_location::current()) {
  static_assert(Classes >= 2, "random_forest<classes>(g, name): there must be at least 2 classes");
  return {typeflow::resource<Forest>(g, name, at), options};
}
/// The same for regression: it estimates `Outputs` numbers.
template <int Outputs = 1>
constexpr ForestHandle<Outputs, true> regression_forest(
    Graph& g, Label name, const RandomForestOptions& options = {},
    std::source_location at = std::source_location::current()) {
  static_assert(Outputs >= 1,
                "regression_forest<outputs>(g, name): there must be at least 1 output");
  return {typeflow::resource<Forest>(g, name, at), options};
}

/// The forest grows by a batch: features (N,features), and labels (N) of std::int32_t, or targets
/// (N,outputs). Error for labels out of range and targets that are not finite.
template <int Outputs, bool IsRegression, TypedExpr X, TypedExpr Y>
constexpr Effect grow(const ForestHandle<Outputs, IsRegression>& forest, const X& x, const Y& y,
                      std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::is_feature_matrix(X::type);
  constexpr Type given = Y::type;
  constexpr bool rows = given.dims.rank > 0 && given.dims.extent[0] == X::type.dims.extent[0];
  constexpr bool labels = rows && given.dtype == DType::int32 && given.dims.rank == 1;
  constexpr bool targets = rows && given.dtype == DType::float32 && given.dims.rank == 2 &&
                           given.dims.extent[1] == Outputs;
  static_assert(fits, "grow(forest, x, y): x must be a matrix of floats, (N,features)");
  static_assert(IsRegression || labels,
                "grow(forest, x, labels): labels must be N std::int32_t for N rows of x");
  static_assert(!IsRegression || targets,
                "grow(forest, x, targets): targets must be floats, (N,outputs) for N rows of x");
  if constexpr (fits && (IsRegression ? targets : labels)) {
    ir::Graph& graph = forest.resource().graph();
    graph.source = source_line(at);
    return apply(ops::ForestGrow<Outputs, IsRegression>{{}, forest.attributes()}, forest.resource(),
                 x, y);
  } else {
    return {};
  }
}

/// The mean of the trees: probabilities of the classes, or outputs. Zeros before the first batch.
/// (N,features) -> (N,outputs)
template <int Outputs, bool IsRegression, TypedExpr X>
constexpr auto infer(const ForestHandle<Outputs, IsRegression>& forest, const X& x,
                     std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::is_feature_matrix(X::type);
  static_assert(fits, "infer(forest, x): x must be a matrix of floats, (N,features)");
  if constexpr (fits) {
    ir::Graph& graph = forest.resource().graph();
    graph.source = source_line(at);
    return apply(ops::ForestInfer<Outputs, IsRegression>{{}, forest.attributes()},
                 forest.resource(), x);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
