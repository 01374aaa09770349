// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bytes of strings in items. An element of a queue owns the bytes of its strings: one block for
// each item. A dequeue hands the block over to the run, which keeps it until its results have been
// copied. See core/characters.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "typeflow/core/characters.hpp"
#include "typeflow/queues/item.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The bytes of an item's strings, one string after the other; null if all are empty.
using ItemCharacters = std::unique_ptr<char[]>;

/// Reads string `i` of an item, which need not be aligned.
inline std::string_view string_at(const std::byte* strings, std::int64_t i) {
  std::string_view out;
  std::memcpy(&out, strings + i * static_cast<std::int64_t>(sizeof out), sizeof out);
  return out;
}

/// Copies the bytes of `count` strings into one block.
inline ItemCharacters copy_characters(const std::byte* strings, std::int64_t count) {
  std::size_t size = 0;
  for (std::int64_t i = 0; i < count; ++i) size += string_at(strings, i).size();
  if (size == 0) return nullptr;
  ItemCharacters block(new char[size]);
  char* to = block.get();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string_view from = string_at(strings, i);
    if (from.empty()) continue;  // it may have no address
    std::memcpy(to, from.data(), from.size());
    to += from.size();
  }
  return block;
}

/// Lets strings refer to their copies in a block of copy_characters. Empty strings, such as those
/// of padding, may stand between them.
inline void refer_to(const char* block, std::byte* strings, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t size = string_at(strings, i).size();
    const std::string_view copy = size == 0 ? std::string_view() : std::string_view(block, size);
    std::memcpy(strings + i * static_cast<std::int64_t>(sizeof copy), &copy, sizeof copy);
    if (size != 0) block += size;
  }
}

/// Hands a block over. Characters::reserve makes it unable to fail.
inline void hand_over(ItemCharacters& block, Characters& to) {
  to.take(std::string_view(block.release(), 0));
}

/// How many items are strings.
inline std::size_t string_items(const std::vector<ItemLayout>& items) {
  std::size_t count = 0;
  for (const ItemLayout& item : items) count += item.is_string ? 1 : 0;
  return count;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
