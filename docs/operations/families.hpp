// SPDX-License-Identifier: Apache-2.0
#pragma once

// All rows, by family, in the order of docs/operations.md.

#include <span>
#include <string_view>

#include "candidate_sampling.hpp"
#include "complex.hpp"
#include "control.hpp"
#include "convolutions.hpp"
#include "elementwise.hpp"
#include "gradients.hpp"
#include "images.hpp"
#include "indexing.hpp"
#include "linalg.hpp"
#include "linear_algebra.hpp"
#include "losses.hpp"
#include "nn.hpp"
#include "primitives.hpp"
#include "random.hpp"
#include "reductions.hpp"
#include "rows.hpp"
#include "selection.hpp"
#include "sequences.hpp"
#include "shape.hpp"
#include "sparse.hpp"
#include "state.hpp"
#include "strings.hpp"

namespace typeflow::docs {

struct Family {
  std::string_view title;
  std::string_view about;
  std::span<const Row> rows;
};

inline constexpr Family families[] = {
    {"Elementwise",
     "Tensors and numbers broadcast as in NumPy: shapes are aligned at the last axis.",
     elementwise_rows},
    {"Complex numbers", "", complex_rows},
    {"Reductions",
     "Over the axes that are named, all if none is; negative ones count from the end. With "
     "`tf::keep_dims` as last argument of a reduction the axes stay, with extent 1.",
     reductions_rows},
    {"Shape", "", shape_rows},
    {"Indexing", "", indexing_rows},
    {"Selection", "", selection_rows},
    {"Products", "", linear_algebra_rows},
    {"Linear algebra", "", linalg_rows},
    {"Sparse tensors", "A header of its own: [sparse.md](sparse.md).", sparse_rows},
    {"Convolutions",
     "Images have their channels last, kernels their filters. Extents are numbers, but for the "
     "first "
     "of an image.",
     convolutions_rows},
    {"Neural networks", "", nn_rows},
    {"Losses",
     "A wing of the library, [losses.md](losses.md). The shapes are those of the default "
     "reduction, "
     "by the number of weights that are not 0.",
     losses_rows},
    {"Sequences", "A wing of the library, [sequences.md](sequences.md).", sequences_rows},
    {"Strings", "A wing of the library, [strings.md](strings.md).", strings_rows},
    {"Images",
     "Images are (N,H,W,C) or, without N, (H,W,C): channels last. Those of integers are scaled to "
     "[0, 1], changed and scaled back where the change is one of colours.",
     images_rows},
    {"Random numbers",
     "Drawn anew in each run, from the session's seed, the operation's name, the number of the run "
     "and the element's position: the same for any number of threads.",
     random_rows},
    {"Candidate sampling", "In typeflow/candidate_sampling.hpp.", candidate_sampling_rows},
    {"Branches and loops",
     "[control_flow.md](control_flow.md): functions of expressions, f, and states, which are "
     "structures of tensors. What their functions do is kernels of their own.",
     control_rows},
    {"Primitives of control flow",
     "In typeflow/primitives.hpp, [control_flow.md](control_flow.md#primitives). They become "
     "branches and loops.",
     primitives_rows},
    {"Sources and state", "", state_rows},
    {"Gradients", "", gradients_rows},
};

}  // namespace typeflow::docs
