// SPDX-License-Identifier: Apache-2.0
#pragma once

// Array<T, Rank>: the result of a run for a tensor.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A tensor that owns its elements, in row-major order: a result of a run. It can be fed, too.
///
///   const auto logits = session.run<"logits">(tf::feed<"x">(images));  // Array<float, 2>
///   logits.shape(0); logits(3, 7); for (float x : logits) ...
///
/// It converts to row-major containers of xtensor, in files that include them:
///
///   const xt::xtensor<float, 2> logits = session.run<"logits">(...);
///
/// typeflow/xtensor.hpp has views of it for xtensor.
template <class T, std::size_t Rank>
class Array {
 public:
  using value_type = T;
  using shape_type = std::array<std::size_t, Rank>;

  Array() : Array(shape_type{}) {}
  /// Elements are those of `new T[]`: numbers are not initialised.
  explicit Array(const shape_type& shape)
      : shape_(shape), size_(count(shape)), elements_(new T[size_ == 0 ? 1 : size_]) {}
  Array(const Array& other) : Array(other.shape_) {
    std::copy(other.begin(), other.end(), begin());
  }
  Array(Array&& other) noexcept
      : shape_(other.shape_), size_(other.size_), elements_(std::move(other.elements_)) {
    other.shape_ = {};
    other.size_ = 0;
  }
  Array& operator=(Array other) noexcept {
    shape_ = other.shape_;
    size_ = other.size_;
    elements_ = std::move(other.elements_);
    return *this;
  }

  static constexpr std::size_t dimension() { return Rank; }
  const shape_type& shape() const { return shape_; }
  /// The extent of an axis.
  std::size_t shape(std::size_t axis) const { return shape_[axis]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  T* data() { return elements_.get(); }
  const T* data() const { return elements_.get(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  /// An element by its position along each axis. Positions are not checked.
  template <class... I>
    requires(sizeof...(I) == Rank && (std::is_convertible_v<I, std::size_t> && ...))
  T& operator()(I... position) {
    return elements_[offset(position...)];
  }
  template <class... I>
    requires(sizeof...(I) == Rank && (std::is_convertible_v<I, std::size_t> && ...))
  const T& operator()(I... position) const {
    return elements_[offset(position...)];
  }
  T& operator[](std::size_t position)
    requires(Rank == 1)
  {
    return elements_[position];
  }
  const T& operator[](std::size_t position) const
    requires(Rank == 1)
  {
    return elements_[position];
  }

  friend bool operator==(const Array& a, const Array& b) {
    return a.shape_ == b.shape_ && std::equal(a.begin(), a.end(), b.begin());
  }

  /// Converts to a container of xtensor, or to any other that has from_shape and is filled in
  /// row-major order.
  template <class Container>
    requires requires(const shape_type& shape) {
      { Container::from_shape(shape) } -> std::same_as<Container>;
      requires std::is_same_v<typename Container::value_type, T>;
    }
  operator Container() const {  // NOLINT: xt::xtensor<float, 2> y = session.run<"y">();
    Container out = Container::from_shape(shape_);
    std::copy(begin(), end(), out.begin());
    return out;
  }

 private:
  static std::size_t count(const shape_type& shape) {
    std::size_t n = 1;
    for (const std::size_t extent : shape) n *= extent;
    return n;
  }
  template <class... I>
  std::size_t offset(I... position) const {
    std::size_t at = 0;
    std::size_t axis = 0;
    ((at = at * shape_[axis++] + static_cast<std::size_t>(position)), ...);
    return at;
  }

  shape_type shape_;
  std::size_t size_;
  std::unique_ptr<T[]> elements_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
