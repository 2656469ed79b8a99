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

# simt_add_kernels(TARGET SOURCE.cu...): an object library of kernels for the executor.
function(simt_add_kernels target)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  add_library(${target} OBJECT ${ARGN})
  # Kernels see floats through float4, as CUDA allows; #pragma unroll is for nvcc.
  target_compile_options(${target} PRIVATE -fno-strict-aliasing -Wno-unknown-pragmas)
  target_link_libraries(${target} PRIVATE simt::simt simt::cuda_headers)
endfunction()

# simt_add_checked_kernels(TARGET SOURCE.cu...): the same with every access to memory observed, for simt::CheckedArrays and
# simt::Counting, if SIMT_CHECKS says that this is possible. Messages name lines in paths relative to the build folder.
function(simt_add_checked_kernels target)
  simt_add_kernels(${target} ${ARGN})
  target_compile_definitions(${target} PRIVATE SIMT_CHECKED)
  # At -O1 the accesses are those of the source. Accesses to vectors stay whole. Messages need the lines.
  target_compile_options(${target} PRIVATE -fsanitize=thread -fsanitize-coverage=trace-pc -O1 -fno-tree-sra -fno-ipa-sra
    -g1 -fdebug-prefix-map=${CMAKE_BINARY_DIR}=.)
endfunction()
