// SPDX-License-Identifier: Apache-2.0
#pragma once

// Summaries as an operation of a model: a run that fetches it gives a serialized tf::Summary.
//
//   constexpr void model(tf::Graph& g) {
//     tf::Summaries summaries(g);
//     auto hidden = summaries.histogram("hidden", dense<500>(g, "fc1", x));
//     summaries.scalar("loss", loss);
//     summaries.merge().named("summaries");
//   }
//   writer.add(session.run<"summaries">(...), step);

#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "typeflow/cpu/call.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/operation.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// A serialized Summary of tensors. Inputs: a text with a line for each tensor, "KIND OPTION TAG"
/// and a zero byte; then the tensors.
struct MergeSummary : custom {
  static constexpr std::string_view name = "MergeSummary";
  static constexpr bool variadic = true;
  static constexpr bool takes_strings = true;
  static constexpr bool host_only = true;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int flops = 0;
  static constexpr Type infer(const MergeSummary&, std::span<const Type> x) {
    const bool fits = !x.empty() && x[0] == Type(DType::string, {});
    return {DType::string, fits ? Dims{} : no_dims};
  }
};

}  // namespace ops

namespace detail {

template <class X>
inline constexpr bool is_real_tensor = false;
template <TypedExpr X>
inline constexpr bool is_real_tensor<X> = contains(Domain::real, X::type.dtype);

}  // namespace detail

/// Tensors of a model that its summaries show, with the tags of TensorBoard's pages. A tag has the
/// current name scope before it: scalar("loss", x) in the scope tower_1 is tower_1/loss. A tag that
/// is taken gets a suffix.
///
/// Nothing is computed, and the graph has no node, before merge. The object belongs to one graph
/// and must not outlive it. Its functions return the tensor.
class Summaries {
 public:
  constexpr explicit Summaries(Graph& graph) : graph_(graph) {}
  Summaries(const Summaries&) = delete;
  Summaries& operator=(const Summaries&) = delete;

  /// A number. ()
  template <class X>
  constexpr X scalar(Label tag, const X& x) {
    constexpr bool fits = [] {
      if constexpr (detail::is_real_tensor<X>) {
        return X::rank == 0;
      } else {
        return false;
      }
    }();
    static_assert(fits, "summaries.scalar(tag, x): x must be a real scalar tensor: take mean(x)");
    if constexpr (fits) add('s', 0, tag, x.id());
    return x;
  }
  /// The distribution of a tensor's elements. A NaN or an infinite one is an Error of the run.
  /// (...)
  template <class X>
  constexpr X histogram(Label tag, const X& x) {
    constexpr bool fits = detail::is_real_tensor<X>;
    static_assert(fits, "summaries.histogram(tag, x): x must be a tensor of real numbers");
    if constexpr (fits) add('h', 0, tag, x.id());
    return x;
  }
  /// The first images of a batch, at most `most`, as TensorFlow shows them: bytes as they are;
  /// others scaled so that the largest value is white, and if some are below 0, that 0 is grey.
  /// Pixels that are NaN or infinite are red, or white. The tags are tag/image/0, tag/image/1...;
  /// tag/image if `most` is 1. (batch,height,width,channels), 1, 3 or 4 channels
  template <class X>
  constexpr X image(Label tag, const X& x, int most = 3) {
    constexpr bool fits = [] {
      if constexpr (detail::is_real_tensor<X>) {
        return X::rank == 4;
      } else {
        return false;
      }
    }();
    static_assert(fits,
                  "summaries.image(tag, x): x must be a tensor of real numbers "
                  "(batch,height,width,channels)");
    if constexpr (fits) add('i', most, tag, x.id());
    return x;
  }
  /// The first sounds of a batch, at most `most`, with samples in [-1, 1]. The tags are as those of
  /// images: tag/audio/0. (batch,frames) or (batch,frames,channels)
  template <class X>
  constexpr X audio(Label tag, const X& x, int sample_rate, int most = 3) {
    constexpr bool fits = [] {
      if constexpr (detail::is_real_tensor<X>) {
        return X::rank == 2 || X::rank == 3;
      } else {
        return false;
      }
    }();
    static_assert(fits,
                  "summaries.audio(tag, x, sample_rate): x must be a tensor of real numbers "
                  "(batch,frames) or (batch,frames,channels)");
    if constexpr (fits) add('a', sample_rate, tag, x.id(), most);
    return x;
  }
  /// Markdown. ()
  template <class X>
  constexpr X text(Label tag, const X& x) {
    constexpr bool fits = [] {
      if constexpr (TypedExpr<X>) {
        return X::type.dtype == DType::string && X::rank == 0;
      } else {
        return false;
      }
    }();
    static_assert(fits, "summaries.text(tag, x): x must be a scalar tensor of strings");
    if constexpr (fits) add('t', 0, tag, x.id());
    return x;
  }

  /// All summaries so far, or those in the name scope and below it, as one serialized Summary: a
  /// string for EventWriter::add. ""  if there are none.
  constexpr Expr<std::string_view> merge(
      std::string_view scope = {}, std::source_location at = std::source_location::current()) {
    ir::Graph& graph = graph_;
    Pool<char> plan;
    Pool<Id> inputs;
    inputs.push(none);
    for (const Entry& entry : entries_) {
      const std::string_view tag(tags_.data() + entry.tag.first,
                                 static_cast<std::size_t>(entry.tag.count));
      const bool inside = tag.starts_with(scope) && tag.substr(scope.size()).starts_with('/');
      if (!scope.empty() && !inside) continue;
      plan.push(entry.kind);
      put_number(plan, entry.option);
      put_number(plan, entry.most);
      plan.push(' ');
      for (const char c : tag) plan.push(c);
      plan.push('\0');
      inputs.push(entry.value);
    }
    inputs[0] =
        constant<std::string_view>(
            graph_, std::string_view(plan.data(), static_cast<std::size_t>(plan.size())), at)
            .id();
    graph.source = source_line(at);
    return {graph_, add_node(graph_, ops::MergeSummary{}, inputs.data(), inputs.size(),
                             Expr<std::string_view>::type)
                        .id};
  }

 private:
  struct Entry {
    char kind;
    int option;
    int most;
    Id value;
    ir::Range tag;  // in tags_
  };

  constexpr void add(char kind, int option, const Label& label, Id value, int most = 0) {
    ir::Graph& graph = graph_;
    // '\0', so that no name has this path.
    const std::uint64_t path = hash('\0', graph.path_hash(graph.scope, label, false));
    const Id first = graph.find_name(path);
    const int suffix = first == none ? 0 : ++graph.names[first].repeats;
    if (first == none) graph.add_unique_name(label, 0, ir::NameKind::key, false, none, path);
    Message text{};
    graph.print_scope(text, graph.scope, false);
    ir::print_label(text, label.text, label.length, label.index);
    if (suffix > 0) text << '_' << suffix;
    const ir::Range tag{tags_.size(), text.length};
    for (const char c : text.view()) tags_.push(c);
    entries_.push({kind, option, most, value, tag});
  }
  static constexpr void put_number(Pool<char>& out, int number) {
    Message text{};
    text << ' ' << number;
    for (const char c : text.view()) out.push(c);
  }

  Graph& graph_;
  Pool<char> tags_;
  Pool<Entry> entries_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::MergeSummary> {
  template <class A>
  static void run(const ops::MergeSummary&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    merge(in, static_cast<int>(out - in), out, call);
  }

 private:
  static void merge(const Tensor* in, int count, const Tensor* out, const KernelCall& call);
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels

#ifndef TYPEFLOW_COMPILED_RECORDS
#include "typeflow/records/summary_operations.ipp"
#endif
