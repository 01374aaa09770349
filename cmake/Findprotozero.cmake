# SPDX-License-Identifier: Apache-2.0

# protozero has no CMake files in Debian. Defines protozero::protozero.

find_path(protozero_INCLUDE_DIR NAMES protozero/pbf_reader.hpp)
mark_as_advanced(protozero_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(protozero REQUIRED_VARS protozero_INCLUDE_DIR)

if(protozero_FOUND AND NOT TARGET protozero::protozero)
  add_library(protozero::protozero INTERFACE IMPORTED)
  target_include_directories(protozero::protozero INTERFACE "${protozero_INCLUDE_DIR}")
endif()
