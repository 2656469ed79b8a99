# A kernel that is a template of no namespace is the same function for the linker in the executor's two builds:
# targets_apart.cmake refuses it, and takes one within the target's namespace. Run as:
# cmake -DNM=<nm> -DCOMPILER=<C++> -DSOURCE=<the project> -DFOLDER=<to write to> -P <this file>.

# Sets `status` and `message` to those of the comparison for a kernel between `begin` and `end`.
function(compare begin end)
  file(WRITE ${FOLDER}/kernels/13_example.cu "#include \"common/target.hpp\"
#include <cuda_runtime.h>
${begin}
template <int VALUE>
__global__ void fill(float* c) { c[threadIdx.x] = VALUE; }
${end}
void launch(float* c) { fill<1>(c); }
")
  foreach(build IN ITEMS unchecked checked)
    set(option "")
    if(build STREQUAL checked)
      set(option -DSIMT_CHECKED)
    endif()
    execute_process(COMMAND ${COMPILER} -x c++ -std=c++20 -g1 -c ${option} -I${SOURCE}/kernels -I${SOURCE}/simt/include
      -I${SOURCE}/simt/include/simt/cuda -o ${FOLDER}/${build}.o ${FOLDER}/kernels/13_example.cu
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND ${CMAKE_COMMAND} -DNM=${NM} -DUNCHECKED=${FOLDER}/unchecked.o
    -DCHECKED=${FOLDER}/checked.o -P ${SOURCE}/kernels/executor/targets_apart.cmake
    RESULT_VARIABLE status ERROR_VARIABLE message)
  set(status ${status} PARENT_SCOPE)
  set(message ${message} PARENT_SCOPE)
endfunction()

compare("" "")
if(status EQUAL 0 OR NOT message MATCHES "kernels/13_example.cu:5: void fill<1>\\(float\\*\\)")
  message(FATAL_ERROR "A template outside of the target's namespace is not refused: status ${status}, ${message}")
endif()
compare("inline namespace SGEMM_TARGET {" "}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "A template within the target's namespace is refused: ${message}")
endif()
