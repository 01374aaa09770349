// SPDX-License-Identifier: Apache-2.0
#pragma once

// Views of a profile: trees of scopes or of the graph, and lists by kernel, kind of operation,
// source line or device. The options are those of TensorFlow's tfprof, with its names.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/profiler/profile.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The kinds of rows of a view.
enum class ProfileView : std::uint8_t {
  kernels,     ///< a row for each kernel
  scope,       ///< name scopes as a tree, with variables
  graph,       ///< below each kernel those whose results it reads; each kernel once
  operations,  ///< a row for each kind of operation
  lines,       ///< a row for each line of the model's source
  devices      ///< a row for each device
};

/// The columns of views.
enum class ProfileColumn : std::uint8_t {
  name,
  time,         ///< seconds of all calls; of a row in a tree with what is below it
  own_time,     ///< without what is below it
  share,        ///< time as a part of that of all kernels
  calls,        ///< of kernels
  mean,         ///< time of a call
  least,        ///< of one call
  most,         ///< of one call
  flops,        ///< of all calls
  bytes,        ///< read and written by all calls
  flop_rate,    ///< flops in a second of the kernels' time
  byte_rate,    ///< bytes in a second of the kernels' time
  roofline,     ///< time by the roofline as a part of the measured one
  output,       ///< bytes of the results of one call
  parameters,   ///< elements of trainable variables
  occurrences,  ///< kernels
  operations,   ///< what the kernel computes: "MatMul + Add + Relu"
  device,
  source  ///< "mlp.cpp:14"
};

/// The names of views and columns for command lines: "scope", "own_time".
inline constexpr std::array<std::pair<std::string_view, ProfileView>, 6> profile_views{{
    {"kernels", ProfileView::kernels},
    {"scope", ProfileView::scope},
    {"graph", ProfileView::graph},
    {"operations", ProfileView::operations},
    {"lines", ProfileView::lines},
    {"devices", ProfileView::devices},
}};
inline constexpr std::array<std::pair<std::string_view, ProfileColumn>, 19> profile_columns{{
    {"name", ProfileColumn::name},
    {"time", ProfileColumn::time},
    {"own_time", ProfileColumn::own_time},
    {"share", ProfileColumn::share},
    {"calls", ProfileColumn::calls},
    {"mean", ProfileColumn::mean},
    {"least", ProfileColumn::least},
    {"most", ProfileColumn::most},
    {"flops", ProfileColumn::flops},
    {"bytes", ProfileColumn::bytes},
    {"flop_rate", ProfileColumn::flop_rate},
    {"byte_rate", ProfileColumn::byte_rate},
    {"roofline", ProfileColumn::roofline},
    {"output", ProfileColumn::output},
    {"parameters", ProfileColumn::parameters},
    {"occurrences", ProfileColumn::occurrences},
    {"operations", ProfileColumn::operations},
    {"device", ProfileColumn::device},
    {"source", ProfileColumn::source},
}};

/// Options of a view of a profile. Regular expressions are ECMAScript's and match a whole name:
/// ".*MatMul", not "MatMul". Lists match if one of them does.
struct ProfileViewOptions {
  ProfileView view = ProfileView::kernels;
  /// Texts from A to Z, numbers from the largest, equal ones by name.
  ProfileColumn order_by = ProfileColumn::time;
  /// Levels below the total; 0: that alone.
  int max_depth = 10'000;
  // Rows with less are not shown.
  double min_micros = 0;  ///< of time
  std::int64_t min_float_ops = 0;
  std::int64_t min_bytes = 0;
  std::int64_t min_params = 0;
  std::int64_t min_occurrence = 0;
  /// Kernels and variables that count. A kernel's types are its operations and its device, a
  /// variable's `Variable` and, if it is trained, `_trainable_variables`.
  std::vector<std::string> account_type_regexes{".*"};
  /// A tree shows the rows with these names, and those below them.
  std::vector<std::string> start_name_regexes{".*"};
  /// A tree leaves out the rows with these names, and those below them.
  std::vector<std::string> trim_name_regexes{};
  /// Rows that are shown...
  std::vector<std::string> show_name_regexes{".*"};
  /// ...without these. Rows below a hidden one stay, and move up.
  std::vector<std::string> hide_name_regexes{};
  /// Sums are of the rows that are shown. Otherwise of all that are there.
  bool account_displayed_op_only = false;
  /// The columns of the table after the name; empty: those that suit the view.
  std::vector<ProfileColumn> select{};
};

/// Sums over kernels and variables.
struct ProfileSums {
  double seconds = 0;
  double least_seconds = 0;
  double most_seconds = 0;
  double roofline_seconds = 0;
  double rated_seconds = 0;  ///< on devices whose rates are known
  std::int64_t calls = 0;
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
  std::int64_t output_bytes = 0;
  std::int64_t parameters = 0;
  std::int64_t occurrences = 0;

  ProfileSums& operator+=(const ProfileSums& other);
};

/// A row of a view, with those below it.
struct ProfileNode {
  std::string name;
  std::string operations;  ///< of one kernel; else empty
  std::string device;      ///< of one kernel; else empty
  std::string source;      ///< of one kernel or line; else empty
  ProfileSums own{};
  ProfileSums total{};  ///< own and that of the rows below
  std::vector<ProfileNode> below{};
};

/// A view as data. The first row is the total, and is always there.
///
/// Error if an option is no regular expression.
ProfileNode profile_tree(const Profile& profile, const ProfileViewOptions& options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_PROFILER
#include "typeflow/profiler/views.ipp"
#endif
