# SPDX-License-Identifier: Apache-2.0

# cmake -DPROGRAM=... -DWIDTH=900 -DHEIGHT=600 -DWORK=... -P check_picture.cmake
#
# Runs the program with two seeds, the first of them twice. Each run must write a PNG file of these
# sides: the same bytes for the same seed, others for the other.

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

# The 24 bytes that a PNG file of these sides begins with.
math(EXPR width "0x100000000 + ${WIDTH}" OUTPUT_FORMAT HEXADECIMAL)
math(EXPR height "0x100000000 + ${HEIGHT}" OUTPUT_FORMAT HEXADECIMAL)
string(SUBSTRING "${width}" 3 8 width)
string(SUBSTRING "${height}" 3 8 height)
string(TOLOWER "89504e470d0a1a0a0000000d49484452${width}${height}" expected)

foreach(run IN ITEMS first again other)
  set(seed 1)
  if(run STREQUAL other)
    set(seed 2)
  endif()
  execute_process(COMMAND "${PROGRAM}" --seed ${seed} --output ${run}.png
    WORKING_DIRECTORY "${WORK}"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the program ended with ${result}")
  endif()
  file(READ "${WORK}/${run}.png" begin LIMIT 24 HEX)
  if(NOT begin STREQUAL expected)
    message(FATAL_ERROR "expected a PNG file of ${WIDTH} x ${HEIGHT} pixels, got ${begin}")
  endif()
  file(SHA256 "${WORK}/${run}.png" ${run})
endforeach()
if(NOT first STREQUAL again)
  message(FATAL_ERROR "one seed made two pictures")
endif()
if(first STREQUAL other)
  message(FATAL_ERROR "two seeds made the same picture")
endif()
