# SPDX-License-Identifier: Apache-2.0

# Fails unless a program draws the pictures of a document again as they are: cmake -DPROGRAM=...
# -DPICTURES=docs/pictures -DDRAWN=... -P check_pictures.cmake

file(REMOVE_RECURSE "${DRAWN}")
file(MAKE_DIRECTORY "${DRAWN}")
execute_process(COMMAND "${PROGRAM}" --pictures "${DRAWN}" COMMAND_ERROR_IS_FATAL ANY)
file(GLOB pictures "${PICTURES}/placement_*.svg")
file(GLOB drawn "${DRAWN}/*.svg")
list(LENGTH pictures count)
list(LENGTH drawn count_drawn)
if(count EQUAL 0 OR NOT count EQUAL count_drawn)
  message(FATAL_ERROR "expected ${count} pictures, got ${count_drawn}")
endif()
foreach(picture IN LISTS pictures)
  cmake_path(GET picture FILENAME name)
  file(READ "${picture}" expected)
  file(READ "${DRAWN}/${name}" got)
  if(NOT got STREQUAL expected)
    message(FATAL_ERROR "${picture} is not what is drawn now: placement --pictures docs/pictures")
  endif()
endforeach()
