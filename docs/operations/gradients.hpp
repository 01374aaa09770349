// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row gradients_rows[] = {
    row<>("gradients", "gradients(y, x...)", "() x (S)... -> (S)...",
          "the derivatives of a scalar; an x that y does not depend on is an error",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("gradients", "gradients(y, grad_ys(dy), x...)", "(R) x (R) x (S)... -> (S)...",
          "those of sum(y * dy), for a y of any shape",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("gradients", "gradients(ys(y...), x...)", "()... x (S)... -> (S)...",
          "those of the sum of several scalars",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("gradients", "gradients(y, variables)", "() -> tf::Gradients",
          "for a list of variables, all that y depends on if none is given: what optimisers apply",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("gradients_or_zero", "gradients_or_zero(y, x...)", "() x (S)... -> (S)...",
          "the same; zeros for an x that y does not depend on",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<ops::StopGradient>("stop_gradient", "stop_gradient(x)", "(S) -> (S)",
                           "x, through which no gradient flows", {.types = "any"}),
};
