# SPDX-License-Identifier: Apache-2.0

# cmake -DMETHOD=find_package|add_subdirectory -DWORK=... [-DBUILD_TYPE=...] [-DFLAGS=...] [-DNVCC=...]
#       -P check.cmake
#
# Configures, builds and runs project/ in the empty folder WORK, against typeflow installed into
# WORK/prefix or as a subfolder.

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(arguments -DMETHOD=${METHOD} -DEXPECTED_VERSION=${TYPEFLOW_VERSION}
    -DCMAKE_BUILD_TYPE=${BUILD_TYPE} "-DCMAKE_CXX_FLAGS=${FLAGS}")
if(METHOD STREQUAL "find_package")
  run("${CMAKE_COMMAND}" --install "${TYPEFLOW_BUILD}" --prefix "${WORK}/prefix")
  list(APPEND arguments "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
else()
  list(APPEND arguments "-DTYPEFLOW_SOURCE=${TYPEFLOW_SOURCE}")
endif()
if(NVCC)
  # An architecture that every supported toolkit knows: no GPU is needed to compile.
  list(APPEND arguments -DUSE_CUDA=ON "-DCMAKE_CUDA_COMPILER=${NVCC}" -DCMAKE_CUDA_ARCHITECTURES=80)
endif()

run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${WORK}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" ${arguments})
# One compiler at a time: ctest runs as many tests at once as there is room for.
run("${CMAKE_COMMAND}" --build "${WORK}/build" --parallel 1)
run("${WORK}/build/consumer")
if(NOT NVCC)
  run("${WORK}/build/consumer_linalg")
  run("${WORK}/build/consumer_compiled" "${WORK}/variables.safetensors")
  file(GLOB_RECURSE precompiled "${WORK}/build/*/cmake_pch.hxx.*ch")
  list(FILTER precompiled INCLUDE REGEX "consumer_compiled")
  if(NOT precompiled)
    message(FATAL_ERROR "typeflow::precompiled has precompiled nothing")
  endif()
  # What is no template is compiled once, by the target that links it or by a library.
  foreach(part runtime convolutions kernels saving)
    file(GLOB_RECURSE objects "${WORK}/build/${part}.cpp.*")
    list(FILTER objects INCLUDE REGEX "\\.o(bj)?$")
    list(LENGTH objects count)
    if(NOT count EQUAL 1)
      message(FATAL_ERROR "cmake/compiled/${part}.cpp was compiled ${count} times: ${objects}")
    endif()
  endforeach()
endif()
