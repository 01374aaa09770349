// SPDX-License-Identifier: Apache-2.0
#pragma once

// What fed tensors and result buffers tell about the symbols, and the checks of both.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/symbol.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/run_arguments.hpp"
#include "typeflow/runtime/variables.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A variable of a program: its entry in a store. Null if no step uses it and the engine does not
/// open unused variables.
struct OpenVariable {
  Variables::Entry* entry;
  VariableTable* store;
};

// Feeds.

/// "[100, 784]"
TYPEFLOW_COLD inline std::string text_of(int rank, const std::int64_t* extents) {
  std::string text = "[";
  for (int i = 0; i < std::min(rank, max_rank); ++i) {
    text += sentence({i > 0 ? ", " : "", extents[i]});
  }
  text += rank > max_rank ? ", ...]" : "]";
  return text;
}

inline const Type& type_of(const ir::ProgramView& program, const FedTensor& fed) {
  return program.types[program.names[fed.name].type];
}

/// 'feed "x"', where `what` is "feed".
TYPEFLOW_COLD inline std::string text_of(const char* what, const ir::ProgramView& program,
                                         Id name) {
  Message text{};
  text << what << " \"";
  print_name(text, program, name);
  text << '"';
  return std::string(text.view());
}

[[noreturn]] TYPEFLOW_COLD inline void wrong_feed(const ir::ProgramView& program,
                                                  const FedTensor& fed,
                                                  const std::string& expected_more = {}) {
  const Type& type = type_of(program, fed);
  std::string given(name_of(fed.dtype));
  if (fed.rank < 0) {
    given += sentence({", ", fed.count, " elements"});
  } else {
    given += sentence({" ", text_of(fed.rank, fed.extents)});
  }
  throw Error(text_of("feed", program, fed.name),
              sentence({to_string(type.dtype, type.dims), expected_more}), given);
}

/// The symbols' values according to the feeds, and the feed that told each.
class FedSymbols {
 public:
  FedSymbols(const ir::ProgramView& program, std::span<const FedTensor> feeds)
      : program_(program), feeds_(feeds) {}

  /// Error if the feeds disagree, or leave a symbol open. A symbol that no feed has is 1.
  SymbolSizes sizes() {
    // A product of symbols tells one of them when other feeds have told the others.
    bool open = true;
    for (bool told = true; told && open;) {
      told = false;
      open = false;
      for (const FedTensor& fed : feeds_) {
        const KnownSymbols before = known_;
        if (!take(fed, known_)) wrong(fed);
        for (int i = 0; i < max_symbols; ++i) {
          if (before.knows(i) || !known_.knows(i)) continue;
          from_[i] = &fed;
          told = true;
        }
        open |= !known_.knows_all(count_of(type_of(program_, fed).dims).powers);
      }
    }
    if (open) refuse_open();
    return known_.sizes();
  }

 private:
  using Found = KnownSymbols::Found;

  /// Whether a feed fits its type, with the symbols known so far.
  bool take(const FedTensor& fed, KnownSymbols& known) const {
    const Dims& dims = type_of(program_, fed).dims;
    if (fed.rank < 0) return known.take(count_of(dims), fed.count) != Found::wrong;
    if (fed.rank != dims.rank) return false;
    for (int i = 0; i < dims.rank; ++i) {
      if (known.take(count_of(dims.extent[i]), fed.extents[i]) == Found::wrong) return false;
    }
    return true;
  }

  [[noreturn]] TYPEFLOW_COLD void wrong(const FedTensor& fed) const {
    if (KnownSymbols alone; !take(fed, alone)) wrong_feed(program_, fed);
    std::string others;
    const int powers = count_of(type_of(program_, fed).dims).powers;
    for (int i = 0; i < max_symbols; ++i) {
      if (power_of(i, powers) == 0 || from_[i] == nullptr || from_[i] == &fed) continue;
      others += sentence({others.empty() ? " with " : ", ", symbol_names[i], " = ", known_[i],
                          ", as ", text_of("feed", program_, from_[i]->name), " has"});
    }
    wrong_feed(program_, fed, others);
  }
  /// A symbol that is still open may be 1, unless a feed contradicts, as with [0, time].
  TYPEFLOW_COLD void refuse_open() const {
    for (const FedTensor& fed : feeds_) {
      const Dims dims = resolve(type_of(program_, fed).dims, known_.sizes());
      bool fits = count_of(dims).coefficient == fed.count;
      for (int i = 0; i < fed.rank; ++i) fits = fits && dims.extent[i] == fed.extents[i];
      if (fits) continue;
      wrong_feed(program_, fed,
                 " with a shape, or after another feed, that says what each symbol is");
    }
  }

  const ir::ProgramView& program_;
  std::span<const FedTensor> feeds_;
  KnownSymbols known_;
  const FedTensor* from_[max_symbols] = {};
};

/// "batch = 3, time = 7", for the symbols in these digits.
TYPEFLOW_COLD inline std::string text_of(const SymbolSizes& sizes, int powers) {
  std::string text;
  for (int i = 0; i < max_symbols; ++i) {
    if (power_of(i, powers) == 0) continue;
    text += sentence({text.empty() ? "" : ", ", symbol_names[i], " = ", sizes.of[i]});
  }
  return text;
}

// Buffers of fetches.

/// A buffer's place in memory.
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
  const std::string what = sentence({"into \"", name, "\""});
  if (rank >= 0) throw Error(what, to_string(type.dtype, dims), text_of(rank, extents));
  throw Error(
      what,
      sentence({count_of(dims).coefficient, " elements of ", to_string(type.dtype, type.dims)}),
      sentence({count}));
}

[[noreturn]] TYPEFLOW_COLD inline void refuse_buffer(const ir::ProgramView& program, Id name,
                                                     const char* what, Id other) {
  Message sentence{};
  sentence << "the buffer overlaps " << what << " \"";
  print_name(sentence, program, other);
  sentence << "\"";
  throw Error(text_of("into", program, name), std::string(sentence.view()));
}

/// Refuses buffers that overlap each other or a variable. Returns whether one overlaps a fed
/// tensor: computing in it would change what is still to be read. `slot_bytes` are the sizes of the
/// program's slots in this run.
inline bool check_buffers(const ir::ProgramView& program,
                          const std::vector<OpenVariable>& variables,
                          const std::int64_t* slot_bytes, std::span<const FedTensor> feeds,
                          std::span<const FetchBuffer> fetches) {
  const auto bytes_of = [&](const FetchBuffer& fetch) {
    return BufferBytes{fetch.data, slot_bytes[program.names[fetch.name].slot]};
  };
  bool aside = false;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const BufferBytes buffer = bytes_of(fetches[i]);
    for (const FedTensor& fed : feeds) {
      aside |= buffer.overlaps({fed.data, fed.count * size_of(fed.dtype)});
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (!buffer.overlaps(bytes_of(fetches[k]))) continue;
      refuse_buffer(program, fetches[i].name, "that of", fetches[k].name);
    }
    for (int k = 0; k < program.variables.size; ++k) {
      const Variables::Entry* const entry = variables[static_cast<std::size_t>(k)].entry;
      if (entry == nullptr || !buffer.overlaps({entry->bytes.data(), std::ssize(entry->bytes)}))
        continue;
      refuse_buffer(program, fetches[i].name, "the memory of variable", program.variables[k].name);
    }
  }
  return aside;
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
