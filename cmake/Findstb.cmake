# SPDX-License-Identifier: Apache-2.0

# stb has no CMake files of its own. Defines stb::stb, for <stb/stb_image.h> and its siblings.

find_path(stb_INCLUDE_DIR NAMES stb/stb_image.h)
mark_as_advanced(stb_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(stb REQUIRED_VARS stb_INCLUDE_DIR)

if(stb_FOUND AND NOT TARGET stb::stb)
  add_library(stb::stb INTERFACE IMPORTED)
  target_include_directories(stb::stb INTERFACE "${stb_INCLUDE_DIR}")
endif()
