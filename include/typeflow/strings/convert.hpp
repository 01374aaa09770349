// SPDX-License-Identifier: Apache-2.0
#pragma once

// Conversions between strings and numbers: string_to_number, as_string, and hash buckets.

#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/strings/pieces.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The number that each string spells, of type `to`.
struct StringToNumber : of_strings {
  static constexpr std::string_view name = "StringToNumber";
  std::uint32_t to;  // a DType
  static constexpr Type infer(const StringToNumber& op, const Type& x) {
    const auto type = static_cast<DType>(op.to);
    const bool fits = x.dtype == DType::string && contains(Domain::real, type);
    return {type, fits ? x.dims : no_dims};
  }
};

/// The text of each number or boolean.
struct AsString : of_strings {
  static constexpr std::string_view name = "AsString";
  static constexpr Type infer(const AsString&, const Type& x) {
    const bool fits = contains(Domain::real, x.dtype) || x.dtype == DType::boolean;
    return {DType::string, fits ? x.dims : no_dims};
  }
};

/// Fingerprint64 of each string modulo the number of buckets, as int64.
struct StringToHashBucketFast : of_strings {
  static constexpr std::string_view name = "StringToHashBucketFast";
  std::int64_t buckets;
  static constexpr Type infer(const StringToHashBucketFast&, const Type& x) {
    return {DType::int64, x.dtype == DType::string ? x.dims : no_dims};
  }
};

/// Fingerprint64 of each string, as uint64.
struct StringFingerprint : of_strings {
  static constexpr std::string_view name = "StringFingerprint";
  static constexpr Type infer(const StringFingerprint&, const Type& x) {
    return {DType::uint64, x.dtype == DType::string ? x.dims : no_dims};
  }
};

/// SipHash-2-4 of each string modulo the number of buckets, as int64.
struct StringToHashBucketStrong : of_strings {
  static constexpr std::string_view name = "StringToHashBucketStrong";
  std::int64_t buckets;
  std::uint64_t key0;
  std::uint64_t key1;
  static constexpr Type infer(const StringToHashBucketStrong&, const Type& x) {
    return {DType::int64, x.dtype == DType::string ? x.dims : no_dims};
  }
};

}  // namespace ops

namespace detail {
/// Reports a mistake of the model if the number of buckets is below 1.
constexpr void check_buckets(ir::Graph& graph, std::string_view function, std::int64_t buckets) {
  if (buckets > 0) return;
  Message message{};
  graph.fail(message << function << ": expected one bucket or more, got " << buckets);
}
}  // namespace detail

/// The number that each string spells in decimal, of an integer or floating type:
/// string_to_number<float>(x).
///
/// Blanks around the number and a sign are allowed; for floating types an exponent, "inf" and
/// "nan", too. A number too close to 0 for a floating type becomes 0; one too large becomes
/// infinite. Any other text, an integer that does not fit, and "" are an Error of the run.
template <Element T = float, StringExpr X>
constexpr auto string_to_number(const X& x,
                                std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::real, dtype_of<T>),
                "string_to_number<T>(x): T must be an integer or floating type");
  detail::mark(at, x);
  const ops::StringToNumber op{{}, static_cast<std::uint32_t>(dtype_of<T>)};
  return Expr<T, typename X::shape>(x.graph(), apply(op, x.any()).id);
}

/// The shortest decimal text that reads back as the number; "true" or "false" for a boolean.
template <TypedExpr X>
constexpr auto as_string(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X> || detail::in_domain<Domain::booleans, X>,
                "as_string(x): x must be a tensor of real numbers or booleans");
  detail::mark(at, x);
  return Expr<std::string_view, typename X::shape>(x.graph(), apply(ops::AsString{}, x.any()).id);
}

/// A bucket in [0, buckets) for each string, as int64: FarmHash's Fingerprint64 modulo `buckets`,
/// as in TensorFlow.
template <TypedExpr X>
constexpr auto string_to_hash_bucket_fast(
    const X& x, std::int64_t buckets, std::source_location at = std::source_location::current()) {
  static_assert(StringExpr<X>,
                "string_to_hash_bucket_fast(x, buckets): x must be a tensor of strings");
  detail::mark(at, x);
  detail::check_buckets(x.graph(), "string_to_hash_bucket_fast(x, buckets)", buckets);
  return Expr<std::int64_t, typename X::shape>(
      x.graph(), apply(ops::StringToHashBucketFast{{}, buckets}, x.any()).id);
}

/// All 64 bits of the same hash, as uint64: FarmHash's Fingerprint64, to be combined with others.
template <TypedExpr X>
constexpr auto string_fingerprint(const X& x,
                                  std::source_location at = std::source_location::current()) {
  static_assert(StringExpr<X>, "string_fingerprint(x): x must be a tensor of strings");
  detail::mark(at, x);
  return Expr<std::uint64_t, typename X::shape>(x.graph(),
                                                apply(ops::StringFingerprint{}, x.any()).id);
}

/// string_to_hash_bucket_fast with SipHash-2-4 and a secret key: without the key nobody can choose
/// strings that fall into one bucket.
template <TypedExpr X>
constexpr auto string_to_hash_bucket_strong(
    const X& x, std::int64_t buckets, const std::uint64_t (&key)[2],
    std::source_location at = std::source_location::current()) {
  static_assert(StringExpr<X>,
                "string_to_hash_bucket_strong(x, buckets, key): x must be a tensor of strings");
  detail::mark(at, x);
  detail::check_buckets(x.graph(), "string_to_hash_bucket_strong(x, buckets, key)", buckets);
  const ops::StringToHashBucketStrong op{{}, buckets, key[0], key[1]};
  return Expr<std::int64_t, typename X::shape>(x.graph(), apply(op, x.any()).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
