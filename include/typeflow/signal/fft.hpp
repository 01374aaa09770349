// SPDX-License-Identifier: Apache-2.0
#pragma once

// Discrete Fourier transforms over the last axes, with the names and the scaling of TensorFlow and
// NumPy: a forward transform has no factor, an inverse one divides by the number of elements.
//
// Transforms of real numbers are made of those of complex ones: irfft adds the second half of a
// spectrum, which is the conjugate of the first. rfft takes the first half, of lines of an odd
// number of elements; those of an even number are transformed as half as many complex ones.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <numbers>
#include <source_location>
#include <vector>

#include "typeflow/interpret/host_tensor.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/complex.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/ops/shape/slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Sums x_j exp(-2 pi i j k / n) along each of some axes.
struct Fft : custom {
  static constexpr std::string_view name = "Fft";
  static constexpr bool complex_gradient = true;
  static constexpr int flops = 40;
  std::uint32_t axes = 1;     ///< how many axes
  std::uint32_t after = 0;    ///< axes behind them
  std::uint32_t inverse = 0;  ///< 1: exp(+2 pi i j k / n)
  std::uint32_t scaled = 0;   ///< 1: divided by the number of elements of the axes

  static constexpr Type infer(Fft, const Type& x) {
    return {x.dtype, is_complex(x.dtype) && x.dims.rank > 0 ? x.dims : no_dims};
  }
  /// The conjugate transpose of the matrix: the other direction, with the same factor.
  static constexpr AnyExpr gradient(Fft op, auto, auto, auto dy) {
    return apply(Fft{{}, op.axes, op.after, 1 - op.inverse, op.scaled}, dy);
  }
  static void interpret(InterpretCall& call) {
    const Fft op = decode<Fft>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    std::vector<std::complex<double>> values(static_cast<std::size_t>(x.size()));
    for (std::int64_t i = 0; i < x.size(); ++i) {
      values[static_cast<std::size_t>(i)] = {x[i].real, x[i].imaginary};
    }
    double factor = 1;
    const int last = x.dims.rank - static_cast<int>(op.after);
    for (int axis = last - static_cast<int>(op.axes); axis < last; ++axis) {
      std::int64_t inner = 1;
      for (int k = axis + 1; k < x.dims.rank; ++k) inner *= x.dims.extent[k];
      transform(values, x.dims.extent[axis], inner, op.inverse != 0);
      if (op.scaled != 0) factor /= static_cast<double>(x.dims.extent[axis]);
    }
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::complex<double> value = values[static_cast<std::size_t>(i)];
      y[i] = detail::fitted({value.real() * factor, 0, value.imag() * factor}, y.dtype);
    }
  }

  /// Lines of n elements, `inner` apart, by the definition.
  static void transform(std::vector<std::complex<double>>& x, std::int64_t n, std::int64_t inner,
                        bool inverse) {
    if (x.empty()) return;
    const auto length = static_cast<std::size_t>(n);
    const auto step = static_cast<std::size_t>(inner);
    const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
    std::vector<std::complex<double>> line(length);
    for (std::size_t first = 0; first < x.size(); ++first) {
      if (first / step % length != 0) continue;
      for (std::size_t j = 0; j < length; ++j) line[j] = x[first + j * step];
      for (std::size_t k = 0; k < length; ++k) {
        std::complex<double> sum = 0;
        for (std::size_t j = 0; j < length; ++j) {
          sum += line[j] * std::polar(1.0, turn * static_cast<double>(j * k % length));
        }
        x[first + k * step] = sum;
      }
    }
  }
};

/// The first half of Fft along the last axis, of an even number of real elements.
struct RealFft : custom {
  static constexpr std::string_view name = "RealFft";
  static constexpr bool complex_gradient = true;
  static constexpr int flops = 20;

  static constexpr DType spectrum_of(DType real) {
    return real == DType::float64 ? DType::complex128 : DType::complex64;
  }
  static constexpr Type infer(RealFft, const Type& x) {
    const int last = x.dims.rank - 1;
    const bool fits = (x.dtype == DType::float32 || x.dtype == DType::float64) && last >= 0 &&
                      x.dims.extent[last] > 0 && x.dims.extent[last] % 2 == 0;
    return {spectrum_of(x.dtype), fits ? with_last(x.dims, x.dims.extent[last] / 2 + 1) : no_dims};
  }
  /// The real part of the conjugate transpose's product: the matrix is the first rows of Fft's.
  static constexpr AnyExpr gradient(RealFft, auto x, auto, auto dy) {
    const AnyExpr zero = typeflow::detail::constant_node(*dy.graph, dy.dtype(), Number{});
    const AnyExpr all = pad_to(dy, window_at_start(dy.dims()), x.dims(), zero);
    return real_part(apply(Fft{{}, 1, 0, 1, 0}, all));
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    const std::int64_t n = x.dims.extent[x.dims.rank - 1];
    std::vector<std::complex<double>> line(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t k = i % (n / 2 + 1);
      if (k == 0) {
        const std::int64_t first = i / (n / 2 + 1) * n;
        for (std::int64_t j = 0; j < n; ++j) line[static_cast<std::size_t>(j)] = x.value(first + j);
        Fft::transform(line, n, 1, false);
      }
      const std::complex<double> value = line[static_cast<std::size_t>(k)];
      y[i] = typeflow::detail::fitted({value.real(), 0, value.imag()}, y.dtype);
    }
  }

 private:
  static constexpr Dims with_last(Dims dims, Extent extent) {
    dims.extent[dims.rank - 1] = extent;
    return dims;
  }
};

}  // namespace ops

namespace detail {

template <class X>
inline constexpr Extent last_extent = X::rank < 1 ? 0 : X::type.dims.extent[X::rank - 1];

template <int Axes, Tensor X>
constexpr auto transform(const X& z, bool inverse, std::source_location at) {
  mark(at, z);
  const auto flag = static_cast<std::uint32_t>(inverse);
  return typeflow::apply(ops::Fft{{}, Axes, 0, flag, flag}, z);
}

/// The transform of real numbers, without the half that is the conjugate of the other one.
template <int Axes, Tensor X>
constexpr auto transform_real(const X& x, std::source_location at) {
  constexpr int count = static_cast<int>(detail::last_extent<X>) / 2 + 1;
  if constexpr (last_extent<X> % 2 == 0) {
    mark(at, x);
    const auto half = typeflow::apply(ops::RealFft{}, x);
    if constexpr (Axes == 1) {
      return half;
    } else {
      return typeflow::apply(ops::Fft{{}, Axes - 1, 1, 0, 0}, half);
    }
  } else {
    return slice<ellipsis, range(0, count)>(transform<Axes>(complex(x, 0), false, at), at);
  }
}

/// The inverse transform over axes before the last one.
template <int Axes, Tensor X>
constexpr auto back_over_others(const X& z) {
  if constexpr (Axes == 0) {
    return z;
  } else {
    return typeflow::apply(ops::Fft{{}, Axes, 1, 1, 1}, z);
  }
}

/// Back to N real numbers along the last axis.
template <Extent N, int Axes, Tensor X>
constexpr auto transform_back(const X& z, std::source_location at) {
  constexpr int kept = static_cast<int>(N) / 2 + 1;
  mark(at, z);
  const auto half = slice<ellipsis, range(0, kept)>(back_over_others<Axes - 1>(z), at);
  if constexpr (N == kept) {
    return real(transform<1>(half, true, at), at);
  } else {
    constexpr int others = static_cast<int>(N) - kept;
    const auto mirrored = conj(reverse<-1>(slice<ellipsis, range(1, others + 1)>(half, at)), at);
    return real(transform<1>(concat<X::rank - 1>(half, mirrored), true, at), at);
  }
}

template <class X, int Axes>
inline constexpr bool complex_with_axes = in_domain<Domain::complex, X> && X::rank >= Axes;
template <class X, int Axes>
inline constexpr bool real_with_axes =
    in_domain<Domain::floating, X> && !has_half<X> && X::rank >= Axes && last_extent<X> > 0;

}  // namespace detail

/// The discrete Fourier transform of a complex tensor over the last axis. (...,N) -> (...,N)
template <Tensor X>
constexpr auto fft(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 1>,
                "fft(z): z must be a complex tensor of at least one axis");
  return detail::transform<1>(z, false, at);
}

/// The inverse transform of a complex tensor over the last axis, divided by the number of
/// their elements. (...,N) -> (...,N)
template <Tensor X>
constexpr auto ifft(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 1>,
                "ifft(z): z must be a complex tensor of at least one axis");
  return detail::transform<1>(z, true, at);
}

/// The transform of a real tensor over the last axis, without the elements that are conjugates of
/// others. (...,N) -> (...,N/2+1)
template <Tensor X>
constexpr auto rfft(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(
      detail::real_with_axes<X, 1>,
      "rfft(x): x must be float or double, of at least one axis, the last one a number above 0");
  return detail::transform_real<1>(x, at);
}

/// The inverse of rfft, for a result of N elements along the last axis, the first N/2+1 of z's.
/// (...,N/2+1) -> (...,N)
template <Extent N, Tensor X>
constexpr auto irfft(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 1>,
                "irfft<N>(z): z must be a complex tensor of at least one axis");
  static_assert(N > 0 && detail::last_extent<X> >= N / 2 + 1,
                "irfft<N>(z): the last axis of z must be a number, at least N/2+1");
  return detail::transform_back<N, 1>(z, at);
}
/// The same for an even N, twice the last axis of z without its first and last element.
template <Tensor X>
constexpr auto irfft(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(
      detail::complex_with_axes<X, 1> && detail::last_extent<X> > 1,
      "irfft(z): z must be a complex tensor of at least one axis, the last one a number above 1");
  return irfft<2 * (detail::last_extent<X> - 1)>(z, at);
}

/// The discrete Fourier transform of a complex tensor over the last two axes. (...,M,N) ->
/// (...,M,N)
template <Tensor X>
constexpr auto fft2d(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 2>,
                "fft2d(z): z must be a complex tensor of at least two axes");
  return detail::transform<2>(z, false, at);
}

/// The inverse transform of a complex tensor over the last two axes, divided by the number of
/// their elements. (...,M,N) -> (...,M,N)
template <Tensor X>
constexpr auto ifft2d(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 2>,
                "ifft2d(z): z must be a complex tensor of at least two axes");
  return detail::transform<2>(z, true, at);
}

/// The transform of a real tensor over the last two axes, without the elements that are conjugates
/// of others. (...,M,N) -> (...,M,N/2+1)
template <Tensor X>
constexpr auto rfft2d(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(
      detail::real_with_axes<X, 2>,
      "rfft2d(x): x must be float or double, of at least two axes, the last one a number above 0");
  return detail::transform_real<2>(x, at);
}

/// The inverse of rfft2d, for a result of N elements along the last axis, the first N/2+1 of z's.
/// (...,M,N/2+1) -> (...,M,N)
template <Extent N, Tensor X>
constexpr auto irfft2d(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 2>,
                "irfft2d<N>(z): z must be a complex tensor of at least two axes");
  static_assert(N > 0 && detail::last_extent<X> >= N / 2 + 1,
                "irfft2d<N>(z): the last axis of z must be a number, at least N/2+1");
  return detail::transform_back<N, 2>(z, at);
}
/// The same for an even N, twice the last axis of z without its first and last element.
template <Tensor X>
constexpr auto irfft2d(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(
      detail::complex_with_axes<X, 2> && detail::last_extent<X> > 1,
      "irfft2d(z): z must be a complex tensor of at least two axes, the last one a number above 1");
  return irfft2d<2 * (detail::last_extent<X> - 1)>(z, at);
}

/// The discrete Fourier transform of a complex tensor over the last three axes. (...,L,M,N) ->
/// (...,L,M,N)
template <Tensor X>
constexpr auto fft3d(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 3>,
                "fft3d(z): z must be a complex tensor of at least three axes");
  return detail::transform<3>(z, false, at);
}

/// The inverse transform of a complex tensor over the last three axes, divided by the number of
/// their elements. (...,L,M,N) -> (...,L,M,N)
template <Tensor X>
constexpr auto ifft3d(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 3>,
                "ifft3d(z): z must be a complex tensor of at least three axes");
  return detail::transform<3>(z, true, at);
}

/// The transform of a real tensor over the last three axes, without the elements that are
/// conjugates of others. (...,L,M,N) -> (...,L,M,N/2+1)
template <Tensor X>
constexpr auto rfft3d(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::real_with_axes<X, 3>,
                "rfft3d(x): x must be float or double, of at least three axes, the last one a "
                "number above 0");
  return detail::transform_real<3>(x, at);
}

/// The inverse of rfft3d, for a result of N elements along the last axis, the first N/2+1 of z's.
/// (...,L,M,N/2+1) -> (...,L,M,N)
template <Extent N, Tensor X>
constexpr auto irfft3d(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 3>,
                "irfft3d<N>(z): z must be a complex tensor of at least three axes");
  static_assert(N > 0 && detail::last_extent<X> >= N / 2 + 1,
                "irfft3d<N>(z): the last axis of z must be a number, at least N/2+1");
  return detail::transform_back<N, 3>(z, at);
}
/// The same for an even N, twice the last axis of z without its first and last element.
template <Tensor X>
constexpr auto irfft3d(const X& z, std::source_location at = std::source_location::current()) {
  static_assert(detail::complex_with_axes<X, 3> && detail::last_extent<X> > 1,
                "irfft3d(z): z must be a complex tensor of at least three axes, the last one a "
                "number above 1");
  return irfft3d<2 * (detail::last_extent<X> - 1)>(z, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
