// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row control_rows[] = {
    row<ops::Result, ops::Branch>("cond", "cond(predicate, yes, no)", "() x f x f -> state",
                                  "what yes() gives where the predicate is true, else no()",
                                  {.types = "any"}),
    row<ops::Result, ops::Branch>("switch_case", "switch_case(index, f...)", "() x f... -> state",
                                  "what function number `index` gives; outside, the last",
                                  {.types = "any"}),
    row<ops::Result, ops::Loop>("while_loop", "while_loop(condition, body, init, options)",
                                "f x f x state -> state",
                                "body(state) while condition(state); at most .max_iterations, "
                                "without which it has no gradient",
                                {.types = "any"}),
    row<ops::Result, ops::Loop>("fori_loop", "fori_loop(begin, end, body, init, options)",
                                "() x () x f x state -> state",
                                "body(i, state) for i = begin, ..., end - 1; options as of "
                                "while_loop, if the bounds are tensors",
                                {.types = "any"}),
    row<ops::Loop>("fori_loop", "fori_loop(g, begin, end, body)", "() x () x f -> effect",
                   "body(i) for i = begin, ..., end - 1",
                   {.types = "effects", .gradient = Gradient::no_tensors}),
    row<ops::Result, ops::Loop>(
        "scan", "scan(f, init, xs, options)", "f x state x (N,S) -> {state, (N,R)}",
        "f(state, slice) along axis 0 gives {state, result}; .reverse from the last slice",
        {.types = "any"}),
    row<ops::Result, ops::Loop>("map", "map(f, xs)", "f x (N,S) -> (N,R)",
                                "f of each slice along axis 0", {.types = "any"}),
    row<ops::Result, ops::Loop>("fold_left", "fold_left(f, init, xs)", "f x state x (N,S) -> state",
                                "the last state of f(state, slice) along axis 0", {.types = "any"}),
    row<ops::Result, ops::Checkpoint>(
        "checkpointed", "checkpointed(f, arguments...)", "f x state... -> state",
        "f(arguments...), which its gradient computes again", {.types = "any"}),
};
