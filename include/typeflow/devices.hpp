// SPDX-License-Identifier: Apache-2.0
#pragma once

// Several devices: tf::on pins operations to them, sessions run them there.
//
//   auto y = tf::on<tf::Cpu<1>>(g, [&] { return matmul(x, W); });
//   ...
//   tf::Session<model> session(variables, {.devices = {{.threads = 1}, {.threads = 1}}});

#include "typeflow/exec/all.hpp"
#include "typeflow/front/placement.hpp"
