// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sources of datasets: arrays, numbers, functions, files.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/data/dataset.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The elements of a vector, which is shared by all copies of the dataset.
template <class T>
Dataset<T> from_elements(std::vector<T> elements) {
  return Dataset<T>([all = std::make_shared<const std::vector<T>>(std::move(elements))](
                        std::uint64_t) -> detail::CursorOf<T> {
    class ElementCursor final : public detail::Cursor<T> {
     public:
      explicit ElementCursor(const std::vector<T>& its_all) : all_(its_all) {}
      std::optional<T> next() override {
        if (at_ >= all_.size()) return std::nullopt;
        return all_[at_++];
      }
      void skip(std::int64_t count) override {
        at_ += std::min(static_cast<std::size_t>(count), all_.size() - at_);
      }

     private:
      const std::vector<T>& all_;
      std::size_t at_ = 0;
    };
    return std::make_unique<ElementCursor>(*all);
  });
}

/// The rows of a row-major array of `width` columns, each a std::vector. Error if the array does
/// not have whole rows.
template <class A>
  requires std::is_arithmetic_v<A>
Dataset<std::vector<A>> from_rows(std::vector<A> array, std::size_t width) {
  if (width == 0 || array.size() % width != 0) {
    throw Error("from_rows", "whole rows of " + std::to_string(width) + " elements",
                std::to_string(array.size()) + " elements");
  }
  return Dataset<std::vector<A>>([all = std::make_shared<const std::vector<A>>(std::move(array)),
                                  width](std::uint64_t) -> detail::CursorOf<std::vector<A>> {
    class RowCursor final : public detail::Cursor<std::vector<A>> {
     public:
      RowCursor(const std::vector<A>& its_all, std::size_t its_width)
          : all_(its_all), width_(its_width) {}
      std::optional<std::vector<A>> next() override {
        if (at_ == all_.size()) return std::nullopt;
        const auto first = all_.begin() + static_cast<std::ptrdiff_t>(at_);
        at_ += width_;
        return std::vector<A>(first, first + static_cast<std::ptrdiff_t>(width_));
      }
      void skip(std::int64_t count) override {
        at_ += width_ * std::min(static_cast<std::size_t>(count), (all_.size() - at_) / width_);
      }

     private:
      const std::vector<A>& all_;
      std::size_t width_;
      std::size_t at_ = 0;
    };
    return std::make_unique<RowCursor>(*all, width);
  });
}

/// The numbers from `first` to below `last`.
inline Dataset<std::int64_t> from_range(std::int64_t first, std::int64_t last,
                                        std::int64_t step = 1) {
  if (step == 0) throw Error("from_range", "a step other than 0", "0");
  return Dataset<std::int64_t>([=](std::uint64_t) {
    return detail::cursor_of<std::int64_t>([=, n = first]() mutable -> std::optional<std::int64_t> {
      if (step > 0 ? n >= last : n <= last) return std::nullopt;
      std::int64_t next = 0;
      if (__builtin_add_overflow(n, step, &next)) next = last;
      return std::exchange(n, next);
    });
  });
}

/// The elements that functions give: `make` returns, for each reading, a function that returns
/// std::optional<T>, without a value at the end.
template <class Make>
auto from_generator(Make make) {
  using Next = std::invoke_result_t<const Make&>;
  using T = typename std::invoke_result_t<Next&>::value_type;
  return Dataset<T>([make = std::move(make)](std::uint64_t) {
    return detail::cursor_of<T>([next = make(), ended = false]() mutable -> std::optional<T> {
      if (ended) return std::nullopt;
      std::optional<T> x = next();
      ended = !x;
      return x;
    });
  });
}

/// The paths of the files that fit a pattern, as a shell's: "data/part-*.csv". They are sorted.
/// Error if there is none.
Dataset<std::string> list_files(const std::string& pattern);
/// The lines of a text file, plain or gzip, without their ends.
Dataset<std::string> text_lines(const std::string& path);

struct FixedLengthOptions {
  std::int64_t header = 0;  ///< bytes of the file in front of the first record
  std::int64_t footer = 0;  ///< bytes behind the last one
};
/// The records of a file that has nothing but records of `bytes` bytes. Error, with the file, if it
/// ends in the middle of one.
Dataset<std::vector<std::uint8_t>> fixed_length_records(const std::string& path, std::int64_t bytes,
                                                        const FixedLengthOptions& options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/sources.ipp"
#endif
