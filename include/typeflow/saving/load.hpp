// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loads variables from a safetensors file. Checks everything before it changes the store.

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/extras.hpp"
#include "typeflow/saving/safetensors.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// What load() takes from a file.
struct LoadOptions {
  /// Loads only what file and store have in common: other variables keep their values, other
  /// tensors are ignored. An empty store gets every tensor that it can hold. If false, file and
  /// store must have the same variables.
  bool partial = false;
  /// Selects the variables to load, by name. Others keep their values, and the file need not have
  /// them. Without a function all are loaded.
  std::function<bool(std::string_view variable)> only = {};
  /// The file's tensor names by variable names, where the two differ. The file must have these
  /// tensors.
  std::map<std::string, std::string> names = {};
  /// States of sessions and positions of samplers to restore too. The file must have them, unless
  /// the load is partial. If null, those in the file are ignored.
  const Extras* extras = nullptr;
  /// Whether to verify the file's checksum, if it has one.
  bool checksum = true;
};

/// Loads variables from a safetensors file in memory, and returns the file's metadata. An empty
/// store gets the file's variables. Otherwise store and file must have the same variables, by name,
/// shape and element type, unless the options say otherwise. A load of all variables also sets the
/// number of the next random draw, if the file has it.
///
/// Throws Error if the file is damaged or does not fit; the sentence lists the mismatches. The
/// store is then unchanged. (If memory for new variables runs out, some may have been made.)
Metadata load(Variables& variables, std::span<const std::byte> bytes,
              const LoadOptions& options = {});

/// The same for a file on disk, which nothing may truncate meanwhile. save() replaces files as a
/// whole.
Metadata load(Variables& variables, const std::string& path, const LoadOptions& options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_SAVING
#include "typeflow/saving/load.ipp"
#endif
