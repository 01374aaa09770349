// SPDX-License-Identifier: Apache-2.0
#pragma once

// Views of a profile as text: cells with units in columns.
//
//   std::puts(tf::profile_table(profile, {.view = tf::ProfileView::scope,
//                                         .order_by = tf::ProfileColumn::flops,
//                                         .max_depth = 2}).c_str());

#include <string>

#include "typeflow/profiler/views.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A view as a table for terminals.
///
///   name               time  share  calls      mean    flops  Gflop/s
///   total          1.204 ms  100 %    300  4.013 us  95.2 M     79.10
std::string profile_table(const Profile& profile, const ProfileViewOptions& options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_PROFILER
#include "typeflow/profiler/view_table.ipp"
#endif
