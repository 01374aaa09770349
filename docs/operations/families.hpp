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
#include "signal.hpp"
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
     "Tensors and numbers broadcast as in NumPy: shapes are aligned at the last axis.\n\n"
     "**Special numbers.** At zeros, infinities and NaN every function gives the result of the C++ "
     "library, with the sign of a zero. The result is the same on all instruction sets and in the "
     "interpreter. Other results may differ by units in the last place. Denormal numbers are not "
     "treated specially. There are two exceptions:\n\n"
     "- The sign of a zero is lost where a pass drops an operation (`x + 0`).\n"
     "- `a * b + c` is rounded once only if the instruction set has a fused multiply-add (SSE2 has "
     "none); elsewhere `a * b` may overflow or underflow.\n\n"
     "If an input and the result are NaN, the gradient is NaN too, also for functions that choose, "
     "such as `relu`, `elu` and `maximum`. The slope of a function that is linear in the input "
     "(`-x`, `a + b`) does not depend on it.",
     elementwise_rows},
    {"Complex numbers", "", complex_rows},
    {"Reductions",
     "A reduction goes over the named axes, over all if none is named. Negative axes count from "
     "the end. With `tf::keep_dims` as the last argument, reduced axes stay, with extent 1.",
     reductions_rows},
    {"Shape", "", shape_rows},
    {"Indexing", "", indexing_rows},
    {"Selection", "", selection_rows},
    {"Products", "", linear_algebra_rows},
    {"Linear algebra", "", linalg_rows},
    {"Sparse tensors", "In `typeflow/sparse.hpp`; see [sparse.md](sparse.md).", sparse_rows},
    {"Convolutions",
     "Images have channels last, kernels have filters last. All extents are numbers, except the "
     "first of an image.",
     convolutions_rows},
    {"Neural networks", "", nn_rows},
    {"Losses",
     "In `typeflow/losses.hpp`; see [losses.md](losses.md). Shapes are those of the default "
     "reduction, which divides by the number of nonzero weights.",
     losses_rows},
    {"Sequences", "In `typeflow/sequences.hpp`; see [sequences.md](sequences.md).", sequences_rows},
    {"Signals",
     "In `typeflow/signal.hpp`; see [signal.md](signal.md). Transforms go over the last axes.",
     signal_rows},
    {"Strings", "In `typeflow/strings.hpp`; see [strings.md](strings.md).", strings_rows},
    {"Images",
     "In `typeflow/images.hpp`; see [images.md](images.md). Images are (N,H,W,C) or (H,W,C): "
     "channels last. Changes of colour scale integer images to [0, 1] and back.",
     images_rows},
    {"Random numbers",
     "Numbers are drawn anew in each run. They depend on the session's seed, the operation's name, "
     "the number of the run and the element's position, not on the number of threads.",
     random_rows},
    {"Candidate sampling", "In `typeflow/candidate_sampling.hpp`.", candidate_sampling_rows},
    {"Branches and loops",
     "See [control_flow.md](control_flow.md). f is a function of expressions, a state is a "
     "structure of tensors. Operations inside f have kernels of their own.",
     control_rows},
    {"Primitives of control flow",
     "In `typeflow/primitives.hpp`; see [control_flow.md](control_flow.md#primitives). The "
     "primitives become branches and loops.",
     primitives_rows},
    {"Sources and state", "", state_rows},
    {"Gradients", "", gradients_rows},
};

}  // namespace typeflow::docs
