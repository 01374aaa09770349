// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// "AMD EPYC 7B13"; empty where the system doesn't tell.
TYPEFLOW_COLD inline std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return {};
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
