// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations on images. A header of its own, because most programs have no images. The headers of
// the operations, without kernels, need no other library than graph.hpp does.

#include "typeflow/images/adjust.hpp"
#include "typeflow/images/boxes.hpp"
#include "typeflow/images/color.hpp"
#include "typeflow/images/crop.hpp"
#include "typeflow/images/flip.hpp"
#include "typeflow/images/kernels.hpp"
#include "typeflow/images/morphology.hpp"
#include "typeflow/images/resize.hpp"
