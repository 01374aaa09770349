# SPDX-License-Identifier: Apache-2.0

# cmake -DSCRIPT=scripts/quickstart -DPROGRAM=... -DWORK=... -P check_quickstart.cmake
#
# Asserts that the script prints its help without building anything, wherever --help stands, and that
# it has the options of its program, with the same defaults.

file(MAKE_DIRECTORY "${WORK}")
foreach(tool cmake apt-get)
  file(WRITE "${WORK}/${tool}" "#!/bin/sh\necho ${tool} has been called >&2\nexit 1\n")
  file(CHMOD "${WORK}/${tool}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(ENV{PATH} "${WORK}:$ENV{PATH}")
foreach(arguments "--help" "-h" "--steps;10;--help")
  execute_process(COMMAND "${SCRIPT}" ${arguments}
    RESULT_VARIABLE result OUTPUT_VARIABLE help ERROR_VARIABLE error)
  if(NOT result EQUAL 0 OR NOT error STREQUAL "" OR NOT help MATCHES "usage: scripts/quickstart ")
    message(FATAL_ERROR "quickstart ${arguments} ended with ${result}:\n${help}\n${error}")
  endif()
endforeach()

# "--steps N   training steps (1000)" here, "--steps INT:...=1000" there.
execute_process(COMMAND "${PROGRAM}" --help OUTPUT_VARIABLE theirs COMMAND_ERROR_IS_FATAL ANY)
foreach(text help theirs)
  string(REGEX MATCHALL "--[a-z]+" options_of_${text} "${${text}}")
  list(REMOVE_DUPLICATES options_of_${text})
  list(SORT options_of_${text})
endforeach()
if(NOT options_of_help STREQUAL options_of_theirs)
  message(FATAL_ERROR "quickstart lists ${options_of_help}, its program ${options_of_theirs}")
endif()
foreach(option IN LISTS options_of_theirs)
  if(theirs MATCHES "${option} [^\n=]*=([^ \n]+)")
    set(default "${CMAKE_MATCH_1}")
    if(NOT help MATCHES "${option} [^\n]*\\(${default}\\)")
      message(FATAL_ERROR "quickstart does not say that the default of ${option} is ${default}")
    endif()
  endif()
endforeach()
