// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors of byte strings: variables, joining and splitting, conversion from and to numbers,
// decoding, hashing, lookup in tables. A header of its own, because few programs need them. It
// needs no other library than typeflow.hpp does.

#include "typeflow/strings/convert.hpp"
#include "typeflow/strings/decode.hpp"
#include "typeflow/strings/decode_kernels.hpp"
#include "typeflow/strings/kernels.hpp"
#include "typeflow/strings/lookup.hpp"
#include "typeflow/strings/pieces.hpp"
