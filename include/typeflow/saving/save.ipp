// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/checksum.hpp"
#include "typeflow/saving/extras.ipp"
#include "typeflow/saving/save.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

inline std::string version_text() {
  return std::to_string(TYPEFLOW_VERSION_MAJOR) + "." + std::to_string(TYPEFLOW_VERSION_MINOR) +
         "." + std::to_string(TYPEFLOW_VERSION_PATCH);
}

/// A variable to save.
struct SavedInput {
  std::string name;
  Type type;
  std::span<const std::byte> bytes;
};

/// The content of a file. The elements are not copied.
struct SavedParts {
  std::string header;  ///< begins with the eight bytes of its length
  std::vector<std::span<const std::byte>> data;
};

TYPEFLOW_COLD inline SavedParts saved_parts(std::vector<SavedInput>&& inputs, Metadata metadata,
                                            const std::string& source, bool checksum) {
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
  // Large elements first. So all are aligned, because the start of the data is.
  std::ranges::sort(in_order, {}, [](const Saved& x) {
    return std::pair(-x.type->bits, std::string_view(x.name));
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
  metadata.erase(std::string(checksum_key));
  if (checksum) metadata.emplace(checksum_key, no_checksum);
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
  if (checksum) {
    std::uint32_t sum = crc32_of(std::as_bytes(std::span(parts.header)));
    for (const std::span<const std::byte> bytes : parts.data) sum = crc32_of(bytes, sum);
    parts.header.replace(checksum_place(parts.header, no_checksum), no_checksum.size(),
                         checksum_text(sum));
  }
  return parts;
}

/// The content of the file that save() writes.
TYPEFLOW_COLD inline SavedParts saved_parts(const Variables& variables, const std::string& source,
                                            const SaveOptions& options) {
  std::vector<SavedInput> inputs;
  for (std::string& name : variables.names()) {
    if (options.only && !options.only(name)) continue;
    if (name.starts_with(state_prefix)) {
      throw Error(source, "no variable can be saved under the name " + in_quotes(name) +
                              ": names that begin with '" + std::string(state_prefix) +
                              "' are those of states");
    }
    const VariableEntry* const entry = variables.find(name);
    inputs.push_back({std::move(name), Type(entry->dtype, entry->dims), entry->bytes});
  }
  Metadata metadata = options.metadata;
  if (options.extras != nullptr) {
    for (const Extras::States& states : options.extras->states()) {
      for (const std::string& name : states.store->names()) {
        const VariableEntry* const entry = states.store->find(name);
        inputs.push_back(
            {state_scope(states) + name, Type(entry->dtype, entry->dims), entry->bytes});
      }
    }
    for (const Extras::Position& position : options.extras->positions()) {
      metadata.insert_or_assign(std::string(position_prefix) + position.name,
                                std::to_string(position.taken(position.sampler)) + "; " +
                                    position.settings(position.sampler));
    }
    for (const Extras::ObjectText& text : options.extras->texts()) {
      metadata.insert_or_assign(std::string(text_prefix) + text.name, text.state(text.object));
    }
  }
  metadata.insert_or_assign("typeflow.draws", std::to_string(variables.draws()));
  if (!options.model.empty()) metadata.insert_or_assign("typeflow.model", options.model);
  return saved_parts(std::move(inputs), std::move(metadata), source, options.checksum);
}

inline void write_parts(const SavedParts& parts, const std::filesystem::path& path) {
  ReplacingFile file(path);
  file.write(parts.header);
  for (const std::span<const std::byte> bytes : parts.data) file.write(bytes);
  file.finish();
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION void save(const Variables& variables, const std::string& path,
                                            const SaveOptions& options) {
  detail::write_parts(detail::saved_parts(variables, path, options), path);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
