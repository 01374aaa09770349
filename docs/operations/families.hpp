// SPDX-License-Identifier: Apache-2.0
#pragma once

// All rows, by family, in the order of docs/operations.md.

#include <span>
#include <string_view>

#if __has_include("complex.hpp")
#include "complex.hpp"
#endif
#if __has_include("elementwise.hpp")
#include "elementwise.hpp"
#endif
#include "gradients.hpp"
#if __has_include("indexing.hpp")
#include "indexing.hpp"
#endif
#if __has_include("linalg.hpp")
#include "linalg.hpp"
#endif
#if __has_include("linear_algebra.hpp")
#include "linear_algebra.hpp"
#endif
#include "nn.hpp"
#include "random.hpp"
#if __has_include("reductions.hpp")
#include "reductions.hpp"
#endif
#include "rows.hpp"
#if __has_include("selection.hpp")
#include "selection.hpp"
#endif
#if __has_include("shape.hpp")
#include "shape.hpp"
#endif
#include "state.hpp"

namespace typeflow::docs {

struct Family {
  std::string_view title;
  std::string_view about;
  std::span<const Row> rows;
};

inline constexpr Family families[] = {
#if __has_include("elementwise.hpp")
    {"Elementwise",
     "Tensors and numbers broadcast as in NumPy: shapes are aligned at the last axis.",
     elementwise_rows},
#endif
#if __has_include("complex.hpp")
    {"Complex numbers", "", complex_rows},
#endif
#if __has_include("reductions.hpp")
    {"Reductions",
     "Over the axes that are named, all if none is; negative ones count from the end. With "
     "`tf::keep_dims` as last argument the axes stay, with extent 1.",
     reductions_rows},
#endif
#if __has_include("shape.hpp")
    {"Shape", "", shape_rows},
#endif
#if __has_include("indexing.hpp")
    {"Indexing", "", indexing_rows},
#endif
#if __has_include("selection.hpp")
    {"Selection", "", selection_rows},
#endif
#if __has_include("linear_algebra.hpp")
    {"Products", "", linear_algebra_rows},
#endif
#if __has_include("linalg.hpp")
    {"Linear algebra", "", linalg_rows},
#endif
    {"Neural networks", "", nn_rows},
    {"Random numbers",
     "Drawn anew in each run, from the session's seed, the operation's name, the number of the run "
     "and the element's position: the same for any number of threads.",
     random_rows},
    {"Sources and state", "", state_rows},
    {"Gradients", "", gradients_rows},
};

}  // namespace typeflow::docs
