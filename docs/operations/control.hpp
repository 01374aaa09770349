// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row control_rows[] = {
    row<ops::Result, ops::Branch>("cond", "cond(predicate, yes, no)", "() x f x f -> state",
                                  "the result of yes() if the predicate is true, else of no()",
                                  {.types = "any"}),
    row<ops::Result, ops::Branch>(
        "switch_case", "switch_case(index, f...)", "() x f... -> state",
        "the result of function number `index`; out of range, of the last", {.types = "any"}),
    row<ops::Result, ops::Loop>("while_loop", "while_loop(condition, body, init, options)",
                                "f x f x state -> state",
                                "state = body(state) while condition(state); at most "
                                ".max_iterations times, without which it has no gradient",
                                {.types = "any"}),
    row<ops::Result, ops::Loop>("fori_loop", "fori_loop(begin, end, body, init, options)",
                                "() x () x f x state -> state",
                                "state = body(i, state) for i = begin, ..., end - 1; with tensors "
                                "as bounds it takes the options of while_loop",
                                {.types = "any"}),
    row<ops::Loop>("fori_loop", "fori_loop(g, begin, end, body)", "() x () x f -> effect",
                   "body(i) for i = begin, ..., end - 1",
                   {.types = "effects", .gradient = Gradient::no_tensors}),
    row<ops::Result, ops::Loop>("scan", "scan(f, init, xs, options)",
                                "f x state x (N,S) -> {state, (N,R)}",
                                "f(state, slice) gives {state, result} for each slice along axis "
                                "0; .reverse begins with the last slice",
                                {.types = "any"}),
    row<ops::Result, ops::Loop>("map", "map(f, xs)", "f x (N,S) -> (N,R)",
                                "f(slice) of each slice along axis 0", {.types = "any"}),
    row<ops::Result, ops::Loop>("fold_left", "fold_left(f, init, xs)", "f x state x (N,S) -> state",
                                "the last state of state = f(state, slice) along axis 0",
                                {.types = "any"}),
    row<ops::Result, ops::Checkpoint>(
        "checkpointed", "checkpointed(f, arguments...)", "f x state... -> state",
        "f(arguments...), which the gradient computes again", {.types = "any"}),
};
