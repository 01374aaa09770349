// SPDX-License-Identifier: Apache-2.0

// A limit of fusion beyond the arrays that it is of.

// expect: a_limit_of_fusion_is_beyond_what_clusters_and_kernels_hold

#include "typeflow/passes/fuse.hpp"

namespace tf = typeflow;

#ifdef CORRECTED
inline constexpr tf::ir::FusionLimits limits{.members = 48, .inputs = 16};
#else
inline constexpr tf::ir::FusionLimits limits{.inputs = 17};  // error here
#endif
