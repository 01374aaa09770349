// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/interpret/kernel.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/ops/contraction.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

class KernelInterpreter {
 public:
  KernelInterpreter(const KernelSpec& spec, const KernelCall& call) : spec_(spec), call_(call) {}

  void run() {
    if (spec_.kind == KernelKind::custom) {
      run_custom();
    } else {
      find_axes();
      find_operands();
      make_nodes();
      run_space();
    }
  }

 private:
  // The space.

  /// An axis of the kernel's space. axes_ begins with the outermost.
  struct Axis {
    std::int64_t extent;
    unsigned bit;  ///< its bit in InputSpec::axes
  };

  void find_axes() {
    const std::int64_t* const e = call_.extents;
    if (spec_.kind == KernelKind::contraction) {
      for (int i = 0; i < spec_.outer; ++i) axes_.push_back({e[3 + i], 4u << i});
      axes_.push_back({e[0], 1u});
      axes_.push_back({e[1], 2u});
      depth_ = e[2];
      return;
    }
    const bool columns = spec_.kind == KernelKind::columns;
    const int rank = spec_.outer + (columns ? 2 : 1);
    for (int i = 0; i < rank; ++i) axes_.push_back({e[i], 1u << i});
    if (columns) folded_ = 1u << (rank - 2);
    if (spec_.kind == KernelKind::loop && spec_.folds) folded_ = 1u << (rank - 1);
  }
  unsigned all_axes() const {
    unsigned bits = 0;
    for (const Axis& axis : axes_) bits |= axis.bit;
    return bits;
  }
  /// The axes whose extent is not 1, as bits.
  unsigned long_axes() const {
    unsigned bits = 0;
    for (const Axis& axis : axes_) bits |= axis.extent != 1 ? axis.bit : 0u;
    return bits;
  }
  /// The number of elements of a tensor along these axes.
  std::int64_t size_along(unsigned along) const {
    std::int64_t size = 1;
    for (const Axis& axis : axes_) size *= (along & axis.bit) != 0 ? axis.extent : 1;
    return size;
  }
  /// The position of the element at `coordinate_` in a tensor along these axes.
  std::int64_t position(unsigned along) const {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if ((along & axes_[i].bit) != 0) at = at * axes_[i].extent + coordinate_[i];
    }
    return at;
  }
  /// The position of the element at `coordinate_` in an input's memory.
  std::int64_t place_of(int input) const {
    return place_in(window_[static_cast<std::size_t>(input)], spec_.input[input].axes);
  }
  std::int64_t place_in(const std::int64_t* window, unsigned along) const {
    if (window == nullptr) return position(along);
    std::int64_t at = window[0] + window[1];
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if ((along & axes_[i].bit) != 0) at += coordinate_[i] * window[2 + i];
    }
    return at;
  }
  /// Sets the coordinates along these axes from a row-major index.
  void go_to(unsigned along, std::int64_t index) {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      if ((along & axes_[i].bit) == 0) continue;
      coordinate_[i] = index % axes_[i].extent;
      index /= axes_[i].extent;
    }
  }

  // Operands.

  void find_operands() {
    int next = 0;
    if (spec_.kind == KernelKind::contraction) {
      shapes_ = spec_.op->contraction->shapes(call_.words, call_.extents + 3 + spec_.outer,
                                              call_.extents[0], call_.extents[1], depth_);
    }
    const std::int64_t* window = call_.extents + axes_.size();
    for (int i = 0; i < spec_.inputs; ++i) {
      operand_.push_back(spec_.input[i].is_index ? nullptr : call_.operands[next++]);
      window_.push_back(spec_.input[i].is_window ? window : nullptr);
      if (spec_.input[i].is_window) window += window_extents(static_cast<int>(axes_.size()));
    }
    for (int i = 0; i < spec_.stores; ++i) {
      target_.push_back(call_.operands[next++]);
      part_.push_back(spec_.store[i].is_window ? window : nullptr);
      if (spec_.store[i].is_window) window += window_extents(static_cast<int>(axes_.size()));
    }
    const unsigned whole = all_axes();
    for (int s = 0; s < spec_.stores; ++s) {
      const unsigned along = spec_.store[s].is_row ? whole & ~folded_ : whole;
      const Memory out = result_memory(s);
      for (int t = 0; t < s; ++t) {
        // Parts of one tensor may interleave.
        const bool parts = part(s) != nullptr && part(t) != nullptr && target(s) == target(t);
        if (!parts && overlap(out, result_memory(t))) fail("two results");
      }
      for (int i = 0; i < spec_.inputs; ++i) {
        const InputSpec& input = spec_.input[i];
        if (input.is_index) continue;
        const bool of_product = spec_.kind == KernelKind::contraction && i < 2;
        const Memory in = of_product        ? product_memory(i)
                          : input.is_window ? input_window_memory(i)
                                            : memory(operand(i), input.dtype, input.axes);
        const bool in_place = !of_product && !input.is_window && part(s) == nullptr &&
                              (input.axes & long_axes()) == (along & long_axes()) &&
                              in.data == out.data && in.bytes == out.bytes;
        if (overlap(out, in) && !in_place) fail("a result and an operand");
      }
    }
  }
  struct Memory {
    const std::byte* data;
    std::int64_t bytes;
  };
  Memory memory(const void* data, DType type, unsigned along) const {
    return {static_cast<const std::byte*>(data), size_along(along) * size_of(type)};
  }
  Memory result_memory(int s) const {
    const StoreSpec& store = spec_.store[s];
    const unsigned along = store.is_row ? all_axes() & ~folded_ : all_axes();
    return part(s) != nullptr ? window_memory(target(s), store.dtype, part(s), along)
                              : memory(target(s), store.dtype, along);
  }
  Memory input_window_memory(int i) const {
    const InputSpec& input = spec_.input[i];
    return window_memory(operand(i), input.dtype, window_[static_cast<std::size_t>(i)], input.axes);
  }
  /// The bytes from the first element of a window to the last.
  Memory window_memory(const void* data, DType type, const std::int64_t* window,
                       unsigned along_axes) const {
    if (size_along(along_axes) == 0) return {static_cast<const std::byte*>(data), 0};
    std::int64_t first = window[0] + window[1];
    std::int64_t last = first;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      if ((along_axes & axes_[k].bit) == 0) continue;
      const std::int64_t along = (axes_[k].extent - 1) * window[2 + k];
      (along < 0 ? first : last) += along;
    }
    const std::int64_t size = size_of(type);
    return {static_cast<const std::byte*>(data) + first * size, (last - first + 1) * size};
  }
  Memory product_memory(int i) const {
    std::int64_t size = count_of(shapes_[static_cast<std::size_t>(i)]).coefficient;
    size *= size_along(spec_.input[i].axes & ~3u);
    return {static_cast<const std::byte*>(operand(i)), size * size_of(spec_.dtype)};
  }
  static bool overlap(const Memory& a, const Memory& b) {
    return a.bytes > 0 && b.bytes > 0 && a.data < b.data + b.bytes && b.data < a.data + a.bytes;
  }
  [[noreturn]] static void fail(const char* what) {
    throw Error("a kernel's memory", std::string(what) + " overlap");
  }
  void* operand(int i) const { return operand_[static_cast<std::size_t>(i)]; }
  void* target(int i) const { return target_[static_cast<std::size_t>(i)]; }
  const std::int64_t* part(int i) const { return part_[static_cast<std::size_t>(i)]; }

  // Items become nodes of a graph of their own, because operations evaluate nodes.

  int first_item() const { return spec_.inputs + (spec_.kind == KernelKind::contraction ? 1 : 0); }
  DType type_of_value(int value) const {
    if (value < spec_.inputs) return spec_.input[value].dtype;
    return value < first_item() ? spec_.dtype : spec_.item[value - first_item()].dtype;
  }

  void make_nodes() {
    const std::uint32_t* words = call_.words;
    if (spec_.kind == KernelKind::contraction) words += spec_.op->words;
    for (int i = 0; i < spec_.items; ++i) {
      const ItemSpec& item = spec_.item[i];
      Dims shape{};
      if (item.is_fold) shape.append(folded_extent());
      std::vector<Id> inputs;
      for (int a = 0; a < item.count; ++a) inputs.push_back(make_value(item.arguments[a], shape));
      constexpr std::uint32_t fold_words[] = {1, 0};  // fold axis 0, and drop it
      const int count = item.is_fold ? 2 : item.op->words;
      nodes_.push_back(graph_.nodes.size());
      graph_.add_value(*item.op, inputs.data(), item.count, graph_.intern(Type(item.dtype, Dims{})),
                       item.is_fold ? fold_words : words, count);
      if (!item.is_fold) words += count;
    }
  }
  Id make_value(int value, const Dims& shape) {
    const Id id = graph_.values.size();
    graph_.values.push(Value{none, 0, graph_.intern(Type(type_of_value(value), shape)), none});
    return id;
  }
  std::int64_t folded_extent() const { return folded_ == 0 ? 1 : size_along(folded_); }
  const Node& node(int item) const { return graph_.nodes[nodes_[static_cast<std::size_t>(item)]]; }

  Number& value(int i) { return values_[static_cast<std::size_t>(i)]; }

  void evaluate(int item, std::int64_t index) {
    const ItemSpec& spec = spec_.item[item];
    Number inputs[ItemSpec::max_arguments];
    for (int a = 0; a < spec.count; ++a) inputs[a] = value(spec.arguments[a]);
    value(first_item() + item) =
        spec.op->evaluate({graph_, node(item), inputs, index, call_.random});
  }

  bool folds_in(int pass, int item) const {
    return spec_.item[item].is_fold && spec_.item[item].phase == pass + 1;
  }
  /// The inputs of fold `item` in the current row, by position.
  std::vector<Number>& folded_value(int item) {
    return folded_values_[static_cast<std::size_t>(item)];
  }
  Number fold(int item) {
    HostTensor in;
    in.dtype = type_of_value(spec_.item[item].arguments[0]);
    in.dims.append(folded_extent());
    in.elements = folded_value(item);
    HostTensor out = host_tensor(spec_.item[item].dtype, Dims{});
    const HostTensor* const inputs[] = {&in};
    InterpretCall call{graph_, node(item), inputs, &out, call_.random};
    spec_.item[item].op->interpret(call);
    return out[0];
  }

  // The loops.

  /// The positions 0 to count - 1 in a scattered order.
  struct Scattered {
    explicit Scattered(std::int64_t n) : count(n), step(n / 2 + n / 8 + 1) {
      while (std::gcd(step, count) > 1) ++step;
    }
    std::int64_t operator[](std::int64_t i) const { return (i * step + count / 3) % count; }
    std::int64_t count;
    std::int64_t step;
  };

  void run_space() {
    coordinate_.assign(axes_.size(), 0);
    values_.assign(static_cast<std::size_t>(first_item() + spec_.items), Number{});
    folded_values_.resize(static_cast<std::size_t>(spec_.items));
    const unsigned outer = all_axes() & ~folded_;
    const Scattered rows(size_along(outer));
    const Scattered elements(folded_extent());
    const int passes = pass_count();
    for (std::int64_t i = 0; i < rows.count; ++i) {
      go_to(outer, rows[i]);
      run_row(rows[i], elements, passes);
    }
  }

  int phase_of(int value) const {
    return value < first_item() ? 0 : spec_.item[value - first_item()].phase;
  }
  int pass_count() const {
    int passes = 0;
    for (int i = 0; i < spec_.items; ++i) {
      if (spec_.item[i].is_fold) passes = std::max(passes, spec_.item[i].phase);
    }
    for (int i = 0; i < spec_.stores; ++i) {
      if (!spec_.store[i].is_row) passes = std::max(passes, phase_of(spec_.store[i].value) + 1);
    }
    return passes;
  }

  /// Runs a row: all elements along the folded axis, or one element if no axis is folded.
  void run_row(std::int64_t row, const Scattered& elements, int passes) {
    load(false);
    evaluate_rows(0, row);
    for (int pass = 0; pass < passes; ++pass) {
      for (int i = 0; i < spec_.items; ++i) {
        if (folds_in(pass, i)) folded_value(i).resize(static_cast<std::size_t>(elements.count));
      }
      for (std::int64_t i = 0; i < elements.count; ++i) {
        run_element(elements[i], pass, pass == passes - 1);
      }
      for (int i = 0; i < spec_.items; ++i) {
        if (folds_in(pass, i)) value(first_item() + i) = fold(i);
      }
      evaluate_rows(pass + 1, row);
    }
    for (int s = 0; s < spec_.stores; ++s) {
      if (spec_.store[s].is_row) store(s, row);
    }
  }

  void run_element(std::int64_t at, int pass, bool last) {
    go_to(folded_, at);
    load(true);
    const std::int64_t index = position(all_axes());
    if (spec_.kind == KernelKind::contraction) value(spec_.inputs) = product();
    for (int i = 0; i < spec_.items; ++i) {
      const ItemSpec& item = spec_.item[i];
      if (!item.is_fold && !item.is_row && item.phase <= pass) evaluate(i, index);
    }
    for (int i = 0; i < spec_.items; ++i) {
      if (!folds_in(pass, i)) continue;
      folded_value(i)[static_cast<std::size_t>(at)] = value(spec_.item[i].arguments[0]);
    }
    for (int s = 0; s < spec_.stores && last; ++s) {
      if (!spec_.store[s].is_row) store(s, index);
    }
  }

  /// Reads the operands that vary by element, or those that are constant in a row.
  void load(bool of_element) {
    for (int i = 0; i < spec_.inputs; ++i) {
      const InputSpec& input = spec_.input[i];
      if (spec_.kind == KernelKind::contraction && i < 2) continue;
      const bool along_fold = folded_ == 0 || (input.axes & folded_) != 0;
      if (along_fold != of_element) continue;
      value(i) = input.is_index ? Number{0, position(input.axes)}
                                : load_number(input.dtype, operand(i), place_of(i));
    }
  }
  void evaluate_rows(int phase, std::int64_t row) {
    for (int i = 0; i < spec_.items; ++i) {
      const ItemSpec& item = spec_.item[i];
      if (item.is_row && !item.is_fold && item.phase == phase) evaluate(i, row);
    }
  }
  void store(int s, std::int64_t index) {
    if (part(s) != nullptr) index = place_in(part(s), all_axes());
    store_number(spec_.store[s].dtype, value(spec_.store[s].value), target(s), index);
  }

  /// The product's element at `coordinate_`. The first read of a matrix computes all of it.
  Number product() {
    const auto matrix = static_cast<std::size_t>(position(all_axes() & ~3u));
    if (matrix >= matrices_.size()) matrices_.resize(matrix + 1);
    if (matrices_[matrix].elements.empty()) matrices_[matrix] = multiply();
    return matrices_[matrix][position(3u)];
  }
  HostTensor multiply() const {
    Graph graph;
    HostTensor operands[2];
    Id values[2] = {};
    for (int i = 0; i < 2; ++i) {
      operands[i] = host_tensor(spec_.dtype, shapes_[static_cast<std::size_t>(i)]);
      const std::int64_t size = operands[i].size();
      const std::int64_t first = position(spec_.input[i].axes & ~3u) * size;
      for (std::int64_t k = 0; k < size; ++k) {
        operands[i][k] = load_number(spec_.dtype, operand(i), first + k);
      }
      values[i] = graph.values.size();
      graph.values.push(Value{none, 0, graph.intern(Type(spec_.dtype, operands[i].dims)), none});
    }
    HostTensor y = host_tensor(spec_.dtype, shapes_[2]);
    const Id id = graph.add_value(*spec_.op, values, 2, graph.intern(Type(spec_.dtype, y.dims)),
                                  call_.words, spec_.op->words);
    const HostTensor* const inputs[] = {&operands[0], &operands[1]};
    InterpretCall call{graph, graph.node_of(id), inputs, &y, {}};
    spec_.op->interpret(call);
    return y;
  }

  // Custom kernels.

  void run_custom() {
    const bool updates = spec_.op->kind == Kind::update;
    const std::int64_t* extents = call_.extents;
    std::vector<HostTensor> tensors;
    std::vector<Memory> memories;
    std::vector<Id> values;
    for (int i = 0; i < spec_.inputs + spec_.stores; ++i) {
      const bool is_input = i < spec_.inputs;
      const DType type = is_input ? spec_.input[i].dtype : spec_.store[i - spec_.inputs].dtype;
      const int rank =
          is_input ? static_cast<int>(spec_.input[i].axes) : spec_.store[i - spec_.inputs].value;
      Dims shape{};
      for (int k = 0; k < rank; ++k) shape.append(*extents++);
      HostTensor tensor = host_tensor(type, shape);
      memories.push_back(
          {static_cast<const std::byte*>(call_.operands[i]), tensor.size() * size_of(type)});
      for (int k = 0; k < i && !is_input; ++k) {
        if (!is_part(k) && overlap(memories.back(), memories[static_cast<std::size_t>(k)])) {
          fail(k < spec_.inputs ? "a result and an operand" : "two results");
        }
      }
      values.push_back(graph_.values.size());
      graph_.values.push(Value{none, 0, graph_.intern(Type(type, shape)), none});
      tensors.push_back(std::move(tensor));
    }
    if (spec_.op->interpret == nullptr) {
      throw Error(std::string(spec_.op->name), "the operation can't be interpreted");
    }
    const Node node = custom_node(values, updates);
    for (int i = 0; i < spec_.inputs + (updates ? spec_.stores : 0); ++i) {
      load_custom(node, i, &tensors[static_cast<std::size_t>(i)]);
    }
    std::vector<const HostTensor*> inputs;
    for (int i = 0; i < spec_.inputs; ++i) inputs.push_back(&tensors[static_cast<std::size_t>(i)]);
    InterpretCall call{graph_, node, inputs.data(), tensors.data() + spec_.inputs, call_.random};
    spec_.op->interpret(call);
    for (int i = spec_.inputs; i < spec_.inputs + spec_.stores; ++i) {
      const HostTensor& tensor = tensors[static_cast<std::size_t>(i)];
      for (std::int64_t k = 0; k < tensor.size(); ++k) {
        store_number(tensor.dtype, tensor[k], call_.operands[i], k);
      }
    }
  }
  /// Whether input i already lies in the result's memory, as a part of it.
  bool is_part(int i) const {
    return spec_.op->holds_inputs && i < spec_.inputs && spec_.stores == 1 &&
           call_.operands[i] == call_.operands[spec_.inputs];
  }
  void load_custom(const Node& node, int i, HostTensor* tensor) const {
    Layout layout{};
    if (is_part(i) && !spec_.op->input_layout(graph_, node, i, layout))
      fail("a result and an operand");
    for (std::int64_t k = 0; k < tensor->size(); ++k) {
      std::int64_t at = k;
      if (is_part(i)) {
        at = layout.begin[0].coefficient + layout.begin[1].coefficient;
        std::int64_t rest = k;
        for (int axis = tensor->dims.rank - 1; axis >= 0; --axis) {
          at += rest % tensor->dims.extent[axis] * layout.stride[axis].coefficient;
          rest /= tensor->dims.extent[axis];
        }
      }
      (*tensor)[k] = load_number(tensor->dtype, call_.operands[i], at);
    }
  }
  /// The operation as a node whose inputs and outputs are these values.
  Node custom_node(const std::vector<Id>& values, bool updates) {
    std::vector<Id> ids;
    if (updates) ids.push_back(values.back());  // the variable
    ids.insert(ids.end(), values.begin(), values.begin() + spec_.inputs);
    const Id id = graph_.add_node(*spec_.op, ids.data(), static_cast<int>(ids.size()), 0,
                                  call_.words, spec_.op->words);
    if (!updates && spec_.stores > 0) {  // an effect has no outputs
      graph_.nodes[id].outputs = {values[static_cast<std::size_t>(spec_.inputs)], spec_.stores};
    }
    return graph_.nodes[id];
  }

  const KernelSpec& spec_;
  const KernelCall& call_;
  std::vector<Axis> axes_;
  unsigned folded_ = 0;  ///< the folded axis, as a bit
  std::int64_t depth_ = 0;
  std::vector<void*> operand_;               ///< by input
  std::vector<const std::int64_t*> window_;  ///< by input: begin and strides, or null if no window
  std::vector<void*> target_;                ///< by store
  std::vector<const std::int64_t*> part_;    ///< by store: the same
  std::array<Dims, 3> shapes_{};      ///< of a contraction: one matrix of a, b and the result
  std::vector<HostTensor> matrices_;  ///< results of a contraction; empty until read
  Graph graph_;
  std::vector<Id> nodes_;                           ///< by item
  std::vector<std::int64_t> coordinate_;            ///< by axis
  std::vector<Number> values_;                      ///< by value number
  std::vector<std::vector<Number>> folded_values_;  ///< by item
};

TYPEFLOW_DEFINITION void interpret_kernel(const KernelCall& call) {
  KernelInterpreter(*static_cast<const KernelSpec*>(call.description), call).run();
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
