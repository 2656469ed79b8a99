# Everything comes from the distribution's packages or the CUDA Toolkit; a missing one is named with its apt package.

# Boost's own description of itself, where CMake would no longer have one (3.30).
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)
endif()

function(require_package package apt_name)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is missing. On Debian or Ubuntu: apt-get install ${apt_name} "
                        "(scripts/quickstart.sh installs everything the suite needs)")
  endif()
  message(STATUS "Found ${package} ${${package}_VERSION}")
  # find_package sets plain variables and this function has a scope of its own; imported targets are visible anyway.
  set(${package}_FOUND ${${package}_FOUND} PARENT_SCOPE)
endfunction()

option(SGEMM_WITH_CUDA "Build for GPUs as well, where nvcc is found" ON)
if(SGEMM_WITH_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
endif()
if(SGEMM_WITH_CUDA AND CMAKE_CUDA_COMPILER)
  set(SGEMM_CUDA ON)
  enable_language(CUDA)
  require_package(CUDAToolkit "cuda-toolkit (NVIDIA's repository)")
else()
  set(SGEMM_CUDA OFF)
  message(STATUS "Without nvcc: building for the CPU alone, which executes the kernels without timing them "
                 "(for a GPU: CUDA Toolkit 12.4 or newer, with nvcc on PATH or -DCMAKE_CUDA_COMPILER=<its nvcc>)")
endif()
require_package(Threads libc6-dev)
require_package(Boost libboost-context-dev COMPONENTS context)
require_package(fmt libfmt-dev)
require_package(nlohmann_json nlohmann-json3-dev)
require_package(CLI11 libcli11-dev)
require_package(benchmark libbenchmark-dev)
if(SGEMM_BUILD_TESTS)
  require_package(GTest libgtest-dev)
endif()

find_path(CBLAS_INCLUDE_DIR NAMES cblas.h PATH_SUFFIXES openblas x86_64-linux-gnu aarch64-linux-gnu
          x86_64-linux-gnu/openblas-pthread aarch64-linux-gnu/openblas-pthread)
find_library(OPENBLAS_LIBRARY NAMES openblas)
if(NOT CBLAS_INCLUDE_DIR OR NOT OPENBLAS_LIBRARY)
  message(FATAL_ERROR "OpenBLAS is missing. On Debian or Ubuntu: apt-get install libopenblas-dev")
endif()
message(STATUS "Found OpenBLAS ${OPENBLAS_LIBRARY}")
add_library(openblas INTERFACE)
target_include_directories(openblas SYSTEM INTERFACE ${CBLAS_INCLUDE_DIR})
target_link_libraries(openblas INTERFACE ${OPENBLAS_LIBRARY})
