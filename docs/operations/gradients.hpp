// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row gradients_rows[] = {
    row<>("gradients", "gradients(y, x...)", "() x (S)... -> (S)...",
          "the derivatives of a scalar; an x that y does not depend on is an error",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("gradients", "gradients(y, grad_ys(dy), x...)", "(R) x (R) x (S)... -> (S)...",
          "the derivatives of sum(y * dy), for y of any shape",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("gradients", "gradients(ys(y...), x...)", "()... x (S)... -> (S)...",
          "the derivatives of the sum of several scalars",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("gradients", "gradients(y, variables)", "() -> tf::Gradients",
          "the gradients for a list of variables, by default all that y depends on: the input of "
          "optimisers",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("gradients_or_zero", "gradients_or_zero(y, x...)", "() x (S)... -> (S)...",
          "as gradients, but zeros for an x that y does not depend on",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("jvp", "jvp(y, x, v)", "(R) x (S) x (S) -> (R)",
          "the derivative of y as x moves along v; jvp(y, xs(x...), tangents(v...)) for several x",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("hvp", "hvp(y, x, v)", "() x (S) x (S) -> (S)",
          "the Hessian of y for x times v; v counts as a constant",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("hessians", "hessians(y, x...)", "() x (S)... -> (S,S)...",
          "all second derivatives of a scalar, for each x; in typeflow/hessians.hpp",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<>("custom_gradient", "custom_gradient(f, rule, x...)", "(S)... -> (R)",
          "f(x...), differentiated by rule(x..., y, dy)",
          {.types = "floating", .gradient = Gradient::any_order}),
    row<ops::StopGradient>("stop_gradient", "stop_gradient(x)", "(S) -> (S)",
                           "x, through which no gradient flows", {.types = "any"}),
};
