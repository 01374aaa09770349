// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files of pictures that the tools take: PNG, and JPEG if they were built with libjpeg-turbo.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#ifdef TYPEFLOW_TOOLS_JPEG
#include <typeflow/jpeg.hpp>
#endif
#include <typeflow/image.hpp>

namespace tools {

/// The format's name as records have it, "png" or "jpeg", by the extension of a file, in small
/// letters; empty if it is another one.
inline std::string_view picture_format(std::string_view extension) {
  if (extension == ".png") return "png";
#ifdef TYPEFLOW_TOOLS_JPEG
  if (extension == ".jpg" || extension == ".jpeg") return "jpeg";
#endif
  return "";
}
#ifdef TYPEFLOW_TOOLS_JPEG
inline constexpr const char* picture_formats = "a PNG or JPEG file";
#else
inline constexpr const char* picture_formats = "a PNG file";
#endif

/// Error if the bytes are no picture of this format that can be decoded.
inline typeflow::Image decoded_picture(std::string_view format, std::string_view bytes) {
  const std::span data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
#ifdef TYPEFLOW_TOOLS_JPEG
  if (format == "jpeg") return typeflow::decode_jpeg(data);
#else
  static_cast<void>(format);
#endif
  return typeflow::decode_image(data);
}

}  // namespace tools
