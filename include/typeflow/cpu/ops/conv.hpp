// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of Conv and ConvInputGradient (ops/nn/conv_operations.hpp): implicit matrix products. A
// register tile reads the pixels of its rows in place, and zeros in the padding. Images of few
// channels are copied in blocks, with their padding (few_channels.hpp).
//
// A row is a place of the result, a column one of its channels. The gradient for x is a convolution
// of dy for each phase of the strides, with a part of the taps. Taps that lie side by side along
// the width are one run of products.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/ops/few_channels.hpp"
#include "typeflow/cpu/ops/few_filters.hpp"
#include "typeflow/cpu/ops/window_rows.hpp"
#include "typeflow/cpu/ops/window_scatter.hpp"
#include "typeflow/cpu/ops/winograd.hpp"
#include "typeflow/ops/nn/conv_operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The epilogue of places: see Output::finish_places.
template <class E>
void finish_places(const KernelCall& call, const typename E::T* sums, std::int64_t first,
                   std::int64_t last) {
  if constexpr (E::variant == ops::ConvAttributes::one_column) {
    E::finish_column(call, E::operations(call), {}, sums, first, last);
  } else {
    E::finish_points(call, E::operations(call), {}, sums, first, last);
  }
}

template <class E>
Output<typename E::T> output_of(const KernelCall& call) {
  Output<typename E::T> output{&finish_tile<E>, E::is_product ? E::result(call, {}, 0, 0) : nullptr,
                               call.extents[ir::ContractionExtents::columns], E::result_rows(call),
                               nullptr};
  using ops::ConvAttributes;
  if constexpr ((E::variant == ConvAttributes::one_column ||
                 E::variant == ConvAttributes::few_columns) &&
                !E::is_product && E::finishes_columns) {
    output.finish_places = &finish_places<E>;
  }
  return output;
}

/// The sums of a register tile's products, to rows of V vectors. While runs.more(), runs.next(at,
/// b) sets the beginnings of the rows of a and of b, and returns the number of products. Of
/// `padded` rows, returns whether all sums are finite.
template <class T, class A, int V, class Runs>
[[gnu::noinline, gnu::flatten]] bool window_tile(const Runs& from, bool padded,
                                                 T* const (&to)[TileShape<T, A>::rows]) {
  using S = TileShape<T, A>;
  TileSums<T, A, V> sums;
  sums.clear();
  unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {  // brings the lines while it computes
    unrolled<V>([&](auto v)
                    TYPEFLOW_INLINE_LAMBDA { __builtin_prefetch(to[i] + v * S::lanes, 1); });
  });
  Runs runs = from;
  runs.start();
  while (runs.more()) {
    const T* at[S::rows];
    const T* b = nullptr;
    const std::int64_t length = runs.next(at, b);
    sums.add(at, 1, b, runs.pitch, length, runs.ahead);
  }
  unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
    unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
      sums.sum[i][v].store_unaligned(to[i] + v * S::lanes);
    });
  });
  if (!padded) return true;
  using B = xsimd::batch<T, A>;
  B zero(T(0));  // NaN where a sum is not finite
  unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
    B of_row(T(0));
    unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA { of_row += sums.sum[i][v] * B(T(0)); });
    zero += of_row;
  });
  return xsimd::all(zero == zero);
}

/// The loops of Conv and, with Backward, of ConvInputGradient.
template <class T, class A, bool Backward>
class WindowProduct {
  using S = TileShape<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  using Block = WindowBlock<T, S>;
  using Runs = BlockRuns<T, S>;
  static constexpr int row_group = 8;                ///< row blocks of a task
  static constexpr std::int64_t most_offsets = 512;  ///< elements of a window of few channels

 public:
  static std::int64_t workspace(const std::int64_t* extents) {
    const Sizes z(extents);
    const std::int64_t weights =
        checked_product(checked_product(z.groups * z.taps, z.depth), Panels<S>(z.columns).padded());
    const std::int64_t zeros = checked_product(z.taps, z.depth);
    return checked_product(checked_sum(weights, zeros), sizeof(T));
  }

  static void run(const KernelCall& call, const ops::ConvAttributes& op, const Output<T>& output);

 private:
  /// Numbers of elements. `depth` and `columns` are those of one group and one tap.
  struct Sizes {
    std::int64_t samples, channels, filters, groups, taps, depth, columns;
    explicit Sizes(const std::int64_t* extents) {
      const std::int64_t* const further =
          extents + ir::ContractionExtents::outer;  // none lie outside
      samples = further[0];
      channels = further[1];
      filters = further[2];
      groups = further[3];
      taps = further[4];
      depth = (Backward ? filters : channels) / groups;
      columns = (Backward ? channels : filters) / groups;
    }
  };

  template <class F>
  static void each_phase(const ops::ConvAttributes& op, const F& f) {
    GatherAxis axes[max_window_rank];
    if constexpr (!Backward) {
      for (int i = 0; i < max_window_rank; ++i) {
        axes[i] = forward_axis(op.window.axis(i), op.image[i]);
      }
      f(axes);
    } else {
      const std::int32_t* const stride = op.window.stride;
      for (std::int64_t a = 0; a < stride[0]; ++a) {
        axes[0] = backward_axis(op.window.axis(0), op.image[0], a);
        for (std::int64_t b = 0; b < stride[1]; ++b) {
          axes[1] = backward_axis(op.window.axis(1), op.image[1], b);
          for (std::int64_t c = 0; c < stride[2]; ++c) {
            axes[2] = backward_axis(op.window.axis(2), op.image[2], c);
            f(axes);
          }
        }
      }
    }
  }

  /// Copies the weights of a phase: panel by panel, with rows in the order of the products.
  static void pack(const KernelCall& call, const ops::ConvAttributes& op, const Sizes& z,
                   const GatherAxis* axes, std::int64_t group, T* to) {
    const Panels<S> panels(z.columns);
    const std::int64_t per_group = z.channels / z.groups;
    const std::int64_t first_filter = group * (z.filters / z.groups);
    const std::int64_t taps = axes[0].taps * axes[1].taps * axes[2].taps;
    const T* const w = call.operand<const T>(1);
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / (z.depth * S::width + 1));
    parallel(call, panels.count * taps, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t p = i / taps;
        const std::int64_t tap = i % taps;
        const std::int64_t k[] = {tap / (axes[1].taps * axes[2].taps),
                                  tap / axes[2].taps % axes[1].taps, tap % axes[2].taps};
        std::int64_t number = 0;  // of the tap in w
        for (int a = 0; a < max_window_rank; ++a) {
          number = number * op.window.size[a] + axes[a].first_tap + k[a] * axes[a].weight_step;
        }
        const T* const from = w + number * per_group * z.filters + first_filter;
        const std::int64_t width = panels.width(p);
        T* const rows = to + (panels.first(p) * taps + tap * width) * z.depth;
        copy(from, z, panels.first(p), panels.last(p), width, rows);
      }
    });
  }
  /// Columns [first, last) of one tap's weights as rows of `width`.
  static void copy(const T* from, const Sizes& z, std::int64_t first, std::int64_t last,
                   std::int64_t width, T* rows) {
    if constexpr (Backward) {
      pack_transposed_panel(from, z.filters, z.depth, first, last, width, rows);
    } else {
      pack_panel<T, A>(from, z.depth, z.filters, first, last, width, rows);
    }
  }

  /// The product of one group in one phase.
  struct Product {
    const KernelCall& call;
    const Output<T>& output;
    const Sizes& z;
    const GatherAxis* axes;
    const T* image;
    const T* weights;
    const T* zeros;
    std::int64_t column;  ///< the group's first column in the result
    WindowOrder order =
        WindowOrder::best(axes, z.samples, channels() * std::int64_t{sizeof(T)}, S::rows);
    std::int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
    std::int64_t channels() const { return z.depth * z.groups; }
  };

  static void multiply(const Product& product) {
    const GatherAxis* const axes = product.axes;
    const Panels<S> panels(product.z.columns);
    const std::int64_t rows = product.z.samples * axes[0].places * axes[1].places * axes[2].places;
    const std::int64_t depth = product.taps() * product.z.depth;
    if (multiply_few_channels(product, panels, depth)) return;
    constexpr std::int64_t of_task = std::int64_t{row_group} * S::rows;
    const std::int64_t groups = (rows + of_task - 1) / of_task;
    // All panels for some rows, if the panels stay in cache; otherwise all rows for one panel. One
    // task has several panels, if there are many tasks.
    constexpr std::int64_t cached = (std::int64_t{1} << 19) / sizeof(T);
    constexpr std::int64_t tasks_wanted = 64;
    const bool rows_first = depth * panels.padded() <= cached;
    const std::int64_t together =
        rows_first ? std::max<std::int64_t>(
                         1, std::min(groups * panels.count / tasks_wanted, panels.count))
                   : 1;
    const std::int64_t bands = (panels.count + together - 1) / together;
    const std::int64_t work = 2 * of_task * S::width * together * (depth + 1);
    const std::int64_t grain = grain_of_cost(work);
    parallel(product.call, bands * groups, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t band = rows_first ? task % bands : task / groups;
        const std::int64_t first = (rows_first ? task / bands : task % groups) * of_task;
        multiply(product, panels, first, std::min(first + of_task, rows), band * together,
                 std::min((band + 1) * together, panels.count));
      }
    });
  }

  /// Whether the gradient for an image is computed in padded blocks, if all weights are finite, and
  /// not by adding windows. Extents alone decide, since the sums have another order.
  static bool takes_blocks(const ops::ConvAttributes& op, const Sizes& z, const Output<T>& output) {
    constexpr std::int64_t few = 128;  // products of a place
    bool takes = z.groups == 1 && z.taps * z.depth <= most_offsets;
    each_phase(op, [&](const GatherAxis* axes) {
      if (axes[0].taps * axes[1].taps * axes[2].taps == 0) return;  // zeros
      const PixelPlanes<T, A> pixels(blocks_of(axes, z.depth));
      const bool channels = z.depth < 16 && z.taps * z.depth <= few && pixels.blocks.width > 0;
      takes = takes && (channels || FewFilters<T, A>::fits(output, pixels));
    });
    return takes;
  }
  static PaddedBlocks blocks_of(const GatherAxis* axes, std::int64_t depth) {
    return PaddedBlocks(axes, depth, FewChannels<T, A>::room, S::rows);
  }

  /// Computes the product in padded blocks of the image, if that pays and all weights are finite;
  /// returns whether it has.
  static bool multiply_few_channels(const Product& product, const Panels<S>& panels,
                                    std::int64_t depth) {
    if (depth == 0 || depth > most_offsets) return false;
    const PaddedBlocks blocks = blocks_of(product.axes, product.z.depth);
    const PixelPlanes<T, A> pixels(blocks);
    const bool few_filters =
        product.z.groups == 1 && FewFilters<T, A>::fits(product.output, pixels);
    if (product.z.depth >= 16 && !few_filters) return false;
    bool finite = blocks.width > 0;
    for (std::int64_t i = 0; i < depth * panels.padded(); ++i) {
      finite = finite & (product.weights[i] * T(0) == T(0));
    }
    if (!finite) return false;
    std::int64_t offsets[most_offsets];
    if (few_filters) {
      T weights[most_offsets * FewFilters<T, A>::most];
      for (std::int64_t k = 0; k < depth; ++k) {
        std::copy_n(product.weights + k * panels.padded(), panels.columns,
                    weights + k * panels.columns);
      }
      pixels.offsets(offsets);
      FewFilters<T, A>{product.call, product.output, pixels, product.image, offsets, depth, weights}
          .run(product.z.samples);
      return true;
    }
    blocks.offsets(offsets);
    FewChannels<T, A>{
        product.call, product.output, blocks,          product.image, product.channels(),
        offsets,      depth,          product.weights, panels,        product.column}
        .run(product.z.samples);
    return true;
  }

  /// A task: rows [first, last) by panels [panel, last_panel).
  static void multiply(const Product& product, const Panels<S>& panels, std::int64_t first,
                       std::int64_t last, std::int64_t panel, std::int64_t last_panel) {
    Block blocks[row_group];
    const std::int64_t depth = product.taps() * product.z.depth;
    const int count = static_cast<int>((last - first + S::rows - 1) / S::rows);
    place_windows(product.axes, product.order, first, last, blocks);
    // All panels for a block, which then stays in the first cache, if the panels come from the
    // second one; otherwise all blocks for a panel.
    constexpr std::int64_t second_cache = (std::int64_t{1} << 17) / sizeof(T);
    const std::int64_t of_panels =
        (panels.first(last_panel - 1) + panels.width(last_panel - 1) - panels.first(panel)) * depth;
    if (of_panels <= second_cache) {
      for (int i = 0; i < count; ++i) {
        for (std::int64_t p = panel; p < last_panel; ++p) compute(product, panels, blocks[i], p);
      }
    } else {
      for (std::int64_t p = panel; p < last_panel; ++p) {
        for (int i = 0; i < count; ++i) compute(product, panels, blocks[i], p);
      }
    }
  }

  /// A block of rows by a panel.
  static void compute(const Product& product, const Panels<S>& panels, const Block& block,
                      std::int64_t p) {
    alignas(64) T tile[S::rows * S::width];
    const Output<T>& output = product.output;
    const std::int64_t width = panels.width(p);
    const std::int64_t column = product.column + panels.first(p);
    const std::int64_t last_column = product.column + panels.last(p);
    const bool whole = output.result != nullptr && last_column - column == width;
    const auto row = [&](int r) {
      return output.result + block.result[r] * output.columns + column;
    };
    T* to[S::rows];
    for (int r = 0; r < S::rows; ++r) to[r] = whole ? row(r) : tile + r * S::width;
    for (int r = 0; r < block.count && output.rows.first != nullptr; ++r) {
      output.rows.prefetch(block.result[r], 1, column, last_column);
    }
    const T* const weights = product.weights + panels.first(p) * product.taps() * product.z.depth;
    with_vectors<S>(width,
                    [&](auto vectors) { tile_of<vectors()>(product, block, weights, width, to); });
    if (whole) return;
    output.finish(product.call, tile, block.result, block.count, column, last_column);
  }

  /// Computes the block's sums to rows of V vectors.
  template <int V>
  static void tile_of(const Product& product, const Block& block, const T* panel,
                      std::int64_t width, T* const (&to)[S::rows]) {
    const GatherAxis* const axes = product.axes;
    const bool whole = product.z.groups == 1 && axes[2].tap_step == 1 && block.alike[2];
    const bool finite = window_tile<T, A, V>(
        Runs{axes, block, product.image, product.zeros, panel, product.channels(), width,
             product.z.depth, whole,
             product.taps() == 1 ? S::rows * axes[2].step * product.channels() : 0},
        !block.inside(), to);
    if (!finite) sum_inside<V>(product, block, panel, width, to);
  }

  /// Computes the sums row by row, with its padding left out of each: there, zero times an infinite
  /// weight is zero.
  template <int V>
  [[gnu::noinline]] static void sum_inside(const Product& product, const Block& block,
                                           const T* panel, std::int64_t width,
                                           T* const (&to)[S::rows]) {
    alignas(64) T tile[S::rows * S::width];
    T* rows[S::rows];
    for (int i = 0; i < S::rows; ++i) rows[i] = tile + i * S::width;
    for (int i = 0; i < block.count; ++i) {
      tile_of<V>(product, block.only(i, product.axes), panel, width, rows);
      std::copy_n(tile, V * S::lanes, to[i]);
    }
  }
};

template <class T, class A, bool Backward>
void WindowProduct<T, A, Backward>::run(const KernelCall& call, const ops::ConvAttributes& op,
                                        const Output<T>& output) {
  const Sizes z(call.extents);
  const Panels<S> panels(z.columns);
  T* const packed = static_cast<T*>(call.workspace);
  const std::int64_t of_group = z.taps * z.depth * panels.padded();
  T* const zeros = packed + z.groups * of_group;
  std::fill(zeros, zeros + z.taps * z.depth, T(0));
  for (std::int64_t g = 0; g < z.groups; ++g) {
    T* weights = packed + g * of_group;
    if constexpr (Backward) {
      const WindowScatter<T, A> scatter{call,
                                        op,
                                        output,
                                        call.operand<const T>(0) + g * z.depth,
                                        call.operand<const T>(1) + g * z.depth,
                                        weights,
                                        z.samples,
                                        z.filters,
                                        z.depth,
                                        z.columns,
                                        g * z.columns};
      if (scatter.pays() && !takes_blocks(op, z, output)) {
        scatter.run();
        continue;
      }
    }
    each_phase(op, [&](const GatherAxis* axes) {
      const std::int64_t taps = axes[0].taps * axes[1].taps * axes[2].taps;
      pack(call, op, z, axes, g, weights);
      multiply({call, output, z, axes, call.operand<const T>(0) + g * z.depth, weights, zeros,
                g * z.columns});
      weights += taps * z.depth * panels.padded();
    });
  }
}

#ifdef TYPEFLOW_COMPILED
extern template class WindowProduct<float, DefaultArch, false>;
extern template class WindowProduct<float, DefaultArch, true>;
extern template class WindowProduct<double, DefaultArch, false>;
extern template class WindowProduct<double, DefaultArch, true>;
#endif

/// Plain loops; by Winograd's transforms first, where a model asks for them and they apply.
template <bool Backward>
struct convolution_kernel {
  template <class E>
  static std::int64_t workspace(const std::int64_t* extents) {
    const std::int64_t plain =
        WindowProduct<typename E::T, typename E::Arch, Backward>::workspace(extents);
    if constexpr (has_winograd<E>) {
      using Fast = WinogradProduct<typename E::T, typename E::Arch>;
      return std::max(plain, Fast::workspace(extents, Backward));
    } else {
      return plain;
    }
  }
  template <class E>
  static void run(const KernelCall& call) {
    const auto op = E::operation(call);
    const auto output = output_of<E>(call);
    if constexpr (has_winograd<E>) {
      using Fast = WinogradProduct<typename E::T, typename E::Arch>;
      if (Fast::run(call, op, output, Backward)) return;
    }
    WindowProduct<typename E::T, typename E::Arch, Backward>::run(call, op, output);
  }
};
template <>
struct contraction_of<ops::Conv> : convolution_kernel<false> {};
template <>
struct contraction_of<ops::ConvInputGradient> : convolution_kernel<true> {};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
