// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"
#include "typeflow/primitives.hpp"

// A branch made of primitives has a gradient; a loop, if its frame has max_iterations.
inline constexpr Row primitives_rows[] = {
    row<ops::Switch>("switch_", "primitives::switch_(x, predicate)", "(S) x () -> (S), (S)",
                     "x as .on_true or .on_false; the other of the two is dead",
                     {.types = "any", .gradient = Gradient::any_order}),
    row<ops::Merge>("merge", "primitives::merge(a, b)", "(S) x (S) -> (S)",
                    "the input that is not dead",
                    {.types = "any", .gradient = Gradient::any_order}),
    row<ops::Merge>("merge_with_index", "primitives::merge_with_index(a, b)",
                    "(S) x (S) -> (S), ()", "the input that is not dead, and its number",
                    {.types = "any", .gradient = Gradient::any_order}),
    row<ops::Merge>("merge", "primitives::merge(entered)", "(S) -> (S)",
                    "a loop's state; primitives::connect(state, next) gives it its back edge",
                    {.types = "any", .gradient = Gradient::any_order}),
    row<ops::Enter>("enter", "primitives::enter(x, frame)", "(S) -> (S)",
                    "x in the frame's first iteration",
                    {.types = "any", .gradient = Gradient::any_order}),
    row<ops::Enter>("enter_constant", "primitives::enter_constant(x, frame)", "(S) -> (S)",
                    "x in all iterations of the frame",
                    {.types = "any", .gradient = Gradient::any_order}),
    row<ops::LoopCond>("loop_cond", "primitives::loop_cond(predicate)", "() -> ()",
                       "whether there is another iteration",
                       {.types = "boolean", .gradient = Gradient::nothing}),
    row<ops::NextIteration>("next_iteration", "primitives::next_iteration(x)", "(S) -> (S)",
                            "x in the next iteration",
                            {.types = "any", .gradient = Gradient::any_order}),
    row<ops::Exit>("exit", "primitives::exit(x)", "(S) -> (S)",
                   "x of the last iteration, outside the frame",
                   {.types = "any", .gradient = Gradient::any_order}),
};
