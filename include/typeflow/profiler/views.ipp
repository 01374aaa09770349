// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <regex>

#include "typeflow/core/error.hpp"
#include "typeflow/profiler/views.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_COLD TYPEFLOW_DEFINITION ProfileSums& ProfileSums::operator+=(const ProfileSums& other) {
  if (other.calls > 0) {
    least_seconds = calls > 0 ? std::min(least_seconds, other.least_seconds) : other.least_seconds;
    most_seconds = std::max(most_seconds, other.most_seconds);
  }
  seconds += other.seconds;
  roofline_seconds += other.roofline_seconds;
  rated_seconds += other.rated_seconds;
  calls = checked_sum(calls, other.calls);
  flops = checked_sum(flops, other.flops);
  bytes = checked_sum(bytes, other.bytes);
  output_bytes = checked_sum(output_bytes, other.output_bytes);
  parameters = checked_sum(parameters, other.parameters);
  occurrences = checked_sum(occurrences, other.occurrences);
  return *this;
}

namespace detail {

/// A list of regular expressions.
class NamePatterns {
 public:
  TYPEFLOW_COLD NamePatterns(const char* option, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      if (text == ".*") {
        all_ = true;
        continue;
      }
      try {
        patterns_.emplace_back(text, std::regex::ECMAScript | std::regex::optimize);
      } catch (const std::regex_error&) {
        throw Error(option, "a regular expression", "\"" + text + "\"");
      }
    }
  }
  TYPEFLOW_COLD bool match(const std::string& name) const {
    return all_ || std::any_of(patterns_.begin(), patterns_.end(), [&](const std::regex& pattern) {
             return std::regex_match(name, pattern);
           });
  }
  bool matches_all() const { return all_; }

 private:
  std::vector<std::regex> patterns_;
  bool all_ = false;
};

TYPEFLOW_COLD inline std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " + ") + text;
  return all;
}
TYPEFLOW_COLD inline std::string source_of(const ProfiledStep& step) {
  return step.file + ':' + std::to_string(step.line);
}
TYPEFLOW_COLD inline ProfileSums sums_of(const Profile& profile, const ProfiledStep& step) {
  ProfileSums sums;
  sums.seconds = step.seconds;
  sums.least_seconds = step.least_seconds;
  sums.most_seconds = step.most_seconds;
  sums.roofline_seconds = profile.roofline_seconds(step);
  sums.rated_seconds = sums.roofline_seconds > 0 ? step.seconds : 0;
  sums.calls = step.calls;
  sums.flops = step.flops;
  sums.bytes = step.bytes;
  sums.output_bytes = step.output_bytes;
  sums.occurrences = 1;
  return sums;
}

/// What a row has in a column of numbers.
TYPEFLOW_COLD inline double number_in(const ProfileNode& node, ProfileColumn column, double all) {
  const ProfileSums& sums = node.total;
  const auto over = [](double a, double b) { return b > 0 ? a / b : 0; };
  switch (column) {
    case ProfileColumn::time:
      return sums.seconds;
    case ProfileColumn::own_time:
      return node.own.seconds;
    case ProfileColumn::share:
      return over(sums.seconds, all);
    case ProfileColumn::calls:
      return static_cast<double>(sums.calls);
    case ProfileColumn::mean:
      return over(sums.seconds, static_cast<double>(sums.calls));
    case ProfileColumn::least:
      return sums.least_seconds;
    case ProfileColumn::most:
      return sums.most_seconds;
    case ProfileColumn::flops:
      return static_cast<double>(sums.flops);
    case ProfileColumn::bytes:
      return static_cast<double>(sums.bytes);
    case ProfileColumn::flop_rate:
      return over(static_cast<double>(sums.flops), sums.seconds);
    case ProfileColumn::byte_rate:
      return over(static_cast<double>(sums.bytes), sums.seconds);
    case ProfileColumn::roofline:
      return over(sums.roofline_seconds, sums.rated_seconds);
    case ProfileColumn::output:
      return static_cast<double>(sums.output_bytes);
    case ProfileColumn::parameters:
      return static_cast<double>(sums.parameters);
    case ProfileColumn::occurrences:
      return static_cast<double>(sums.occurrences);
    case ProfileColumn::name:
    case ProfileColumn::operations:
    case ProfileColumn::device:
    case ProfileColumn::source:
      break;
  }
  return 0;
}
/// The text of a row in a column of texts; null in one of numbers.
inline const std::string* text_in(const ProfileNode& node, ProfileColumn column) {
  switch (column) {
    case ProfileColumn::name:
      return &node.name;
    case ProfileColumn::operations:
      return &node.operations;
    case ProfileColumn::device:
      return &node.device;
    case ProfileColumn::source:
      return &node.source;
    default:
      return nullptr;
  }
}

/// Makes the rows of a view.
class ProfileViewMaker {
 public:
  TYPEFLOW_COLD ProfileViewMaker(const Profile& profile, const ProfileViewOptions& options)
      : profile_(profile),
        options_(options),
        types_("account_type_regexes", options.account_type_regexes),
        start_("start_name_regexes", options.start_name_regexes),
        trim_("trim_name_regexes", options.trim_name_regexes),
        show_("show_name_regexes", options.show_name_regexes),
        hide_("hide_name_regexes", options.hide_name_regexes) {}

  TYPEFLOW_COLD ProfileNode run() {
    ProfileNode root{"total", {}, {}, {}};
    switch (options_.view) {
      case ProfileView::kernels:
        add_list(root, [](const ProfiledStep& step) { return step.name; });
        break;
      case ProfileView::operations:
        add_groups(root, [](const ProfiledStep& step) { return step.operation; });
        break;
      case ProfileView::lines:
        add_groups(root, source_of);
        for (ProfileNode& line : root.below) line.source = line.name;
        break;
      case ProfileView::devices:
        add_groups(root, [&](const ProfiledStep& step) { return device_of(step); });
        break;
      case ProfileView::scope:
        add_scopes(root);
        break;
      case ProfileView::graph:
        add_graph(root);
        break;
    }
    sum(root);
    if (!start_.matches_all()) {
      std::vector<ProfileNode> found;
      find_starts(root, found);
      root.below = std::move(found);
    }
    choose(root, 0);
    if (options_.account_displayed_op_only) sum(root);
    sort(root);
    return root;
  }

 private:
  /// Functions here call themselves for each level of a tree.
  static constexpr int most_levels = 1000;

  const std::string& device_of(const ProfiledStep& step) const {
    return profile_.devices[static_cast<std::size_t>(step.device)].name;
  }
  TYPEFLOW_COLD bool counts(const ProfiledStep& step) const {
    return types_.matches_all() || types_.match(step.operation) || types_.match(device_of(step)) ||
           std::any_of(step.fused.begin(), step.fused.end(),
                       [&](const std::string& type) { return types_.match(type); });
  }
  TYPEFLOW_COLD bool counts(const ProfiledVariable& variable) const {
    return types_.match("Variable") || (variable.trainable && types_.match("_trainable_variables"));
  }
  TYPEFLOW_COLD ProfileNode node_of(const ProfiledStep& step, std::string name) const {
    return {std::move(name), joined(step.fused), device_of(step), source_of(step),
            sums_of(profile_, step)};
  }

  // Lists.

  template <class Name>
  void add_list(ProfileNode& root, const Name& name) const {
    for (const ProfiledStep& step : profile_.steps) {
      if (step.calls > 0 && counts(step)) root.below.push_back(node_of(step, name(step)));
    }
  }
  template <class Name>
  void add_groups(ProfileNode& root, const Name& name) const {
    std::map<std::string, ProfileSums> groups;
    for (const ProfiledStep& step : profile_.steps) {
      if (step.calls > 0 && counts(step)) groups[name(step)] += sums_of(profile_, step);
    }
    for (auto& [text, sums] : groups) root.below.push_back({text, {}, {}, {}, sums});
  }

  // The tree of scopes.

  TYPEFLOW_COLD void add_scopes(ProfileNode& root) const {
    for (const ProfiledVariable& variable : profile_.variables) {
      if (!counts(variable)) continue;
      ProfileNode node{variable.name, "Variable", {}, {}};
      node.own.parameters = variable.trainable ? variable.elements : 0;
      insert(root, std::move(node));
    }
    for (const ProfiledStep& step : profile_.steps) {
      if (step.calls > 0 && counts(step)) insert(root, node_of(step, step.name));
    }
  }
  /// Puts a node below the nodes of its scopes. A scope and a kernel of one path are one row.
  TYPEFLOW_COLD static void insert(ProfileNode& root, ProfileNode node) {
    ProfileNode* parent = &root;
    const std::string path = node.name;
    std::size_t end = path.find('/');
    for (int depth = 1; end != path.npos && depth < most_levels; ++depth) {
      parent = &child(*parent, path.substr(0, end));
      end = path.find('/', end + 1);
    }
    ProfileNode& place = child(*parent, path);
    const bool is_new = place.own.occurrences == 0 && place.operations.empty();
    if (is_new) {
      place.operations = std::move(node.operations);
      place.device = std::move(node.device);
      place.source = std::move(node.source);
    } else if (place.device != node.device) {
      place.device.clear();
    }
    place.own += node.own;
  }
  TYPEFLOW_COLD static ProfileNode& child(ProfileNode& parent, const std::string& name) {
    for (ProfileNode& node : parent.below) {
      if (node.name == name) return node;
    }
    parent.below.push_back({name, {}, {}, {}});
    return parent.below.back();
  }

  // The tree of the graph.

  TYPEFLOW_COLD void add_graph(ProfileNode& root) {
    const std::size_t count = profile_.steps.size();
    std::vector<char> is_read(count, 0);
    for (const ProfiledStep& step : profile_.steps) {
      for (const int input : step.inputs) is_read[static_cast<std::size_t>(input)] = 1;
    }
    is_taken_.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      if (is_read[i] == 0) take(root, i);
    }
    // Those in circles, as of a loop's state, and those below most_levels.
    for (std::size_t i = 0; i < count; ++i) take(root, i);
  }
  /// The row of a kernel that has none yet, with those below it.
  TYPEFLOW_COLD void take(ProfileNode& root, std::size_t first) {
    struct Open {
      ProfileNode node;
      std::size_t step;
      std::size_t next;  // of its inputs
    };
    if (is_taken_[first] != 0) return;
    std::vector<Open> open;
    const auto begin = [&](std::size_t step) {
      is_taken_[step] = 1;
      const ProfiledStep& of = profile_.steps[step];
      ProfileNode node = node_of(of, of.name);
      if (!counts(of)) node.own = {};
      if (of.calls == 0) node.own.occurrences = 0;
      open.push_back({std::move(node), step, 0});
    };
    begin(first);
    while (true) {
      Open& last = open.back();
      const std::vector<int>& inputs = profile_.steps[last.step].inputs;
      if (last.next < inputs.size()) {
        const auto input = static_cast<std::size_t>(inputs[last.next++]);
        if (is_taken_[input] == 0 && open.size() < std::size_t{most_levels}) begin(input);
        continue;
      }
      ProfileNode done = std::move(last.node);
      open.pop_back();
      if (open.empty()) {
        root.below.push_back(std::move(done));
        return;
      }
      open.back().node.below.push_back(std::move(done));
    }
  }

  // What all views have.

  TYPEFLOW_COLD static void sum(ProfileNode& node) {
    node.total = node.own;
    for (ProfileNode& below : node.below) {
      sum(below);
      node.total += below.total;
    }
  }
  TYPEFLOW_COLD void find_starts(ProfileNode& node, std::vector<ProfileNode>& found) const {
    for (ProfileNode& below : node.below) {
      if (start_.match(below.name)) {
        found.push_back(std::move(below));
      } else {
        find_starts(below, found);
      }
    }
  }
  TYPEFLOW_COLD bool is_shown(const ProfileNode& node) const {
    const ProfileSums& total = node.total;
    return show_.match(node.name) && !hide_.match(node.name) &&
           total.seconds * 1e6 >= options_.min_micros && total.flops >= options_.min_float_ops &&
           total.bytes >= options_.min_bytes && total.parameters >= options_.min_params &&
           total.occurrences >= options_.min_occurrence;
  }
  /// Leaves the rows below a node that are shown. Those below a hidden row move up.
  TYPEFLOW_COLD void choose(ProfileNode& node, int depth) const {
    std::vector<ProfileNode> shown;
    const auto add = [&](auto& self, std::vector<ProfileNode>& below) -> void {
      for (ProfileNode& row : below) {
        if (trim_.match(row.name)) continue;
        if (depth < options_.max_depth && is_shown(row)) {
          choose(row, depth + 1);
          shown.push_back(std::move(row));
        } else {
          self(self, row.below);
        }
      }
    };
    if (depth < options_.max_depth) add(add, node.below);
    node.below = std::move(shown);
  }
  TYPEFLOW_COLD void sort(ProfileNode& node) const {
    const ProfileColumn by = options_.order_by;
    std::sort(node.below.begin(), node.below.end(),
              [&](const ProfileNode& a, const ProfileNode& b) {
                if (const std::string* const text = text_in(a, by); text != nullptr) {
                  const int order = text->compare(*text_in(b, by));
                  return order != 0 ? order < 0 : a.name < b.name;
                }
                const double x = number_in(a, by, 1);
                const double y = number_in(b, by, 1);
                return x != y ? x > y : a.name < b.name;
              });
    for (ProfileNode& below : node.below) sort(below);
  }

  const Profile& profile_;
  const ProfileViewOptions& options_;
  NamePatterns types_;
  NamePatterns start_;
  NamePatterns trim_;
  NamePatterns show_;
  NamePatterns hide_;
  std::vector<char> is_taken_;  // by step: has a row in the graph
};

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION ProfileNode profile_tree(const Profile& profile,
                                                           const ProfileViewOptions& options) {
  return detail::ProfileViewMaker(profile, options).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
