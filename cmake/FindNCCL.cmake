# Finds NCCL. Sets NCCL_FOUND, NCCL_INCLUDE_DIR and NCCL_LIBRARY. Nothing goes into the cache, where the folders of an
# NCCL once found would outlive a change of CMAKE_PREFIX_PATH.

cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH nvcc_folder)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nvcc_folder}/../include NO_CACHE)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 NAMES_PER_DIR HINTS ${nvcc_folder}/../lib64 NO_CACHE)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR)
