// SPDX-License-Identifier: Apache-2.0
#pragma once

// Made by feature_columns.py with TensorFlow 2.21.0.

#include <cstdint>
#include <vector>

namespace peers::feature_columns {

inline const std::vector<std::int64_t> crossed_ids{9457357, 6298153, 775210};
inline const std::vector<double> numbers{-2.875, -2.75, 3.0625, 3.125};
inline const std::vector<double> pixel_numbers{0.5, -1, 2, 3.5, 0, 0.25, 1, 1};
inline const std::vector<double> age_buckets{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
inline const std::vector<double> pixel_buckets{0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1,
                                               0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1};
inline const std::vector<double> education_indicator{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
                                                     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0};
inline const std::vector<double> levels_hashed_indicator{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
                                                         0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};
inline const std::vector<double> tags_indicator{2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
inline const std::vector<double> tags_oov_indicator{2, 1, 0, 0, 0, 0, 0, 1, 0, 0,
                                                    0, 0, 0, 0, 0, 0, 1, 0, 1, 1};
inline const std::vector<double> tags_default_indicator{2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 3, 0};
inline const std::vector<double> levels_indicator{0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0};
inline const std::vector<double> levels_oov_indicator{0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0,
                                                      0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0};
inline const std::vector<double> day_indicator{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                                               0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
inline const std::vector<double> weighted_indicator{0.5, 2, 0, 0, 0, 0.25, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> cross_indicator{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0};
inline const std::vector<double> cross_tags_indicator{
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> education_embedding{-0.5, 1.25, 0.25, 1,    0,    -1,
                                                     0,    0,    0,    1.25, 0.25, -0.75};
inline const std::vector<double> clipped_embedding{-0.554290295,
                                                   1.09405899,
                                                   0.152145147,
                                                   -0.980580688,
                                                   0.735435486,
                                                   -0.245145172,
                                                   0,
                                                   0,
                                                   0,
                                                   -0.75,
                                                   1,
                                                   0};
inline const std::vector<double> layer{-2.875, 1, 0, 0, 0, 0, 0, 0, -0.5, 1.25, 0.25,  0.5, -1,
                                       -2.75,  0, 0, 0, 0, 0, 0, 1, 1,    0,    -1,    2,   3.5,
                                       3.0625, 0, 0, 0, 0, 0, 0, 0, 0,    0,    0,     0,   0.25,
                                       3.125,  0, 0, 0, 1, 0, 0, 0, 1.25, 0.25, -0.75, 1,   1};
inline const std::vector<double> tags_sum{-1.75, 3.5, 0.5, -1, 0.75, -0.25, 0, 0, 0, -0.75, 1, 0};
inline const std::vector<double> weighted_sum{-1.75, 2.625, 0.125, -0.25, 0.1875, -0.0625,
                                              0,     0,     0,     -0,    0,      0};
inline const std::vector<double> tags_mean{
    -0.583333373, 1.16666675, 0.166666672, -1, 0.75, -0.25, 0, 0, 0, -0.75, 1, 0};
inline const std::vector<double> weighted_mean{
    -0.666666687, 1.08333337, 0.0833333358, -1, 0.75, -0.25, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> tags_sqrtn{
    -1.01036298, 2.02072597, 0.288675129, -1, 0.75, -0.25, 0, 0, 0, -0.75, 1, 0};
inline const std::vector<double> weighted_sqrtn{
    -0.89442718, 1.45344412, 0.111803398, -1, 0.75, -0.25, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> shared{-0.5, 1.25,  0.25, -0.75, 1,     0,  1,    0,
                                        -1,   1,     0,    -1,    0,     0,  0,    1.25,
                                        0.25, -0.75, 1.25, 0.25,  -0.75, -1, 0.75, -0.25};
inline const std::vector<double> linear_sum{0.9375,   2.15625,  4,       -4.5625,
                                            -1.21875, 1.640625, -2.0625, 4.15625};
inline const std::vector<double> linear_mean{0.229166687, 2.28125,  4,           -4.3125,
                                             -1.21875,    2.640625, -3.64583325, 5.57291651};
inline const std::vector<double> sequence_indicator{
    0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
inline const std::vector<double> sequence_embedding{
    -0.5, 1.25, 0.25, 0, 0, 0, -0.75, 1, 0, -1,    0.75, -0.25, 0,    0,    0,    0, 0, 0,
    0,    0,    0,    0, 0, 0, 0,     0, 0, -0.75, 1,    0,     -0.5, 1.25, 0.25, 0, 0, 0};
inline const std::vector<double> sequence_numbers{3, 4, -2, 1, 0, 0, 0, 0, 0, 8, 16, 0};

}  // namespace peers::feature_columns
