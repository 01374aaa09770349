// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of Conv and ConvInputGradient by Winograd's transforms (winograd_transforms.hpp):
// chunks of tiles are transformed, multiplied by the transformed weights as 36 matrices, and
// transformed back.

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/ops/few_channels.hpp"
#include "typeflow/cpu/ops/winograd_transforms.hpp"
#include "typeflow/ops/nn/conv_operations.hpp"
#include "typeflow/ops/nn/gather_axis.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Whether a convolution's kernel has loops by Winograd's transforms beside the plain ones.
template <class E>
inline constexpr bool has_winograd = (E::variant & ops::ConvAttributes::by_winograd) != 0;

/// The tiles of images, for the loops of a convolution and of its gradients.
template <class T, class A>
struct WinogradTiles {
  using S = TileShape<T, A>;
  using B = xsimd::batch<T, A>;
  using Transforms = WinogradTransforms<T, A>;
  static constexpr int points = WinogradMatrices::points;
  static constexpr int squares = points * points;

  const GatherAxis* axes;  ///< of the image that is read
  std::int64_t samples;
  int taps;
  std::int64_t lines = (axes[1].places + side() - 1) / side();  ///< tiles of an image
  std::int64_t of_line = (axes[2].places + side() - 1) / side();

  int side() const { return points + 1 - taps; }
  std::int64_t count() const { return samples * lines * of_line; }

  struct Tile {
    std::int64_t sample, y, x;  ///< the first place
  };
  Tile tile(std::int64_t number) const {
    return {number / (lines * of_line), number / of_line % lines * side(),
            number % of_line * side()};
  }

  /// Whether there are enough of them for the transforms of weights, or of their sums, to pay.
  bool pays() const { return count() >= 64; }

  /// Tiles of a chunk, whose transforms stay in the last cache: those of one matrix in the second.
  /// They fill register tiles.
  static std::int64_t of_chunk(std::int64_t channels) {
    constexpr std::int64_t cached = (std::int64_t{1} << 22) / sizeof(T);
    return std::clamp<std::int64_t>(cached / (squares * channels), 64, 512) / S::rows * S::rows;
  }
  /// Elements from one of the 36 matrices to the next: they begin in different sets of a cache.
  static std::int64_t distance(std::int64_t rows, std::int64_t columns) {
    return rows * columns + 5 * S::lanes;
  }

  /// A square of N x N pixels of `channels`, with zeros outside of an image of h x w, transformed
  /// by F: to rows of channels in 36 matrices, `step` elements apart.
  template <int N, class F>
  [[gnu::noinline]] static void read(const T* image, std::int64_t h, std::int64_t w,
                                     std::int64_t channels, const Tile& from, T* to,
                                     std::int64_t step, const F& transform) {
    alignas(64) static constexpr T zeros[S::lanes] = {};
    const T* const first = image + ((from.sample * h + from.y) * w + from.x) * channels;
    const T* at[N][N];
    std::int64_t moves[N][N];
    bool inside[N];  // of a line
    for (int x = 0; x < N; ++x) inside[x] = from.x + x >= 0 && from.x + x < w;
    for (int y = 0; y < N; ++y) {
      const bool has_line = from.y + y >= 0 && from.y + y < h;
      for (int x = 0; x < N; ++x) {
        const bool exists = has_line && inside[x];
        at[y][x] = exists ? first + (y * w + x) * channels : zeros;
        moves[y][x] = exists ? 1 : 0;
      }
    }
    for (std::int64_t c = 0; c < channels; c += S::lanes) {
      transform(
          [&](auto y, auto x)
              TYPEFLOW_INLINE_LAMBDA { return B::load_unaligned(at[y][x] + c * moves[y][x]); },
          [&](auto y, auto x, const B& v)
              TYPEFLOW_INLINE_LAMBDA { v.store_unaligned(to + (y * points + x) * step + c); });
    }
  }
  /// The pixels that a tile's windows see.
  void read_pixels(const T* image, std::int64_t channels, std::int64_t number, T* to,
                   std::int64_t step) const {
    Tile t = tile(number);
    t.y += axes[1].offset;
    t.x += axes[2].offset;
    read<points>(image, axes[1].extent, axes[2].extent, channels, t, to, step,
                 [](const auto& of, const auto& put)
                     TYPEFLOW_INLINE_LAMBDA { Transforms::pixels(of, put); });
  }

  /// Whether the transforms of these elements, and sums of their products, stay finite by far. If
  /// not, plain sums have to tell infinity from NaN.
  static bool moderate(const KernelCall& call, const T* x, std::int64_t count) {
    constexpr auto limit = static_cast<T>(std::int64_t{1} << 40);
    std::atomic<bool> all = true;
    parallel(call, count / S::lanes, grain_of_bytes(sizeof(T) * S::lanes),
             [&](std::int64_t begin, std::int64_t end) {
               auto inside = B(T(0)) == B(T(0));
               for (std::int64_t i = begin; i < end; ++i) {
                 inside = inside & (xsimd::abs(B::load_unaligned(x + i * S::lanes)) <= B(limit));
               }
               if (!xsimd::all(inside)) all.store(false, std::memory_order_relaxed);
             });
    return all.load(std::memory_order_relaxed);
  }
};

/// The loops of Conv and of ConvInputGradient, which is a convolution backward.
template <class T, class A>
class WinogradProduct {
  using Tiles = WinogradTiles<T, A>;
  using S = typename Tiles::S;
  using B = typename Tiles::B;
  using Transforms = typename Tiles::Transforms;
  static constexpr int points = Tiles::points;
  static constexpr int squares = Tiles::squares;

  /// Numbers of elements.
  struct Sizes {
    std::int64_t samples, channels, filters, taps, depth, columns;
    std::int64_t chunk;  ///< tiles
    Panels<S> panels;
    Sizes(const std::int64_t* extents, bool backward)
        : samples(extents[ir::ContractionExtents::outer]),
          channels(extents[ir::ContractionExtents::outer + 1]),
          filters(extents[ir::ContractionExtents::outer + 2]),
          taps(extents[ir::ContractionExtents::outer + 4]),
          depth(backward ? filters : channels),
          columns(backward ? channels : filters),
          panels(columns) {
      chunk = Tiles::of_chunk(depth + columns);
    }
    std::int64_t of_weights() const { return squares * depth * columns; }
    std::int64_t of_pixels() const { return Tiles::distance(chunk, depth); }
    std::int64_t of_products() const { return Tiles::distance(chunk, columns); }
  };

 public:
  static std::int64_t workspace(const std::int64_t* extents, bool backward) {
    const Sizes z(extents, backward);
    const std::int64_t weights = checked_product(z.depth, z.columns);
    const std::int64_t room =
        std::max(checked_product(z.taps, weights), squares * (z.of_pixels() + z.of_products()));
    return checked_product(checked_sum(checked_product(squares, weights), room), sizeof(T));
  }

  /// False, and does nothing, if plain sums are needed.
  static bool run(const KernelCall& call, const ops::ConvAttributes& op, const Output<T>& output,
                  bool backward);

 private:
  WinogradProduct(const KernelCall& kernel, const Output<T>& to, const Sizes& sizes,
                  const Tiles& of, bool is_backward)
      : call(kernel),
        output(to),
        z(sizes),
        tiles(of),
        weights(static_cast<T*>(kernel.workspace)),
        backward(is_backward) {}

  template <int Taps>
  void run() const {
    constexpr int side = points + 1 - Taps;
    pack();
    transform_weights<Taps>();
    T* const pixels = plain_weights();  // which are no longer needed
    T* const products = pixels + squares * z.of_pixels();
    const std::int64_t all = tiles.count();
    for (std::int64_t first = 0; first < all; first += z.chunk) {
      const std::int64_t count = std::min(z.chunk, all - first);
      parallel(call, count, grain_of_cost(16 * squares * z.depth),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t t = begin; t < end; ++t) {
                   tiles.read_pixels(call.operand<const T>(0), z.depth, first + t,
                                     pixels + t * z.depth, z.of_pixels());
                 }
               });
      parallel(call, squares * z.panels.count, grain_of_cost(2 * count * z.depth * S::width),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   multiply(pixels, count, i / z.panels.count, i % z.panels.count, products);
                 }
               });
      parallel(call, count, grain_of_cost(16 * squares * z.columns),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t p = 0; p < z.panels.count; ++p) {
                   finish<side>(first, begin, end, products, p);
                 }
               });
    }
  }

  T* plain_weights() const { return weights + z.of_weights(); }

  /// Copies the weights of each tap, in the order in which a window meets them: panel by panel.
  void pack() const {
    T* const to = plain_weights();
    const T* const w = call.operand<const T>(1);
    parallel(call, z.panels.count * z.taps, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t p = i / z.taps;
        const std::int64_t tap = i % z.taps;
        const std::int64_t first = z.panels.first(p);
        const std::int64_t width = z.panels.width(p);
        T* const panel = to + (first * z.taps + tap * width) * z.depth;
        const T* const from = w + (backward ? z.taps - 1 - tap : tap) * z.channels * z.filters;
        if (backward) {
          pack_transposed_panel(from, z.filters, z.depth, first, first + width, width, panel);
        } else {
          pack_panel<T, A>(from, z.depth, z.filters, first, first + width, width, panel);
        }
      }
    });
  }
  /// The panels of 36 matrices.
  template <int Taps>
  void transform_weights() const {
    parallel(call, z.panels.count * z.depth, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = z.panels.first(i / z.depth);
        const std::int64_t width = z.panels.width(i / z.depth);
        const std::int64_t row = i % z.depth * width;
        const T* const from = plain_weights() + first * z.taps * z.depth + row;
        T* const to = weights + first * z.depth + row;
        for (std::int64_t j = 0; j < width; j += S::lanes) {
          Transforms::template weights<Taps>(
              [&](auto y, auto x) TYPEFLOW_INLINE_LAMBDA {
                return B::load_unaligned(from + (y * Taps + x) * z.depth * width + j);
              },
              [&](auto y, auto x, const B& v) TYPEFLOW_INLINE_LAMBDA {
                v.store_unaligned(to + (y * points + x) * z.depth * z.columns + j);
              });
        }
      }
    });
  }

  /// A chunk's matrix by a panel.
  void multiply(const T* pixels, std::int64_t count, std::int64_t square, std::int64_t p,
                T* products) const {
    const std::int64_t first = z.panels.first(p);
    const std::int64_t width = z.panels.width(p);
    for (std::int64_t row = 0; row < count; row += S::rows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(S::rows, count - row));
      with_vectors<S>(width, [&](auto vectors) {
        product_tile<T, A, vectors()>(
            pixels + square * z.of_pixels() + row * z.depth, z.depth, 1, rows,
            weights + (square * z.columns + first) * z.depth, width, z.depth,
            products + square * z.of_products() + row * z.columns + first, z.columns);
      });
    }
  }

  /// The results of tiles [begin, end) of a chunk in panel p.
  template <int Side>
  void finish(std::int64_t first, std::int64_t begin, std::int64_t end, const T* products,
              std::int64_t p) const {
    constexpr int most = S::rows + Side * Side;
    const std::int64_t column = z.panels.first(p);
    const std::int64_t width = z.panels.width(p);
    alignas(64) T sums[most * S::width];
    alignas(64) T outside[S::width];
    std::int64_t places[most];
    int filled = 0;
    for (std::int64_t t = begin; t < end; ++t) {
      const typename Tiles::Tile tile = tiles.tile(first + t);
      T* to[Side][Side];
      for (int y = 0; y < Side; ++y) {
        for (int x = 0; x < Side; ++x) {
          to[y][x] = outside;
          if (tile.y + y >= tiles.axes[1].places || tile.x + x >= tiles.axes[2].places) continue;
          const std::int64_t place =
              (tile.sample * tiles.axes[1].result + tile.y + y) * tiles.axes[2].result + tile.x + x;
          if (output.result != nullptr) {
            to[y][x] = output.result + place * output.columns + column;
          } else {
            to[y][x] = sums + filled * S::width;
            places[filled++] = place;
          }
        }
      }
      for (std::int64_t j = 0; j < width; j += S::lanes) {
        const T* const from = products + t * z.columns + column + j;
        Transforms::template results<Side>(
            [&](auto y, auto x) TYPEFLOW_INLINE_LAMBDA {
              return B::load_unaligned(from + (y * points + x) * z.of_products());
            },
            [&](auto y, auto x, const B& v)
                TYPEFLOW_INLINE_LAMBDA { v.store_unaligned(to[y][x] + j); });
      }
      const int last = t + 1 == end ? 1 : S::rows;
      int done = 0;
      for (; filled - done >= last; done += S::rows) {
        output.finish(call, sums + done * S::width, places + done, std::min(S::rows, filled - done),
                      column, column + width);
      }
      filled = std::max(filled - done, 0);
      if (done == 0) continue;
      std::copy_n(sums + done * S::width, filled * S::width, sums);
      std::copy_n(places + done, filled, places);
    }
  }

  const KernelCall& call;
  const Output<T>& output;
  Sizes z;
  Tiles tiles;
  T* weights;
  bool backward;
};

template <class T, class A>
bool WinogradProduct<T, A>::run(const KernelCall& call, const ops::ConvAttributes& op,
                                const Output<T>& output, bool backward) {
  const Sizes z(call.extents, backward);
  GatherAxis axes[max_window_rank];
  for (int a = 0; a < max_window_rank; ++a) {
    const WindowAxis along = op.window.axis(a);
    axes[a] = backward ? backward_axis(along, op.image[a], 0) : forward_axis(along, op.image[a]);
  }
  const Tiles tiles{axes, z.samples, op.window.size[2]};
  const std::int64_t pixels = z.samples * axes[1].extent * axes[2].extent * z.depth;
  if (!tiles.pays() || !Tiles::moderate(call, call.operand<const T>(0), pixels) ||
      !Tiles::moderate(call, call.operand<const T>(1), z.taps * z.depth * z.columns)) {
    return false;
  }
  const WinogradProduct product{call, output, z, tiles, backward};
  op.window.size[2] == 3 ? product.template run<3>() : product.template run<5>();
  return true;
}

#ifdef TYPEFLOW_COMPILED
extern template class WinogradProduct<float, DefaultArch>;
extern template class WinogradProduct<double, DefaultArch>;
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
