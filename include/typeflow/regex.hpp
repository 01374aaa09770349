// SPDX-License-Identifier: Apache-2.0
#pragma once

// Regular expressions on tensors of strings: regex_replace, regex_full_match. A header of its own,
// because few programs that have strings need it. It needs no other library than strings.hpp does.

#include "typeflow/strings.hpp"
#include "typeflow/strings/regex.hpp"
#include "typeflow/strings/regex_kernels.hpp"
