// SPDX-License-Identifier: Apache-2.0
#pragma once

// Inputs and outputs of a Runner's run: tensors whose names, element types and shapes are known at
// run time. Units that are built for different instruction sets exchange these types
// (core/isa.hpp), so they own nothing.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "typeflow/core/config.hpp"
#include "typeflow/core/dtype_value.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct bfloat16;
struct float16;

namespace detail {

/// Whether T is std::complex<Part>, judged by its members, because including <complex> takes half a
/// second.
template <class T, class Part>
concept ComplexOf = std::is_same_v<typename T::value_type, Part> && sizeof(T) == 2 * sizeof(Part) &&
                    requires(const T& x) {
                      x.real();
                      x.imag();
                    };

/// dtype_of without its includes; -1 for a type that can't be an element of a tensor.
template <class T>
consteval int runner_dtype() {
  constexpr auto number = [](DType type) { return static_cast<int>(type); };
  if constexpr (std::is_same_v<T, bool>) {
    return number(DType::boolean);
  } else if constexpr (std::is_same_v<T, float>) {
    return number(DType::float32);
  } else if constexpr (std::is_same_v<T, double>) {
    return number(DType::float64);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return number(DType::bfloat16);
  } else if constexpr (std::is_same_v<T, float16>) {
    return number(DType::float16);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return number(DType::string);
  } else if constexpr (ComplexOf<T, float>) {
    return number(DType::complex64);
  } else if constexpr (ComplexOf<T, double>) {
    return number(DType::complex128);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    constexpr bool is_character = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> ||
                                  std::is_same_v<T, char8_t> || std::is_same_v<T, char16_t> ||
                                  std::is_same_v<T, char32_t>;
    constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return is_character ? -1 : number(std::is_signed_v<T> ? DType::int8 : DType::uint8) + width;
  } else {
    return -1;
  }
}
template <class T>
concept RunnerElement = runner_dtype<T>() >= 0;
template <RunnerElement T>
inline constexpr DType runner_dtype_of = static_cast<DType>(runner_dtype<T>());

/// The element type of a vector, array or span; const for a constant one.
template <class R>
using RangeElement = typename decltype(std::span(std::declval<R&>()))::element_type;
/// A vector, array or span whose elements a tensor can have.
template <class R>
concept RunnerRange = !std::is_convertible_v<const R&, std::string_view> &&
                      RunnerElement<std::remove_cv_t<RangeElement<R>>>;

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow {

/// An input or output of a Runner, or a result of a run. Its pointers are valid as long as the
/// runner, or the result.
struct RunnerTensor {
  std::string_view name;
  DType dtype;
  bool has_default;  ///< an input that need not be fed
  /// -1 for an extent that depends on the feeds; `type` says how.
  std::span<const std::int64_t> shape;
  std::string_view type;       ///< "float [batch, 784]"
  const void* data = nullptr;  ///< a result's elements in row-major order
};

/// A tensor for a run, made of its name and its values:
///
///   {"rate", 0.5f}                     a number
///   {"word", "cat"}                    a string
///   {"x", pixels}                      a vector, array or span: elements in row-major order; the
///                                      number of rows follows from the model
///   {"x", pixels, {2, 784}}            the same with a shape, which is checked
///   {"x", pixels.data(), {2, 784}}     a pointer
///
/// It refers to the name, to the bytes of strings, and to the values; a number is copied. Strings
/// are std::string_views.
struct RunnerFeed {
  static constexpr int max_rank = 8;

  std::string_view name;
  DType dtype;
  const void* values = nullptr;
  std::int64_t count = 1;  ///< number of elements; -1: as many as the shape has
  int rank = 0;            ///< -1: no shape
  std::int64_t extents[max_rank] = {};
  bool is_scalar = true;  ///< the value is `scalar`
  alignas(16) unsigned char scalar[16] = {};

  /// A tensor of any type. A null `extents` means no shape.
  TYPEFLOW_EXCHANGED RunnerFeed(std::string_view name_, DType dtype_, const void* values_,
                                std::int64_t count_, int rank_, const std::int64_t* extents_)
      : name(name_), dtype(dtype_), values(values_), count(count_), rank(-1), is_scalar(false) {
    if (extents_ == nullptr) return;
    rank = rank_;
    for (int axis = 0; axis < rank && axis < max_rank; ++axis) extents[axis] = extents_[axis];
  }

  template <detail::RunnerElement T>
  TYPEFLOW_EXCHANGED RunnerFeed(std::string_view name_, T value)
      : name(name_), dtype(detail::runner_dtype_of<T>) {
    static_assert(sizeof(T) <= sizeof(scalar));
    std::memcpy(scalar, &value, sizeof(T));
  }
  TYPEFLOW_EXCHANGED RunnerFeed(std::string_view name_, std::string_view text)
      : name(name_), dtype(DType::string) {
    static_assert(sizeof(text) <= sizeof(scalar));
    std::memcpy(scalar, &text, sizeof(text));
  }

  template <detail::RunnerRange R>
  TYPEFLOW_EXCHANGED RunnerFeed(std::string_view name_, const R& range)
      : RunnerFeed(name_, std::span(range), nullptr, 0) {}
  template <detail::RunnerRange R>
  TYPEFLOW_EXCHANGED RunnerFeed(std::string_view name_, const R& range,
                                std::initializer_list<std::int64_t> shape)
      : RunnerFeed(name_, std::span(range), shape.begin(), shape.size()) {}
  template <detail::RunnerRange R>
  TYPEFLOW_EXCHANGED RunnerFeed(std::string_view name_, const R& range,
                                std::span<const std::int64_t> shape)
      : RunnerFeed(name_, std::span(range), shape.empty() ? &no_extents : shape.data(),
                   shape.size()) {}

  template <detail::RunnerElement T>
  TYPEFLOW_EXCHANGED RunnerFeed(std::string_view name_, const T* values_,
                                std::initializer_list<std::int64_t> shape)
      : RunnerFeed(name_, detail::runner_dtype_of<T>, values_, -1, static_cast<int>(shape.size()),
                   shape.size() == 0 ? &no_extents : shape.begin()) {}

 private:
  static constexpr std::int64_t no_extents = 0;

  template <class T, std::size_t N>
  TYPEFLOW_EXCHANGED RunnerFeed(std::string_view name_, std::span<T, N> elements,
                                const std::int64_t* shape, std::size_t shape_size)
      : RunnerFeed(name_, detail::runner_dtype_of<std::remove_cv_t<T>>, elements.data(),
                   static_cast<std::int64_t>(elements.size()), static_cast<int>(shape_size),
                   shape) {}
};

/// An output that a run computes: a name, if the run is to own the result; or a name and memory for
/// the result, which is a number, or a vector, array or span of the right size. It refers to both.
///
///   {"probabilities", "class"}
///   {{"probabilities", buffer}, {"loss", number}}
struct RunnerFetch {
  std::string_view name;
  bool has_memory = false;
  DType dtype = DType::boolean;  ///< the memory's element type
  void* memory = nullptr;
  std::int64_t count = 0;

  template <class S>
    requires std::is_convertible_v<const S&, std::string_view>
  TYPEFLOW_EXCHANGED RunnerFetch(const S& name_) : name(name_) {}  // NOLINT: {"probabilities"}
  /// For memory of any type.
  TYPEFLOW_EXCHANGED RunnerFetch(std::string_view name_, DType dtype_, void* memory_,
                                 std::int64_t count_)
      : name(name_), has_memory(true), dtype(dtype_), memory(memory_), count(count_) {}
  template <class R>
    requires detail::RunnerRange<std::remove_reference_t<R>>
  TYPEFLOW_EXCHANGED RunnerFetch(std::string_view name_, R&& buffer)
      : RunnerFetch(name_, detail::runner_dtype_of<detail::RangeElement<R>>,
                    std::span(buffer).data(), static_cast<std::int64_t>(std::span(buffer).size())) {
    static_assert(!std::is_same_v<detail::RangeElement<R>, std::string_view>,
                  "strings are fetched by name alone: their bytes are the result's");
  }
  template <detail::RunnerElement T>
  TYPEFLOW_EXCHANGED RunnerFetch(std::string_view name_, T& value)
      : RunnerFetch(name_, std::span<T, 1>(&value, 1)) {}
};

}  // namespace typeflow
