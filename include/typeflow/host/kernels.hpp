// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernel of host functions.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/characters.hpp"
#include "typeflow/cpu/call.hpp"
#include "typeflow/host/operation.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

namespace host_functions {

template <int Rank>
std::array<std::int64_t, static_cast<std::size_t>(Rank)> extents_of(const Tensor& x) {
  std::array<std::int64_t, static_cast<std::size_t>(Rank)> extents{};
  std::copy_n(x.extents.begin(), Rank, extents.begin());
  return extents;
}

template <class R>
auto input(const Tensor& x) {
  using T = typename R::element;
  constexpr int rank = R::shape::dims.rank;
  return HostView<const T, rank>(static_cast<const T*>(x.data), extents_of<rank>(x));
}

/// A result while it is computed: zeros in its memory, or strings that the run takes over.
template <class R>
class Output {
  using T = typename R::element;
  static constexpr int rank = R::shape::dims.rank;

 public:
  explicit Output(const Tensor& y) : y_(y) {
    if constexpr (detail::is_string<T>) {
      strings_.resize(static_cast<std::size_t>(y.size()));
    } else {
      std::fill_n(static_cast<T*>(y.data), y.size(), T());
    }
  }
  auto view() {
    if constexpr (detail::is_string<T>) {
      return HostView<std::string, rank>(strings_.data(), extents_of<rank>(y_));
    } else {
      return HostView<T, rank>(static_cast<T*>(y_.data), extents_of<rank>(y_));
    }
  }
  void finish(Characters* characters) const {
    if constexpr (detail::is_string<T>) {
      std::size_t bytes = 0;
      for (const std::string& s : strings_) bytes += s.size();
      char* at = characters->allocate(bytes);
      auto* out = static_cast<std::string_view*>(y_.data);
      for (const std::string& s : strings_) {
        *out++ = {at, s.size()};
        at = std::copy(s.begin(), s.end(), at);
      }
    }
  }

 private:
  Tensor y_;
  std::vector<std::string> strings_;
};

}  // namespace host_functions

template <class F, class G, bool IsPure, class... In, class... Out>
struct kernel_of<ops::Host<F, G, IsPure, std::tuple<In...>, std::tuple<Out...>>> {
  using O = ops::Host<F, G, IsPure, std::tuple<In...>, std::tuple<Out...>>;

  template <class A>
  static void run(const O&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    [&]<std::size_t... I, std::size_t... K>(std::index_sequence<I...>, std::index_sequence<K...>) {
      std::tuple<host_functions::Output<Out>...> results(out[K]...);
      detail::call_host([&] {
        O::Call::call(host_functions::input<In>(in[I])..., std::get<K>(results).view()...);
      });
      (std::get<K>(results).finish(call.characters), ...);
    }(std::index_sequence_for<In...>{}, std::index_sequence_for<Out...>{});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
