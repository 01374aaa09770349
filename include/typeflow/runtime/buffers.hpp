// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a run is given, as the engine sees it: tensors that are fed, and buffers for what is
// fetched. Here is what they say of the batch, and what can be wrong with them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/variables.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// A fed tensor, as the engine sees it. What no step of the program reads is fed all the same: it
/// may be what gives the batch.
struct FedTensor {
  Id name;         ///< in ProgramView::names
  Id placeholder;  ///< in ProgramView::placeholders; none if the program does not read it
  const void* data;
  DType dtype;
  std::int64_t count;
  int rank;  ///< -1: no shape was given
  const std::int64_t* extents;
};

/// Where a run's result goes.
struct FetchTarget {
  Id name;  ///< in ProgramView::names
  void* data;
};

namespace detail {

/// A variable of a program: its place in a store.
struct OpenVariable {
  Variables::Entry* entry;
};

// Feeds.

/// The batch that makes `coefficient * batch^power` equal to count; -1 if there is none.
inline std::int64_t solve_batch(const Count& size, std::int64_t count) {
  if (size.coefficient == 0) return count == 0 ? 0 : -1;
  if (count % size.coefficient != 0) return -1;
  const std::int64_t rest = count / size.coefficient;
  if (size.power == 1) return rest;
  auto root = static_cast<std::int64_t>(
      std::llround(std::pow(static_cast<double>(rest), 1.0 / size.power)));
  return Count{1, size.power}.resolve(root) == rest ? root : -1;
}

/// "[100, 784]"
inline std::string text_of(int rank, const std::int64_t* extents) {
  std::string text = "[";
  for (int i = 0; i < std::min(rank, max_rank); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(extents[i]);
  }
  return text + (rank > max_rank ? ", ...]" : "]");
}

inline const Type& type_of(const ir::ProgramView& program, const FedTensor& fed) {
  return program.types[program.names[fed.name].type];
}

[[noreturn]] TYPEFLOW_COLD inline void wrong_feed(const ir::ProgramView& program,
                                                  const FedTensor& fed,
                                                  const std::string& expected_more = {}) {
  Message name{};
  print_name(name, program, fed.name);
  const Type& type = type_of(program, fed);
  std::string given(name_of(fed.dtype));
  if (fed.rank < 0) {
    given += ", " + std::to_string(fed.count) + " elements";
  } else {
    given += " " + text_of(fed.rank, fed.extents);
  }
  throw Error("feed \"" + std::string(name.view()) + "\"",
              to_string(type.dtype, type.dims) + expected_more, given);
}

/// The batch that the feeds agree on; 1 if none has it.
inline std::int64_t batch_of(const ir::ProgramView& program, std::span<const FedTensor> feeds) {
  std::int64_t batch_size = -1;
  const FedTensor* from = nullptr;
  for (const FedTensor& fed : feeds) {
    const Dims& dims = type_of(program, fed).dims;
    const Count size = count_of(dims);
    std::int64_t found = -1;
    if (fed.rank < 0) {
      if (size.power == 0) {
        if (fed.count != size.coefficient) wrong_feed(program, fed);
        continue;
      }
      found = solve_batch(size, fed.count);
      if (found < 0) wrong_feed(program, fed);
    } else {
      if (fed.rank != dims.rank) wrong_feed(program, fed);
      for (int i = 0; i < dims.rank; ++i) {
        const Extent e = dims.extent[i];
        const std::int64_t given = fed.extents[i];
        if (!is_batch(e)) {
          if (given != e) wrong_feed(program, fed);
        } else if (given < 0 || given % -e != 0 || (found >= 0 && given / -e != found)) {
          wrong_feed(program, fed);
        } else {
          found = given / -e;
        }
      }
      if (size.power == 0) continue;
    }
    if (batch_size >= 0 && found != batch_size) {
      Message other{};
      print_name(other, program, from->name);
      wrong_feed(program, fed,
                 " with batch = " + std::to_string(batch_size) + ", as feed \"" +
                     std::string(other.view()) + "\" has");
    }
    batch_size = found;
    from = &fed;
  }
  return batch_size < 0 ? 1 : batch_size;
}

// Buffers of fetches.

/// The bytes of a named tensor.
inline std::int64_t bytes_of(const ir::ProgramView& program, Id name, std::int64_t batch_size) {
  const Type& type = program.types[program.names[name].type];
  return checked_product(count_of(type.dims).resolve(batch_size), size_of(type.dtype));
}

/// Where a buffer is.
struct BufferBytes {
  const void* data;
  std::int64_t size;
  bool overlaps(const BufferBytes& other) const {
    const auto a = reinterpret_cast<std::uintptr_t>(data);
    const auto b = reinterpret_cast<std::uintptr_t>(other.data);
    if (size == 0 || other.size == 0) return false;
    return a < b ? b - a < static_cast<std::uintptr_t>(size)
                 : a - b < static_cast<std::uintptr_t>(other.size);
  }
};

[[noreturn]] TYPEFLOW_COLD inline void refuse_shape(std::string_view name, const Dims& dims,
                                                    const Type& type, std::int64_t count, int rank,
                                                    const std::int64_t* extents) {
  const std::string what = "into \"" + std::string(name) + "\"";
  if (rank >= 0) throw Error(what, to_string(type.dtype, dims), text_of(rank, extents));
  throw Error(what,
              std::to_string(count_of(dims).coefficient) + " elements of " +
                  to_string(type.dtype, type.dims),
              std::to_string(count));
}

[[noreturn]] TYPEFLOW_COLD inline void refuse_buffer(const ir::ProgramView& program, Id name,
                                                     const char* what, Id other) {
  Message fetch{};
  print_name(fetch, program, name);
  Message sentence{};
  sentence << "the buffer overlaps " << what << " \"";
  print_name(sentence, program, other);
  sentence << "\"";
  throw Error("into \"" + std::string(fetch.view()) + "\"", std::string(sentence.view()));
}

/// Refuses buffers that overlap each other or a variable. Whether one overlaps a fed tensor: then
/// what is computed there would change what is still to be read.
inline bool check_buffers(const ir::ProgramView& program,
                          const std::vector<OpenVariable>& variables, std::int64_t batch_size,
                          std::span<const FedTensor> feeds, std::span<const FetchTarget> fetches) {
  bool aside = false;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const BufferBytes buffer{fetches[i].data, bytes_of(program, fetches[i].name, batch_size)};
    for (const FedTensor& fed : feeds) {
      aside |= buffer.overlaps({fed.data, bytes_of(program, fed.name, batch_size)});
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (!buffer.overlaps({fetches[k].data, bytes_of(program, fetches[k].name, batch_size)}))
        continue;
      refuse_buffer(program, fetches[i].name, "that of", fetches[k].name);
    }
    for (int k = 0; k < program.variables.size; ++k) {
      const std::span<std::byte> variable = variables[static_cast<std::size_t>(k)].entry->bytes;
      if (!buffer.overlaps({variable.data(), static_cast<std::int64_t>(variable.size())})) {
        continue;
      }
      refuse_buffer(program, fetches[i].name, "the memory of variable", program.variables[k].name);
    }
  }
  return aside;
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
