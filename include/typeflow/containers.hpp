// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stores of variables that the process keeps by name: container, reset_container, container_names.

#include "typeflow/runtime/containers.hpp"
