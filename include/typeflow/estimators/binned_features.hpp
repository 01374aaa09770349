// SPDX-License-Identifier: Apache-2.0
#pragma once

// Features as small numbers: a column's values, in order, share at most 255 bins. Trees that search
// all splits then look at bins instead of rows. A column with no more values than bins loses
// nothing.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The threshold between two neighbours a < b: the largest float up to their mean, or a if one of
/// them is infinite. So a float is <= the threshold if it is <= the mean.
inline float threshold_between(float a, float b) {
  const double middle = static_cast<double>(a) / 2 + static_cast<double>(b) / 2;
  if (!std::isfinite(middle)) return a;
  const auto nearest = static_cast<float>(middle);
  return static_cast<double>(nearest) <= middle ? nearest : std::nextafter(nearest, a);
}

/// The least and the largest value of a bin.
struct BinRange {
  float low;
  float high;
};

/// The bins of a column, which is sorted here, without its NaNs. With more different values than
/// bins, the bins have about as many rows each.
inline std::vector<BinRange> bin_ranges(std::vector<float>& column, int max_bins) {
  std::erase_if(column, [](float x) { return x != x; });
  std::sort(column.begin(), column.end());
  std::vector<std::pair<float, std::size_t>> values;  // with the number of rows
  for (const float x : column) {
    if (values.empty() || values.back().first != x) values.push_back({x, 0});
    ++values.back().second;
  }
  std::vector<BinRange> ranges;
  const auto bins = static_cast<std::size_t>(max_bins);
  const bool few = values.size() <= bins;
  std::size_t rows = 0;    // up to this value
  std::size_t in_bin = 0;  // of them in the present bin
  std::size_t first = 0;   // the first value of the present bin
  for (std::size_t i = 0; i < values.size(); ++i) {
    rows += values[i].second;
    in_bin += values[i].second;
    const std::size_t left = bins - ranges.size();  // bins from the present one on
    const std::size_t wanted = (column.size() - (rows - in_bin) + left - 1) / left;
    const bool is_last = i + 1 == values.size();
    if (!is_last && !few && (in_bin < wanted || left == 1)) continue;
    ranges.push_back({values[first].first, values[i].first});
    in_bin = 0;
    first = i + 1;
  }
  return ranges;
}

/// A matrix of rows as bins, column by column. A row whose feature is NaN has the last bin.
class BinnedFeatures {
 public:
  static constexpr int most_bins = 255;

  /// `each(count, f)` calls f(begin, end) for parts of [0, count), perhaps on several threads.
  template <class Each>
  BinnedFeatures(std::span<const float> x, std::int64_t rows, int features, int max_bins,
                 const Each& each)
      : rows_(rows),
        bins_(x.size()),
        ranges_(static_cast<std::size_t>(features)),
        has_nan_(static_cast<std::size_t>(features)) {
    each(features, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> column(static_cast<std::size_t>(rows));
      for (std::int64_t f = begin; f < end; ++f) {
        column.resize(static_cast<std::size_t>(rows));
        for (std::int64_t i = 0; i < rows; ++i) {
          column[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(i * features + f)];
        }
        bin_column(static_cast<std::size_t>(f), column, max_bins);
      }
    });
    offsets_.push_back(0);
    for (std::size_t f = 0; f < ranges_.size(); ++f) offsets_.push_back(offsets_[f] + bins_of(f));
  }

  std::int64_t rows() const { return rows_; }
  std::size_t features() const { return ranges_.size(); }
  const std::uint8_t* column(std::size_t feature) const {
    return bins_.data() + feature * static_cast<std::size_t>(rows_);
  }
  /// The number of bins of a feature, that of NaN among them.
  std::size_t bins_of(std::size_t feature) const {
    return ranges_[feature].size() + (has_nan_[feature] != 0 ? 1 : 0);
  }
  /// The place of a feature's first bin among those of all features, and the number of all.
  std::size_t offset(std::size_t feature) const { return offsets_[feature]; }
  std::size_t all_bins() const { return offsets_.back(); }
  /// The test that sends bins up to `bin` to the left, and bins from `next` on to the right.
  float threshold(std::size_t feature, std::size_t bin, std::size_t next) const {
    const std::vector<BinRange>& ranges = ranges_[feature];
    return next < ranges.size() ? threshold_between(ranges[bin].high, ranges[next].low)
                                : std::numeric_limits<float>::infinity();
  }

 private:
  void bin_column(std::size_t feature, std::vector<float>& column, int max_bins) {
    const std::vector<float> values = column;
    std::vector<BinRange>& ranges = ranges_[feature];
    ranges = bin_ranges(column, max_bins);
    const std::size_t count = column.size();  // without NaN
    has_nan_[feature] = count < values.size() ? 1 : 0;
    std::uint8_t* const bins = bins_.data() + feature * values.size();
    const auto is_below = [](const BinRange& range, float x) { return range.high < x; };
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto bin = values[i] != values[i]
                           ? std::ssize(ranges)
                           : std::lower_bound(ranges.begin(), ranges.end(), values[i], is_below) -
                                 ranges.begin();
      bins[i] = static_cast<std::uint8_t>(bin);
    }
  }

  std::int64_t rows_;
  std::vector<std::uint8_t> bins_;             // (features,rows)
  std::vector<std::vector<BinRange>> ranges_;  // of each feature
  std::vector<char> has_nan_;                  // of each feature
  std::vector<std::size_t> offsets_;           // of each feature, and the end
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
