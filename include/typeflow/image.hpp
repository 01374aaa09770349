// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images: PNG files, and pictures of many small images. Not part of typeflow.hpp, because
// it needs stb and zlib (CMake: typeflow::image).

#include "typeflow/image/image.hpp"
#include "typeflow/image/png.hpp"
#include "typeflow/image/read.hpp"
