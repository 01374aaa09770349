// SPDX-License-Identifier: Apache-2.0
#pragma once

// The options of a dataset's steps.

#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct MapOptions {
  int threads = 1;  ///< above 1: as many threads call the function, which must allow that
};
struct ShuffleOptions {
  std::int64_t buffer = 10000;  ///< elements among which each next one is chosen
  std::uint64_t seed = 1;
  bool reshuffle = true;  ///< another order each time that a repeat comes round
};
struct DatasetBatchOptions {
  bool drop_smaller = false;   ///< leave out the last batch if it is not full
  double padding = 0;          ///< of padded batches
  std::string text_padding{};  ///< the same for sequences of texts
};
struct InterleaveOptions {
  std::int64_t cycle = 4;  ///< datasets that are read in turns
  std::int64_t block = 1;  ///< elements of one before the next one's turn
};
struct WindowOptions {
  std::int64_t shift = 0;   ///< from the start of one window to the next one's; 0: the size
  std::int64_t stride = 1;  ///< between elements of a window
  bool drop_smaller = false;
};
struct BucketByLengthOptions {
  std::vector<std::int64_t> bounds;  ///< ascending: bucket i has lengths below bounds[i]
  /// Elements in a batch: one number for all buckets, or bounds.size() + 1.
  std::vector<std::int64_t> sizes;
  bool drop_smaller = false;
  double padding = 0;
  std::string text_padding{};  ///< the same for sequences of texts
};

}  // namespace typeflow::inline TYPEFLOW_ISA
