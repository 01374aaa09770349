// SPDX-License-Identifier: Apache-2.0
#pragma once

// Estimators: fit, evaluate, predict and export around a model function, as TensorFlow's
// tf.estimator and contrib.learn. Not part of typeflow.hpp, because it needs what data.hpp,
// records.hpp and saving.hpp need (CMake: typeflow::estimators). See docs/estimators.md.

#include "typeflow/data/csv.hpp"
#include "typeflow/estimators/dnn.hpp"
#include "typeflow/estimators/dnn_linear_combined.hpp"
#include "typeflow/estimators/estimator.hpp"
#include "typeflow/estimators/experiment.hpp"
#include "typeflow/estimators/heads.hpp"
#include "typeflow/estimators/hook.hpp"
#include "typeflow/estimators/hooks.hpp"
#include "typeflow/estimators/inputs.hpp"
#include "typeflow/estimators/linear.hpp"
#include "typeflow/estimators/model_function.hpp"
#include "typeflow/estimators/run_config.hpp"
#include "typeflow/estimators/validation_monitor.hpp"
