// SPDX-License-Identifier: Apache-2.0
#pragma once

// Saves variables to a safetensors file.

#include <functional>
#include <string>
#include <string_view>

#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/extras.hpp"
#include "typeflow/saving/safetensors.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// What save() puts into a file.
struct SaveOptions {
  /// The model's name.
  std::string model = {};
  /// Further metadata. PyTorch's tools look for {"format", "pt"}.
  Metadata metadata = {};
  /// Selects the variables to save, by name. Without a function all are saved.
  std::function<bool(std::string_view variable)> only = {};
  /// States of sessions and positions of samplers to save too.
  const Extras* extras = nullptr;
  /// Whether the metadata gets a checksum of the file, which load() verifies.
  bool checksum = true;
};

/// Saves variables, and the number of the next random draw, to a safetensors file. An existing file
/// is replaced as a whole: the new one is first written under another name in the same folder. The
/// old one stays until the new one is complete.
///
/// Throws Error if the file cannot be written, or if a selected variable is of strings or
/// complex<double>. Nothing may assign the variables meanwhile.
void save(const Variables& variables, const std::string& path, const SaveOptions& options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_SAVING
#include "typeflow/saving/save.ipp"
#endif
