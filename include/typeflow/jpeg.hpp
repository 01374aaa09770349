// SPDX-License-Identifier: Apache-2.0
#pragma once

// JPEG files. Not part of image.hpp, because it needs libjpeg-turbo (CMake: typeflow::jpeg).

#include "typeflow/jpeg/jpeg.hpp"
