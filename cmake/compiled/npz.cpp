// SPDX-License-Identifier: Apache-2.0

// Archives of arrays.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/npz/archive.ipp"
