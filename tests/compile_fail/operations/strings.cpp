// SPDX-License-Identifier: Apache-2.0

// Wrong uses of strings. Each line below must be an error with the text in its comment; without
// them
// (-DCORRECTED) the file compiles.

#include "typeflow/graph.hpp"
#include "typeflow/strings/convert.hpp"
#include "typeflow/strings/decode.hpp"
#include "typeflow/strings/lookup.hpp"
#include "typeflow/strings/pieces.hpp"
#include "typeflow/strings/regex.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<std::string_view, tf::batch, 3>(g, "x");
  auto keys = tf::placeholder<std::string_view, 3>(g, "keys");
  auto none = tf::placeholder<std::string_view, 0>(g, "none");
  auto batches = tf::placeholder<std::string_view, tf::batch>(g, "batches");
  auto two = tf::placeholder<std::string_view, 2>(g, "two");
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
  auto f = tf::placeholder<float, 3>(g, "f");
  auto c = tf::placeholder<std::complex<float>, 3>(g, "c");
  string_join("", x, keys).named("y");
  substr(x, n, 1).named("s");
  lookup(x, keys, n, 0).named("l");
#ifndef CORRECTED
  // clang-format off
  string_join("", x, two);  // error: string_join(separator, x...): the shapes of x... must broadcast to one
  tf::reduce_join<2>(x, "");  // error: reduce_join<Axis>(x, separator): x has no such axis
  tf::string_split<0>(x, " ");  // error: string_split<Tokens>(x, delimiters): Tokens must be positive
  substr(x, f, 1);  // error: substr(x, position, length): position and length must be integers, numbers or tensors that broadcast to the shape of x
  substr(keys, 0, 1.5);  // error: substr(x, position, length): position and length must be integers, numbers or tensors that broadcast to the shape of x
  tf::string_to_number<bool>(x);  // error: string_to_number<T>(x): T must be an integer or floating type
  as_string(c);  // error: as_string(x): x must be a tensor of real numbers or booleans
  string_index(batches);  // error: string_index(keys): keys must be (K), K a number above 0
  find_strings(x, keys, n);  // error: find_strings(x, keys, index): index must be string_index(keys)
  lookup(x, keys, two, "");  // error: lookup(x, keys, values, default_value): keys and values must be (K), K a number above 0
  lookup(x, keys, n, 0.5);  // error: lookup(x, keys, values, default_value): default_value must be a scalar of the values' type
  lookup(x, keys, n, f);  // error: lookup(x, keys, values, default_value): default_value must be a scalar of the values' type
  string_length(f);  // error: string_length(x): x must be a tensor of strings
  string_to_hash_bucket_fast(n, 3);  // error: string_to_hash_bucket_fast(x, buckets): x must be a tensor of strings
  string_fingerprint(n);  // error: string_fingerprint(x): x must be a tensor of strings
  string_to_hash_bucket_strong(n, 3, {1, 2});  // error: string_to_hash_bucket_strong(x, buckets, key): x must be a tensor of strings
  less(x, keys);  // error: less(a, b): a and b must be tensors of numbers that have an order
  tf::split_csv<0>(x);  // error: split_csv<Columns>(x): Columns must be a number from 1 on
  tf::decode_csv<bool>(x);  // error: decode_csv<T...>(x): each T must be an integer or floating type, or std::string_view
  tf::decode_raw<bool, 2>(x);  // error: decode_raw<T, Count>(x): T must be a type of numbers
  tf::decode_raw<float, tf::batch>(x);  // error: decode_raw<T, Count>(x): Count must be a number from 0 on
  regex_replace(f, "a", "b");  // error: regex_replace(x, pattern, rewrite): x must be a tensor of strings
  regex_full_match(f, "a");  // error: regex_full_match(x, pattern): x must be a tensor of strings
  // clang-format on
#endif
  none.named("nothing");
}
