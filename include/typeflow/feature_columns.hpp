// SPDX-License-Identifier: Apache-2.0
#pragma once

// Feature columns: how a model sees the columns of a table, as numbers, buckets, categories,
// crosses and embeddings. A header of its own, because few models have them. It needs no other
// library than typeflow.hpp does. Columns are read from Examples by records/example_features.hpp,
// from tables by iterators/csv_features.hpp. See docs/feature_columns.md.

#include "typeflow/feature_columns/categories.hpp"
#include "typeflow/feature_columns/columns.hpp"
#include "typeflow/feature_columns/features.hpp"
#include "typeflow/feature_columns/input_layer.hpp"
#include "typeflow/feature_columns/linear_model.hpp"
#include "typeflow/feature_columns/sequences.hpp"
#include "typeflow/feature_columns/sources.hpp"
