// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include "typeflow/regex.hpp"
#include "typeflow/strings.hpp"

inline constexpr Row strings_rows[] = {
    row<ops::StringJoin>("string_join", "string_join(separator, x...)", "broadcast",
                         "the strings one after the other, with a separator between them; operands "
                         "are tensors and texts",
                         {.types = "strings"}),
    row<ops::ReduceJoin>(
        "reduce_join", "reduce_join<axis>(x, separator)", "(...,N,...) -> (...,...)",
        "the strings along an axis joined, with a separator between them", {.types = "strings"}),
    row<ops::StringSplit>("string_split", "string_split<n>(x, delimiters)",
                          "(I...) -> (I...,n), (I...)",
                          "the tokens between delimiters, and their number; each byte of "
                          "`delimiters` is one; {.skip_empty = false} keeps empty tokens",
                          {.types = "strings"}),
    row<ops::Substr>(
        "substr", "substr(x, position, length)", "(I...) x (I...) x (I...) -> (I...)",
        "up to `length` bytes from a position; a negative position counts from the end",
        {.types = "strings; positions, lengths: integers"}),
    row<ops::StringLength>("string_length", "string_length(x)", "same",
                           "the number of bytes, int32", {.types = "strings"}),
    row<ops::StringToNumber>("string_to_number", "string_to_number<T>(x)", "same",
                             "the number that each string spells; float by default",
                             {.types = "strings"}),
    row<ops::AsString>("as_string", "as_string(x)", "same",
                       "the shortest decimal text that reads back as the number; \"true\", "
                       "\"false\"",
                       {.types = "bool, real"}),
    row<ops::StringToHashBucketFast>(
        "string_to_hash_bucket_fast", "string_to_hash_bucket_fast(x, buckets)", "same",
        "FarmHash's Fingerprint64 modulo the buckets, int64", {.types = "strings"}),
    row<ops::StringFingerprint>("string_fingerprint", "string_fingerprint(x)", "same",
                                "FarmHash's Fingerprint64, uint64", {.types = "strings"}),
    row<ops::StringToHashBucketStrong>(
        "string_to_hash_bucket_strong", "string_to_hash_bucket_strong(x, buckets, {k0, k1})",
        "same", "SipHash-2-4 with a key, modulo the buckets, int64", {.types = "strings"}),
    row<ops::StringIndex>("string_index", "string_index(keys)", "(K) -> (2^n)",
                          "the hash index for finding the keys", {.types = "strings"}),
    row<ops::FindString>("find_strings", "find_strings(x, keys[, index])", "(I...) x (K) -> (I...)",
                         "the position of each string among the keys, int64; -1 for none",
                         {.types = "strings"}),
    row<ops::FindString, ops::Gather, ops::Select>(
        "lookup", "lookup(x, keys, values, default[, index])", "(I...) x (K) x (K) x () -> (I...)",
        "the value of each string's key; the default if it is not among the keys",
        {.types = "strings; values: any"}),
    row<ops::SplitCsv>("split_csv", "split_csv<n>(x)", "(I...) -> (I...,n)",
                       "the fields of rows of comma-separated values; {.delimiter = ';', .quotes = "
                       "false} are settings",
                       {.types = "strings"}),
    row<ops::StringToNumber, ops::SplitCsv>(
        "decode_csv", "decode_csv<T...>(x, {.defaults = {...}})", "(I...) -> (I...)...",
        "the columns of such rows, each as numbers or strings of a type",
        {.types = "strings", .gradient = Gradient::nothing}),
    row<ops::DecodeRaw>("decode_raw", "decode_raw<T, n>(x)", "(I...) -> (I...,n)",
                        "the bytes of each string as n numbers; {.big_endian = true} for the other "
                        "order of bytes",
                        {.types = "strings"}),
    row<ops::RegexReplace>("regex_replace", "regex_replace(x, pattern, rewrite)", "same",
                           "the strings with the matches of a pattern, in RE2's syntax, replaced; "
                           "{.all = false} replaces the first; in typeflow/regex.hpp",
                           {.types = "strings"}),
    row<ops::RegexFullMatch>("regex_full_match", "regex_full_match(x, pattern)", "same",
                             "whether a pattern matches the whole string, a boolean; in "
                             "typeflow/regex.hpp",
                             {.types = "strings"}),
};
