// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/processor.hpp"
#include "typeflow/runtime/local_devices.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::int64_t host_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::int64_t>(pages) * size : 0;
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<LocalDevice> describe_devices(
    std::span<const MachineDevice> devices) {
  std::vector<LocalDevice> out;
  for (const MachineDevice& device : devices) {
    const bool is_host = device.memory->is_host();
    const std::string processor = is_host ? detail::processor_name() : "accelerator";
    const std::int64_t all = is_host ? detail::host_bytes() : 0;
    out.push_back({to_string(local_name(device.device)), device.device.kind,
                   device.memory_limit > 0 ? device.memory_limit : all,
                   device.description != nullptr ? std::string(device.description)
                   : processor.empty()           ? "processor"
                                                 : processor});
  }
  return out;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<int> visible_devices(std::string_view list, int count,
                                                                   std::string_view variable) {
  std::vector<int> out;
  if (list.empty()) return out;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string_view entry = list.substr(begin, end - begin);
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    begin = end + 1;
    int number = 0;
    const auto [stop, wrong] =
        std::from_chars(entry.data(), entry.data() + entry.size(), number, 10);
    const bool is_number = wrong == std::errc() && stop == entry.data() + entry.size();
    if (is_number && number == -1) return out;  // as in CUDA: no more
    const bool twice = std::find(out.begin(), out.end(), number) != out.end();
    if (is_number && number >= 0 && number < count && !twice) {
      out.push_back(number);
      continue;
    }
    if (variable.empty()) return out;
    throw Error(std::string(variable),
                count == 0 ? std::string("an empty list (the machine has no accelerators)")
                           : "different numbers from 0 to " + std::to_string(count - 1) +
                                 ", with commas between them",
                '"' + std::string(list) + '"');
  }
  return out;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<int> visible_devices(int count) {
  if (const char* const own = std::getenv("TYPEFLOW_VISIBLE_DEVICES"); own != nullptr) {
    return visible_devices(own, count, "TYPEFLOW_VISIBLE_DEVICES");
  }
  if (const char* const cuda = std::getenv("CUDA_VISIBLE_DEVICES"); cuda != nullptr) {
    return visible_devices(cuda, count, "");
  }
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(i);
  return all;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
