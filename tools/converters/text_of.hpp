// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <string>

namespace tools {

/// A number as text, as short as it can be without a loss: "0.1".
template <class N>
std::string text_of(N number) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

}  // namespace tools
