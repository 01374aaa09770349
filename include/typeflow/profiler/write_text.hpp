// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes the files of the profiler.

#include <string>

#include "typeflow/core/files.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Replaces a file as a whole.
TYPEFLOW_COLD inline void write_text(const std::string& text, const std::string& path) {
  ReplacingFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
