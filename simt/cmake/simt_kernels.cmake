# Functions that compile kernels for the executor. A file's language is known to one folder alone, so a .cu file that is
# built for GPUs as well is named to these functions in another folder than to nvcc.
cmake_minimum_required(VERSION 3.25)

# Instrumented code calls the functions of the compiler's thread sanitizer, and the library defines them. Only GCC's calls
# were tried, and a program has room for one sanitizer.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(SIMT_CHECKS ON)
else()
  set(SIMT_CHECKS OFF)
  message(STATUS "Kernels can not be checked by this build: that takes GCC without sanitizers")
endif()

# Kernels see floats through float4, as CUDA allows; #pragma unroll is for nvcc.
set(SIMT_OPTIONS -fno-strict-aliasing -Wno-unknown-pragmas)
# At -O1 the accesses are those of the source; vectors are not to be taken apart. Volatile ones are told apart. Lines for
# messages.
set(SIMT_CHECKED_OPTIONS -DSIMT_CHECKED -fsanitize=thread -fsanitize-coverage=trace-pc -O1 -fno-tree-sra -fno-ipa-sra
  --param=tsan-distinguish-volatile=1 -g1)

# simt_add_kernels(TARGET SOURCE.cu...): an object library of kernels for the executor.
function(simt_add_kernels target)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)  # files of kernels have names of their own
  target_compile_options(${target} PRIVATE ${SIMT_OPTIONS})
  target_link_libraries(${target} PRIVATE simt::simt simt::cuda_headers)
endfunction()

# simt_add_checked_kernels(TARGET SOURCE.cu...): the same with every access to memory observed, for simt::CheckedArrays and
# simt::Counting, if SIMT_CHECKS says that this is possible. Messages name lines in paths relative to the build folder.
function(simt_add_checked_kernels target)
  simt_add_kernels(${target} ${ARGN})
  target_compile_options(${target} PRIVATE ${SIMT_CHECKED_OPTIONS} -fdebug-prefix-map=${CMAKE_BINARY_DIR}=.)
endfunction()

# simt_translate(VARIABLE SOURCE.cu...): sets the variable to C++ files that the build makes of plain CUDA, with
# kernel<<<>>>() and all (PLAIN_CUDA.md), for one of the functions above. Options of the compiler's for such files are
# the caller's: warnings that a project wants of its own code may not suit what others wrote.
function(simt_translate variable)
  set(translations)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(GET path STEM name)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.translated)
    add_custom_command(OUTPUT ${folder}/${name}.cpp
      COMMAND simt::command translate ${path} ${folder} --depfile ${folder}/${name}.d
      DEPENDS ${path} simt::command
      DEPFILE ${folder}/${name}.d
      COMMENT "Translating ${source} for the executor"
      VERBATIM)
    list(APPEND translations ${folder}/${name}.cpp)
  endforeach()
  set(${variable} ${translations} PARENT_SCOPE)
endfunction()
