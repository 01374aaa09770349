// SPDX-License-Identifier: Apache-2.0

// The bodies of operations, called in a kernel: host and device compile the same text. Compiled
// with --expt-relaxed-constexpr, and not run.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "bodies.hpp"

namespace {

namespace tf = typeflow;

/// Whether O's first input is a truth value, whatever the type of the others.
template <class O>
constexpr bool takes_condition() {
  if constexpr (requires { O::condition_first; }) return O::condition_first;
  return false;
}
template <class O, class T, std::size_t N>
using InputOf = std::conditional_t<takes_condition<O>() && N == 0, bool, T>;

/// y[i] = O's body of the inputs' elements i.
template <class O, class T, std::size_t... I>
__global__ void elements(O op, const InputOf<O, T, I>*... x, void* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const auto result = op(x[i]...);
  static_cast<std::remove_cv_t<decltype(result)>*>(y)[i] = result;
}

template <class O, class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires(const O& op, T x) { op(InputOf<O, T, I>(x)...); };
}

/// A kernel for T, with as many inputs as the body takes. Says how many kernels that makes.
template <class O, class T, std::size_t Inputs = 1>
int launch() {
  if constexpr (!contains(O::domain, tf::dtype_of<T>)) {
    return 0;
  } else if constexpr (takes<O, T>(std::make_index_sequence<Inputs>{})) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      elements<O, T, I...>
          <<<1, 32>>>(O{}, static_cast<const InputOf<O, T, I>*>(nullptr)..., nullptr, 0);
      return 1;
    }(std::make_index_sequence<Inputs>{});
  } else {
    static_assert(Inputs < tf::max_arity, "the body takes no numbers of a type of its domain");
    return launch<O, T, Inputs + 1>();
  }
}

/// With every type that kernels compute in. Of complex numbers only operations that take no others:
/// CUDA has no exp of a std::complex.
template <class O>
int launch_all() {
  int kernels = launch<O, bool>() + launch<O, std::int8_t>() + launch<O, std::int32_t>() +
                launch<O, std::int64_t>() + launch<O, std::uint32_t>() + launch<O, float>() +
                launch<O, double>();
  if constexpr (O::domain == tf::Domain::complex) kernels += launch<O, std::complex<float>>();
  return kernels;
}

template <class... O>
int launch_list(bodies::List<O...>) {
  return (launch_all<O>() + ...);
}

}  // namespace

int kernels() { return launch_list(bodies::All{}); }
