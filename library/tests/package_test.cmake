# A project that finds the installed library builds the example, by the CMake package and by pkg-config. Without a GPU
# the example ends with the sentence about that. Run as: cmake -DBUILD=<build folder> -DSOURCE=<source folder>
# -DLIBRARY=<the library> -DGENERATOR=... -DCOMPILER=... -DCUDA_INCLUDE=<folders of CUDA's headers> -DCUDART=<library>
# -DNM=... -P <this file>.
set(work ${BUILD}/library_package_test)
set(installed "${work}/a prefix with blanks")
file(REMOVE_RECURSE ${work})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${installed} --component sgemm)
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/library -B ${work}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_PREFIX_PATH=${installed})
run(${CMAKE_COMMAND} --build ${work}/build)

# With a GPU the example checks its own result. Without one it says what is missing.
execute_process(COMMAND ${work}/build/product RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE error)
if(NOT (status EQUAL 0 AND output MATCHES "^2048 by ") AND NOT (status EQUAL 1 AND error MATCHES "no usable GPU"))
  message(FATAL_ERROR "the example ended with ${status}: ${output}${error}")
endif()

# pkg-config names the same header and library.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE description ${installed}/sgemm.pc)
  cmake_path(GET description PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs sgemm
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(status)
    message(FATAL_ERROR "pkg-config does not find the library")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  list(TRANSFORM CUDA_INCLUDE PREPEND -I)
  run(${COMPILER} ${SOURCE}/examples/library/product.cpp -o ${work}/product ${CUDA_INCLUDE} ${flags} ${CUDART})
endif()

# The loader, CMake and pkg-config are told the version of the header. Before 1.0.0 another second number is another library.
file(GLOB_RECURSE header ${installed}/sgemm.h)
file(STRINGS ${header} version REGEX "^#define SGEMM_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9]+" "." version "${version}")
string(REGEX MATCH "([0-9]+)[.]([0-9]+)[.][0-9]+" version "${version}")
set(PACKAGE_FIND_VERSION_MAJOR ${CMAKE_MATCH_1})
set(minor ${CMAKE_MATCH_2})
file(GLOB_RECURSE library ${installed}/libsgemm.so.${PACKAGE_FIND_VERSION_MAJOR}.${minor})
if(NOT library)
  message(FATAL_ERROR "no library is installed under the name libsgemm.so.${PACKAGE_FIND_VERSION_MAJOR}.${minor}")
endif()
file(GLOB_RECURSE version_file ${installed}/sgemm-config-version.cmake)
math(EXPR before "${minor} - 1")
foreach(PACKAGE_FIND_VERSION_MINOR ${minor} ${before})
  set(PACKAGE_FIND_VERSION ${PACKAGE_FIND_VERSION_MAJOR}.${PACKAGE_FIND_VERSION_MINOR})
  include(${version_file})
  if(PACKAGE_FIND_VERSION_MINOR EQUAL minor AND NOT PACKAGE_VERSION_COMPATIBLE OR
     PACKAGE_FIND_VERSION_MINOR EQUAL before AND PACKAGE_VERSION_COMPATIBLE OR NOT PACKAGE_VERSION STREQUAL version)
    message(FATAL_ERROR "${PACKAGE_VERSION} for ${PACKAGE_FIND_VERSION}: compatible is ${PACKAGE_VERSION_COMPATIBLE}")
  endif()
endforeach()
if(PKG_CONFIG)
  run(${PKG_CONFIG} --exact-version=${version} sgemm)
endif()

# The oldest dialects take the header.
foreach(dialect c89 c++98)
  string(REGEX REPLACE "[0-9]+$" "" language ${dialect})
  run(${COMPILER} -x ${language} -std=${dialect} -Wall -Wextra -pedantic -Werror -fsyntax-only ${header})
endforeach()

# Nothing but the functions of the header is visible.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols)
string(REGEX MATCHALL " [A-Za-z] [^\n]+" symbols "${symbols}")
list(FILTER symbols EXCLUDE REGEX "^ T sgemm_")
if(symbols)
  message(FATAL_ERROR "visible besides the interface: ${symbols}")
endif()
