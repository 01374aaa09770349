// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

inline constexpr Row state_rows[] = {
    row<ops::Placeholder>("placeholder", "placeholder<T, D...>(g, name)", "() -> (D...)",
                          "a tensor that each run feeds", {.types = "any"}),
    row<ops::Placeholder>("placeholder", "placeholder<T>(g, name, value)", "() -> ()",
                          "a scalar with a value for the runs that don't feed it",
                          {.types = "any"}),
    row<ops::Constant>("constant", "constant<T>(g, value)", "() -> ()", "a number",
                       {.types = "any"}),
    row<ops::ConstantArray>("constant", "constant<T, D...>(g, {...})", "() -> (D...)",
                            "numbers in row-major order", {.types = "any"}),
    row<ops::Variable>("variable", "variable<T, D...>(g, name, init)", "() -> (D...)",
                       "a tensor that outlives runs; its value when the run starts",
                       {.types = "any"}),
    row<ops::Variable>("fresh_variable", "fresh_variable<T, D...>(g, name, init)", "() -> (D...)",
                       "always a new one, its name made unique", {.types = "any"}),
    row<ops::Variable>("state", "state<T, D...>(g, name, init)", "() -> (D...)",
                       "a variable of the session, not of the store", {.types = "any"}),
    row<ops::Read>("read", "v.read()", "(S) -> (S)",
                   "the variable's value at this point of the model's statements"),
    row<ops::Assign>("assign", "assign(v, x)", "(S) x (S) -> effect", "v := x; x broadcasts to v",
                     {.types = "any"}),
    row<ops::Assign, ops::Add>("assign_add", "assign_add(v, x)", "(S) x (S) -> effect",
                               "v := v + x"),
    row<ops::Assign, ops::Sub>("assign_sub", "assign_sub(v, x)", "(S) x (S) -> effect",
                               "v := v - x"),
    row<ops::Assign, ops::Mul>("assign_mul", "assign_mul(v, x)", "(S) x (S) -> effect",
                               "v := v * x"),
    row<ops::Group>("group", "group(effects...)", "effects -> effect",
                    "all of several effects; also a + b", {.types = "effects"}),
    row<ops::After>("after", "after(effect, x)", "(S) -> (S)", "x, once the effect has happened"),
    row<ops::Print>("print", "print(x, name)", "(S) -> (S)",
                    "x; a run that computes it prints a line about it", {.types = "any"}),
};
