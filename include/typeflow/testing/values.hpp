// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values of a function of tensors, compared with a reference that does not use typeflow.
//
//   const tf::testing::ValueCheck check =
//       tf::testing::check_values<tf::testing::Elements<float, double>,  // default: float
//                                 tf::Shape<>, tf::Shape<0, 3>, tf::Shape<2, 37>>(
//           [](auto x) { return logistic(x); }, [](double x) { return 1 / (1 + std::exp(-x)); });
//   CHECK(check.largest_error <= 4);    // units in the last place; check.worst says where
//
// All calls are traced into one model, which is compiled with and without fusion. The interpreter's
// result of each call is compared, and its kernel's, both alone and fused with its neighbours.

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/philox.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/interpret/interpret.hpp"
#include "typeflow/interpret/kernel.hpp"
#include "typeflow/runtime/session.hpp"
#include "typeflow/testing/compare.hpp"

namespace typeflow::inline TYPEFLOW_ISA::testing {

/// The element types for check_values, its first argument. Every call is made with each of them.
template <Element... T>
struct Elements {};
/// An input of a call that always has these elements, as indices need.
template <Element T, Extent... D>
struct Input {
  using element = T;
};
/// The inputs of one call: each a Shape or an Input.
template <class... I>
struct Inputs {};

/// Numbers from low to high. Integers are below high; unsigned ones start at 0.
struct Range {
  double low = -2;
  double high = 2;
};

/// How check_values draws its inputs.
struct ValueOptions {
  /// The ranges of the inputs; further inputs have the last range.
  std::vector<Range> ranges = {{}};
  /// Floating inputs begin with these, such as NaN and infinities; several inputs with all
  /// combinations.
  std::vector<double> also = {};
  std::int64_t batch = 3;
  std::uint64_t seed = 1;
};

namespace detail {

inline constexpr int most_inputs = 8;

/// One call with its element types.
template <class... I>
struct Call {};

template <class T, class I>
struct InputWith;
template <class T, Extent... D>
struct InputWith<T, Shape<D...>> {
  using type = Input<T, D...>;
};
template <class T, class U, Extent... D>
struct InputWith<T, Input<U, D...>> {
  using type = Input<U, D...>;
};
template <class T, class Case>
struct CallWith {
  using type = Call<typename InputWith<T, Case>::type>;
};
template <class T, class... I>
struct CallWith<T, Inputs<I...>> {
  using type = Call<typename InputWith<T, I>::type...>;
};

template <class T, Extent... D>
constexpr auto make_input(Graph& g, Input<T, D...>, Label name) {
  return placeholder<T, D...>(g, name);
}

/// Traces f of new placeholders as "alone", and between two selections that change nothing as
/// "fused". Any element type has selections, and kernels fuse with them.
template <class F, class... I, std::size_t... N, class Keep, class Drop>
constexpr void trace_call(Graph& g, int call, Call<I...>, std::index_sequence<N...>, Keep keep,
                          Drop drop) {
  const std::tuple x{make_input(g, I{}, {"x", call * most_inputs + static_cast<int>(N)})...};
  const auto alone = F{}(std::get<N>(x)...);
  const auto fused = F{}(where(
      keep, std::get<N>(x), cast<typename std::tuple_element_t<N, decltype(x)>::element>(drop))...);
  using Y = typename std::remove_cvref_t<decltype(alone)>::element;
  alone.named({"alone", call});
  where(keep, fused, cast<Y>(drop)).named({"fused", call});
}

template <class F, class... C>
struct ValuesModel {
  static constexpr void trace(Graph& g) {
    const auto keep = placeholder<bool>(g, "keep");
    const auto drop = placeholder<bool>(g, "drop");
    int call = 0;
    const auto one = [&]<class... I>(Call<I...> inputs) {
      trace_call<F>(g, call++, inputs, std::index_sequence_for<I...>(), keep, drop);
    };
    (one(C{}), ...);
  }
};

/// Runs all kernels of a model; returns the named values.
template <auto Model, Mode M>
HostTensors run_kernels(const HostTensors& feeds) {
  using Program = ir::Lowering<Model, M>;
  static_assert(typeflow::detail::because_of<typeflow::detail::ModelError<Program>>::ok,
                "check_values: the function has a mistake");
  const ir::ProgramView& program = Program::view;
  const auto name_of = [&](Id i) {
    Message text{};
    print_name(text, program, i);
    return std::string(text.view());
  };
  Variables variables;
  Variables states;
  EngineOptions options;
  options.keep_all = has(M, debug);
  CpuTarget<> cpu;
  Engine engine(program, typeflow::detail::view_of<Program>(cpu), variables, states, options);
  std::vector<std::vector<std::byte>> memory;  // the feeds', then the results'
  const auto allocate = [&](DType type, std::int64_t count) {
    memory.emplace_back(static_cast<std::size_t>(count * size_of(type)));
    return memory.back().data();
  };
  std::vector<FedTensor> fed;
  for (Id i = 0; i < program.placeholders.size; ++i) {
    const Id name = program.placeholders[i].name;
    const HostTensor& x = feeds.at(name_of(name));
    std::byte* const data = allocate(x.dtype, x.size());
    for (std::int64_t k = 0; k < x.size(); ++k) {
      ir::store_number(x.dtype, x[k], data, k);
    }
    fed.push_back({name, i, data, x.dtype, x.size(), x.dims.rank, x.dims.extent});
  }
  Engine::Run run(engine, fed);
  std::vector<FetchBuffer> buffers;
  for (Id i = 0; i < program.names.size; ++i) {
    if (program.names[i].name.kind != ir::NameKind::value || program.names[i].slot == none)
      continue;
    const Type& type = program.types[program.names[i].type];
    buffers.push_back({i, allocate(type.dtype, run.count(type))});
  }
  std::vector<Id> steps;
  for (Id s = 0; s < program.steps.size; ++s) steps.push_back(s);
  run.execute(steps, buffers, true);
  HostTensors results;
  for (const FetchBuffer& buffer : buffers) {
    const Type& type = program.types[program.names[buffer.name].type];
    HostTensor y = host_tensor(type.dtype, resolve(type.dims, run.sizes()));
    for (std::int64_t k = 0; k < y.size(); ++k) {
      y[k] = ir::load_number(type.dtype, buffer.data, k);
    }
    results[name_of(buffer.name)] = std::move(y);
  }
  return results;
}

/// An input's elements: first the special ones, then numbers drawn from the range.
inline HostTensor draw_input(DType dtype, const Dims& dims, std::size_t input, std::size_t inputs,
                             const ValueOptions& options, std::uint64_t key) {
  HostTensor x = host_tensor(dtype, dims);
  const Range range = options.ranges[std::min(input, options.ranges.size() - 1)];
  const auto radix = static_cast<std::int64_t>(options.also.size());
  std::int64_t combinations = radix == 0 || !is_floating(dtype) ? 0 : 1;
  std::int64_t place = 1;
  for (std::size_t i = 0; i < inputs; ++i) {
    combinations *= radix;
    if (i < input) place *= radix;
  }
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double share = uniform_element<double>(key, 0, static_cast<std::uint64_t>(i));
    const double low = is_unsigned(dtype) ? std::max(range.low, 0.) : range.low;
    const double drawn = low + (range.high - low) * share;
    if (i < combinations) {
      x.set(i, options.also[static_cast<std::size_t>(i / place % radix)]);
    } else if (is_complex(dtype)) {
      const double other = uniform_element<double>(key, 1, static_cast<std::uint64_t>(i));
      x[i] = number_from(std::complex<double>(drawn, low + (range.high - low) * other));
    } else {
      x.set(i, dtype == DType::boolean ? share < 0.5
               : is_integer(dtype)     ? std::floor(drawn)
                                       : drawn);
    }
  }
  return x;
}

/// An element in the form that references take: floating-point numbers as double.
template <class T>
auto element_for_reference(const Number& x) {
  if constexpr (typeflow::detail::is_complex_number<T>) {
    return to<std::complex<double>>(x);
  } else if constexpr (typeflow::detail::is_real_floating<T>) {
    return x.real;
  } else {
    return to<T>(x);
  }
}

/// The reference's result for these inputs, for whole tensors or element by element.
template <class R, class... I>
HostTensor expected_values(const R& reference, Call<I...>, DType dtype,
                           const std::vector<HostTensor>& x) {
  return [&]<std::size_t... N>(std::index_sequence<N...>) {
    if constexpr (requires {
                    reference(element_for_reference<typename I::element>(Number{})...);
                  }) {
      Dims dims{};
      ((dims = broadcast(dims, x[N].dims)), ...);
      HostTensor y = host_tensor(dtype, dims);
      for (std::int64_t i = 0; i < y.size(); ++i) {
        const auto value = reference(element_for_reference<typename I::element>(
            x[N][broadcast_index(i, y.dims, x[N].dims)])...);
        y[i] = visit_dtype(dtype, [&](auto zero) {
          return number_from(typeflow::detail::convert_element<decltype(zero)>(value));
        });
      }
      return y;
    } else {
      return HostTensor(reference(x[N]...));
    }
  }(std::index_sequence_for<I...>());
}

/// A call in words: the operation that makes its result, and its inputs.
inline std::string describe_call(const ir::Graph& g, Id result, const std::vector<HostTensor>& x) {
  std::string text(g.nodes[g.values[result].node].op->name);
  for (std::size_t i = 0; i < x.size(); ++i) {
    text += (i == 0 ? '(' : ' ') + typeflow::detail::to_string(x[i].dtype, x[i].dims) +
            (i + 1 == x.size() ? ")" : ",");
  }
  return text;
}

template <class F, class R, class... C>
ValueCheck check_calls(const R& reference, const ValueOptions& options) {
  constexpr auto model = &ValuesModel<F, C...>::trace;
  Graph g;
  model(g);
  const ir::Graph& graph = g;
  const Message wrong = verify(graph);
  if (!wrong.empty()) throw Error(std::string(wrong.view()));
  if (options.ranges.empty()) throw Error("check_values", "a range for its inputs", "none");

  HostTensors feeds;
  std::vector<std::vector<HostTensor>> inputs;
  std::uint64_t key = random_key(options.seed, 0);
  const auto draw = [&]<class... I>(Call<I...>) {
    const std::size_t call = inputs.size();
    inputs.emplace_back();
    const auto one = [&]<class T, Extent... D>(Input<T, D...>) {
      const std::size_t i = inputs[call].size();
      const Dims dims = resolve(Dims(Shape<D...>::dims), options.batch);
      inputs[call].push_back(draw_input(dtype_of<T>, dims, i, sizeof...(I), options, ++key));
      feeds["x_" + std::to_string(call * most_inputs + i)] = inputs[call].back();
    };
    (one(I{}), ...);
  };
  (draw(C{}), ...);
  feeds["keep"] = host_tensor(DType::boolean, {});
  feeds["keep"].set(0, 1);
  feeds["drop"] = host_tensor(DType::boolean, {});

  const HostTensors interpreted = interpret(g, feeds);
  const HostTensors kernels = run_kernels<model, training>(feeds);
  const HostTensors unfused = run_kernels<model, debug>(feeds);
  ValueCheck check;
  std::size_t call = 0;
  const auto one = [&](auto types) {
    const std::string alone = "alone_" + std::to_string(call);
    const std::string fused = "fused_" + std::to_string(call);
    Id result = none;
    for (const ir::Name& name : graph.names) {
      if (graph.text_of(name).view() == alone) result = name.value;
    }
    const std::string text = describe_call(graph, result, inputs[call]);
    const HostTensor expected =
        expected_values(reference, types, graph.dtype_of(result), inputs[call]);
    compare(check, text, "interpreted", interpreted.at(alone), expected);
    compare(check, text, "kernel", kernels.at(alone), expected);
    compare(check, text, "kernel fused with neighbours", kernels.at(fused), expected);
    compare(check, text, "fused kernel against unfused", kernels.at(fused), unfused.at(fused),
            true);
    ++call;
  };
  (one(C{}), ...);
  return check;
}

template <class... C>
struct Calls {};
template <class... A, class... B>
Calls<A..., B...> operator+(Calls<A...>, Calls<B...>);

/// All cases with all element types: float, unless the first argument gives others.
template <class... Cases>
struct AllCalls {
  using type = Calls<typename CallWith<float, Cases>::type...>;
};
template <class... T, class... Cases>
struct AllCalls<Elements<T...>, Cases...> {
  template <class U>
  using With = Calls<typename CallWith<U, Cases>::type...>;
  using type = decltype((Calls<>{} + ... + With<T>{}));
};

}  // namespace detail

/// Compares f of each case's inputs with the reference. A case is a Shape or Inputs. The element
/// type is float, unless Elements come first:
///
///   check_values<Elements<float, double>, Inputs<Shape<2, 3>, Shape<3>>>(f, reference)
///   check_values<Inputs<Shape<4, 3>, Input<std::int32_t, 5>>>(f, reference)
///
/// The reference takes numbers: double for floating-point elements, std::complex<double> for
/// complex ones, others as they are. It is called for all elements that broadcasting combines. Or
/// it takes a const HostTensor& for each input and returns a tensor of f's element type. f must not
/// capture, because it becomes part of a compiled program.
///
/// Errors: the model's (shapes, names), as for any compiled model.
template <class... Cases, class F, class R>
ValueCheck check_values(const F&, const R& reference, const ValueOptions& options = {}) {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "check_values(f, reference): f must be a lambda that captures nothing");
  return [&]<class... C>(detail::Calls<C...>) {
    static_assert(sizeof...(C) > 0, "check_values<cases...>(f, reference): a case is missing");
    return detail::check_calls<F, R, C...>(reference, options);
  }(typename detail::AllCalls<Cases...>::type{});
}

}  // namespace typeflow::inline TYPEFLOW_ISA::testing
