// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row random_rows[] = {
    row<ops::RandomUniform>("random_uniform", "random_uniform<T, D...>(g, label, low, high)",
                            "() -> (D...)", "uniform in [low, high), which is [0, 1) by default",
                            {.types = "float, double", .gradient = Gradient::no_tensors}),
};
