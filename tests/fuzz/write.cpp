// SPDX-License-Identifier: Apache-2.0

#include "write.hpp"

#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "support/graph_operations.hpp"

namespace fuzz {

namespace {

/// "typeflow::ops::Sum", of what the compiler prints of type_name<O>().
std::string_view type_of(const tf::ir::Op& op) {
  std::string_view text = op.type;
  text.remove_prefix(text.find("O = ") + 4);
  return text.substr(0, text.find_first_of("];"));
}

std::string_view dtype_text(tf::DType type) {
  using enum tf::DType;
  constexpr std::pair<tf::DType, std::string_view> names[] = {
      {boolean, "boolean"},   {int8, "int8"},           {int16, "int16"},
      {int32, "int32"},       {int64, "int64"},         {uint8, "uint8"},
      {uint16, "uint16"},     {uint32, "uint32"},       {uint64, "uint64"},
      {bfloat16, "bfloat16"}, {float16, "float16"},     {float32, "float32"},
      {float64, "float64"},   {complex64, "complex64"}, {complex128, "complex128"}};
  for (const auto& [dtype, name] : names) {
    if (dtype == type) return name;
  }
  return "?";
}
std::string type_text(const tf::Type& type) {
  std::ostringstream out;
  out << "{tf::DType::" << dtype_text(type.dtype) << ", {" << type.dims.rank << ", {";
  for (int i = 0; i < type.dims.rank; ++i) out << (i > 0 ? ", " : "") << type.dims[i];
  out << "}}}";
  return out.str();
}

template <class T>
void print_list(std::ostream& out, const std::string& prefix, const T* values, int count) {
  out << '{';
  for (int i = 0; i < count; ++i) out << (i > 0 ? ", " : "") << prefix << values[i];
  out << '}';
}

}  // namespace

std::string as_function(const Model& model, const std::string& name) {
  const tf::ir::Graph& g = model.graph;
  std::istringstream lines(tf::describe(g));
  std::ostringstream out;
  out << "constexpr void " << name << "(tf::Graph& g) {\n  fuzz::Rebuilder r(g);\n";
  for (const tf::ir::Node& node : g.nodes) {
    std::string line;
    std::getline(lines, line);
    const tf::Id value = node.outputs.first;
    if (!(node.device == tf::Device{})) out << "  r.device(tf::cpu(0));\n";
    out << "  [[maybe_unused]] const tf::Id v" << value << " = ";
    if (node.op->builtin == tf::Builtin::placeholder || node.op->builtin == tf::Builtin::variable) {
      const bool variable = node.op->builtin == tf::Builtin::variable;
      const tf::ir::Name* named = nullptr;
      for (const tf::ir::Name& n : g.names) {
        const bool own = variable ? n.kind == tf::ir::NameKind::variable
                                  : n.kind == tf::ir::NameKind::placeholder;
        if (own && n.value == value) named = &n;
      }
      out << (variable ? "r.variable(" : "r.placeholder(") << named->index << ", "
          << type_text(g.type_of(value)) << ')';
    } else {
      out << "r.node<" << type_of(*node.op) << ">(";
      print_list(out, "v", g.operands.data() + node.inputs.first, node.inputs.count);
      out << ", ";
      print_list(out, "", g.words_of(node), node.attributes.count);
      out << ", {";
      for (tf::Id k = 0; k < node.outputs.count && !g.is_token(value); ++k) {
        out << (k > 0 ? ", " : "") << "tf::Type" << type_text(g.type_of(value + k));
      }
      out << '}';
      if (node.controls.count > 0) {
        out << ", ";
        print_list(out, "v", g.operands.data() + node.controls.first, node.controls.count);
      }
      out << ')';
    }
    out << ";  // " << line << '\n';
    for (tf::Id k = 1; k < node.outputs.count; ++k) {
      out << "  [[maybe_unused]] const tf::Id v" << value + k << " = v" << value << " + " << k
          << ";\n";
    }
    if (!(node.device == tf::Device{})) out << "  r.device({});\n";
  }
  for (const tf::ir::Name& n : g.names) {
    if (n.kind == tf::ir::NameKind::value)
      out << "  r.tensor(" << n.index << ", v" << n.value << ");\n";
    if (n.kind == tf::ir::NameKind::effect)
      out << "  r.effect(" << n.index << ", v" << n.value << ");\n";
  }
  out << "}\n";
  return out.str();
}

std::string as_comments(const Model& model) {
  std::ostringstream out;
  for (const Run& run : model.runs) {
    out << "//";
    for (int i = 0; i < tf::max_symbols; ++i) {
      out << ' ' << tf::symbol_names[i] << ' ' << run.sizes.of[i];
    }
    out << ':';
    for (const std::string& name : run.fetches) out << ' ' << name;
    if (!run.feeds.empty()) out << "; feeds";
    for (const std::string& name : run.feeds) out << ' ' << name;
    if (!run.left_out.empty()) out << "; without";
    for (const std::string& name : run.left_out) out << ' ' << name;
    out << '\n';
  }
  return out.str();
}

Model compilable(Model model) {
  for (Run& run : model.runs) {
    run.left_out.clear();
    std::vector<std::string> feeds;
    std::set<tf::Id> fed;
    for (const std::string& name : run.feeds) {
      const tf::Id value = model.id_of(name);
      if (tf::ir::records(model.graph).node_of(value).op->kind == tf::Kind::source ||
          !fed.insert(value).second) {
        continue;
      }
      feeds.push_back(name);
    }
    run.feeds = std::move(feeds);
  }
  return model;
}

namespace {

std::string_view element_text(tf::DType type) {
  using enum tf::DType;
  constexpr std::pair<tf::DType, std::string_view> names[] = {{boolean, "bool"},
                                                              {int8, "std::int8_t"},
                                                              {int16, "std::int16_t"},
                                                              {int32, "std::int32_t"},
                                                              {int64, "std::int64_t"},
                                                              {uint8, "std::uint8_t"},
                                                              {uint16, "std::uint16_t"},
                                                              {uint32, "std::uint32_t"},
                                                              {uint64, "std::uint64_t"},
                                                              {bfloat16, "tf::bfloat16"},
                                                              {float16, "tf::float16"},
                                                              {float32, "float"},
                                                              {float64, "double"},
                                                              {complex64, "std::complex<float>"},
                                                              {complex128, "std::complex<double>"}};
  for (const auto& [dtype, name] : names) {
    if (dtype == type) return name;
  }
  return "?";
}

/// The call of a run: r.template run<"t_0">(r.template feed<"x_0", float>()).
std::string call_text(const Model& model, const Run& run) {
  std::ostringstream out;
  out << "r.template run<";
  for (std::size_t i = 0; i < run.fetches.size(); ++i) {
    out << (i > 0 ? ", " : "") << '"' << run.fetches[i] << '"';
  }
  out << ">(";
  std::vector<std::string> feeds = model.feedable;
  feeds.insert(feeds.end(), run.feeds.begin(), run.feeds.end());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    out << (i > 0 ? ", " : "") << "r.template feed<\"" << feeds[i] << "\", "
        << element_text(tf::ir::records(model.graph).dtype_of(model.id_of(feeds[i]))) << ">()";
  }
  return out.str() + ')';
}

}  // namespace

std::string as_program(std::uint64_t first_seed, int count, bool cuda) {
  constexpr int most_nodes = 40;
  std::ostringstream out;
  std::ostringstream calls;
  out << "#include \"fuzz/compiled" << (cuda ? "_cuda" : "")
      << ".hpp\"\n\nnamespace tf = typeflow;\n\n";
  for (std::uint64_t seed = first_seed; count > 0; ++seed) {
    const Model model = compilable(random_model(seed));
    if (model.numbers == Numbers::wild || tf::ir::records(model.graph).nodes.size() > most_nodes)
      continue;
    --count;
    const std::string name = "model_" + std::to_string(seed);
    out << as_function(model, name) << '\n';
    calls << "  wrong += fuzz::differs" << (cuda ? "_on_gpu" : "") << '<' << name;
    if (cuda) calls << ", " << seed;  // chooses the target, while it is compiled
    calls << ">(" << seed
          << ", [](const auto& r, std::size_t run) -> std::vector<tf::HostTensor> {\n"
          << "    switch (run) {\n";
    for (std::size_t i = 0; i < model.runs.size(); ++i) {
      calls << "      case " << i << ": return " << call_text(model, model.runs[i]) << ";\n";
    }
    calls << "      default: return {};\n    }\n  });\n";
  }
  out << "int main() {\n  int wrong = 0;\n" << calls.str();
  if (cuda) out << "  wrong += fuzz::nothing_was_launched();\n";
  out << "  return wrong == 0 ? 0 : 1;\n}\n";
  return out.str();
}

}  // namespace fuzz
