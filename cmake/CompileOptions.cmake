# Warnings and language levels shared by all targets, carried by one interface target.

# C++20 for host code. Device code stays at C++17: nvcc 13.0's front end has crashed on ordinary host code in C++20.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)

add_library(sgemm_options INTERFACE)
# -Wpedantic can not see nvcc's generated host code without drowning in its line directives.
# Messages and debug information name source files relative to the project. The compiler tries the last map first: with
# the second, debug information says that compilers run in ".", and not in a folder that paths begin with then.
set(relative_paths -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
set(relative_folder -ffile-prefix-map=${CMAKE_BINARY_DIR}=.)
set(line_info $<$<BOOL:${SGEMM_LINE_INFO}>:-lineinfo>)
target_compile_options(sgemm_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic ${relative_paths} ${relative_folder}>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,${relative_paths} ${line_info} -Wno-deprecated-gpu-targets>)
# For what is installed: a tenth of the bytes. CUDA unpacks a file's code when the first of its kernels is launched.
if(SGEMM_CUDA)
  include(CheckCompilerFlag)
  check_compiler_flag(CUDA --compress-mode=size SGEMM_HAS_COMPRESS_MODE)
  set(compressed_code $<IF:$<BOOL:${SGEMM_HAS_COMPRESS_MODE}>,--compress-mode=size,-Xfatbin=-compress-all>)
endif()
if(SGEMM_WARNINGS_AS_ERRORS)
  target_compile_options(sgemm_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()

# Device code that only has to compile. Older versions of nvcc lack the option and optimise then.
if(SGEMM_CUDA AND SGEMM_QUICK_DEVICE_CODE)
  include(CheckCompilerFlag)
  check_compiler_flag(CUDA -Ofc=max SGEMM_NVCC_HAS_FAST_COMPILE)
  if(SGEMM_NVCC_HAS_FAST_COMPILE)
    target_compile_options(sgemm_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-Ofc=max>)
  endif()
endif()

# unite_folders(TARGET [EXCEPT SOURCE...]): unity builds (CMAKE_UNITY_BUILD) compile each folder of TARGET's as one file,
# which reads the headers once. Names without linkage have to differ within a folder then.
function(unite_folders target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" EXCEPT)
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${arg_EXCEPT})
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "of_${folder}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
