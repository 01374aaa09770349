// SPDX-License-Identifier: Apache-2.0

#include "shrink.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/graph_operations.hpp"

namespace fuzz {

namespace {

using tf::Id;

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
template <class T>
void erase_at(std::vector<T>& v, std::size_t i) {
  v.erase(v.begin() + static_cast<std::ptrdiff_t>(i));
}

/// Copies the part of a model that its names need. One value may be replaced by another of its type
/// that stands before it, or by a new placeholder.
class Copier {
 public:
  Copier(const Model& from, Id replaced = tf::none, Id by = tf::none)
      : from_(from), old_(from.graph), replaced_(replaced), by_(by) {}

  Model run() {
    to_ = from_;
    to_.graph = tf::Graph(old_.mode());
    to_.feedable.clear();
    to_.ranges.clear();
    to_.tensors.clear();
    to_.effects.clear();
    to_.variables.clear();
    mark();
    map_.assign(static_cast<std::size_t>(old_.values.size()), tf::none);
    for (Id id = 0; id < old_.nodes.size(); ++id) {
      if (needed_[static_cast<std::size_t>(id)]) copy(id);
      if (replaced_ != tf::none && by_ == tf::none && old_.values[replaced_].node == id)
        feed_instead();
    }
    for (const tf::ir::Name& name : old_.names) copy_name(name);
    for (Run& run : to_.runs) {
      std::erase_if(run.feeds, [&](const std::string& n) { return !is_in(to_.tensors, n); });
      std::erase_if(run.left_out, [&](const std::string& n) { return !is_in(to_.feedable, n); });
      std::erase_if(run.fetches, [&](const std::string& n) {
        return !is_in(to_.tensors, n) && !is_in(to_.effects, n);
      });
    }
    return std::move(to_);
  }

 private:
  Id source(Id value) const { return value == replaced_ ? by_ : value; }
  bool keeps(const tf::ir::Name& name) const {
    const std::string text(old_.text_of(name).view());
    return is_in(from_.tensors, text) || is_in(from_.effects, text);
  }
  void mark() {
    needed_.assign(static_cast<std::size_t>(old_.nodes.size()), false);
    const auto need = [&](Id value) {
      if (source(value) != tf::none) {
        needed_[static_cast<std::size_t>(old_.values[source(value)].node)] = true;
      }
    };
    for (const tf::ir::Name& name : old_.names) {
      if (name.kind != tf::ir::NameKind::key && keeps(name)) need(name.value);
    }
    for (Id id = old_.nodes.size() - 1; id >= 0; --id) {
      if (!needed_[static_cast<std::size_t>(id)]) continue;
      const tf::ir::Node& node = old_.nodes[id];
      for (Id k = 0; k < node.inputs.count; ++k) need(old_.input(node, k));
      for (Id k = 0; k < node.controls.count; ++k) need(old_.operands[node.controls.first + k]);
    }
  }
  Id& mapped(Id value) { return map_[static_cast<std::size_t>(value)]; }
  Id now(Id value) { return value == replaced_ && by_ != tf::none ? mapped(by_) : mapped(value); }

  void copy(Id id) {
    const tf::ir::Node& node = old_.nodes[id];
    tf::ir::Graph& g = to_.graph;
    g.device = node.device;
    g.source = node.source;
    const Id first = node.outputs.first;
    if (node.op->builtin == tf::Builtin::variable) return copy_variable(first);
    std::vector<Id> inputs;
    for (Id k = 0; k < node.inputs.count; ++k) inputs.push_back(now(old_.input(node, k)));
    const Id copied = g.add_node(*node.op, inputs.data(), node.inputs.count, node.outputs.count,
                                 old_.words_of(node), node.attributes.count);
    for (Id k = 0; k < node.outputs.count; ++k) {
      const Id type = old_.is_token(first + k) ? tf::none : g.intern(old_.type_of(first + k));
      mapped(first + k) = g.values.push({copied, k, type, tf::none});
    }
    std::vector<Id> controls;
    for (Id k = 0; k < node.controls.count; ++k) {
      controls.push_back(now(old_.operands[node.controls.first + k]));
    }
    if (!controls.empty()) {
      g.nodes[copied].controls = g.append(controls.data(), static_cast<int>(controls.size()));
    }
    if (node.op->builtin == tf::Builtin::placeholder) copy_placeholder(first);
  }
  void copy_placeholder(Id value) {
    for (std::size_t i = 0; i < from_.feedable.size(); ++i) {
      if (from_.id_of(from_.feedable[i]) != value) continue;
      add_placeholder_name(from_.feedable[i], mapped(value), from_.ranges[i]);
    }
  }
  void add_placeholder_name(const std::string& name, Id value, const Range& range) {
    tf::ir::records(to_.graph).add_name({"x", std::stoi(name.substr(2))},
                                        tf::ir::NameKind::placeholder, value);
    to_.feedable.push_back(name);
    to_.ranges.push_back(range);
  }
  void copy_variable(Id value) {
    const tf::ir::VariableRecord& record =
        old_.variable_records[static_cast<Id>(old_.words_of(old_.node_of(value))[0])];
    const std::string name(old_.text_of(old_.names[record.name]).view());
    mapped(value) =
        tf::detail::get_variable(to_.graph, {"v", std::stoi(name.substr(2))}, old_.type_of(value),
                                 record.initializer, record.trainable, record.state);
    to_.variables[name] = from_.variables.at(name);
  }
  void feed_instead() {
    int number = 0;
    for (const std::string& name : from_.feedable)
      number = std::max(number, std::stoi(name.substr(2)) + 1);
    const tf::Type& type = old_.type_of(replaced_);
    const tf::AnyExpr x =
        tf::add_node(to_.graph, tf::ops::Placeholder{{}, 0, 0, 0}, nullptr, 0, type);
    const bool index = tf::is_integer(type.dtype);
    add_placeholder_name(
        "x_" + std::to_string(number), x.id,
        index ? Range{0, 2} : Range{from_.numbers == Numbers::exact ? -4.0 : -1.5, 4});
    mapped(replaced_) = x.id;
  }
  void copy_name(const tf::ir::Name& name) {
    if (name.kind != tf::ir::NameKind::value && name.kind != tf::ir::NameKind::effect) return;
    if (!keeps(name) || now(name.value) == tf::none) return;
    const bool effect = name.kind == tf::ir::NameKind::effect;
    const tf::Label label = effect ? tf::Label("e", name.index) : tf::Label("t", name.index);
    tf::ir::records(to_.graph).add_name(label, name.kind, now(name.value));
    (effect ? to_.effects : to_.tensors).emplace_back(old_.text_of(name).view());
  }

  const Model& from_;
  const tf::ir::Graph& old_;
  Id replaced_;
  Id by_;
  Model to_;
  std::vector<bool> needed_;
  std::vector<Id> map_;
};

class Shrinker {
 public:
  Shrinker(Model model, const std::function<bool(const Model&)>& fails)
      : best_(std::move(model)), fails_(fails) {}

  Model run() {
    for (bool changed = true; changed;) {
      changed = drop_runs() || trim_runs() || drop_names() || drop_nodes();
    }
    return std::move(best_);
  }

 private:
  bool take(Model&& smaller) {
    bool usable = !smaller.runs.empty();
    for (const Run& run : smaller.runs) usable = usable && !run.fetches.empty();
    if (!usable) return false;
    try {
      if (!fails_(smaller)) return false;
    } catch (const std::exception&) {
      return false;
    }
    best_ = std::move(smaller);
    return true;
  }

  bool drop_runs() {
    for (std::size_t i = best_.runs.size(); i-- > 0;) {
      Model smaller = best_;
      erase_at(smaller.runs, i);
      if (take(std::move(smaller))) return true;
    }
    return false;
  }
  bool trim_runs() {
    for (std::size_t r = 0; r < best_.runs.size(); ++r) {
      for (auto list : {&Run::fetches, &Run::feeds, &Run::left_out}) {
        for (std::size_t i = (best_.runs[r].*list).size(); i-- > 0;) {
          Model smaller = best_;
          erase_at(smaller.runs[r].*list, i);
          if (take(std::move(smaller))) return true;
        }
      }
      for (int i = 0; i < tf::max_symbols; ++i) {
        if (best_.runs[r].sizes.of[i] <= 2) continue;
        Model smaller = best_;
        smaller.runs[r].sizes.of[i] = 2;
        if (take(std::move(smaller))) return true;
      }
    }
    return false;
  }
  /// Drops names, and with them the nodes that only they need.
  bool drop_names() {
    for (auto list : {&Model::tensors, &Model::effects}) {
      for (std::size_t i = (best_.*list).size(); i-- > 0;) {
        Model smaller = best_;
        erase_at(smaller.*list, i);
        if (take(Copier(smaller).run())) return true;
      }
    }
    return false;
  }
  bool drop_nodes() {
    const tf::ir::Graph& g = best_.graph;
    for (Id value = g.values.size() - 1; value >= 0; --value) {
      const tf::ir::Node& node = g.node_of(value);
      if (node.op->kind == tf::Kind::source || g.is_token(value)) continue;
      for (Id k = 0; k < node.inputs.count; ++k) {
        const Id x = g.input(node, k);
        if (g.values[x].type != g.values[value].type) continue;
        if (take_smaller(Copier(best_, value, x).run())) return true;
      }
      if (take_smaller(Copier(best_, value).run())) return true;
    }
    return false;
  }
  /// Nodes that compute, and edges to them.
  static int work_of(const Model& model) {
    int work = 0;
    for (const tf::ir::Node& node : tf::ir::records(model.graph).nodes) {
      if (node.op->kind != tf::Kind::source) work += 4 + node.inputs.count + node.controls.count;
    }
    return work;
  }
  bool take_smaller(Model&& smaller) {
    return work_of(smaller) < work_of(best_) && take(std::move(smaller));
  }

  Model best_;
  const std::function<bool(const Model&)>& fails_;
};

}  // namespace

Model shrink(Model model, const std::function<bool(const Model&)>& fails) {
  return Shrinker(std::move(model), fails).run();
}

}  // namespace fuzz
