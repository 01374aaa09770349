// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who owns the bytes that the elements of a tensor of strings are views of. Those of a feed are the
// caller's, those of a constant the program's. What kernels make is kept for as long as the run
// lasts. A variable's elements own their bytes, one by one.

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// The bytes of strings that a run makes: there until its results have been copied. For the thread
/// that calls kernels.
class Characters {
 public:
  /// Room for `size` bytes; throws std::bad_alloc.
  char* allocate(std::size_t size) {
    blocks_.emplace_back();
    blocks_.back().reset(new char[size]);
    return blocks_.back().get();
  }
  /// Takes over the bytes of a variable's element: what the run has read may still be views of
  /// them.
  void take(std::string_view owned) {
    if (owned.data() == nullptr) return;
    blocks_.emplace_back();
    blocks_.back().reset(const_cast<char*>(owned.data()));
  }
  /// Has room for `count` more that take() gets: then that cannot fail.
  void reserve(std::size_t count) { blocks_.reserve(blocks_.size() + count); }
  void clear() { blocks_.clear(); }

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
};

namespace detail {

inline void release(std::string_view owned) { delete[] owned.data(); }

/// Sets elements that own their bytes to copies of `values`, of which there are as many, and calls
/// dispose(old) for what they were. If memory runs out, nothing has changed.
template <class Dispose>
void replace_strings(std::span<std::string_view> elements, const std::string_view* values,
                     const Dispose& dispose) {
  std::vector<std::unique_ptr<char[]>> copies(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (values[i].empty()) continue;
    copies[i].reset(new char[values[i].size()]);
    std::memcpy(copies[i].get(), values[i].data(), values[i].size());
  }
  std::vector<std::size_t> sizes(elements.size());  // `values` may be the elements
  for (std::size_t i = 0; i < elements.size(); ++i) sizes[i] = values[i].size();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    dispose(std::exchange(elements[i], std::string_view(copies[i].get(), sizes[i])));
    copies[i].release();
  }
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
