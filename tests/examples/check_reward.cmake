# SPDX-License-Identifier: Apache-2.0

# cmake -DPROGRAM=... -DSEEDS=5 -DENOUGH=4 -DLEAST=200 -DWORK=... -P check_reward.cmake
#
# Runs the program in the empty folder WORK with the seeds 1 to SEEDS. Its last line must be "mean
# reward 214.0", and the number at least LEAST for ENOUGH of the seeds. Further variables:
#
#   ARGUMENTS      of the program, with spaces between them
#   MOST_AT_FIRST  what the first "mean reward of the last N: 2.1" may be
#   PICTURE        it must write a PNG file

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
separate_arguments(ARGUMENTS)
set(reached 0)
foreach(seed RANGE 1 ${SEEDS})
  execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} --seed ${seed} WORKING_DIRECTORY "${WORK}"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("seed ${seed}\n${output}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the program ended with ${result}")
  endif()
  if(NOT output MATCHES "\nmean reward (-?[0-9]+\\.[0-9])\n$")
    message(FATAL_ERROR "the last line is not 'mean reward 214.0'")
  endif()
  if(CMAKE_MATCH_1 GREATER_EQUAL LEAST)
    math(EXPR reached "${reached} + 1")
  endif()
  if(DEFINED MOST_AT_FIRST)
    if(NOT output MATCHES "mean reward of the last [0-9]+: (-?[0-9]+\\.[0-9])\n")
      message(FATAL_ERROR "no line says 'mean reward of the last N: 2.1'")
    endif()
    if(CMAKE_MATCH_1 GREATER MOST_AT_FIRST)
      message(FATAL_ERROR "expected a first mean of at most ${MOST_AT_FIRST}, got ${CMAKE_MATCH_1}")
    endif()
  endif()
endforeach()
if(reached LESS ENOUGH)
  message(FATAL_ERROR "expected at least ${LEAST} for ${ENOUGH} seeds, reached for ${reached}")
endif()
file(GLOB pictures "${WORK}/*.png")
if(DEFINED PICTURE AND NOT pictures)
  message(FATAL_ERROR "the program wrote no picture")
endif()
