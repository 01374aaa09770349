// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors of byte strings: assigned to variables, put together and taken apart, from and to
// numbers, hashed, looked up in tables. Its own include, since few programs need it; it links
// nothing more than typeflow.hpp does.

#include "typeflow/strings/convert.hpp"
#include "typeflow/strings/kernels.hpp"
#include "typeflow/strings/lookup.hpp"
#include "typeflow/strings/pieces.hpp"
