// SPDX-License-Identifier: Apache-2.0
#pragma once

#if !__has_include(<jpeglib.h>)
#error "typeflow/jpeg.hpp: libjpeg-turbo is needed (Debian: libjpeg62-turbo-dev)"
#endif

#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

#include <jpeglib.h>

#include <jerror.h>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/jpeg/jpeg.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// How libjpeg reports: by a call of error_exit, which must not return. It is C, so nothing may be
/// thrown through it. A jump leaves it, into JpegErrors::run, and the caller throws. Between the
/// two are functions of libjpeg and a lambda that owns nothing, so the jump passes no destructor.
struct JpegErrors {
  jpeg_error_mgr base;  // the first member: libjpeg passes its address
  std::jmp_buf caller;
  char message[JMSG_LENGTH_MAX];
  bool allow_damage;

  void start(bool allows_damage) {
    jpeg_std_error(&base);
    base.error_exit = [](j_common_ptr info) { leave(info); };
    base.emit_message = [](j_common_ptr info, int level) {
      if (level < 0 && !of(info)->allow_damage) leave(info);  // a warning
    };
    base.output_message = [](j_common_ptr) {};
    message[0] = '\0';
    allow_damage = allows_damage;
  }

  /// Calls f, which calls libjpeg. False if it has failed: `message` says why.
  template <class F>
  [[gnu::noinline]] bool run(const F& f) {
    static_assert(std::is_trivially_destructible_v<F>);
    if (setjmp(caller) != 0) return false;
    f();
    return true;
  }

  static JpegErrors* of(j_common_ptr info) { return reinterpret_cast<JpegErrors*>(info->err); }
  [[noreturn]] static void leave(j_common_ptr info) {
    JpegErrors* const errors = of(info);
    errors->base.format_message(info, errors->message);
    std::longjmp(errors->caller, 1);
  }
};

/// Decodes one file.
class JpegDecoder {
 public:
  JpegDecoder(const std::string& source, bool allow_damage) : source_(source) {
    std::memset(&info_, 0, sizeof info_);
    errors_.start(allow_damage);
    info_.err = &errors_.base;
    run([this] { jpeg_create_decompress(&info_); });
    // A few bytes of a progressive file can ask for a pass over all of it.
    progress_.progress_monitor = [](j_common_ptr info) {
      constexpr int most_scans = 500;
      auto* const decoder = reinterpret_cast<j_decompress_ptr>(info);
      if (decoder->input_scan_number <= most_scans) return;
      std::strcpy(JpegErrors::of(info)->message, "more than 500 scans");
      std::longjmp(JpegErrors::of(info)->caller, 1);
    };
    info_.progress = &progress_;
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }

  Image decode(std::span<const std::uint8_t> bytes, const ReadJpegOptions& options) {
    run([&] {
      jpeg_mem_src(&info_, bytes.data(), static_cast<unsigned long>(bytes.size()));
      jpeg_read_header(&info_, TRUE);
    });
    check_colors();
    const std::int64_t pixels = std::int64_t{info_.image_width} * info_.image_height;
    if (pixels > options.most_pixels) {
      throw Error(source_, "at most " + std::to_string(options.most_pixels) + " pixels",
                  std::to_string(info_.image_width) + " x " + std::to_string(info_.image_height));
    }
    Image image{.height = static_cast<int>(info_.image_height),
                .width = static_cast<int>(info_.image_width),
                .channels = options.channels != 0 ? options.channels : info_.num_components,
                .pixels = {}};
    info_.out_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    const std::size_t row = static_cast<std::size_t>(image.width) *  // bytes
                            static_cast<std::size_t>(image.channels);
    image.pixels.resize(row * static_cast<std::size_t>(image.height));
    run([&, to = image.pixels.data()] {
      jpeg_start_decompress(&info_);
      while (info_.output_scanline < info_.output_height) {
        JSAMPROW line = to + info_.output_scanline * row;
        jpeg_read_scanlines(&info_, &line, 1);
      }
      jpeg_finish_decompress(&info_);
    });
    return image;
  }

 private:
  template <class F>
  void run(const F& f) {
    if (errors_.run(f)) return;
    throw Error(source_,
                "is no JPEG image that can be decoded (" + std::string(errors_.message) + ")");
  }
  void check_colors() const {
    const J_COLOR_SPACE colors = info_.jpeg_color_space;
    if (colors == JCS_GRAYSCALE || colors == JCS_YCbCr || colors == JCS_RGB) return;
    throw Error(source_, "a JPEG image that is grey or RGB",
                colors == JCS_CMYK || colors == JCS_YCCK
                    ? std::string("one of four colours for printing (CMYK)")
                    : "one of " + std::to_string(info_.num_components) + " unknown colours");
  }

  const std::string& source_;
  JpegErrors errors_;
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_;
};

/// Encodes one file.
class JpegEncoder {
 public:
  JpegEncoder() {
    std::memset(&info_, 0, sizeof info_);
    errors_.start(false);
    info_.err = &errors_.base;
    run([this] { jpeg_create_compress(&info_); });
    to_.base.init_destination = [](j_compress_ptr) {};
    to_.base.empty_output_buffer = [](j_compress_ptr info) -> boolean {
      grow(info);
      return TRUE;
    };
    to_.base.term_destination = [](j_compress_ptr) {};
    info_.dest = &to_.base;
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;
  ~JpegEncoder() {
    jpeg_destroy_compress(&info_);
    std::free(to_.bytes);
  }

  std::vector<std::uint8_t> encode(const Image& image, const WriteJpegOptions& options) {
    const std::size_t row = static_cast<std::size_t>(image.width) *  // bytes
                            static_cast<std::size_t>(image.channels);
    run([&, from = image.pixels.data()] {
      grow(&info_);
      info_.image_width = static_cast<JDIMENSION>(image.width);
      info_.image_height = static_cast<JDIMENSION>(image.height);
      info_.input_components = image.channels;
      info_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_set_defaults(&info_);
      jpeg_set_quality(&info_, options.quality, TRUE);
      if (!options.subsample) {
        info_.comp_info[0].h_samp_factor = 1;
        info_.comp_info[0].v_samp_factor = 1;
      }
      if (options.progressive) jpeg_simple_progression(&info_);
      jpeg_start_compress(&info_, TRUE);
      while (info_.next_scanline < info_.image_height) {
        JSAMPROW line = const_cast<JSAMPROW>(from + info_.next_scanline * row);  // is only read
        jpeg_write_scanlines(&info_, &line, 1);
      }
      jpeg_finish_compress(&info_);
    });
    return {to_.bytes, to_.bytes + (to_.capacity - to_.base.free_in_buffer)};
  }

 private:
  /// Where libjpeg writes. (Its own buffer in memory may be lost or freed twice after an error.)
  struct Output {
    jpeg_destination_mgr base;  // the first member: libjpeg passes its address
    unsigned char* bytes;
    std::size_t capacity;
  };

  template <class F>
  void run(const F& f) {
    if (!errors_.run(f))
      throw Error("encode_jpeg", std::string("libjpeg fails: ") + errors_.message);
  }
  /// Makes room behind the bytes, all of which are full.
  static void grow(j_compress_ptr info) {
    Output& to = *reinterpret_cast<Output*>(info->dest);
    const std::size_t full = to.capacity;
    const std::size_t capacity = full == 0 ? std::size_t{1} << 16 : 2 * full;
    void* const bytes = std::realloc(to.bytes, capacity);
    if (bytes == nullptr) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
    to.bytes = static_cast<unsigned char*>(bytes);
    to.capacity = capacity;
    to.base.next_output_byte = to.bytes + full;
    to.base.free_in_buffer = capacity - full;
  }

  JpegErrors errors_;
  Output to_{};
  jpeg_compress_struct info_;
};

TYPEFLOW_COLD inline Image decode_jpeg_of(const std::string& source,
                                          std::span<const std::uint8_t> bytes,
                                          const ReadJpegOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3) {
    throw Error(source, "1 or 3 channels, or 0 for the file's", std::to_string(options.channels));
  }
  if (!is_jpeg(bytes)) throw Error(source, "a JPEG file's first bytes", "others");
  return JpegDecoder(source, options.allow_damage).decode(bytes, options);
}
TYPEFLOW_COLD inline Image decode_jpeg_or_png_of(const std::string& source,
                                                 std::span<const std::uint8_t> bytes,
                                                 const ReadImageOptions& options) {
  if (!is_jpeg(bytes)) return decode_image_of(source, bytes, options);
  return decode_jpeg_of(source, bytes,
                        {.channels = options.channels, .most_pixels = options.most_pixels});
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION bool is_jpeg(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Image decode_jpeg(std::span<const std::uint8_t> bytes,
                                                    const ReadJpegOptions& options) {
  return detail::decode_jpeg_of("decode_jpeg", bytes, options);
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION Image read_jpeg(const std::string& path,
                                                  const ReadJpegOptions& options) {
  return detail::decode_jpeg_of(path, detail::bytes_of_image(path), options);
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION Image decode_jpeg_or_png(std::span<const std::uint8_t> bytes,
                                                           const ReadImageOptions& options) {
  return detail::decode_jpeg_or_png_of("decode_jpeg_or_png", bytes, options);
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION Image read_jpeg_or_png(const std::string& path,
                                                         const ReadImageOptions& options) {
  return detail::decode_jpeg_or_png_of(path, detail::bytes_of_image(path), options);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<std::uint8_t> encode_jpeg(
    const Image& image, const WriteJpegOptions& options) {
  const std::string shape = std::to_string(image.height) + " x " + std::to_string(image.width) +
                            " x " + std::to_string(image.channels);
  if (image.channels != 1 && image.channels != 3) {
    throw Error("encode_jpeg", "1 channel (grey) or 3 (RGB)", std::to_string(image.channels));
  }
  constexpr int most = JPEG_MAX_DIMENSION;
  if (image.height < 1 || image.width < 1 || image.height > most || image.width > most) {
    throw Error("encode_jpeg", "a height and width of 1 to " + std::to_string(most), shape);
  }
  if (options.quality < 1 || options.quality > 100) {
    throw Error("encode_jpeg", "a quality of 1 to 100", std::to_string(options.quality));
  }
  const std::size_t bytes = static_cast<std::size_t>(image.height) *
                            static_cast<std::size_t>(image.width) *
                            static_cast<std::size_t>(image.channels);
  if (image.pixels.size() != bytes) {
    throw Error("encode_jpeg", std::to_string(bytes) + " bytes for " + shape,
                std::to_string(image.pixels.size()));
  }
  return detail::JpegEncoder().encode(image, options);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void write_jpeg(const std::string& path, const Image& image,
                                                  const WriteJpegOptions& options) {
  const std::vector<std::uint8_t> bytes = encode_jpeg(image, options);
  detail::ReplacingFile file(path);
  file.write(std::as_bytes(std::span(bytes)));
  file.finish();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
