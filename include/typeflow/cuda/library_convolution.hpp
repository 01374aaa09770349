// SPDX-License-Identifier: Apache-2.0
#pragma once

// Convolutions on GPUs by a library such as cuDNN, with what follows on them.
//
// A library L (library_product.hpp) that has them, too, is a class with
//   static constexpr std::int64_t convolution_workspace;  the bytes that they may use
//   static bool convolve(CudaStream& stream, const LibraryConvolution& convolution, void* memory);
// It gets convolutions of floats as TF32 whose channels and filters fill packets of 16 bytes: those
// are the ones that tensor cores have, and for others our own kernels take less time. They also
// compute those for which convolve() returns false, those of volumes, and those with padding that a
// library can't place.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "typeflow/cuda/library_product.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A convolution of floats, or its gradient for x or w. Operands may be rounded to TF32. Axes are
/// height and width.
struct LibraryConvolution {
  enum class Result : std::uint8_t { y, x, w };
  Result result;
  std::int64_t samples;
  std::int64_t channels;
  std::int64_t filters;
  std::int64_t groups;
  std::int64_t image[2];
  std::int64_t places[2];
  std::int64_t window[2];
  std::int64_t stride[2];
  std::int64_t dilation[2];
  std::int64_t pad[2];  ///< in front; behind there is as much as the places need, up to this
  void* x;              ///< (samples, image..., channels)
  void* w;              ///< (filters, window..., channels / groups)
  void* y;              ///< (samples, places..., filters)
};

namespace cuda_kernels {

inline constexpr int transposed_side = 32;

/// The transpose of a row-major matrix. (rows,columns) -> (columns,rows)
template <class T>
__global__ void transpose_matrix_kernel(const T* from, T* to, std::int64_t rows,
                                        std::int64_t columns) {
  constexpr int side = transposed_side;
  __shared__ T tile[side][side + 1];
  const std::int64_t across = (columns + side - 1) / side;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) / across * side;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) % across * side;
  const int x = static_cast<int>(threadIdx.x) % side;
  const int y = static_cast<int>(threadIdx.x) / side;
  const int step = static_cast<int>(blockDim.x) / side;
  for (int i = y; i < side; i += step) {
    if (row + i < rows && column + x < columns) tile[i][x] = from[(row + i) * columns + column + x];
  }
  __syncthreads();
  for (int i = y; i < side; i += step) {
    if (column + i < columns && row + x < rows) to[(column + i) * rows + row + x] = tile[x][i];
  }
}
inline void launch_transpose(const KernelCall& call, const float* from, float* to,
                             std::int64_t rows, std::int64_t columns) {
  constexpr int side = transposed_side;
  launch(call, &transpose_matrix_kernel<float>,
         ((rows + side - 1) / side) * ((columns + side - 1) / side), 8 * side, from, to, rows,
         columns);
}

/// The kind of convolution that a contraction is, as libraries know it.
template <class O>
struct library_convolution_of {
  static constexpr bool is_missing = true;
};
template <>
struct library_convolution_of<ops::Conv> {
  static constexpr auto result = LibraryConvolution::Result::y;
};
template <>
struct library_convolution_of<ops::ConvInputGradient> {
  static constexpr auto result = LibraryConvolution::Result::x;
};
template <>
struct library_convolution_of<ops::ConvFilterGradient> {
  static constexpr auto result = LibraryConvolution::Result::w;
};

/// The numbers of a convolution for a library, without addresses. Returns false if it has none for
/// it.
inline bool describe_convolution(LibraryConvolution& c, const ops::ConvAttributes& op,
                                 const ConvSizes& z) {
  const ops::WindowAttributes& window = op.window;
  constexpr std::int64_t packet = 4;
  if (z.of_x % packet != 0 || z.of_y % packet != 0) return false;
  const bool is_volume = op.image[0] != 1 || window.size[0] != 1 || op.places(0) != 1;
  if (is_volume) return false;
  c.samples = z.samples;
  c.channels = z.channels;
  c.filters = z.filters;
  c.groups = z.groups;
  std::int64_t pixels = 1;
  std::int64_t places = 1;
  for (int i = 0; i < 2; ++i) {
    const int axis = i + 1;
    c.image[i] = op.image[axis];
    c.places[i] = op.places(axis);
    c.window[i] = window.size[axis];
    c.stride[i] = window.stride[axis];
    c.dilation[i] = window.dilation[axis];
    c.pad[i] = window.before[axis];
    // Libraries have the same padding on both sides; what of it no place sees does not matter.
    const std::int64_t span = (c.window[i] - 1) * c.dilation[i] + 1;
    const std::int64_t room = c.image[i] + 2 * c.pad[i] - span;
    if (room < 0 || room / c.stride[i] + 1 != c.places[i]) return false;
    pixels *= c.image[i];
    places *= c.places[i];
  }
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t sizes[] = {checked_product(checked_product(z.samples, pixels), z.channels),
                                checked_product(checked_product(z.samples, places), z.filters),
                                checked_product(checked_product(z.taps, z.of_x), z.filters)};
  return std::all_of(std::begin(sizes), std::end(sizes),
                     [](std::int64_t size) { return size > 0 && size <= most; });
}

template <class L>
concept ConvolvingLibrary = requires { L::convolution_workspace; };

template <class O, unsigned Variant, class B, ConvolvingLibrary L>
  requires(!requires { library_convolution_of<O>::is_missing; })
struct LibraryCode<ir::ContractionKernel<O, DType::float32, Variant, 0, B>, Precision::tf32, L> {
  using Own = Code<ir::ContractionKernel<O, DType::float32, Variant, 0, B>>;
  using M = typename Own::M;
  using Result = LibraryConvolution::Result;
  static constexpr Result result = library_convolution_of<O>::result;
  static constexpr bool is_bare = [] {
    if constexpr (is_bare_product<M, DType::float32>) {
      return !M::template Out<0>::is_strided;
    } else {
      return false;
    }
  }();

  static std::int64_t workspace(const std::int64_t* extents) {
    return std::max(Own::template workspace_in<Precision::tf32>(extents), Places(extents).end);
  }
  static void run(const KernelCall& call) {
    if (!convolve(call)) Own::template run_in<Precision::tf32>(call);
  }

 private:
  /// The parts of the workspace, by their first bytes.
  struct Places {
    std::int64_t filters = aligned_bytes(L::convolution_workspace);
    std::int64_t sums;
    std::int64_t wide[2];  ///< 16-bit operands as floats
    std::int64_t end;

    explicit Places(const std::int64_t* extents) {
      using Extents = ir::ContractionExtents;
      constexpr std::int64_t each = sizeof(float);
      const ConvSizes z(extents);
      const auto after = [](std::int64_t place, std::int64_t a, std::int64_t b) {
        return checked_sum(place, aligned_bytes(checked_product(checked_product(a, b), each)));
      };
      sums = after(filters, checked_product(z.taps, z.of_x), z.filters);
      wide[0] = is_bare ? sums : after(sums, extents[Extents::rows], extents[Extents::columns]);
      wide[1] = is_wide<0> ? wide[0] : after(wide[0], elements_of(0, extents), 1);
      end = is_wide<1> ? wide[1] : after(wide[1], elements_of(1, extents), 1);
    }
  };

  template <int I>
  static constexpr bool is_wide = M::template Input<I>::dtype == DType::float32;
  static std::int64_t elements_of(int operand, const std::int64_t* extents) {
    return O::elements(operand, extents + ir::ContractionExtents::outer, 0, 0, 0);
  }
  /// Operand I as floats.
  template <int I>
  static float* wide_operand(const KernelCall& call, const Places& places) {
    if constexpr (is_wide<I>) {
      return call.operand<float>(I);
    } else {
      using From = element_of<M::template Input<I>::dtype>;
      auto* const to =
          reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace) + places.wide[I]);
      launch_widen(call, call.operand<const From>(I), to, elements_of(I, call.extents));
      return to;
    }
  }

  /// Returns false if the library can't.
  static bool convolve(const KernelCall& call) {
    const ConvSizes z(call.extents);
    LibraryConvolution c{};
    c.result = result;
    if (!describe_convolution(c, decode<O>(call.words), z)) return false;
    const Places places(call.extents);
    auto* const memory = static_cast<std::byte*>(call.workspace);
    auto* const filters = reinterpret_cast<float*>(memory + places.filters);
    const auto whole = Own::result_of(call, 1, reinterpret_cast<float*>(memory + places.sums));
    float* const to = is_bare ? static_cast<float*>(whole.loop.out[0].data) : whole.sums;

    // Libraries have the filters in front. Ours are (window..., channels, filters).
    const std::int64_t weights = z.taps * z.of_x;  // of a filter
    c.w = filters;
    if constexpr (result == Result::w) {
      c.x = wide_operand<0>(call, places);
      c.y = wide_operand<1>(call, places);
    } else {
      (result == Result::y ? c.x : c.y) = wide_operand<0>(call, places);
      (result == Result::y ? c.y : c.x) = to;
      launch_transpose(call, wide_operand<1>(call, places), filters, weights, z.filters);
    }
    CudaStream& stream = stream_of(call);
    stream.check();
    stream.use_device();
    if (!L::convolve(stream, c, memory)) return false;
    if constexpr (result == Result::w) launch_transpose(call, filters, to, z.filters, weights);
    if constexpr (!is_bare) Own::launch_merge(call, whole);
    return true;
  }
};

}  // namespace cuda_kernels

}  // namespace typeflow::inline TYPEFLOW_ISA
