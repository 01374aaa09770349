// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/image/pack_png.hpp"
#include "typeflow/records/summary.hpp"
#include "typeflow/records/summary_operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The pixels of an image as bytes, by the rule of TensorFlow's image summaries.
TYPEFLOW_COLD inline std::vector<std::uint8_t> bytes_of_pixels(std::span<const double> values,
                                                               std::size_t channels) {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  const auto is_finite = [&](std::size_t pixel) {
    for (std::size_t c = 0; c < channels; ++c) {
      if (!std::isfinite(values[pixel * channels + c])) return false;
    }
    return true;
  };
  const std::size_t pixels = values.size() / channels;
  for (std::size_t p = 0; p < pixels; ++p) {
    if (!is_finite(p)) continue;
    for (std::size_t c = 0; c < channels; ++c) {
      least = std::min(least, values[p * channels + c]);
      most = std::max(most, values[p * channels + c]);
    }
  }
  const bool has_negative = least < 0;
  const double largest = has_negative ? std::max(std::abs(least), std::abs(most)) : most;
  const double scale = largest < 1e-6 ? 0 : (has_negative ? 127 : 255) / largest;
  const double offset = has_negative ? 128 : 0;
  constexpr std::array<std::uint8_t, 4> bad{255, 0, 0, 0};
  std::vector<std::uint8_t> bytes(values.size());
  for (std::size_t p = 0; p < pixels; ++p) {
    const bool finite = is_finite(p);
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t i = p * channels + c;
      bytes[i] = finite ? static_cast<std::uint8_t>(values[i] * scale + offset) : bad[c];
    }
  }
  return bytes;
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

namespace summary_kernels {

/// The elements from `first` on.
template <class T>
std::vector<T> elements_of(const Tensor& x, std::int64_t first, std::int64_t count) {
  return visit_dtype(x.dtype, [&](auto zero) -> std::vector<T> {
    using E = decltype(zero);
    if constexpr (typeflow::detail::is_complex_number<E>) {
      return {};
    } else {
      const E* const data = static_cast<const E*>(x.data) + first;
      std::vector<T> all(static_cast<std::size_t>(count));
      std::transform(data, data + count, all.begin(),
                     [](E e) { return static_cast<T>(static_cast<double>(e)); });
      return all;
    }
  });
}

/// What a line of the plan says.
struct Entry {
  char kind;
  int option;
  int most;
  std::string tag;
};
TYPEFLOW_COLD inline Entry next_entry(std::string_view& plan) {
  Entry entry{plan[0], 0, 0, {}};
  const char* const end = plan.data() + plan.size();
  const char* at = std::from_chars(plan.data() + 2, end, entry.option).ptr;
  at = std::from_chars(at + 1, end, entry.most).ptr + 1;
  const char* const last = std::find(at, end, '\0');
  entry.tag.assign(at, last);
  plan.remove_prefix(static_cast<std::size_t>(last + 1 - plan.data()));
  return entry;
}

inline std::string tag_of(const Entry& entry, const char* kind, int most, std::int64_t i) {
  return entry.tag + kind + (most > 1 ? '/' + std::to_string(i) : std::string());
}

TYPEFLOW_COLD inline void add_images(Summary& summary, const Entry& entry, const Tensor& x) {
  const std::int64_t height = x.extents[1];
  const std::int64_t width = x.extents[2];
  const std::int64_t channels = x.extents[3];
  if (channels != 1 && channels != 3 && channels != 4) {
    throw Error("image summary \"" + entry.tag + '"', "1, 3 or 4 channels",
                std::to_string(channels));
  }
  const std::int64_t size = height * width * channels;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(entry.option, x.extents[0]); ++i) {
    const std::vector<std::uint8_t> pixels =
        x.dtype == DType::uint8
            ? elements_of<std::uint8_t>(x, i * size, size)
            : typeflow::detail::bytes_of_pixels(elements_of<double>(x, i * size, size),
                                                static_cast<std::size_t>(channels));
    const auto w = static_cast<std::int32_t>(width);
    const auto h = static_cast<std::int32_t>(height);
    const auto c = static_cast<std::int32_t>(channels);
    const std::vector<std::uint8_t> png = typeflow::detail::pack_png(pixels, w, h, c);
    summary.image(tag_of(entry, "/image", entry.option, i),
                  {reinterpret_cast<const char*>(png.data()), png.size()}, w, h, c);
  }
}
TYPEFLOW_COLD inline void add_sounds(Summary& summary, const Entry& entry, const Tensor& x) {
  const std::int64_t channels = x.extents.size() > 2 ? x.extents[2] : 1;
  const std::int64_t size = x.extents[1] * channels;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(entry.most, x.extents[0]); ++i) {
    summary.audio(tag_of(entry, "/audio", entry.most, i), elements_of<float>(x, i * size, size),
                  entry.option, static_cast<std::int32_t>(channels));
  }
}

}  // namespace summary_kernels

TYPEFLOW_COLD TYPEFLOW_DEFINITION void kernel_of<ops::MergeSummary>::merge(const Tensor* in,
                                                                           int count,
                                                                           const Tensor* out,
                                                                           const KernelCall& call) {
  using namespace summary_kernels;
  std::string_view plan = *static_cast<const std::string_view*>(in[0].data);
  Summary summary;
  for (int k = 1; k < count; ++k) {
    const Entry entry = next_entry(plan);
    const Tensor& x = in[k];
    switch (entry.kind) {
      case 's':
        summary.scalar(entry.tag, elements_of<double>(x, 0, 1)[0]);
        break;
      case 'h':
        summary.histogram(entry.tag, elements_of<double>(x, 0, x.size()));
        break;
      case 'i':
        add_images(summary, entry, x);
        break;
      case 'a':
        add_sounds(summary, entry, x);
        break;
      default:
        summary.text(entry.tag, *static_cast<const std::string_view*>(x.data));
    }
  }
  const std::string& bytes = summary.encoded();
  char* const block = call.characters->allocate(bytes.size());
  std::copy(bytes.begin(), bytes.end(), block);
  *static_cast<std::string_view*>(out->data) = {block, bytes.size()};
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
