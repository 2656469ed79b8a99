# Fails where a chapter has a function that the linker would take for the same in two builds: a template or an inline
# function outside of the target's namespace (common/target.hpp). The linker would keep one of the two. Where it keeps
# the one without checks, --check reports nothing.
#
# Such functions are weak symbols of both builds. Headers named .hpp of common/ and host/ are no part of a kernel, nor are
# functions of the C++ library, for which compilers may name the line of a chapter. Run as:
# cmake -DNM=<nm> -DUNCHECKED=<objects> -DCHECKED=<objects, with debug information> -P <this file>.
execute_process(COMMAND ${NM} --demangle --line-numbers --defined-only ${CHECKED} OUTPUT_VARIABLE checked
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NM} --demangle --defined-only ${UNCHECKED} OUTPUT_VARIABLE unchecked
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " W [^\t\n]+\t[^\n]*/kernels/[^\n]*" functions "${checked}")
list(FILTER functions EXCLUDE REGEX "/kernels/(common|host)/[^/]*\\.hpp:[0-9]+$")
list(FILTER functions EXCLUDE REGEX "^ W ([a-z]+ )?std::")
list(REMOVE_DUPLICATES functions)
set(shared "")
foreach(function IN LISTS functions)
  string(REGEX MATCH "^( W ([^\t]+))\t.*/(kernels/.*)$" matched "${function}")
  string(FIND "${unchecked}" "${CMAKE_MATCH_1}\n" at)
  if(NOT at EQUAL -1)
    string(APPEND shared "${CMAKE_MATCH_3}: ${CMAKE_MATCH_2}\n")
  endif()
endforeach()
if(shared)
  message(FATAL_ERROR "The linker can not tell these functions from those of the build without checks:\n${shared}"
    "Put them into an unnamed namespace, or into inline namespace SGEMM_TARGET (kernels/common/target.hpp).")
endif()
