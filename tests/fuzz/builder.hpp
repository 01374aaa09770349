// SPDX-License-Identifier: Apache-2.0
#pragma once

// What makes a random model: the tensors that it has so far, new sources of any shape, and the
// bounds that keep exact numbers exact. The operations themselves are added by makers, of which
// each file beside this one has a table.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"
#include "support/graph_operations.hpp"

namespace fuzz {

using tf::AnyExpr;
using tf::Dims;
using tf::DType;
using tf::Extent;
using tf::Id;

class Builder {
 public:
  Builder(std::uint64_t seed, Numbers kind) : random(seed), numbers(kind), g(model.graph) {
    model.seed = seed;
    model.numbers = kind;
    make_base();
  }

  Model model;
  Random random;
  Numbers numbers;
  tf::ir::Graph& g;
  std::vector<Id> variables;
  std::vector<Id> tokens;  ///< of effects
  int size_limit = 1500;   ///< elements of a tensor

  bool exact() const { return numbers == Numbers::exact; }
  bool smooth() const { return numbers == Numbers::smooth; }
  bool wild() const { return numbers == Numbers::wild; }

  // Tensors.

  AnyExpr any(Id id) { return {&g, id}; }
  std::int64_t size(const Dims& d) const { return tf::count_of(d).resolve(largest); }
  bool fits(const Dims& d) const { return d.valid() && size(d) <= size_limit; }

  /// Makes a tensor one that later operations can take. `bound` is what its elements' absolute
  /// values do not exceed.
  void keep(const AnyExpr& x, double bound) {
    if (!fits(x.dims())) return;
    items_.push_back({x.id, bound});
  }
  /// The same for a result whose elements are as large as those of its operands.
  void keep(const AnyExpr& x, std::initializer_list<AnyExpr> operands) {
    double most = 0;
    for (const AnyExpr& operand : operands) most = std::max(most, bound(operand));
    keep(x, most);
  }
  double bound(const AnyExpr& x) const {
    for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
      if (item->id == x.id) return item->bound;
    }
    return 0;
  }
  /// Whether sums and products up to this bound are exact in a type, or moderate.
  bool allows(DType type, double limit) const {
    if (wild() || tf::is_integer(type)) return true;
    if (smooth()) return limit <= 1e3;
    const double most = type == DType::bfloat16 ? 0x1p8 : type == DType::float16 ? 0x1p11 : 0x1p22;
    return limit <= most;
  }

  /// One of the tensors so far, late ones more often, so that graphs are deep.
  AnyExpr pick() {
    const int count = static_cast<int>(items_.size());
    const int from = random.chance(0.6) ? std::max(0, count - 8) : 0;
    return any(items_[static_cast<std::size_t>(from + random.below(count - from))].id);
  }
  /// One for which f is true; does not exist if none is found.
  template <class F>
  AnyExpr pick_if(const F& f) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      const AnyExpr x = pick();
      if (f(x)) return x;
    }
    return {};
  }
  AnyExpr pick_of(tf::Domain domain) {
    return pick_if([&](const AnyExpr& x) { return contains(domain, x.dtype()); });
  }
  /// A partner of x for an elementwise operation: of a type, and a shape that broadcasts.
  AnyExpr partner(const AnyExpr& x, DType type) {
    if (random.chance(0.55)) {
      const AnyExpr y = pick_if([&](const AnyExpr& e) {
        return e.dtype() == type && fits(broadcast(x.dims(), e.dims()));
      });
      if (y.exists()) return y;
    }
    return fresh(type, random.chance(0.25) ? wider(x.dims()) : narrower(x.dims()));
  }
  AnyExpr partner(const AnyExpr& x) { return partner(x, x.dtype()); }
  AnyExpr number(DType type, double value) {
    if (type == DType::boolean) value = value != 0;
    return tf::is_floating(type) || tf::is_complex(type)
               ? tf::detail::constant_node(g, type, {value, 0})
               : tf::detail::constant_node(g, type, {0, static_cast<std::int64_t>(value)});
  }

  // Shapes.

  /// A shape that broadcasts to d: axes left out, axes of extent 1.
  Dims narrower(const Dims& d) {
    Dims out{};
    const int first = random.chance(0.5) ? 0 : random.below(d.rank + 1);
    const double ones = random.chance(0.5) ? 0.1 : 0.5;
    for (int i = first; i < d.rank; ++i) out.append(random.chance(ones) ? 1 : d.extent[i]);
    return out;
  }
  /// A shape that d broadcasts to.
  Dims wider(const Dims& d) {
    Dims out{};
    if (d.rank < 5 && random.chance(0.5)) out.append(extent());
    for (int i = 0; i < d.rank; ++i) {
      out.append(d.extent[i] == 1 && random.chance(0.6) ? extent() : d.extent[i]);
    }
    return fits(out) ? out : d;
  }
  Extent extent() {
    constexpr Extent usual[] = {1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 17};
    if (random.chance(0.03)) return 0;
    if (random.chance(0.12)) return symbols();
    return usual[random.below(11)];
  }
  Extent symbols() {
    const Extent factor = 1 + random.below(2) * random.below(2);
    if (random.chance(0.5)) return factor * tf::batch;
    const Extent others[] = {factor * tf::symbol<"time">, factor * tf::symbol<"width">,
                             factor * (tf::batch * tf::symbol<"time">)};
    return others[random.below(3)];
  }
  Dims shape() {
    if (random.chance(0.6)) return narrower(base_);
    Dims out{};
    for (int rank = random.below(6); rank > 0; --rank) out.append(extent());
    return fits(out) ? out : narrower(base_);
  }
  static Dims fixed(Dims d) {
    for (int i = 0; i < d.rank; ++i) d.extent[i] = d.extent[i] < 0 ? 3 : d.extent[i];
    return d;
  }
  static bool is_fixed(const Dims& d) { return tf::detail::is_static(d); }

  // Sources.

  /// The element types of the model's numbers.
  DType type() {
    if (smooth()) return width_;
    constexpr DType usual[] = {DType::float32, DType::float32, DType::float32, DType::float64,
                               DType::int32,   DType::boolean, DType::int64};
    constexpr DType others[] = {DType::int8,      DType::int16,     DType::uint8,    DType::uint16,
                                DType::uint32,    DType::uint64,    DType::bfloat16, DType::float16,
                                DType::complex64, DType::complex128};
    return random.chance(0.85) ? usual[random.below(7)] : others[random.below(10)];
  }
  DType floating() {
    if (smooth()) return width_;
    constexpr DType types[] = {DType::float32, DType::float32, DType::float64, DType::bfloat16,
                               DType::float16};
    return types[random.below(5)];
  }
  Range usual_range() const {
    return exact() ? Range{-4, 4} : smooth() ? Range{-1.5, 1.5} : Range{-3, 3, true};
  }

  /// A source of a type and shape: of any kind that there is.
  AnyExpr fresh(DType type, const Dims& dims) {
    const int kind = random.below(10);
    if (kind < 2 && is_fixed(dims)) return variable(type, dims);
    if (kind == 2 && type == DType::int32 && dims.rank > 0) {
      return index_along(g, dims, random.below(dims.rank));
    }
    if (kind == 3 && (type == DType::float32 || type == DType::float64 || tf::is_integer(type))) {
      return draws(type, dims);
    }
    if (kind == 4 && is_fixed(dims) && size(dims) <= 64 && !is_complex(type)) {
      return constants(type, dims);
    }
    if (kind == 5) return broadcast_to(number(type, random.below(3)), dims);
    return placeholder(type, dims, usual_range());
  }
  AnyExpr placeholder(DType type, const Dims& dims, Range range) {
    if (tf::is_unsigned(type)) range.low = 0;
    const int i = static_cast<int>(model.feedable.size());
    const AnyExpr x =
        add_node(g, tf::ops::Placeholder{{}, 0, 0, 0}, nullptr, 0, tf::Type(type, dims));
    g.add_name({"x", i}, tf::ir::NameKind::placeholder, x.id);
    model.feedable.push_back("x_" + std::to_string(i));
    model.ranges.push_back(range);
    keep(x, std::max(std::abs(range.low), std::abs(range.high)));
    return x;
  }
  AnyExpr variable(DType type, const Dims& dims) {
    const int i = static_cast<int>(variables.size());
    const tf::Type t(type, dims);
    const AnyExpr v =
        any(tf::detail::get_variable(g, {"v", i}, t, tf::zeros(), tf::is_floating(type), false));
    model.variables["v_" + std::to_string(i)] =
        random_elements(random, type, dims, usual_range_of(type), exact());
    variables.push_back(v.id);
    keep(v, variable_bound());
    return v;
  }
  /// Whole numbers from 0 to below - 1.
  AnyExpr positions(const Dims& dims, Extent below) {
    constexpr DType types[] = {DType::int32, DType::int32, DType::int64, DType::uint8};
    const DType type = types[random.below(4)];
    if (random.chance(0.15)) {  // some are out of range
      return placeholder(type, dims, {0, static_cast<double>(std::min<Extent>(below + 2, 100))});
    }
    return placeholder(type, dims, {0, static_cast<double>(std::min<Extent>(below, 100) - 1)});
  }

  /// Runs may assign numbers up to this bound to a variable.
  double variable_bound() const { return exact() ? 64 : 4; }

  // Names.

  void name_tensor(const AnyExpr& x) {
    const int i = static_cast<int>(model.tensors.size());
    g.add_name({"t", i}, tf::ir::NameKind::value, x.id);
    model.tensors.push_back("t_" + std::to_string(i));
  }
  void name_effect(Id token) {
    tokens.push_back(token);
    const int i = static_cast<int>(model.effects.size());
    g.add_name({"e", i}, tf::ir::NameKind::effect, token);
    model.effects.push_back("e_" + std::to_string(i));
  }
  std::size_t item_count() const { return items_.size(); }

  static constexpr std::int64_t largest_symbol = 5;
  static constexpr tf::SymbolSizes largest = [] {
    tf::SymbolSizes sizes;
    for (std::int64_t& size : sizes.of) size = largest_symbol;
    return sizes;
  }();

 private:
  struct Item {
    Id id;
    double bound;
  };

  Range usual_range_of(DType type) const {
    Range range = usual_range();
    if (tf::is_unsigned(type)) range.low = 0;
    return range;
  }
  /// The shape that most tensors of the model broadcast to.
  void make_base() {
    width_ = random.chance(0.5) ? DType::float32 : DType::float64;
    base_.rank = random.below(6);
    for (int i = 0; i < base_.rank; ++i) {
      base_.extent[i] = extent();
      if (!fits(base_)) base_.extent[i] = 1 + random.below(3);
      if (!fits(base_)) base_.extent[i] = 1;
    }
  }
  AnyExpr draws(DType type, const Dims& dims) {
    if (tf::is_integer(type)) {
      const std::uint64_t path = g.add_random_path("random_uniform", "");
      const AnyExpr whole = tf::detail::integer_node(g, path, tf::Type(type, dims), 0, 5);
      keep(whole, 4);
      return whole;
    }
    if (!exact() && random.chance(0.3)) {
      const std::uint64_t path = g.add_random_path("truncated_normal", "");
      const AnyExpr x = tf::detail::truncated_normal_node(g, path, tf::Type(type, dims));
      keep(x, 2);
      return x;
    }
    const AnyExpr u = tf::random_uniform(g, "", tf::Type(type, dims));
    if (!exact()) {
      keep(u, 1);
      return u;
    }
    const AnyExpr whole = tf::cast_to(tf::cast_to(u * 8, DType::int32), type);
    keep(whole, 8);
    return whole;
  }
  AnyExpr constants(DType type, const Dims& dims) {
    tf::Pool<std::uint32_t> words;
    for (std::int64_t i = 0; i < size(dims); ++i) {
      const double x = type == DType::boolean ? random.below(2) : random.below(5);
      const tf::detail::NumberWords w = tf::detail::words_of(
          type,
          tf::is_floating(type) ? tf::Number{x, 0} : tf::Number{0, static_cast<std::int64_t>(x)});
      words.push(w.low);
      words.push(w.high);
    }
    (void)sizeof(tf::detail::BindOp<tf::ops::ConstantArray>);
    const AnyExpr x = any(g.add_value(tf::record<tf::ops::ConstantArray>, nullptr, 0,
                                      g.intern(tf::Type(type, dims)), words.data(), words.size()));
    keep(x, 4);
    return x;
  }

  Dims base_{};
  DType width_ = DType::float32;
  std::vector<Item> items_;
};

/// Adds an operation to a model, or nothing if what it picks does not fit.
struct Maker {
  int weight;
  bool in_exact;
  bool in_smooth;
  void (*make)(Builder&);
};

std::span<const Maker> elementwise_makers();
std::span<const Maker> shape_makers();
std::span<const Maker> index_makers();
std::span<const Maker> matrix_makers();
std::span<const Maker> image_makers();
std::span<const Maker> wing_makers();
std::span<const Maker> effect_makers();
/// A loss, its gradients, and an optimiser's step down them.
void add_training(Builder& b);

}  // namespace fuzz
