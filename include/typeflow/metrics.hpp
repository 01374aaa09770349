// SPDX-License-Identifier: Apache-2.0
#pragma once

// Streaming metrics, like TensorFlow's tf.metrics: tf::metrics::accuracy and so on. Composed of
// other operations; needs no other library than typeflow.hpp does.

#include "typeflow/metrics/at_thresholds.hpp"
#include "typeflow/metrics/counts.hpp"
#include "typeflow/metrics/errors.hpp"
#include "typeflow/metrics/means.hpp"
#include "typeflow/metrics/streaming.hpp"
#include "typeflow/metrics/thresholds.hpp"
