// SPDX-License-Identifier: Apache-2.0
#pragma once

// Models as C++.

#include <string>

#include "model.hpp"

namespace fuzz {

/// A model function of this name, to be pasted after `#include "fuzz/rebuild.hpp"`.
std::string as_function(const Model& model, const std::string& name);
/// The runs as comments.
std::string as_comments(const Model& model);

/// A model whose runs are calls that compile: no feed is left out, none is given twice, variables
/// are not fed.
Model compilable(Model model);
/// The models of some seeds as a program that includes fuzz/compiled.hpp: it runs each in a session
/// and compares; with `cuda` one that includes fuzz/compiled_cuda.hpp, whose sessions are on a
/// pretended GPU. Seeds of wild numbers and of large models are passed over.
std::string as_program(std::uint64_t first_seed, int count, bool cuda);

}  // namespace fuzz
