// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/host.hpp"
#include "typeflow/saving/operations.hpp"

inline constexpr Row state_rows[] = {
    row<ops::Placeholder>("placeholder", "placeholder<T, D...>(g, name)", "() -> (D...)",
                          "a tensor that each run feeds", {.types = "any"}),
    row<ops::Placeholder>("placeholder", "placeholder<T>(g, name, value)", "() -> ()",
                          "a scalar with a default value for runs that do not feed it",
                          {.types = "any"}),
    row<ops::Constant>("constant", "constant<T>(g, value)", "() -> ()", "a number",
                       {.types = "any"}),
    row<ops::ConstantArray>("constant", "constant<T, D...>(g, {...})", "() -> (D...)",
                            "numbers in row-major order", {.types = "any"}),
    row<ops::Variable>("variable", "variable<T, D...>(g, name, init)", "() -> (D...)",
                       "a tensor that outlives runs; its value when the run starts",
                       {.types = "any"}),
    row<ops::Variable>("fresh_variable", "fresh_variable<T, D...>(g, name, init)", "() -> (D...)",
                       "a new variable, even if the name exists: the name is made unique",
                       {.types = "any"}),
    row<ops::Variable>("state", "state<T, D...>(g, name, init)", "() -> (D...)",
                       "a variable of the session, which is not in the store", {.types = "any"}),
    row<ops::Read>("read", "v.read()", "(S) -> (S)",
                   "the variable's value at this point of the model's statements",
                   {.infallible = "a variable can always be read"}),
    row<ops::Assign, ops::AssignStrings>("assign", "assign(v, x)", "(S) x (S) -> effect",
                                         "v := x; x broadcasts to v", {.types = "any"}),
    row<ops::Assign, ops::Add>("assign_add", "assign_add(v, x)", "(S) x (S) -> effect",
                               "v := v + x"),
    row<ops::Assign, ops::Sub>("assign_sub", "assign_sub(v, x)", "(S) x (S) -> effect",
                               "v := v - x"),
    row<ops::Assign, ops::Mul>("assign_mul", "assign_mul(v, x)", "(S) x (S) -> effect",
                               "v := v * x"),
    row<ops::AssignSlice>("assign_slice", "assign_slice<...>(v, x)", "(S) x (S') -> effect",
                          "v[...] := x in place, for the part that slice<...>(v) reads"),
    row<ops::Group>("group", "group(effects...)", "effects -> effect",
                    "one effect of all these effects; also a + b", {.types = "effects"}),
    row<ops::After>("after", "after(effect, x)", "(S) -> (S)", "x, once the effect has happened",
                    {.infallible = "takes every effect and every tensor"}),
    row<ops::Check>("check", "check(condition, \"text {}\", x...)", "(S) x (S')... -> effect",
                    "the run fails if an element of the condition is false; the message shows the "
                    "first elements of x...",
                    {.types = "bool; x: any", .gradient = Gradient::no_tensors}),
    row<ops::HostFunction>(
        "host", "host<Result<T, D...>...>(f, x...)", "(S)... -> (D...)...",
        "the results of a C++ function that a run calls; without results an effect; "
        "tf::differentiable(f, df) gives a first gradient; in typeflow/host.hpp",
        {.types = "any"}),
    row<ops::SaveVariables>("save_variables", "save_variables(path, {v...})",
                            "() x (S)... -> effect",
                            "writes variables to a safetensors file; in typeflow/saving.hpp",
                            {.types = "any but strings", .gradient = Gradient::no_tensors}),
    row<ops::RestoreTensor>("restore_tensor", "restore_tensor<T, D...>(path, name)", "() -> (D...)",
                            "a tensor from a safetensors file; in typeflow/saving.hpp",
                            {.types = "any but strings"}),
    row<ops::Assign, ops::RestoreTensor>(
        "restore_variable", "restore_variable(path, v)", "() x (S) -> effect",
        "v := the tensor with its name in a safetensors file; in typeflow/saving.hpp",
        {.types = "any but strings"}),
    row<ops::Print>("print", "print(x, name)", "(S) -> (S)",
                    "x; a run that computes it prints a line about x",
                    {.types = "any", .infallible = "takes every tensor"}),
};
