// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images: writing PNG files, pictures of many small images. Its own include since it needs stb
// (CMake: typeflow::image).

#include "typeflow/image/image.hpp"
#include "typeflow/image/png.hpp"
