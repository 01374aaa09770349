// SPDX-License-Identifier: Apache-2.0
#pragma once

// Saving variables to a safetensors file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/files.hpp"
#include "typeflow/saving/safetensors.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// What save() puts into a file besides the variables.
struct SaveOptions {
  /// The model's name.
  std::string model = {};
  /// Further metadata. PyTorch's tools look for {"format", "pt"}.
  Metadata metadata = {};
  /// The variables that are meant, by name. All, if there is no function.
  std::function<bool(std::string_view variable)> only = {};
};

namespace detail {

inline std::string version_text() {
  return std::to_string(TYPEFLOW_VERSION_MAJOR) + "." + std::to_string(TYPEFLOW_VERSION_MINOR) +
         "." + std::to_string(TYPEFLOW_VERSION_PATCH);
}

/// A variable as it is saved.
struct SavedInput {
  std::string name;
  Type type;
  std::span<const std::byte> bytes;
};

/// What a file consists of: all but the elements, which stay where they are.
struct SavedParts {
  std::string header;  ///< with the eight bytes of its length
  std::vector<std::span<const std::byte>> data;
};

TYPEFLOW_COLD inline SavedParts saved_parts(std::vector<SavedInput>&& inputs, Metadata metadata,
                                            const std::string& source) {
  struct Saved {
    std::string name;
    Dims dims;
    std::span<const std::byte> bytes;
    const SavedType* type;
  };
  std::vector<Saved> in_order;
  for (SavedInput& x : inputs) {
    const auto type = std::ranges::find(saved_types, x.type.dtype, &SavedType::dtype);
    if (x.type.dtype == DType::string || type == std::end(saved_types)) {
      throw Error(source, "the variable " + to_string(x.type.dtype, x.type.dims) + " " +
                              in_quotes(x.name) +
                              " has elements that safetensors files can't hold");
    }
    if (x.name == "__metadata__") {
      throw Error(source, "no variable of a safetensors file can have the name '__metadata__'");
    }
    in_order.push_back({std::move(x.name), x.type.dims, x.bytes, type});
  }
  // Large elements first: so all are aligned, as the data itself is.
  std::ranges::sort(in_order, {}, [](const Saved& x) {
    return std::pair(-x.type->size, std::string_view(x.name));
  });

  SavedParts parts;
  nlohmann::json header = nlohmann::json::object();
  std::uint64_t end = 0;
  for (const Saved& x : in_order) {
    const std::uint64_t begin = end;
    end += x.bytes.size();
    const std::span<const Extent> shape(x.dims.extent, static_cast<std::size_t>(x.dims.rank));
    header[x.name] = {{"dtype", x.type->name},
                      {"shape", std::vector(shape.begin(), shape.end())},
                      {"data_offsets", {begin, end}}};
    parts.data.push_back(x.bytes);
  }
  metadata.try_emplace("format", "typeflow");
  metadata.insert_or_assign("typeflow.version", version_text());
  header["__metadata__"] = std::map<std::string, std::string>(metadata.begin(), metadata.end());

  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error(source, "the name of a variable, or its metadata, is no text in UTF-8");
  }
  constexpr std::size_t alignment = 64;
  while ((sizeof(std::uint64_t) + text.size()) % alignment != 0) text += ' ';
  if (text.size() > max_header_bytes) {
    throw Error(source, "the variables' names and shapes need a header of " +
                            std::to_string(text.size()) + " bytes, more than the format allows");
  }
  const std::uint64_t length = text.size();
  parts.header.assign(reinterpret_cast<const char*>(&length), sizeof length);
  parts.header += text;
  return parts;
}

/// What save() writes.
TYPEFLOW_COLD inline SavedParts saved_parts(const Variables& variables, const std::string& source,
                                            const SaveOptions& options) {
  std::vector<SavedInput> inputs;
  for (std::string& name : variables.names()) {
    if (options.only && !options.only(name)) continue;
    const VariableEntry* const entry = variables.find(name);
    inputs.push_back({std::move(name), Type(entry->dtype, entry->dims), entry->bytes});
  }
  Metadata metadata = options.metadata;
  metadata.insert_or_assign("typeflow.draws", std::to_string(variables.draws()));
  if (!options.model.empty()) metadata.insert_or_assign("typeflow.model", options.model);
  return saved_parts(std::move(inputs), std::move(metadata), source);
}

inline void write_parts(const SavedParts& parts, const std::filesystem::path& path) {
  ReplacingFile file(path);
  file.write(parts.header);
  for (const std::span<const std::byte> bytes : parts.data) file.write(bytes);
  file.finish();
}

}  // namespace detail

/// Saves variables, and the number of the next draw of random numbers, to a safetensors file.
/// A file of this name is replaced as a whole: it is written under another name in the same folder
/// first, and whatever happens until then, the old one stays.
///
/// Throws Error if the file cannot be written, or a variable that is meant is of strings or
/// complex<double>.
/// Nothing may assign the variables meanwhile.
TYPEFLOW_COLD inline void save(const Variables& variables, const std::filesystem::path& path,
                               const SaveOptions& options = {}) {
  detail::write_parts(detail::saved_parts(variables, path.string(), options), path);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
