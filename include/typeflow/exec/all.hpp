// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plans and their execution for all programs; see general.hpp.

#include "typeflow/exec/general.hpp"

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/general.ipp"
#endif
