// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads and writes JPEG files, grey or RGB, baseline or progressive, of 8 bits.
//
//   const tf::Image photo = tf::read_jpeg("photo.jpg");
//   tf::write_jpeg("small.jpg", photo, {.quality = 80});
//
// The rows and columns are those of the file: an orientation that a camera has noted (EXIF) is
// ignored, and so are colour profiles. Files with four colours, for printing (CMYK), and files of
// more than 500 scans are an error.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/image/image.hpp"
#include "typeflow/image/read.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct ReadJpegOptions {
  /// Channels of the result: 1 grey, 3 RGB; 0: those of the file.
  int channels = 0;
  /// A larger image is an error, found before memory is taken for it.
  std::int64_t most_pixels = std::int64_t{1} << 28;
  /// Takes what can be decoded of a damaged file, such as the upper part of one that was cut short;
  /// libjpeg invents the rest. By default any of its warnings is an Error.
  bool allow_damage = false;
};

/// The image of a JPEG file's bytes. Error if they are damaged, of another format, or have other
/// colours than grey and RGB.
Image decode_jpeg(std::span<const std::uint8_t> bytes, const ReadJpegOptions& options = {});

/// Reads a JPEG file. Error, with its name, if it can't be read or decoded.
Image read_jpeg(const std::string& path, const ReadJpegOptions& options = {});

struct WriteJpegOptions {
  int quality = 95;  ///< 1 (small) to 100
  /// Stores the colours of 2 x 2 pixels as one, as cameras do; brightness is kept for each.
  bool subsample = true;
  bool progressive = false;
};

/// The bytes of a JPEG file of a grey or RGB image. It loses details: decoded pixels differ a
/// little. Error for other than 1 or 3 channels, if the pixels do not fit height and width, or for
/// more than 65,500 rows or columns.
std::vector<std::uint8_t> encode_jpeg(const Image& image, const WriteJpegOptions& options = {});

/// Writes a grey or RGB image as a JPEG file, which is complete or absent. Error, with the file's
/// name, if it can't be written.
void write_jpeg(const std::string& path, const Image& image, const WriteJpegOptions& options = {});

/// Whether bytes begin as those of a JPEG file do.
bool is_jpeg(std::span<const std::uint8_t> bytes);

/// The image of a JPEG or PNG file's bytes: see decode_jpeg and decode_image. A JPEG has no
/// opacity, so 4 channels of one are an Error.
Image decode_jpeg_or_png(std::span<const std::uint8_t> bytes, const ReadImageOptions& options = {});

/// Reads a JPEG or PNG file.
Image read_jpeg_or_png(const std::string& path, const ReadImageOptions& options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_JPEG
#include "typeflow/jpeg/jpeg.ipp"
#endif
