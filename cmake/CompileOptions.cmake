# Warnings and language levels shared by all targets, carried by one interface target.

add_library(sgemm_options INTERFACE)
# C++20 for host code. Device code stays at C++17: nvcc 13.0's front end has crashed on ordinary host code in C++20.
target_compile_features(sgemm_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:cxx_std_20> $<$<COMPILE_LANGUAGE:CUDA>:cuda_std_17>)
# -Wpedantic can not see nvcc's generated host code without drowning in its line directives.
target_compile_options(sgemm_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra -lineinfo -Wno-deprecated-gpu-targets>)
if(SGEMM_WARNINGS_AS_ERRORS)
  target_compile_options(sgemm_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
