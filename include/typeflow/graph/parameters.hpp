// SPDX-License-Identifier: Apache-2.0
#pragma once

// The number of trainable parameters of a model, and their variables:
//
//   static_assert(tf::parameters<softmax_regression>() == 7850);
//   std::cout << tf::parameters<softmax_regression>();
//
// This only traces the model; nothing is lowered or compiled.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "typeflow/core/error.hpp"
#include "typeflow/core/pool.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/graph/model.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A trainable variable, as a row of a ParameterTable.
struct Parameter {
  std::string_view path;  ///< "fc1/W"; valid as long as the table
  DType dtype;
  Dims dims;
  std::int64_t elements;
};

/// The trainable variables of a model, in the order in which it made them. Converts to the total
/// number of their elements.
class ParameterTable {
 public:
  template <std::same_as<ir::Graph> Records>
  constexpr explicit ParameterTable(const Records& graph) {
    for (const ir::VariableRecord& variable : graph.variable_records) {
      if (!variable.trainable || variable.state) continue;
      const Type type = graph.type_of(variable.value);
      const Message path = graph.text_of(graph.names[variable.name]);
      rows_.push(Row{type, count_of(type.dims).coefficient, paths_.size(), path.length});
      for (const char c : path.view()) paths_.push(c);
      total_ += rows_.back().elements;
    }
  }

  constexpr int size() const { return rows_.size(); }
  constexpr Parameter operator[](int i) const {
    const Row& row = rows_[i];
    return {{paths_.data() + row.path, static_cast<std::size_t>(row.length)},
            row.type.dtype,
            row.type.dims,
            row.elements};
  }
  constexpr ListPlace<ParameterTable> begin() const { return {this, 0}; }
  constexpr ListPlace<ParameterTable> end() const { return {this, size()}; }

  constexpr std::int64_t total() const { return total_; }
  constexpr operator std::int64_t() const { return total_; }  // NOLINT: parameters<model>() == 7850

 private:
  struct Row {
    Type type;
    std::int64_t elements;
    int path;  ///< where it begins
    int length;
  };

  Pool<Row> rows_;
  Pool<char> paths_;
  std::int64_t total_ = 0;
};

/// The trainable variables that a graph has so far.
template <std::same_as<Graph> G>
constexpr ParameterTable parameters(const G& graph) {
  return ParameterTable(ir::records(graph));
}

/// The trainable variables of a model: parameters<mlp>(). A mistake of the model is an Error, which
/// ends constant evaluation; a Session of the model says what is wrong.
template <auto Model, Mode M = training, class G = Graph>  // G: nothing is made before a call
constexpr ParameterTable parameters() {
  G graph(M);
  Model(graph);
  const ir::Graph& records = graph;
  if (!records.error.empty()) throw Error("parameters<model>()", "the model has a mistake");
  return parameters(graph);
}

/// A line for each variable with its path, shape and number of elements, and a line with the total.
template <std::same_as<ParameterTable> Table>
std::ostream& operator<<(std::ostream& out, const Table& table) {
  const auto shape_of_row = [](const Parameter& parameter) {
    Message text{};
    text << parameter.dims;
    return std::string(text.view());
  };
  std::size_t path_width = std::string_view("total").size();
  std::size_t shape_width = 0;
  const std::size_t count_width = std::to_string(table.total()).size();
  for (const Parameter& parameter : table) {
    path_width = std::max(path_width, parameter.path.size());
    shape_width = std::max(shape_width, shape_of_row(parameter).size());
  }
  const auto line = [&](std::string path, std::string shape, std::int64_t elements) {
    const std::string count = std::to_string(elements);
    path.resize(path_width, ' ');
    shape.resize(shape_width, ' ');
    out << path << "  " << shape << "  " << std::string(count_width - count.size(), ' ') << count
        << '\n';
  };
  for (const Parameter& parameter : table) {
    line(std::string(parameter.path), shape_of_row(parameter), parameter.elements);
  }
  line("total", "", table.total());
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
