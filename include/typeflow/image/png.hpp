// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes PNG files. A file is complete or absent: it is written to a temporary name beside it, then
// renamed.

#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/image/image.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The bytes of a PNG file of a grey or RGB image.
/// Throws Error for other than 1 or 3 channels, or if the pixels do not fit height and width.
std::vector<std::uint8_t> encode_png(const Image& image);

/// Writes a grey or RGB image as a PNG file, replacing an existing one. Throws Error, with the
/// file's name, if it cannot be written.
void write_png(const std::string& path, const Image& image);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_IMAGE
#include "typeflow/image/png.ipp"
#endif
