# SPDX-License-Identifier: Apache-2.0

# cmake -DPROGRAM=... -DARGUMENTS=... -DLEAST=0.91 -DWORK=... -P check.cmake
# cmake -DPROGRAM=... -DARGUMENTS=... -DMOST=21000 -DPERCENT=65 -DWORK=... -P check.cmake
# cmake -DPROGRAM=... -DARGUMENTS=... -DPERPLEXITY=200 -DWORK=... -P check.cmake
#
# Runs the program in the empty folder WORK. Its last line must be "test accuracy 0.dddd" or another
# share in words, at least LEAST, or "cost first A last B test C" with A at most MOST and B at most
# PERCENT of A, or "test perplexity D.d", below PERPLEXITY; and it must write a picture, but
# WITHOUT_PICTURE in the environment. With NEEDS_MNIST in the environment, skipped unless TYPEFLOW_DATA
# has MNIST; with NEEDS_PTB, unless it has the Penn Treebank. With WITH_LOGS, it must write event files
# of two runs, and the projector's files, into the folder logs.

cmake_minimum_required(VERSION 3.25)

if(DEFINED ENV{NEEDS_MNIST} AND NOT (DEFINED ENV{TYPEFLOW_DATA} AND
   (EXISTS "$ENV{TYPEFLOW_DATA}/mnist" OR EXISTS "$ENV{TYPEFLOW_DATA}/train-images-idx3-ubyte.gz")))
  message("skipped: no MNIST; TYPEFLOW_DATA names the folder that has it")
  return()
endif()

if(DEFINED ENV{NEEDS_PTB} AND NOT (DEFINED ENV{TYPEFLOW_DATA} AND
   (EXISTS "$ENV{TYPEFLOW_DATA}/ptb/ptb.train.txt" OR EXISTS "$ENV{TYPEFLOW_DATA}/ptb.train.txt")))
  message("skipped: no Penn Treebank; TYPEFLOW_DATA names the folder that has it")
  return()
endif()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} WORKING_DIRECTORY "${WORK}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the program ended with ${result}")
endif()
if("--summaries" IN_LIST ARGUMENTS)
  file(GLOB events "${WORK}/logs/events.out.tfevents.*")
  if(NOT events)
    message(FATAL_ERROR "the program has written no event file into logs")
  endif()
endif()
if(DEFINED MOST)
  if(NOT output MATCHES "\ncost first ([0-9]+)\\.[0-9] last ([0-9]+)\\.[0-9] test [0-9]+\\.[0-9]\n$")
    message(FATAL_ERROR "the last line is not 'cost first A last B test C'")
  endif()
  math(EXPR most_last "${CMAKE_MATCH_1} * ${PERCENT} / 100")
  if(CMAKE_MATCH_1 GREATER MOST OR CMAKE_MATCH_2 GREATER most_last)
    message(FATAL_ERROR "expected at most ${MOST} and then ${most_last}")
  endif()
elseif(DEFINED PERPLEXITY)
  if(NOT output MATCHES "\ntest perplexity ([0-9]+)\\.[0-9]\n$")
    message(FATAL_ERROR "the last line is not 'test perplexity D.d'")
  endif()
  if(NOT CMAKE_MATCH_1 LESS PERPLEXITY)
    message(FATAL_ERROR "expected less than ${PERPLEXITY}, got ${CMAKE_MATCH_1}")
  endif()
elseif(NOT output MATCHES "\n[a-z ]+ (0\\.[0-9][0-9][0-9][0-9]|1\\.0000)\n$")
  message(FATAL_ERROR "the last line is not 'test accuracy 0.dddd' or another share")
elseif(CMAKE_MATCH_1 LESS LEAST)
  message(FATAL_ERROR "expected at least ${LEAST}, got ${CMAKE_MATCH_1}")
endif()
file(GLOB pictures "${WORK}/*.png" "${WORK}/*.svg")
if(NOT pictures AND NOT DEFINED ENV{WITHOUT_PICTURE})
  message(FATAL_ERROR "the program wrote no picture")
endif()
if(DEFINED ENV{WITH_LOGS})
  foreach(pattern "train/events.out.tfevents.*" "test/events.out.tfevents.*" "train/projector_config.pbtxt")
    file(GLOB files "${WORK}/logs/${pattern}")
    if(NOT files)
      message(FATAL_ERROR "the program wrote no logs/${pattern}")
    endif()
  endforeach()
endif()
