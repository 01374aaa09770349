// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of Conv and ConvInputGradient (ops/nn/conv_operations.hpp): implicit matrix products. A
// register tile reads the pixels of its rows in place, and zeros in the padding. Windows are only
// copied if few channels meet padding.
//
// A row is a place of the result, a column one of its channels. The gradient for x is a convolution
// of dy for each phase of the strides, with a part of the taps. Taps that lie side by side along
// the width are one run of products.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/ops/nn/conv_operations.hpp"
#include "typeflow/ops/nn/gather_axis.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The loops of Conv and, with Backward, of ConvInputGradient.
template <class T, class A, bool Backward>
class WindowProduct {
  using S = TileShape<T, A>;
  static constexpr int row_group = 8;               ///< row blocks of a task
  static constexpr std::int64_t most_copied = 512;  ///< elements of a copied window

 public:
  static std::int64_t workspace(const std::int64_t* extents) {
    const Sizes z(extents);
    const std::int64_t weights =
        checked_product(checked_product(z.groups * z.taps, z.depth), Panels<S>(z.columns).padded());
    const std::int64_t zeros = checked_product(z.taps, z.depth);
    return checked_product(checked_sum(weights, zeros), sizeof(T));
  }

  static void run(const KernelCall& call, const ops::ConvAttributes& op, FinishTile<T> finish);

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
    const std::int64_t count = last - first;
    if constexpr (!Backward) {
      for (std::int64_t d = 0; d < z.depth; ++d) {
        std::copy_n(from + d * z.filters + first, count, rows + d * width);
        std::fill(rows + d * width + count, rows + (d + 1) * width, T(0));
      }
    } else {  // transposed; some rows at a time, so that what is read stays in cache
      constexpr std::int64_t block = 16;
      for (std::int64_t d0 = 0; d0 < z.depth; d0 += block) {
        const std::int64_t d1 = std::min(d0 + block, z.depth);
        for (std::int64_t j = 0; j < width; ++j) {
          const T* const column = from + (first + j) * z.filters;
          for (std::int64_t d = d0; d < d1; ++d) rows[d * width + j] = j < count ? column[d] : T(0);
        }
      }
    }
  }

  /// The rows of a block: where their windows begin in the image, and their places in the result.
  struct Block {
    std::int64_t pixel[S::rows];  ///< the first tap's pixel, possibly outside
    std::int64_t at[S::rows][max_window_rank];
    std::int64_t result[S::rows];
    bool inside;         ///< whether all taps of all rows are inside
    bool inside_widths;  ///< whether all are inside along the width
  };

  static void multiply(const KernelCall& call, FinishTile<T> finish, const Sizes& z,
                       const GatherAxis* axes, std::int64_t group, const T* weights,
                       const T* zeros) {
    const Panels<S> panels(z.columns);
    const std::int64_t rows = z.samples * axes[0].places * axes[1].places * axes[2].places;
    const std::int64_t taps = axes[0].taps * axes[1].taps * axes[2].taps;
    const std::int64_t depth = taps * z.depth;
    const std::int64_t of_task = row_group * S::rows;
    const std::int64_t tasks = (rows + of_task - 1) / of_task;
    const std::int64_t work = 2 * of_task * S::width * (depth + 1);
    const std::int64_t grain = std::max<std::int64_t>(1, 4 * chunk_size / work);
    // All panels for some rows, if the panels stay in cache; otherwise all rows for one panel.
    constexpr std::int64_t cached = (std::int64_t{1} << 19) / sizeof(T);
    const bool rows_first = depth * panels.padded() <= cached;
    parallel(call, panels.count * tasks, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t p = rows_first ? task % panels.count : task / tasks;
        const std::int64_t first = (rows_first ? task / panels.count : task % tasks) * of_task;
        const std::int64_t width = panels.width(p);
        const T* const panel = weights + panels.first(p) * depth;
        for (std::int64_t i = first; i < std::min(first + of_task, rows); i += S::rows) {
          const int count = static_cast<int>(std::min<std::int64_t>(S::rows, rows - i));
          Block block;
          place(axes, i, count, block);
          alignas(64) T tile[S::rows * S::width];
          const T* const image = call.operand<const T>(0) + group * z.depth;
          with_vectors<S>(width, [&](auto vectors) {
            tile_of<vectors()>(z, axes, block, image, zeros, panel, width, tile);
          });
          const std::int64_t column = group * z.columns;
          finish(call, tile, block.result, count, column + panels.first(p),
                 column + panels.last(p));
        }
      }
    });
  }

  static void place(const GatherAxis* axes, std::int64_t first, int count, Block& block) {
    std::int64_t place[max_window_rank];
    std::int64_t sample = first;
    for (int a = max_window_rank - 1; a >= 0; --a) {
      place[a] = sample % axes[a].places;
      sample /= axes[a].places;
    }
    block.inside = true;
    block.inside_widths = true;
    for (int i = 0; i < S::rows; ++i) {
      block.pixel[i] = sample;
      block.result[i] = sample;
      for (int a = 0; a < max_window_rank; ++a) {
        const GatherAxis& axis = axes[a];
        const std::int64_t at = place[a] * axis.step + axis.offset;
        block.at[i][a] = at;
        block.pixel[i] = block.pixel[i] * axis.extent + at;
        block.result[i] =
            block.result[i] * axis.result + axis.first_place + place[a] * axis.place_step;
        const bool fits = at >= 0 && at + (axis.taps - 1) * axis.tap_step < axis.extent;
        block.inside = block.inside && fits;
        if (a == max_window_rank - 1) block.inside_widths = block.inside_widths && fits;
      }
      if (i + 1 >= count) continue;  // rows from `count` on repeat the last
      for (int a = max_window_rank - 1; a >= 0 && ++place[a] == axes[a].places; --a) {
        place[a] = 0;
        if (a == 0) ++sample;
      }
    }
  }

  /// The runs of products of a block.
  struct Runs {
    const GatherAxis* axes;
    const Block* block;
    const T* image;
    const T* zeros;
    const T* b;
    std::int64_t channels;  ///< channels of the image
    std::int64_t pitch;
    std::int64_t piece;  ///< products of a run
    bool whole;          ///< whether a run has all taps along the width
    std::int64_t count;
    std::int64_t k[max_window_rank] = {};
    static constexpr std::int64_t step = 1;

    TYPEFLOW_INLINE bool more() { return count-- > 0; }
    TYPEFLOW_INLINE std::int64_t next(const T* (&at)[S::rows], const T*& right) {
      const std::int64_t z = k[0] * axes[0].tap_step;
      const std::int64_t y = k[1] * axes[1].tap_step;
      const std::int64_t x = k[2] * axes[2].tap_step;
      const std::int64_t shift = (z * axes[1].extent + y) * axes[2].extent + x;
      if (block->inside) {
        unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
          at[i] = image + (block->pixel[i] + shift) * channels;
        });
      } else {
        for (int i = 0; i < S::rows; ++i) {
          const std::int64_t* const from = block->at[i];
          const bool inside = is_in(from[0] + z, axes[0].extent) &&
                              is_in(from[1] + y, axes[1].extent) &&
                              (whole || is_in(from[2] + x, axes[2].extent));
          at[i] = inside ? image + (block->pixel[i] + shift) * channels : zeros;
        }
      }
      right = b;
      b += piece * pitch;
      if (whole || ++k[2] == axes[2].taps) {
        k[2] = 0;
        if (++k[1] == axes[1].taps) {
          k[1] = 0;
          ++k[0];
        }
      }
      return piece;
    }
    static bool is_in(std::int64_t at, std::int64_t extent) { return at >= 0 && at < extent; }
  };

  /// Copies a row's window, with zeros in the padding. Otherwise the runs of few channels would be
  /// too short.
  static void copy_window(const Sizes& z, const GatherAxis* axes, const std::int64_t* from,
                          std::int64_t pixel, const T* image, T* to) {
    const std::int64_t channels = z.depth * z.groups;
    for (std::int64_t k0 = 0; k0 < axes[0].taps; ++k0) {
      const std::int64_t i0 = k0 * axes[0].tap_step;
      for (std::int64_t k1 = 0; k1 < axes[1].taps; ++k1) {
        const std::int64_t i1 = k1 * axes[1].tap_step;
        const bool line =
            Runs::is_in(from[0] + i0, axes[0].extent) && Runs::is_in(from[1] + i1, axes[1].extent);
        const std::int64_t first = pixel + (i0 * axes[1].extent + i1) * axes[2].extent;
        if (z.groups == 1 && axes[2].tap_step == 1) {  // the taps lie side by side
          const std::int64_t begin =
              line ? std::clamp<std::int64_t>(-from[2], 0, axes[2].taps) : axes[2].taps;
          const std::int64_t end =
              std::clamp<std::int64_t>(axes[2].extent - from[2], begin, axes[2].taps);
          to = std::fill_n(to, begin * channels, T(0));
          for (std::int64_t c = begin * channels; c < end * channels; ++c) {
            *to++ = image[first * channels + c];
          }
          to = std::fill_n(to, (axes[2].taps - end) * channels, T(0));
          continue;
        }
        for (std::int64_t k2 = 0; k2 < axes[2].taps; ++k2) {
          const std::int64_t i2 = k2 * axes[2].tap_step;
          const bool inside = line && Runs::is_in(from[2] + i2, axes[2].extent);
          const std::int64_t at = (first + i2) * channels;
          for (std::int64_t c = 0; c < z.depth; ++c) *to++ = inside ? image[at + c] : T(0);
        }
      }
    }
  }

  template <int V>
  static void tile_of(const Sizes& z, const GatherAxis* axes, const Block& block, const T* image,
                      const T* zeros, const T* panel, std::int64_t width, T* tile) {
    const bool whole = z.groups == 1 && axes[2].tap_step == 1 && block.inside_widths;
    const std::int64_t piece = whole ? axes[2].taps * z.depth : z.depth;
    const std::int64_t taps = axes[0].taps * axes[1].taps * axes[2].taps;
    const std::int64_t runs = whole ? axes[0].taps * axes[1].taps : taps;
    if (!block.inside && z.depth < 16 && taps > 0 && taps * z.depth <= most_copied) {
      alignas(64) T copies[S::rows * most_copied];
      for (int i = 0; i < S::rows; ++i) {
        copy_window(z, axes, block.at[i], block.pixel[i], image, copies + i * taps * z.depth);
      }
      product_tile<T, A, V>(copies, taps * z.depth, 1, S::rows, panel, width, taps * z.depth, tile);
      return;
    }
    gathered_tile<T, A, V>(Runs{axes, &block, image, zeros, panel, z.depth * z.groups, width, piece,
                                whole, taps == 0 ? 0 : runs},
                           tile, S::width, false);
  }
};

template <class T, class A, bool Backward>
void WindowProduct<T, A, Backward>::run(const KernelCall& call, const ops::ConvAttributes& op,
                                        FinishTile<T> finish) {
  const Sizes z(call.extents);
  const Panels<S> panels(z.columns);
  T* const packed = static_cast<T*>(call.workspace);
  const std::int64_t of_group = z.taps * z.depth * panels.padded();
  T* const zeros = packed + z.groups * of_group;
  std::fill(zeros, zeros + z.taps * z.depth, T(0));
  for (std::int64_t g = 0; g < z.groups; ++g) {
    T* weights = packed + g * of_group;
    each_phase(op, [&](const GatherAxis* axes) {
      const std::int64_t taps = axes[0].taps * axes[1].taps * axes[2].taps;
      pack(call, op, z, axes, g, weights);
      multiply(call, finish, z, axes, g, weights, zeros);
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

template <>
struct contraction_of<ops::Conv> {
  template <class E>
  static std::int64_t workspace(const std::int64_t* extents) {
    return WindowProduct<typename E::T, typename E::Arch, false>::workspace(extents);
  }
  template <class E>
  static void run(const KernelCall& call) {
    WindowProduct<typename E::T, typename E::Arch, false>::run(call, E::operation(call),
                                                               &finish_tile<E>);
  }
};
template <>
struct contraction_of<ops::ConvInputGradient> {
  template <class E>
  static std::int64_t workspace(const std::int64_t* extents) {
    return WindowProduct<typename E::T, typename E::Arch, true>::workspace(extents);
  }
  template <class E>
  static void run(const KernelCall& call) {
    WindowProduct<typename E::T, typename E::Arch, true>::run(call, E::operation(call),
                                                              &finish_tile<E>);
  }
};
}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
