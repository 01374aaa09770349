# SPDX-License-Identifier: Apache-2.0

# The libraries that typeflow's targets name. The installed typeflowConfig.cmake includes this
# file too, hence the macro: a package that is missing there makes typeflow "not found" instead of
# ending the user's configuration.

macro(typeflow_dependency name)
  if(CMAKE_FIND_PACKAGE_NAME STREQUAL "typeflow")
    find_dependency(${name} ${ARGN})
  else()
    find_package(${name} ${ARGN} REQUIRED)
  endif()
endmacro()

# No version in the call: xsimd's version file accepts one major version only.
typeflow_dependency(xsimd)
if(xsimd_VERSION AND xsimd_VERSION VERSION_LESS 8.1)
  message(FATAL_ERROR "typeflow: xsimd 8.1 or newer is needed, found ${xsimd_VERSION}")
endif()
typeflow_dependency(xtensor)
typeflow_dependency(TBB)
typeflow_dependency(ZLIB)
typeflow_dependency(stb)
typeflow_dependency(protozero)
typeflow_dependency(LAPACK)
typeflow_dependency(nlohmann_json)
# For typeflow::npz alone, so users without npz files need not have it.
find_package(libzip QUIET)
# The same for typeflow::jpeg.
find_package(JPEG QUIET)
# For typeflow::cuda_libraries, typeflow::cudnn and typeflow::cusolver.
find_package(CUDAToolkit QUIET)
find_package(cudnn QUIET)
