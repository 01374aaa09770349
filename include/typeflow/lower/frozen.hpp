// SPDX-License-Identifier: Apache-2.0
#pragma once

// A compiled model as constants.
//
// Lowering<Model, Mode, Request> evaluates a model once, into a record of fixed capacity, because
// memory that constant evaluation allocates can't outlive it. It then copies the record's tables to
// arrays of their exact sizes, which the program has at run time.

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "typeflow/lower/compile.hpp"
#include "typeflow/lower/kernel_types.hpp"

#ifndef TYPEFLOW_MAX_STEPS
/// The largest program, in kernel calls. (nvcc copies records of this capacity for each program.)
#ifdef __CUDACC__
#define TYPEFLOW_MAX_STEPS 2048
#else
#define TYPEFLOW_MAX_STEPS 4096
#endif
#endif

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// The fetches and feeds that a program is compiled for: everything that the model names...
struct Everything {};
/// ...or these fetches, with these feeds besides placeholders.
template <class... N>  // NameOf<...>
struct Names {};
template <class Fetches, class Feeds>
struct Only;

template <class T, int Capacity>
struct FrozenTable {
  int size;
  T items[Capacity];

  /// False if the pool has too many.
  constexpr bool take(const Pool<T>& pool) {
    size = pool.size();
    if (size > Capacity) return false;
    for (int i = 0; i < size; ++i) items[i] = pool[i];
    return true;
  }
};

template <class Record, int PerSixteenSteps>
using KeptFrozen = FrozenTable<Record, TYPEFLOW_MAX_STEPS * PerSixteenSteps / 16>;

struct Frozen : ProgramTables<KeptFrozen> {
  KeptFrozen<KernelSpec, 1> specs;
  int nodes;
  Message error;
};

/// Adds the name ids of `N...` to a request.
template <class... N>
constexpr void find_names(const Graph& graph, Names<N...>, Pool<Id>& out) {
  (out.push(graph.find_name(hash(N::view()))), ...);
}
template <class F, class D>
constexpr Request make_request(const Graph& graph, std::type_identity<Only<F, D>>) {
  Request request;
  request.everything = false;
  find_names(graph, F{}, request.fetches);
  find_names(graph, D{}, request.feeds);
  return request;
}
constexpr Request make_request(const Graph&, std::type_identity<Everything>) { return {}; }

template <auto Model, Mode M, class R>
constexpr Frozen freeze() {
  // All in one function. clang evaluates a local variable's initialiser a second time if it stands
  // alone, as a call without local arguments does.
  typeflow::Graph graph(M);
  Model(graph);
  const Request request = make_request(graph, std::type_identity<R>{});
  const ProgramPools program = compile(std::move(graph), request);
  Frozen f{};
  f.error = program.error;
  f.nodes = program.nodes;
  const bool fits = with_tables(f, [&](auto&... table) {
    return with_tables(program, [&](const auto&... pool) { return (table.take(pool) && ...); });
  });
  if (!fits || !f.specs.take(program.specs)) {
    f = Frozen{};
    f.error << "the program is larger than TYPEFLOW_MAX_STEPS = " << TYPEFLOW_MAX_STEPS
            << " allows; define a larger one before including typeflow";
  }
  return f;
}

// Whether the compiler can evaluate a model is asked before anything needs it, so that the user
// gets one sentence. `frozen` is evaluated once in both cases: for clang the constant is no
// constexpr variable but a reference, which may be dynamic, and g++ knows the result of a call that
// it evaluated before. nvcc does neither, so it is not asked.
#if defined(__clang__) && !defined(__CUDACC__)
template <auto Model, Mode M, class R>
inline const Frozen& frozen = freeze<Model, M, R>();
template <auto Model, Mode M, class R>
concept Evaluated = requires { typename std::bool_constant<(frozen<Model, M, R>.nodes >= 0)>; };
#else
template <auto Model, Mode M, class R>
inline constexpr Frozen frozen = freeze<Model, M, R>();
#ifdef __CUDACC__
template <auto Model, Mode M, class R>
concept Evaluated = true;
#else
template <auto Model, Mode M, class R>
concept Evaluated = requires { typename std::bool_constant<(freeze<Model, M, R>().nodes >= 0)>; };
#endif
#endif

/// Whether a model of this type takes the graph by reference; true if that can't be seen.
template <class F>
inline constexpr bool takes_reference = true;
template <class R, class... A, bool N>
inline constexpr bool takes_reference<R (*)(A...) noexcept(N)> =
    std::is_same_v<void(A...), void(typeflow::Graph&)>;
template <class F, class R, class... A, bool N>
inline constexpr bool takes_reference<R (F::*)(A...) const noexcept(N)> =
    std::is_same_v<void(A...), void(typeflow::Graph&)>;
template <class F>
  requires requires { &F::operator(); }
inline constexpr bool takes_reference<F> = takes_reference<decltype(&F::operator())>;

/// Whether a session can be made of a model.
template <auto Model, Mode M>
struct ModelCheck {
  static constexpr bool by_reference = takes_reference<std::remove_const_t<decltype(Model)>>;
  static constexpr bool ok = [] {
    if constexpr (by_reference) {
      return Evaluated<Model, M, Everything>;
    } else {
      return false;
    }
  }();
};
constexpr void no_model(typeflow::Graph&) {}

/// The sizes of a program's tables, in the order of ProgramTables.
struct TableSizes {
  int of[table_count];
  int specs;
};
constexpr TableSizes sizes_of(const Frozen& f) {
  return with_tables(
      f, [&](const auto&... table) { return TableSizes{{table.size...}, f.specs.size}; });
}
template <auto Model, Mode M, class R>
inline constexpr TableSizes sizes = sizes_of(frozen<Model, M, R>);

/// A table in its exact size. The number makes tables of equal records different types.
template <std::size_t Number, class Record, int Size>
struct ExactTable {
  std::array<Record, static_cast<std::size_t>(Size)> records;

  template <int Capacity>
  constexpr void take(const FrozenTable<Record, Capacity>& from) {
    if constexpr (Size > 0) {
      for (int i = 0; i < Size; ++i) records[static_cast<std::size_t>(i)] = from.items[i];
    }
  }
};

/// A program's tables in their exact sizes. (nvcc copies all of Frozen for every constant that
/// reads it, so few do.)
template <class... Exact>
struct ExactTables : Exact... {};

template <TableSizes S, std::size_t... I, class... Record, int... Capacity>
constexpr auto tables_of(std::index_sequence<I...>, const FrozenTable<Record, Capacity>&... from) {
  ExactTables<ExactTable<I, Record, S.of[I]>...> tables{};
  (static_cast<ExactTable<I, Record, S.of[I]>&>(tables).take(from), ...);
  return tables;
}
template <TableSizes S>
constexpr auto tables_of(const Frozen& f) {
  return with_tables(f, [](const auto&... table) {
    return tables_of<S>(std::make_index_sequence<sizeof...(table)>(), table...);
  });
}
template <class... Exact>
constexpr ProgramView view_of(const ExactTables<Exact...>& tables) {
  return {{{static_cast<const Exact&>(tables).records.data(),
            static_cast<int>(static_cast<const Exact&>(tables).records.size())}...}};
}

/// Only the compiler needs these.
template <TableSizes S>
struct Descriptions {
  ExactTable<0, KernelSpec, S.specs> kernels;
  int nodes;
  Message error;
};
template <TableSizes S>
constexpr Descriptions<S> descriptions_of(const Frozen& f) {
  Descriptions<S> d{};
  d.kernels.take(f.specs);
  d.nodes = f.nodes;
  d.error = f.error;
  return d;
}

/// A model's program: tables and kernel descriptions as constants.
template <auto Model, Mode M = training, class R = Everything>
class Lowering {
  static constexpr TableSizes sizes = ir::sizes<Model, M, R>;
  static constexpr auto tables = tables_of<sizes>(frozen<Model, M, R>);
  static constexpr auto descriptions = descriptions_of<sizes>(frozen<Model, M, R>);

 public:
  static constexpr int kernel_count = sizes.specs;
  /// The number of nodes in the graph that the model made, gradients included.
  static constexpr int node_count = descriptions.nodes;
  /// The model's mistake, if it has one.
  static constexpr Message error = descriptions.error;

  /// The description of kernel I.
  template <int I>
  struct Kernel {
    static constexpr KernelSpec value = descriptions.kernels.records[static_cast<std::size_t>(I)];
  };

  static constexpr ProgramView view = view_of(tables);
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
