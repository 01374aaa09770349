// SPDX-License-Identifier: Apache-2.0
#pragma once

// Samplers of candidates with a probability for each class, and the sampler of all classes.
//
// Source of the formulas: TensorFlow's "Candidate sampling algorithms reference" and its
// range_sampler.cc.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "typeflow/candidate_sampling/samplers.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/ops/index/scatter.hpp"
#include "typeflow/ops/reduce/cumsum.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct UnigramSamplerOptions {
  double distortion = 1;  ///< classes are drawn by weight^distortion; 0 draws all alike
  bool unique = true;     ///< no class is drawn twice
  Label name = "";        ///< of the ids; operations without one draw by their number in the scope
};

namespace ops {

/// Classes and the number of draws, by the running sums of the classes' weights. (V) -> (S) and ()
struct UnigramSampler : custom {
  static constexpr std::string_view name = "UnigramSampler";
  static constexpr SideEffect effect = SideEffect::random;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int outputs = 2;
  static constexpr int flops = 40;
  std::uint32_t path_low;  ///< hash of the operation's path
  std::uint32_t path_high;
  Extent samples;
  std::uint32_t unique;
  std::uint32_t learned;  ///< the weights are counts of learned_unigram_candidate_sampler

  static constexpr std::array<Type, 2> infer(const UnigramSampler& op, const Type& sums) {
    const bool fits = sums.dtype == DType::float64 && sums.dims.rank == 1;
    return {Type(DType::int32, fits ? Dims{1, {op.samples}} : no_dims), Type(DType::int64, {})};
  }
  /// The mistake in the sums of `classes` weights: a weight that is negative or no number, or too
  /// few that are not 0.
  template <class At>
  Failure find_wrong(const At& sum, std::int64_t classes, std::int64_t count) const {
    std::int64_t drawable = 0;
    double before = 0;
    for (std::int64_t i = 0; i < classes; ++i) {
      const double now = sum(i);
      if (!(now >= before) || now - now != 0) return {1, {i}};
      drawable += now > before;
      before = now;
    }
    if (count > 0 && drawable < (unique != 0 ? count : 1)) return {2, {drawable, count}};
    return {};
  }
  /// The class of draw number i: the first whose sum is above a number in [0, total).
  template <class At>
  std::int32_t candidate(const RandomState& random, const At& sum, std::int64_t classes,
                         std::int64_t i) const {
    const std::uint64_t key = random_key(random.seed, std::uint64_t{path_high} << 32 | path_low);
    const double total = sum(classes - 1);
    const double x =
        total * uniform_element<double>(key, random.draw, static_cast<std::uint64_t>(i));
    std::int64_t low = 0;
    for (std::int64_t high = classes; low < high;) {
      const std::int64_t middle = low + (high - low) / 2;
      if (sum(middle) > x) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    // A product that was rounded up to the total belongs to the last class with a weight.
    if (low == classes) --low;
    while (low > 0 && !(sum(low) > sum(low - 1))) --low;
    return static_cast<std::int32_t>(low);
  }
  /// Draws until `count` classes are taken; returns the number of draws.
  template <class At, class F>
  std::int64_t draw(const RandomState& random, const At& sum, std::int64_t classes,
                    std::int64_t count, const F& take) const {
    std::int64_t draws = 0;
    for (std::int64_t taken = 0; taken < count; ++draws) {
      if (take(taken, candidate(random, sum, classes, draws))) ++taken;
    }
    return draws;
  }
  TYPEFLOW_COLD static Error explain(const UnigramSampler& op, const Failure& wrong,
                                     std::span<const Dims>) {
    const bool counts = op.learned != 0;
    const char* const sampler =
        counts ? "learned_unigram_candidate_sampler" : "fixed_unigram_candidate_sampler";
    const std::string weight = counts ? "count" : "weight";
    const std::string first = std::to_string(wrong.number[0]);
    if (wrong.what == 1) {
      return Error(sampler, "the " + weight + " of class " + first + " is negative or not finite");
    }
    return Error(sampler, std::to_string(wrong.number[1]) + " classes to draw, but " + first +
                              " have a " + weight + " above 0");
  }
  static void interpret(InterpretCall& call) {
    const UnigramSampler op = decode<UnigramSampler>(call.graph, call.node);
    const HostTensor& sums = *call.inputs[0];
    HostTensor& ids = call.outputs[0];
    const auto sum = [&](std::int64_t i) { return sums[i].real; };
    const Failure wrong = op.find_wrong(sum, sums.size(), ids.size());
    if (wrong.what != 0) throw explain(op, wrong, {});
    std::vector<bool> seen(static_cast<std::size_t>(sums.size()));
    call.outputs[1][0].integer =
        op.draw(call.random, sum, sums.size(), ids.size(), [&](std::int64_t i, std::int32_t id) {
          if (op.unique != 0 && seen[static_cast<std::size_t>(id)]) return false;
          seen[static_cast<std::size_t>(id)] = true;
          ids[i].integer = id;
          return true;
        });
  }
};

}  // namespace ops

namespace detail {

/// Samples in proportion to weight^distortion, for checked arguments. (L) x (V)
template <Extent S, Element T, TypedExpr L>
constexpr auto sample_by_weights(bool learned, const L& true_classes, const AnyExpr& weights,
                                 const UnigramSamplerOptions& options) {
  ir::Graph& graph = true_classes.graph();
  const std::uint64_t path =
      graph.add_random_path(learned ? Label("learned_unigram_candidate_sampler")
                                    : Label("fixed_unigram_candidate_sampler"),
                            options.name);
  const ops::UnigramSampler op{
      {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32),
      S,  options.unique ? 1u : 0u,         learned ? 1u : 0u};
  const AnyExpr wide = cast_to(weights, DType::float64);
  const AnyExpr share = options.distortion == 1 ? wide : pow(wide, options.distortion);
  const std::array<AnyExpr, 2> drawn = apply(op, cumsum_along(share, 0));
  const AnyExpr ids = labelled(drawn[0], options.name);
  const AnyExpr total = reduce<ops::Sum>(share, 1u, false);
  const auto expected = [&](const AnyExpr& classes) {
    const AnyExpr p = gather_node(share, classes, 0, 0, Indexing::candidates) / total;
    return cast_to(expected_count_of(p, options.unique, drawn[1], S), dtype_of<T>);
  };
  using Ids = Expr<std::int32_t, Shape<S>>;
  using TrueCount = Expr<T, typename L::shape>;
  using Sampled = Expr<T, Shape<S>>;
  Graph& g = true_classes.graph();
  return CandidateSamples<Ids, TrueCount, Sampled>{Ids(g, ids.id),
                                                   TrueCount(g, expected(true_classes.any()).id),
                                                   Sampled(g, expected(ids).id),
                                                   {g, drawn[1].id}};
}

}  // namespace detail

/// S classes, drawn anew in each run in proportion to weight^distortion, one sample for the whole
/// batch: fixed_unigram_candidate_sampler<64>(labels, counts, {.distortion = 0.75}). The weights
/// are counts of words, or other numbers from 0 on; a class of weight 0 is never drawn. (L) x (V)
/// -> ids (S), true_expected_count (L), expected_count (S)
///
/// Expected counts have element type T: S p, or 1 - (1 - p)^draws for unique classes. These are
/// Errors of the run: a weight that is negative or not finite, fewer classes with a weight than a
/// unique sample needs, a true class outside of [0, V).
template <Extent S, Element T = float, TypedExpr L, TypedExpr W>
constexpr auto fixed_unigram_candidate_sampler(
    const L& true_classes, const W& weights, UnigramSamplerOptions options = {},
    std::source_location at = std::source_location::current()) {
  static_assert(S > 0 && !is_symbolic(S),
                "fixed_unigram_candidate_sampler<S>(true_classes, weights): S must be a number "
                "from 1 on");
  static_assert(std::is_floating_point_v<T>,
                "fixed_unigram_candidate_sampler<S, T>(true_classes, weights): T must be float or "
                "double");
  static_assert(detail::are_indices<L>,
                "fixed_unigram_candidate_sampler<S>(true_classes, weights): the classes must be "
                "integers");
  static_assert(detail::in_domain<Domain::real, W> && W::rank == 1,
                "fixed_unigram_candidate_sampler<S>(true_classes, weights): the weights must be "
                "real numbers, one for each class");
  detail::mark(at, true_classes);
  return detail::sample_by_weights<S, T>(false, true_classes, weights.any(), options);
}

/// S of V classes, drawn by how often each one was a true class so far:
/// learned_unigram_candidate_sampler<64, 50000>(g, "sampler", labels).
/// (L) -> ids (S), true_expected_count (L), expected_count (S)
///
/// It makes the variable NAME/counts, int64 (V), which is not trainable and begins with ones. A
/// class is drawn in proportion to count^distortion, where a run's counts are those before its own
/// true classes. In training each call registers an update that adds 1 for each true class, which
/// optimisers' effects include; in inference the counts stay. (TensorFlow counts in each run of the
/// operation.) Otherwise as fixed_unigram_candidate_sampler. A run reads all V counts.
template <Extent S, Extent V, Element T = float, TypedExpr L>
constexpr auto learned_unigram_candidate_sampler(
    Graph& graph, Label name, const L& true_classes, UnigramSamplerOptions options = {},
    std::source_location at = std::source_location::current()) {
  static_assert(S > 0 && !is_symbolic(S) && V > 0 && !is_symbolic(V),
                "learned_unigram_candidate_sampler<S, V>(g, name, true_classes): S and V must be "
                "numbers from 1 on");
  static_assert(std::is_floating_point_v<T>,
                "learned_unigram_candidate_sampler<S, V, T>(g, name, true_classes): T must be "
                "float or double");
  static_assert(detail::are_indices<L>,
                "learned_unigram_candidate_sampler<S, V>(g, name, true_classes): the classes must "
                "be integers");
  const Scope in(graph, name);
  const auto counts = variable<std::int64_t, V>(graph, "counts", ones(), false, at);
  detail::mark(at, true_classes);
  const auto samples = detail::sample_by_weights<S, T>(true, true_classes, counts.any(), options);
  if (graph.training()) graph.add_update(scatter_add(counts, true_classes, 1, at));
  return samples;
}

/// All classes 0 ... S-1 as a sample, each expected once. It shows what a loss over samples of them
/// approximates. (L) -> ids (S), true_expected_count (L), expected_count (S)
template <Extent S, Element T = float, TypedExpr L>
constexpr auto all_candidate_sampler(const L& true_classes,
                                     std::source_location at = std::source_location::current()) {
  static_assert(S > 0 && !is_symbolic(S),
                "all_candidate_sampler<S>(true_classes): S must be a number from 1 on");
  static_assert(std::is_floating_point_v<T>,
                "all_candidate_sampler<S, T>(true_classes): T must be float or double");
  static_assert(detail::are_indices<L>,
                "all_candidate_sampler<S>(true_classes): the classes must be integers");
  detail::mark(at, true_classes);
  ir::Graph& graph = true_classes.graph();
  const AnyExpr one = detail::literal_node(graph, dtype_of<T>, 1);
  using Ids = Expr<std::int32_t, Shape<S>>;
  using TrueCount = Expr<T, typename L::shape>;
  using Sampled = Expr<T, Shape<S>>;
  Graph& g = true_classes.graph();
  return CandidateSamples<Ids, TrueCount, Sampled>{
      Ids(g, index_along(graph, Dims{1, {S}}, 0).id),
      TrueCount(g, broadcast_to(one, L::shape::dims).id),
      Sampled(g, broadcast_to(one, Dims{1, {S}}).id),
      {g, detail::constant_node(graph, DType::int64, Number{0, S}).id}};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
