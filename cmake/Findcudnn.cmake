# SPDX-License-Identifier: Apache-2.0

# cuDNN has no CMake package. It may be among CUDA's libraries.

find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cudnn REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR)

if(cudnn_FOUND AND NOT TARGET cudnn::cudnn)
  add_library(cudnn::cudnn UNKNOWN IMPORTED)
  set_target_properties(cudnn::cudnn PROPERTIES
    IMPORTED_LOCATION "${CUDNN_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_INCLUDE_DIR}")
endif()
