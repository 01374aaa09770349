// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/cpu/call.hpp"
#include "typeflow/saving/kernels.hpp"
#include "typeflow/saving/safetensors.hpp"
#include "typeflow/saving/save.ipp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

namespace saving {

/// The path in a scalar of strings. Error if it is empty or has a zero byte.
inline std::filesystem::path path_of(const Tensor& x) {
  return detail::checked_path(*static_cast<const std::string_view*>(x.data));
}
inline Type type_of(const Tensor& x) {
  Dims dims{};
  for (const std::int64_t extent : x.extents) dims.append(extent);
  return Type(x.dtype, dims);
}
inline std::size_t bytes_of(const Tensor& x) {
  return static_cast<std::size_t>(x.size() * size_of(x.dtype));
}

/// The elements of a tensor of the file. Error if it is missing or of another type.
inline std::span<const std::byte> find(const detail::SavedFile& file, std::string_view name,
                                       const Type& type, const std::string& source) {
  const std::string text = detail::to_string(type.dtype, type.dims);
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) {
    throw Error(source, "it has no tensor " + text + " " + detail::in_quotes(name));
  }
  const detail::SavedTensor& saved = found->second;
  if (!saved.fits_variable() || !(Type(saved.dtype(), saved.dims()) == type)) {
    throw Error(source + ": tensor " + detail::in_quotes(name), text, saved.text());
  }
  const std::span<const std::byte> bytes = file.bytes(saved);
  if (type.dtype == DType::boolean &&
      std::ranges::any_of(bytes, [](std::byte b) { return b > std::byte{1}; })) {
    throw Error(source,
                "tensor " + detail::in_quotes(name) + " has booleans that are neither 0 nor 1");
  }
  return bytes;
}

}  // namespace saving

TYPEFLOW_COLD TYPEFLOW_DEFINITION void kernel_of<ops::SaveVariables>::save(const Tensor* in,
                                                                           std::size_t count) {
  const auto path = saving::path_of(in[0]);
  const auto* const names = static_cast<const std::string_view*>(in[1].data);
  std::vector<detail::SavedInput> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& x = in[i + 2];
    inputs.push_back({std::string(names[i]),
                      saving::type_of(x),
                      {static_cast<const std::byte*>(x.data), saving::bytes_of(x)}});
  }
  detail::write_parts(detail::saved_parts(std::move(inputs), {}, path.string(), true), path);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void kernel_of<ops::RestoreTensor>::restore(const Tensor* in,
                                                                              const Tensor& y) {
  const auto path = saving::path_of(in[0]);
  const std::string source = path.string();
  const detail::MappedFile file(path);
  const detail::SavedFile saved = detail::parse_safetensors(file.bytes(), source);
  const std::string_view name = *static_cast<const std::string_view*>(in[1].data);
  const auto bytes = saving::find(saved, name, saving::type_of(y), source);
  if (!bytes.empty()) std::memcpy(y.data, bytes.data(), bytes.size());
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
