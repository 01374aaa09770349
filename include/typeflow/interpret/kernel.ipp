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

namespace typeflow::inline TYPEFLOW_ISA::ir {

class KernelInterpreter {
 public:
  KernelInterpreter(const KernelSpec& spec, const KernelCall& call)
      : spec_(spec), call_(call), space_(space_of(spec)), body_(body_of(spec)) {}

  void run() {
    if (spec_.kind == KernelKind::custom) {
      run_custom();
    } else {
      find_space();
      find_operands();
      make_nodes();
      run_space();
    }
  }

 private:
  // The space.

  using Place = OperandLayout<max_rank>;

  void find_space() {
    for (int k = 0; k < space_.rank; ++k) extent_[k] = call_.extents[space_.extent(k)];
    all_ = layout_along(space_.whole());
    const unsigned outer = (1u << spec_.outer) - 1u;
    outside_ = layout_along(outer);
    matrix_ = layout_along(space_.whole() & ~outer);
  }
  /// The layout of a tensor of its own along these axes.
  Place layout_along(unsigned along) const {
    return layout_of<max_rank>(along, extent_, {nullptr});
  }
  /// The axes whose extent is not 1, as bits.
  unsigned long_axes() const {
    unsigned bits = 0;
    for (int k = 0; k < space_.rank; ++k) bits |= extent_[k] != 1 ? 1u << k : 0u;
    return bits;
  }
  /// The number of elements of a tensor along these axes.
  std::int64_t size_along(unsigned along) const {
    std::int64_t size = 1;
    for (int k = 0; k < space_.rank; ++k) size *= (along >> k & 1u) != 0 ? extent_[k] : 1;
    return size;
  }
  /// The place of the element at `coordinate_`.
  std::int64_t place_in(const Place& layout) const { return layout.at(coordinate_, space_.rank); }
  /// Sets the coordinates along these axes from a row-major index.
  void go_to(unsigned along, std::int64_t index) {
    for (int k = space_.rank - 1; k >= 0; --k) {
      if ((along >> k & 1u) == 0) continue;
      coordinate_[k] = index % extent_[k];
      index /= extent_[k];
    }
  }

  // Operands.

  /// An input or a store: its memory and where its elements lie there.
  struct Operand {
    void* data;  ///< null for positions
    unsigned axes;
    bool is_strided;
    Place layout;
    std::int64_t element_size;
  };

  void find_operands() {
    const std::int64_t* const extents = call_.extents;
    const std::int64_t* const of_views = extents + extents_between(spec_);
    for (int i = 0; i < body_.inputs; ++i) {
      const InputSpec& input = body_.input[i];
      const StridedExtents strided_view = body_.strides(i, space_.rank, of_views);
      inputs_.push_back({input.is_index ? nullptr : call_.operands[body_.operand(i)], input.axes,
                         input.is_strided, layout_of<max_rank>(input.axes, extent_, strided_view),
                         size_of(input.dtype)});
    }
    for (int s = 0; s < body_.stores; ++s) {
      const StoreSpec& store = body_.store[s];
      const unsigned axes = space_.axes_of(store);
      const StridedExtents strided_view = body_.store_strides(s, space_.rank, of_views);
      results_.push_back({call_.operands[body_.first_result() + s], axes, store.is_strided,
                          layout_of<max_rank>(axes, extent_, strided_view), size_of(store.dtype)});
    }
    if (body_.has_product) {
      shapes_ = spec_.op->contraction->shapes(
          call_.words, extents + space_.extents(), extents[ContractionExtents::rows],
          extents[ContractionExtents::columns], extents[ContractionExtents::depth]);
    }
    check_overlaps();
  }
  void check_overlaps() const {
    for (int s = 0; s < body_.stores; ++s) {
      const Operand& result = this->result(s);
      const MemoryRange out = memory(result);
      for (int t = 0; t < s; ++t) {
        const Operand& other = this->result(t);
        // Parts of one tensor may interleave.
        const bool parts = result.is_strided && other.is_strided && result.data == other.data;
        if (!parts && overlap(out, memory(other))) fail("two results");
      }
      for (int i = 0; i < body_.inputs; ++i) {
        const Operand& input = this->input(i);
        if (body_.input[i].is_index) continue;
        const MemoryRange in = body_.is_factor(i) ? product_memory(i) : memory(input);
        const bool in_place = !body_.is_factor(i) && !input.is_strided && !result.is_strided &&
                              (input.axes & long_axes()) == (result.axes & long_axes()) &&
                              in.data == out.data && in.bytes == out.bytes;
        if (overlap(out, in) && !in_place) fail("a result and an operand");
      }
    }
  }
  struct MemoryRange {
    const std::byte* data;
    std::int64_t bytes;
  };
  /// The bytes from an operand's first element to its last.
  MemoryRange memory(const Operand& operand) const {
    const ElementRange range = elements_of(operand.layout, operand.axes, extent_, space_.rank);
    return {static_cast<const std::byte*>(operand.data) + range.first * operand.element_size,
            (range.last - range.first) * operand.element_size};
  }
  MemoryRange product_memory(int i) const {
    std::int64_t size = count_of(shapes_[static_cast<std::size_t>(i)]).coefficient;
    if (input(i).is_strided && size != 0) {
      const Operand& operand = input(i);
      ElementRange range = elements_of(operand.layout, operand.axes, extent_, space_.rank);
      if (range.first != range.last) range.last += factor_place(i, size - 1);
      return {static_cast<const std::byte*>(operand.data) + range.first * operand.element_size,
              (range.last - range.first) * operand.element_size};
    }
    size *= size_along(input(i).axes);
    return {static_cast<const std::byte*>(input(i).data), size * input(i).element_size};
  }
  /// The place of element k of a matrix of factor i, behind the matrix's first element.
  std::int64_t factor_place(int i, std::int64_t k) const {
    if (!input(i).is_strided) return k;
    const std::int64_t columns = shapes_[static_cast<std::size_t>(i)].extent[1];
    const StridedExtents view =
        body_.strides(i, space_.rank, call_.extents + extents_between(spec_));
    return k / columns * view.stride(space_.rank - 2) + k % columns * view.stride(space_.rank - 1);
  }
  static bool overlap(const MemoryRange& a, const MemoryRange& b) {
    return a.bytes > 0 && b.bytes > 0 && a.data < b.data + b.bytes && b.data < a.data + a.bytes;
  }
  [[noreturn]] static void fail(const char* what) {
    throw Error("a kernel's memory", std::string(what) + " overlap");
  }
  const Operand& input(int i) const { return inputs_[static_cast<std::size_t>(i)]; }
  const Operand& result(int s) const { return results_[static_cast<std::size_t>(s)]; }

  // Items become nodes of a graph of their own, because operations evaluate nodes.

  DType type_of_value(int value) const {
    if (value < body_.inputs) return body_.input[value].dtype;
    const int item = value - body_.first_item();
    return item < 0 ? spec_.dtype : body_.item[item].dtype;
  }

  void make_nodes() {
    const std::uint32_t* const words = call_.words + (body_.has_product ? spec_.op->words : 0);
    for (int i = 0; i < body_.items; ++i) {
      const ItemSpec& item = body_.item[i];
      Dims shape{};
      if (item.is_fold) shape.append(folded_extent());
      std::vector<Id> inputs;
      for (int a = 0; a < item.count; ++a) inputs.push_back(make_value(item.arguments[a], shape));
      constexpr std::uint32_t fold_words[] = {1, 0};  // fold axis 0, and drop it
      nodes_.push_back(graph_.nodes.size());
      graph_.add_value(*item.op, inputs.data(), item.count, graph_.intern(Type(item.dtype, Dims{})),
                       item.is_fold ? fold_words : words + body_.words_before(i),
                       item.is_fold ? 2 : item.words);
    }
  }
  Id make_value(int value, const Dims& shape) {
    const Id id = graph_.values.size();
    graph_.values.push(Value{none, 0, graph_.intern(Type(type_of_value(value), shape)), none});
    return id;
  }
  std::int64_t folded_extent() const { return size_along(space_.folded); }
  const Node& node(int item) const { return graph_.nodes[nodes_[static_cast<std::size_t>(item)]]; }

  Number& value(int i) { return values_[static_cast<std::size_t>(i)]; }

  void evaluate(int item, std::int64_t index) {
    const ItemSpec& spec = spec_.item[item];
    Number inputs[ItemSpec::max_arguments];
    for (int a = 0; a < spec.count; ++a) inputs[a] = value(spec.arguments[a]);
    value(body_.first_item() + item) =
        spec.op->evaluate({graph_, node(item), inputs, index, call_.random});
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
    values_.assign(static_cast<std::size_t>(body_.values()), Number{});
    folded_values_.resize(static_cast<std::size_t>(body_.items));
    const unsigned outer = space_.whole() & ~space_.folded;
    const Scattered rows(size_along(outer));
    const Scattered elements(folded_extent());
    const int passes = body_.passes();
    for (std::int64_t i = 0; i < rows.count; ++i) {
      go_to(outer, rows[i]);
      run_row(rows[i], elements, passes);
    }
  }

  /// Runs a row: all elements along the folded axis, or one element if no axis is folded.
  void run_row(std::int64_t row, const Scattered& elements, int passes) {
    load(false);
    evaluate_rows(0, row);
    for (int pass = 0; pass < passes; ++pass) {
      for (int i = 0; i < body_.items; ++i) {
        if (!folds_in(body_.item[i], pass)) continue;
        folded_value(i).resize(static_cast<std::size_t>(elements.count));
      }
      for (std::int64_t i = 0; i < elements.count; ++i) {
        run_element(elements[i], pass, pass == passes - 1);
      }
      for (int i = 0; i < body_.items; ++i) {
        if (folds_in(body_.item[i], pass)) value(body_.first_item() + i) = fold(i);
      }
      evaluate_rows(pass + 1, row);
    }
    store(true);
  }

  void run_element(std::int64_t at, int pass, bool last) {
    go_to(space_.folded, at);
    load(true);
    if (body_.has_product) value(body_.product()) = product();
    for (int i = 0; i < body_.items; ++i) {
      const ItemSpec& item = body_.item[i];
      if (is_element_value(item) && item.phase <= pass) evaluate(i, place_in(all_));
    }
    for (int i = 0; i < body_.items; ++i) {
      if (!folds_in(body_.item[i], pass)) continue;
      folded_value(i)[static_cast<std::size_t>(at)] = value(body_.item[i].arguments[0]);
    }
    if (last) store(false);
  }

  /// Reads the operands that vary by element, or those that are constant in a row.
  void load(bool of_element) {
    for (int i = 0; i < body_.inputs; ++i) {
      if (body_.is_factor(i)) continue;
      const Operand& operand = input(i);
      const bool along_fold = space_.folded == 0 || (operand.axes & space_.folded) != 0;
      if (along_fold != of_element) continue;
      std::int64_t place = place_in(operand.layout);
      if (const int offsets = body_.input[i].offsets; offsets != 0) {
        const Operand& of_rows = input(offsets - 1);
        place += load_number(body_.input[offsets - 1].dtype, of_rows.data, place_in(of_rows.layout))
                     .integer;
      }
      value(i) = body_.input[i].is_index ? Number{0, place}
                                         : load_number(body_.input[i].dtype, operand.data, place);
    }
  }
  void evaluate_rows(int phase, std::int64_t row) {
    for (int i = 0; i < body_.items; ++i) {
      if (is_row_value(body_.item[i], phase)) evaluate(i, row);
    }
  }
  /// Stores the values of the current row, or those of the current element.
  void store(bool of_row) {
    for (int s = 0; s < body_.stores; ++s) {
      const StoreSpec& store = body_.store[s];
      if (store.is_row != of_row) continue;
      store_number(store.dtype, value(store.value), result(s).data, place_in(result(s).layout));
    }
  }

  /// The product's element at `coordinate_`. The first read of a matrix computes all of it.
  Number product() {
    const auto matrix = static_cast<std::size_t>(place_in(outside_));
    if (matrix >= matrices_.size()) matrices_.resize(matrix + 1);
    if (matrices_[matrix].elements.empty()) matrices_[matrix] = multiply();
    return matrices_[matrix][place_in(matrix_)];
  }
  HostTensor multiply() const {
    Graph graph;
    HostTensor operands[2];
    Id values[2] = {};
    for (int i = 0; i < 2; ++i) {
      const DType type = body_.input[i].dtype;
      operands[i] = host_tensor(type, shapes_[static_cast<std::size_t>(i)]);
      const std::int64_t size = operands[i].size();
      // Dense matrices are counted, strided ones have places.
      const std::int64_t first = place_in(input(i).layout) * (input(i).is_strided ? 1 : size);
      for (std::int64_t k = 0; k < size; ++k) {
        operands[i][k] = load_number(type, input(i).data, first + factor_place(i, k));
      }
      values[i] = graph.values.size();
      graph.values.push(Value{none, 0, graph.intern(Type(type, operands[i].dims)), none});
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
    std::vector<MemoryRange> ranges;
    std::vector<Id> values;
    for (int i = 0; i < spec_.inputs + spec_.stores; ++i) {
      const bool is_input = i < spec_.inputs;
      const DType type = tensor_dtype(spec_, i);
      Dims shape{};
      for (int k = 0; k < tensor_rank(spec_, i); ++k) shape.append(*extents++);
      HostTensor tensor = host_tensor(type, shape);
      ranges.push_back(
          {static_cast<const std::byte*>(call_.operands[i]), tensor.size() * size_of(type)});
      for (int k = 0; k < i && !is_input; ++k) {
        if (!is_part(k) && overlap(ranges.back(), ranges[static_cast<std::size_t>(k)])) {
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
  const KernelSpace space_;
  const KernelBody body_;
  std::int64_t extent_[max_rank] = {};      ///< by axis of the space
  std::int64_t coordinate_[max_rank] = {};  ///< by axis
  Place all_{};                             ///< of a tensor along all axes
  Place outside_{};                         ///< of a contraction: of numbers of matrices
  Place matrix_{};                          ///< and of one matrix
  std::vector<Operand> inputs_;
  std::vector<Operand> results_;      ///< by store
  std::array<Dims, 3> shapes_{};      ///< of a contraction: one matrix of a, b and the result
  std::vector<HostTensor> matrices_;  ///< results of a contraction; empty until read
  Graph graph_;
  std::vector<Id> nodes_;                           ///< by item
  std::vector<Number> values_;                      ///< by value number
  std::vector<std::vector<Number>> folded_values_;  ///< by item
};

TYPEFLOW_DEFINITION void interpret_kernel(const KernelCall& call) {
  KernelInterpreter(*static_cast<const KernelSpec*>(call.description), call).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
