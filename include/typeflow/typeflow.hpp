// SPDX-License-Identifier: Apache-2.0
#pragma once

// All that a program needs to write a model, train it and run it on the CPU.

#include "typeflow/graph.hpp"
#include "typeflow/runtime/session.hpp"
#include "typeflow/runtime/variables.hpp"
