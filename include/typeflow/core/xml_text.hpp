// SPDX-License-Identifier: Apache-2.0
#pragma once

// Texts in XML, such as those of SVG drawings.

#include <string>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// A text for an element or a quoted attribute. Control characters, most of which XML can't have,
/// become spaces.
TYPEFLOW_COLD inline std::string xml_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
