// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernels of strings. Kernels that check strings run on the calling thread, in order of the
// elements. So they can throw an Error with the first wrong string directly.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "typeflow/core/characters.hpp"
#include "typeflow/cpu/call.hpp"
#include "typeflow/ops/operation.hpp"
#include "typeflow/ops/state/assign.hpp"
#include "typeflow/strings/convert.hpp"
#include "typeflow/strings/fingerprint.hpp"
#include "typeflow/strings/lookup.hpp"
#include "typeflow/strings/parse.hpp"
#include "typeflow/strings/pieces.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

namespace strings {

inline const std::string_view* elements(const Tensor& x) {
  return static_cast<const std::string_view*>(x.data);
}
inline std::string_view* outputs(const Tensor& y) { return static_cast<std::string_view*>(y.data); }

/// Builds strings one after the other in the run's memory.
class Builder {
 public:
  explicit Builder(Characters& characters) : characters_(characters) {}

  void append(std::string_view bytes) {
    begin_ = characters_.append(begin_, size_, bytes);
    size_ += bytes.size();
  }
  /// The string, of all bytes since the last one.
  std::string_view end_string() {
    const std::string_view string(begin_, size_);
    begin_ = characters_.allocate(0);
    size_ = 0;
    return string;
  }

 private:
  Characters& characters_;
  char* begin_ = characters_.allocate(0);
  std::size_t size_ = 0;
};

/// A number as text: the shortest that reads back as the same number of its type.
class NumberText {
 public:
  template <class T>
  explicit NumberText(T x) {
    if constexpr (std::is_same_v<T, bool>) {
      end_ = std::copy_n(x ? "true" : "false", x ? 4 : 5, bytes_);
    } else if constexpr (std::is_same_v<T, double>) {
      write(x);
    } else if constexpr (is_half_precision(dtype_of<T>)) {
      write(with_fewest_digits(x));
    } else if constexpr (is_floating(dtype_of<T>)) {
      write(x);
    } else if constexpr (std::is_unsigned_v<T>) {
      write(std::uint64_t{x});
    } else {
      write(std::int64_t{x});
    }
  }
  std::string_view view() const { return {bytes_, static_cast<std::size_t>(end_ - bytes_)}; }

 private:
  template <class T>
  void write(T x) {
    end_ = std::to_chars(bytes_, bytes_ + sizeof bytes_, x).ptr;
  }
  /// The float with the fewest digits that is x as a 16-bit number; five are enough.
  template <class T>
  float with_fewest_digits(T x) {
    const float exact = static_cast<float>(x);
    for (int digits = 1; digits <= 5; ++digits) {
      constexpr auto format = std::chars_format::scientific;
      end_ = std::to_chars(bytes_, bytes_ + sizeof bytes_, exact, format, digits - 1).ptr;
      double y = 0;
      std::from_chars(bytes_, end_, y);
      if (T(y).bits == x.bits) return static_cast<float>(y);
    }
    return exact;
  }
  char bytes_[32];
  char* end_;
};

/// The string in quotes for a message, cut after 40 bytes.
inline std::string quoted(std::string_view x) {
  constexpr std::size_t most = 40;
  return '"' + std::string(x.substr(0, most)) + (x.size() > most ? "...\"" : "\"");
}

/// The cost (cost_of_part) of reading a short string: some 10 ns.
inline constexpr std::int64_t cost_of_string = 1000;

/// Calls f(x[i], y[i]) for all elements, on several threads.
template <class Y, class F>
void each(const Tensor& x, const Tensor& y, const KernelCall& call, const F& f,
          std::int64_t cost = cost_of_string) {
  const std::string_view* const in = elements(x);
  Y* const out = static_cast<Y*>(y.data);
  parallel(call, x.size(), grain_of_cost(cost), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(in[i], out[i]);
  });
}

/// Parses the whole text as a number of type T, and stores it in y. False if it is not one.
template <class T>
bool parse(std::string_view text, T& y) {
  if constexpr (std::is_floating_point_v<T> || detail::is_real_floating<T>) {
    std::conditional_t<std::is_same_v<T, float>, float, double> value = 0;
    if (!parse_real(text, value)) return false;
    y = detail::convert_element<T>(value);
    return true;
  } else {
    std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t> value = 0;
    if (!parse_integer(text, value) || !std::in_range<T>(value)) return false;
    y = static_cast<T>(value);
    return true;
  }
}

}  // namespace strings

template <>
struct kernel_of<ops::AssignStrings> {
  template <class A>
  static void run(const ops::AssignStrings&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto count = static_cast<std::size_t>(out->size());
    call.characters->reserve(count);
    detail::replace_strings({strings::outputs(*out), count}, strings::elements(*in),
                            [&](std::string_view old) { call.characters->take(old); });
  }
};

template <>
struct kernel_of<ops::StringJoin> {
  template <class A>
  static void run(const ops::StringJoin&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto operands = static_cast<int>(out - in) - 1;
    const std::string_view separator = strings::elements(in[0])[0];
    strings::Builder builder(*call.characters);
    for (std::int64_t i = 0; i < out->size(); ++i) {
      for (int k = 1; k <= operands; ++k) {
        if (k > 1) builder.append(separator);
        builder.append(strings::elements(in[k])[i]);
      }
      strings::outputs(*out)[i] = builder.end_string();
    }
  }
};

template <>
struct kernel_of<ops::ReduceJoin> {
  template <class A>
  static void run(const ops::ReduceJoin& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto axis = static_cast<std::size_t>(op.axis);
    const std::int64_t extent = in[0].extents[axis];
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < in[0].extents.size(); ++i) inner *= in[0].extents[i];
    const std::string_view separator = strings::elements(in[1])[0];
    strings::Builder builder(*call.characters);
    for (std::int64_t i = 0; i < out->size(); ++i) {
      const std::string_view* const first =
          strings::elements(in[0]) + i / inner * extent * inner + i % inner;
      for (std::int64_t k = 0; k < extent; ++k) {
        if (k > 0) builder.append(separator);
        builder.append(first[k * inner]);
      }
      strings::outputs(*out)[i] = builder.end_string();
    }
  }
};

template <>
struct kernel_of<ops::StringSplit> {
  template <class A>
  static void run(const ops::StringSplit& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::string_view* const x = strings::elements(in[0]);
    const std::string_view delimiters = strings::elements(in[1])[0];
    auto* const counts = static_cast<std::int32_t*>(out[1].data);
    const std::int64_t room = out[0].extents.back();
    parallel(call, in[0].size(), 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::string_view* const tokens = strings::outputs(out[0]) + i * room;
        std::int64_t count = 0;
        const auto take = [&](std::string_view token) {
          if (count < room) tokens[count] = token;
          ++count;
        };
        if (delimiters.empty()) {
          for (std::size_t k = 0; k < x[i].size(); ++k) take(x[i].substr(k, 1));
        } else {
          for (std::size_t from = 0; from <= x[i].size();) {
            const std::size_t to = std::min(x[i].find_first_of(delimiters, from), x[i].size());
            if (to > from || op.skip_empty == 0) take(x[i].substr(from, to - from));
            from = to + 1;
          }
        }
        for (std::int64_t k = count; k < room; ++k) tokens[k] = {};
        counts[i] = detail::convert_element<std::int32_t>(count);
      }
    });
  }
};

template <>
struct kernel_of<ops::Substr> {
  template <class A>
  static void run(const ops::Substr&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    const auto* const positions = static_cast<const std::int64_t*>(in[1].data);
    const auto* const lengths = static_cast<const std::int64_t*>(in[2].data);
    for (std::int64_t i = 0; i < out->size(); ++i) {
      const std::string_view x = strings::elements(in[0])[i];
      const auto bytes = static_cast<std::int64_t>(x.size());
      if (positions[i] < -bytes || positions[i] > bytes) {
        return call.fail({1, {i, positions[i], bytes}});
      }
      if (lengths[i] < 0) return call.fail({2, {i, lengths[i], bytes}});
      const std::int64_t from = positions[i] < 0 ? positions[i] + bytes : positions[i];
      strings::outputs(*out)[i] =
          x.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(lengths[i]));
    }
  }
};

template <>
struct kernel_of<ops::StringLength> {
  template <class A>
  static void run(const ops::StringLength&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    constexpr std::int64_t cost = 100;  // no byte of it is read
    strings::each<std::int32_t>(
        *in, *out, call,
        [](std::string_view x, std::int32_t& y) {
          y = detail::convert_element<std::int32_t>(static_cast<std::int64_t>(x.size()));
        },
        cost);
  }
};

template <>
struct kernel_of<ops::StringToNumber> {
  template <class A>
  static void run(const ops::StringToNumber&, const Tensor* in, const Tensor* out,
                  const KernelCall&) {
    visit_dtype(out->dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (contains(Domain::real, dtype_of<T>)) {
        for (std::int64_t i = 0; i < out->size(); ++i) {
          const std::string_view x = strings::elements(*in)[i];
          if (strings::parse(x, static_cast<T*>(out->data)[i])) continue;
          throw Error("element " + std::to_string(i),
                      "a number of type " + std::string(name_of(out->dtype)), strings::quoted(x));
        }
      }
    });
  }
};

template <>
struct kernel_of<ops::AsString> {
  template <class A, class T>
  static void run(const ops::AsString&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    strings::Builder builder(*call.characters);
    for (std::int64_t i = 0; i < out->size(); ++i) {
      const T x = static_cast<const T*>(in->data)[i];
      if constexpr (!detail::is_complex_number<T> && !detail::is_string<T>) {
        builder.append(strings::NumberText(x).view());
      }
      strings::outputs(*out)[i] = builder.end_string();
    }
  }
};

template <>
struct kernel_of<ops::StringToHashBucketFast> {
  template <class A>
  static void run(const ops::StringToHashBucketFast& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto buckets = static_cast<std::uint64_t>(op.buckets);
    strings::each<std::int64_t>(*in, *out, call, [&](std::string_view x, std::int64_t& y) {
      y = static_cast<std::int64_t>(detail::Fingerprint::of(x) % buckets);
    });
  }
};

template <>
struct kernel_of<ops::StringFingerprint> {
  template <class A>
  static void run(const ops::StringFingerprint&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    strings::each<std::uint64_t>(*in, *out, call, [&](std::string_view x, std::uint64_t& y) {
      y = detail::Fingerprint::of(x);
    });
  }
};

template <>
struct kernel_of<ops::StringToHashBucketStrong> {
  template <class A>
  static void run(const ops::StringToHashBucketStrong& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto buckets = static_cast<std::uint64_t>(op.buckets);
    strings::each<std::int64_t>(*in, *out, call, [&](std::string_view x, std::int64_t& y) {
      y = static_cast<std::int64_t>(detail::SipHash::of(x, op.key0, op.key1) % buckets);
    });
  }
};

namespace strings {

/// Calls f(place) for each place where a key may be, until f returns true.
template <class F>
void probe(std::string_view key, std::uint64_t places, const F& f) {
  std::uint64_t place = detail::Fingerprint::of(key) & (places - 1);
  for (std::uint64_t i = 0; i < places && !f(place); ++i) place = (place + 1) & (places - 1);
}

}  // namespace strings

template <>
struct kernel_of<ops::StringIndex> {
  template <class A>
  static void run(const ops::StringIndex&, const Tensor* in, const Tensor* out, const KernelCall&) {
    const std::string_view* const keys = strings::elements(*in);
    auto* const index = static_cast<std::int32_t*>(out->data);
    std::fill_n(index, out->size(), 0);
    for (std::int64_t i = 0; i < in->size(); ++i) {
      strings::probe(keys[i], static_cast<std::uint64_t>(out->size()), [&](std::uint64_t place) {
        if (index[place] != 0) {
          const std::int32_t other = index[place] - 1;
          if (keys[other] != keys[i]) return false;
          throw Error("keys", "each one once",
                      strings::quoted(keys[i]) + " at " + std::to_string(other) + " and " +
                          std::to_string(i));
        }
        index[place] = static_cast<std::int32_t>(i) + 1;
        return true;
      });
    }
  }
};

template <>
struct kernel_of<ops::FindString> {
  template <class A>
  static void run(const ops::FindString&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::string_view* const keys = strings::elements(in[1]);
    const auto* const index = static_cast<const std::int32_t*>(in[2].data);
    const auto places = static_cast<std::uint64_t>(in[2].size());
    const std::int64_t count = in[1].size();
    strings::each<std::int64_t>(in[0], *out, call, [&](std::string_view x, std::int64_t& y) {
      y = -1;
      strings::probe(x, places, [&](std::uint64_t place) {
        const std::int64_t position = std::int64_t{index[place]} - 1;
        if (position < 0 || position >= count) return true;
        if (keys[position] != x) return false;
        y = position;
        return true;
      });
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
