// SPDX-License-Identifier: Apache-2.0
#pragma once

// Samplers of candidates: classes drawn for a whole batch, and their expected counts.
//
// Source of the formulas: TensorFlow's "Candidate sampling algorithms reference" and its
// range_sampler.cc.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <vector>

#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/index/indexing.hpp"
#include "typeflow/ops/random/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Sampled classes in the order of their draws; the expected counts of these and of the true
/// classes in the sample; and the number of draws, which includes repeated draws of duplicates.
/// True classes may be among the sampled ones.
template <TypedExpr Ids, TypedExpr TrueCount, TypedExpr Count>
struct CandidateSamples {
  Ids ids;                        ///< int32 (S)
  TrueCount true_expected_count;  ///< in the shape of the true classes
  Count expected_count;           ///< (S)
  Expr<std::int64_t> draws;
};

struct CandidateSamplerOptions {
  std::int64_t range;  ///< classes are 0 .. range - 1
  bool unique = true;  ///< no class is drawn twice
  Label name = "";     ///< of the ids; operations without one draw by their number in the scope
};

namespace ops {

/// Classes and the number of draws. () -> (S) and ()
struct CandidateSampler : custom {
  static constexpr std::string_view name = "CandidateSampler";
  static constexpr SideEffect effect = SideEffect::random;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int outputs = 2;
  static constexpr int flops = 40;
  std::uint32_t path_low;  ///< hash of the operation's path
  std::uint32_t path_high;
  std::int64_t range;
  std::uint32_t log_uniform;
  std::uint32_t unique;

  /// The class of draw number i.
  std::int32_t candidate(const RandomState& random, std::int64_t i) const {
    const std::uint64_t key = random_key(random.seed, std::uint64_t{path_high} << 32 | path_low);
    const auto index = static_cast<std::uint64_t>(i);
    if (log_uniform == 0) {
      return static_cast<std::int32_t>(
          integer_element(key, random.draw, index, static_cast<std::uint64_t>(range)));
    }
    const double u = uniform_element<double>(key, random.draw, index);
    const double x = std::exp(u * std::log(static_cast<double>(range) + 1));  // in [1, range + 1)
    return static_cast<std::int32_t>(std::min(static_cast<std::int64_t>(x), range) - 1);
  }
  /// Draws until `count` classes are taken; returns the number of draws.
  template <class F>
  std::int64_t draw(const RandomState& random, std::int64_t count, const F& take) const {
    std::int64_t draws = 0;
    for (std::int64_t taken = 0; taken < count; ++draws) {
      if (take(taken, candidate(random, draws))) ++taken;
    }
    return draws;
  }

  static void interpret(InterpretCall& call) {
    const CandidateSampler op = decode<CandidateSampler>(call.graph, call.node);
    HostTensor& ids = call.outputs[0];
    std::vector<bool> seen(static_cast<std::size_t>(op.range));
    call.outputs[1][0].integer =
        op.draw(call.random, ids.size(), [&](std::int64_t i, std::int32_t id) {
          if (op.unique != 0 && seen[static_cast<std::size_t>(id)]) return false;
          seen[static_cast<std::size_t>(id)] = true;
          ids[i].integer = id;
          return true;
        });
  }
};

}  // namespace ops

namespace detail {

/// Expected counts of classes with probabilities p in a sample. For unique classes
/// 1 - (1 - p)^draws, computed so that small p keep their accuracy.
constexpr AnyExpr expected_count_of(const AnyExpr& p, bool unique, const AnyExpr& draws,
                                    Extent samples) {
  if (!unique) return p * static_cast<double>(samples);
  return -expm1(cast_to(draws, p.dtype()) * log1p(-p));
}

/// The same of classes that `op` draws.
constexpr AnyExpr expected_count(const AnyExpr& classes, DType type,
                                 const ops::CandidateSampler& op, const AnyExpr& draws,
                                 Extent samples) {
  const auto range = static_cast<double>(op.range);
  AnyExpr p{};
  if (op.log_uniform != 0) {
    const AnyExpr next = cast_to(classes, type) + 1;
    const AnyExpr total = log(literal_node(*classes.graph, type, range + 1));
    p = minimum(log1p(1 / next) / total, 1);
  } else {
    p = broadcast_to(literal_node(*classes.graph, type, 1 / range), classes.dims());
  }
  return expected_count_of(p, op.unique != 0, draws, samples);
}

template <Extent S, Element T, TypedExpr L>
constexpr auto sample_candidates(const Label& kind, bool log_uniform, const L& true_classes,
                                 const CandidateSamplerOptions& options,
                                 const std::source_location& at) {
  mark(at, true_classes);
  ir::Graph& graph = true_classes.graph();
  const bool in_range = options.range >= 1 && options.range <= 0x7FFFFFFF;
  if (!in_range || (options.unique && options.range < S)) {
    Message message{};
    message << std::string_view(kind.text, static_cast<std::size_t>(kind.length)) << ", ";
    print_place(message, graph.source);
    graph.fail(message << (in_range ? ": there are fewer classes than unique ones to draw"
                                    : ": the range must be from 1 to 2147483647 classes"));
  }
  const std::uint64_t path = graph.add_random_path(kind, options.name);
  const ops::CandidateSampler op{{},
                                 static_cast<std::uint32_t>(path),
                                 static_cast<std::uint32_t>(path >> 32),
                                 options.range,
                                 log_uniform ? 1u : 0u,
                                 options.unique ? 1u : 0u};
  using Ids = Expr<std::int32_t, Shape<S>>;
  const auto [ids, draws] =
      add_node(graph, op, nullptr, 0, std::array{Ids::type, Type(DType::int64, {})});
  labelled(ids, options.name);
  constexpr DType type = dtype_of<T>;
  using TrueCount = Expr<T, typename L::shape>;
  using Count = Expr<T, Shape<S>>;
  Graph& g = true_classes.graph();
  return CandidateSamples<Ids, TrueCount, Count>{
      Ids(g, ids.id),
      TrueCount(g, expected_count(true_classes.any(), type, op, draws, S).id),
      Count(g, expected_count(ids, type, op, draws, S).id),
      {g, draws.id}};
}

}  // namespace detail

/// S classes, drawn anew in each run, one sample for the whole batch:
/// log_uniform_candidate_sampler<64>(labels, {.range = 50000}). The probability of class k is
/// log((k + 2) / (k + 1)) / log(range + 1). This is nearly Zipf's distribution, which fits classes
/// sorted by frequency, such as words. (L) -> ids (S), true_expected_count (L), expected_count (S)
///
/// Expected counts have element type T: S p, or 1 - (1 - p)^draws for unique classes. It is a
/// mistake of the model if `range` has fewer classes than a unique sample needs.
template <Extent S, Element T = float, TypedExpr L>
constexpr auto log_uniform_candidate_sampler(
    const L& true_classes, CandidateSamplerOptions options,
    std::source_location at = std::source_location::current()) {
  static_assert(S > 0 && !is_symbolic(S),
                "log_uniform_candidate_sampler<S>(true_classes): S must be a number from 1 on");
  static_assert(std::is_floating_point_v<T>,
                "log_uniform_candidate_sampler<S, T>(true_classes): T must be float or double");
  static_assert(detail::are_indices<L>,
                "log_uniform_candidate_sampler<S>(true_classes): the classes must be integers");
  return detail::sample_candidates<S, T>("log_uniform_candidate_sampler", true, true_classes,
                                         options, at);
}

/// The same with all classes equally likely.
template <Extent S, Element T = float, TypedExpr L>
constexpr auto uniform_candidate_sampler(
    const L& true_classes, CandidateSamplerOptions options,
    std::source_location at = std::source_location::current()) {
  static_assert(S > 0 && !is_symbolic(S),
                "uniform_candidate_sampler<S>(true_classes): S must be a number from 1 on");
  static_assert(std::is_floating_point_v<T>,
                "uniform_candidate_sampler<S, T>(true_classes): T must be float or double");
  static_assert(detail::are_indices<L>,
                "uniform_candidate_sampler<S>(true_classes): the classes must be integers");
  return detail::sample_candidates<S, T>("uniform_candidate_sampler", false, true_classes, options,
                                         at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
