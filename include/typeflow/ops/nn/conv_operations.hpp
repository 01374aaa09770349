// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations of ops/nn/conv.hpp: a convolution over one, two or three axes, and its gradients.
// Each is linear in both of its operands, and its gradients are the other two, so there are
// gradients of any order. They are contractions: elementwise operations after them are computed in
// their kernels.

#include <array>
#include <cstdint>
#include <vector>

#include "typeflow/ops/contraction.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/nn/window.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// A contraction y that reads 16-bit operands in place, if a or b is widened from one.
template <class O>
constexpr AnyExpr without_widening(const O& op, const AnyExpr& a, const AnyExpr& b,
                                   const AnyExpr& y) {
  const Id ids[] = {typeflow::without_widening(a).id, typeflow::without_widening(b).id};
  if (ids[0] == a.id && ids[1] == b.id) return y;
  return add_node(*y.graph, op, ids, 2, Type(y.dtype(), y.dims()));
}

/// The attributes of convolutions. Axes are depth, height and width, as in WindowAttributes.
struct ConvAttributes {
  WindowAttributes window;
  std::int32_t image[max_window_rank];
  std::int32_t groups;
  std::int32_t rank;          ///< axes of the image
  std::int32_t winograd = 0;  ///< whether kernels may take Winograd's transforms

  constexpr std::int64_t places(int axis) const { return window.axis(axis).places(image[axis]); }
  constexpr std::int64_t taps() const {
    return std::int64_t{1} * window.size[0] * window.size[1] * window.size[2];
  }
  constexpr std::int64_t place_count() const { return places(0) * places(1) * places(2); }
  constexpr std::int64_t image_size() const {
    return std::int64_t{1} * image[0] * image[1] * image[2];
  }

  // The shapes of the three tensors.

  constexpr Dims x(Extent samples, Extent channels) const {
    Dims dims{1, {samples}};
    for (int i = max_window_rank - rank; i < max_window_rank; ++i) dims.append(image[i]);
    dims.append(channels);
    return dims;
  }
  constexpr Dims w(Extent channels, Extent filters) const {
    Dims dims{0, {}};
    for (int i = max_window_rank - rank; i < max_window_rank; ++i) dims.append(window.size[i]);
    dims.append(channels / groups);
    dims.append(filters);
    return dims;
  }
  constexpr Dims y(Extent samples, Extent filters) const {
    Dims dims{1, {samples}};
    for (int i = max_window_rank - rank; i < max_window_rank; ++i) dims.append(places(i));
    dims.append(filters);
    return dims;
  }
  constexpr bool divides(Extent channels, Extent filters) const {
    return channels > 0 && filters > 0 && channels % groups == 0 && filters % groups == 0;
  }
  static constexpr bool takes(DType a, DType b) { return has_wide_sums(a, b, sums_of(a, b)); }
  /// A processor's kernel has an epilogue for several places at once if the result has one column,
  /// or few.
  static constexpr unsigned one_column = 1;
  static constexpr unsigned few_columns = 2;
  /// It has loops by Winograd's transforms, too.
  static constexpr unsigned by_winograd = 4;
  constexpr unsigned loops_of(Extent channels, Extent filters, Extent columns) const {
    if (takes_winograd(channels, filters)) return by_winograd;
    return columns == 1 ? one_column : columns > 1 && columns <= 4 ? few_columns : 0;
  }
  /// Whether a model asks for the transforms, and the kernels have them for such extents.
  constexpr bool takes_winograd(Extent channels, Extent filters) const {
    const int size = window.size[2];
    bool takes = winograd != 0 && groups == 1 && rank == 2 && (size == 3 || size == 5) &&
                 window.size[1] == size;
    for (int i = 1; i < max_window_rank; ++i) {
      takes = takes && window.stride[i] == 1 && window.dilation[i] == 1;
    }
    return takes && channels > 0 && filters > 0 && channels % 16 == 0 && filters % 16 == 0;
  }
  /// The further extents for kernels.
  constexpr Contraction contraction_of(Extent samples, Extent channels, Extent filters) const {
    Contraction c;
    c.extents[0] = samples;
    c.extents[1] = channels;
    c.extents[2] = filters;
    c.extents[3] = groups;
    c.extents[4] = taps();
    c.extents[5] = image_size();
    c.extents[6] = place_count();
    return c;
  }

  // Elements of the three tensors, by these extents.

  static constexpr std::int64_t elements_of_x(const std::int64_t* further) {
    return checked_product(checked_product(further[0], further[5]), further[1]);
  }
  static constexpr std::int64_t elements_of_w(const std::int64_t* further) {
    return checked_product(checked_product(further[4], further[1] / further[3]), further[2]);
  }
  static constexpr std::int64_t elements_of_y(const std::int64_t* further) {
    return checked_product(checked_product(further[0], further[6]), further[2]);
  }

  /// Calls f(x, w, y) for all products of an element of x and one of w, with their positions and
  /// the position in y that they belong to.
  template <class F>
  void each_product(std::int64_t samples, std::int64_t channels, std::int64_t filters,
                    const F& f) const {
    const std::int64_t of_group = channels / groups;
    const std::int64_t filters_of_group = filters / groups;
    const auto each = [](const auto& extent, const auto& body) {
      std::int64_t at[max_window_rank];
      for (at[0] = 0; at[0] < extent(0); ++at[0]) {
        for (at[1] = 0; at[1] < extent(1); ++at[1]) {
          for (at[2] = 0; at[2] < extent(2); ++at[2]) body(at);
        }
      }
    };
    std::int64_t place = 0;
    for (std::int64_t n = 0; n < samples; ++n) {
      each([&](int i) { return places(i); },
           [&](const std::int64_t* p) {
             std::int64_t tap = 0;
             each([&](int i) { return std::int64_t{window.size[i]}; },
                  [&](const std::int64_t* k) {
                    std::int64_t pixel = n;
                    bool inside = true;
                    for (int i = 0; i < max_window_rank; ++i) {
                      const WindowAxis axis = window.axis(i);
                      const std::int64_t at =
                          p[i] * axis.stride + k[i] * axis.dilation - axis.before;
                      inside = inside && at >= 0 && at < image[i];
                      pixel = pixel * image[i] + at;
                    }
                    for (std::int64_t o = 0; o < filters && inside; ++o) {
                      const std::int64_t first = o / filters_of_group * of_group;
                      for (std::int64_t c = 0; c < of_group; ++c) {
                        f(pixel * channels + first + c, (tap * of_group + c) * filters + o,
                          place * filters + o);
                      }
                    }
                    ++tap;
                  });
             ++place;
           });
    }
  }
};

/// (N,H,W,C) x (KH,KW,C/groups,F) -> (N,H',W',F); likewise for one or three axes.
struct Conv : contraction, ConvAttributes {
  static constexpr std::string_view name = "Conv";
  static constexpr int further_extents = 7;
  static constexpr bool multiplies(DType a, DType b, DType y) { return has_wide_sums(a, b, y); }
  static constexpr Type infer(const Conv& op, const Type& x, const Type& w) {
    const Extent channels = x.dims.extent[op.rank + 1];
    const Extent filters = w.dims.extent[op.rank + 1];
    const bool fits = takes(x.dtype, w.dtype) && x.dims.rank == op.rank + 2 &&
                      w.dims.rank == op.rank + 2 && op.divides(channels, filters) &&
                      x.dims == op.x(x.dims.extent[0], channels) &&
                      w.dims == op.w(channels, filters);
    return {sums_of(x.dtype, w.dtype), fits ? op.y(x.dims.extent[0], filters) : no_dims};
  }
  static constexpr Contraction describe(const Conv& op, const Type& x, const Type& w, const Type&) {
    const Extent channels = x.dims.extent[op.rank + 1];
    const Extent filters = w.dims.extent[op.rank + 1];
    Contraction c = op.contraction_of(x.dims.extent[0], channels, filters);
    c.depth.multiply(op.taps() * (channels / op.groups));
    c.loops = op.loops_of(channels, filters, filters);
    return c;
  }
  static constexpr std::array<Dims, 3> shapes(const Conv& op, const std::int64_t* further,
                                              std::int64_t, std::int64_t, std::int64_t) {
    return {op.x(further[0], further[1]), op.w(further[1], further[2]),
            op.y(further[0], further[2])};
  }
  static constexpr std::int64_t elements(int operand, const std::int64_t* further, std::int64_t,
                                         std::int64_t, std::int64_t) {
    return operand == 0 ? elements_of_x(further) : elements_of_w(further);
  }
  static constexpr AnyExpr simplify(const Conv& op, auto x, auto w, auto y) {
    return without_widening(op, x, w, y);
  }
  static constexpr std::array<AnyExpr, 2> gradient(const Conv& op, auto x, auto w, auto, auto dy);
  static void interpret(InterpretCall& call);
};

/// The gradient of Conv for x, from dy and w; also the transposed convolution.
/// (N,H',W',F) x (KH,KW,C/groups,F) -> (N,H,W,C)
struct ConvInputGradient : contraction, ConvAttributes {
  static constexpr std::string_view name = "ConvInputGradient";
  static constexpr int further_extents = 7;
  static constexpr bool multiplies(DType a, DType b, DType y) { return has_wide_sums(a, b, y); }
  static constexpr Type infer(const ConvInputGradient& op, const Type& dy, const Type& w) {
    const Extent channels = w.dims.extent[op.rank] * op.groups;
    const Extent filters = w.dims.extent[op.rank + 1];
    const bool fits = takes(dy.dtype, w.dtype) && dy.dims.rank == op.rank + 2 &&
                      w.dims.rank == op.rank + 2 && op.divides(channels, filters) &&
                      dy.dims == op.y(dy.dims.extent[0], filters) &&
                      w.dims == op.w(channels, filters);
    return {sums_of(dy.dtype, w.dtype), fits ? op.x(dy.dims.extent[0], channels) : no_dims};
  }
  static constexpr Contraction describe(const ConvInputGradient& op, const Type& dy, const Type& w,
                                        const Type&) {
    const Extent filters = w.dims.extent[op.rank + 1];
    const Extent channels = w.dims.extent[op.rank] * op.groups;
    Contraction c = op.contraction_of(dy.dims.extent[0], channels, filters);
    c.depth.multiply(filters / op.groups);
    for (int i = 0; i < max_window_rank; ++i) {  // every stride-th of a window's taps meets a place
      c.depth.multiply((op.window.size[i] + op.window.stride[i] - 1) / op.window.stride[i]);
    }
    c.loops = op.loops_of(channels, filters, channels);
    return c;
  }
  static constexpr std::array<Dims, 3> shapes(const ConvInputGradient& op,
                                              const std::int64_t* further, std::int64_t,
                                              std::int64_t, std::int64_t) {
    return {op.y(further[0], further[2]), op.w(further[1], further[2]),
            op.x(further[0], further[1])};
  }
  static constexpr std::int64_t elements(int operand, const std::int64_t* further, std::int64_t,
                                         std::int64_t, std::int64_t) {
    return operand == 0 ? elements_of_y(further) : elements_of_w(further);
  }
  static constexpr AnyExpr simplify(const ConvInputGradient& op, auto dy, auto w, auto y) {
    return without_widening(op, dy, w, y);
  }
  static constexpr std::array<AnyExpr, 2> gradient(const ConvInputGradient& op, auto dy, auto w,
                                                   auto, auto ddx);
  static void interpret(InterpretCall& call);
};

/// The gradient of Conv for w, from x and dy.
/// (N,H,W,C) x (N,H',W',F) -> (KH,KW,C/groups,F)
struct ConvFilterGradient : contraction, ConvAttributes {
  static constexpr std::string_view name = "ConvFilterGradient";
  static constexpr int further_extents = 7;
  static constexpr bool multiplies(DType a, DType b, DType y) { return has_wide_sums(a, b, y); }
  static constexpr Type infer(const ConvFilterGradient& op, const Type& x, const Type& dy) {
    const Extent channels = x.dims.extent[op.rank + 1];
    const Extent filters = dy.dims.extent[op.rank + 1];
    const bool fits = takes(x.dtype, dy.dtype) && x.dims.rank == op.rank + 2 &&
                      dy.dims.rank == op.rank + 2 && op.divides(channels, filters) &&
                      x.dims == op.x(x.dims.extent[0], channels) &&
                      dy.dims == op.y(x.dims.extent[0], filters);
    return {sums_of(x.dtype, dy.dtype), fits ? op.w(channels, filters) : no_dims};
  }
  static constexpr Contraction describe(const ConvFilterGradient& op, const Type& x, const Type& dy,
                                        const Type&) {
    const Extent channels = x.dims.extent[op.rank + 1];
    const Extent filters = dy.dims.extent[op.rank + 1];
    Contraction c = op.contraction_of(x.dims.extent[0], channels, filters);
    c.depth.multiply(x.dims.extent[0]);
    c.depth.multiply(op.place_count());
    if (op.takes_winograd(channels, filters)) c.loops = by_winograd;
    return c;
  }
  static constexpr std::array<Dims, 3> shapes(const ConvFilterGradient& op,
                                              const std::int64_t* further, std::int64_t,
                                              std::int64_t, std::int64_t) {
    return {op.x(further[0], further[1]), op.y(further[0], further[2]),
            op.w(further[1], further[2])};
  }
  static constexpr std::int64_t elements(int operand, const std::int64_t* further, std::int64_t,
                                         std::int64_t, std::int64_t) {
    return operand == 0 ? elements_of_x(further) : elements_of_y(further);
  }
  static constexpr AnyExpr simplify(const ConvFilterGradient& op, auto x, auto dy, auto y) {
    return without_widening(op, x, dy, y);
  }
  static constexpr std::array<AnyExpr, 2> gradient(const ConvFilterGradient& op, auto x, auto dy,
                                                   auto, auto ddw);
  static void interpret(InterpretCall& call);
};

constexpr std::array<AnyExpr, 2> Conv::gradient(const Conv& op, auto x, auto w, auto, auto dy) {
  return {cast_to(apply(ConvInputGradient{{}, op}, dy, w), x.dtype()),
          cast_to(apply(ConvFilterGradient{{}, op}, x, dy), w.dtype())};
}
constexpr std::array<AnyExpr, 2> ConvInputGradient::gradient(const ConvInputGradient& op, auto dy,
                                                             auto w, auto, auto ddx) {
  return {cast_to(apply(Conv{{}, op}, ddx, w), dy.dtype()),
          cast_to(apply(ConvFilterGradient{{}, op}, ddx, dy), w.dtype())};
}
constexpr std::array<AnyExpr, 2> ConvFilterGradient::gradient(const ConvFilterGradient& op, auto x,
                                                              auto dy, auto, auto ddw) {
  return {cast_to(apply(ConvInputGradient{{}, op}, dy, ddw), x.dtype()),
          cast_to(apply(Conv{{}, op}, x, ddw), dy.dtype())};
}

inline void Conv::interpret(InterpretCall& call) {
  const Conv op = decode<Conv>(call.graph, call.node);
  const HostTensor& x = *call.inputs[0];
  const HostTensor& w = *call.inputs[1];
  HostTensor& y = call.outputs[0];
  std::vector<double> sums(static_cast<std::size_t>(y.size()));
  op.each_product(x.dims.extent[0], x.dims.extent[op.rank + 1], w.dims.extent[op.rank + 1],
                  [&](std::int64_t i, std::int64_t k, std::int64_t o) {
                    sums[static_cast<std::size_t>(o)] += x.value(i) * w.value(k);
                  });
  for (std::int64_t o = 0; o < y.size(); ++o) y.set(o, sums[static_cast<std::size_t>(o)]);
}
inline void ConvInputGradient::interpret(InterpretCall& call) {
  const ConvInputGradient op = decode<ConvInputGradient>(call.graph, call.node);
  const HostTensor& dy = *call.inputs[0];
  const HostTensor& w = *call.inputs[1];
  HostTensor& dx = call.outputs[0];
  std::vector<double> sums(static_cast<std::size_t>(dx.size()));
  op.each_product(dy.dims.extent[0], dx.dims.extent[op.rank + 1], w.dims.extent[op.rank + 1],
                  [&](std::int64_t i, std::int64_t k, std::int64_t o) {
                    sums[static_cast<std::size_t>(i)] += dy.value(o) * w.value(k);
                  });
  for (std::int64_t i = 0; i < dx.size(); ++i) dx.set(i, sums[static_cast<std::size_t>(i)]);
}
inline void ConvFilterGradient::interpret(InterpretCall& call) {
  const ConvFilterGradient op = decode<ConvFilterGradient>(call.graph, call.node);
  const HostTensor& x = *call.inputs[0];
  const HostTensor& dy = *call.inputs[1];
  HostTensor& dw = call.outputs[0];
  std::vector<double> sums(static_cast<std::size_t>(dw.size()));
  op.each_product(x.dims.extent[0], x.dims.extent[op.rank + 1], dy.dims.extent[op.rank + 1],
                  [&](std::int64_t i, std::int64_t k, std::int64_t o) {
                    sums[static_cast<std::size_t>(k)] += x.value(i) * dy.value(o);
                  });
  for (std::int64_t k = 0; k < dw.size(); ++k) dw.set(k, sums[static_cast<std::size_t>(k)]);
}

}  // namespace ops

}  // namespace typeflow::inline TYPEFLOW_ISA
