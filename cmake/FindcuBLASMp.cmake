# Finds cuBLASMp. Sets cuBLASMp_FOUND, cuBLASMp_VERSION, cuBLASMp_NOT_FOUND_MESSAGE, CUBLASMP_INCLUDE_DIR and
# CUBLASMP_LIBRARY. NCCL_INCLUDE_DIR is that of the NCCL to use it with, which FindNCCL.cmake sets. Nothing is cached.

find_path(CUBLASMP_INCLUDE_DIR cublasmp.h NO_CACHE)
find_library(CUBLASMP_LIBRARY NAMES cublasmp libcublasmp.so.0 NO_CACHE) # PyPI's has the second name alone

# Sets `result` to MAJOR.MINOR as the header defines them, or to 0 where there is no header.
function(version_in_header header prefix result)
  set(version 0)
  if(EXISTS ${header})
    file(STRINGS ${header} lines REGEX "^#define ${prefix}_(MAJOR|MINOR) +[0-9]+")
    string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
    list(JOIN numbers "." version)
  endif()
  set(${result} ${version} PARENT_SCOPE)
endfunction()
version_in_header("${CUBLASMP_INCLUDE_DIR}/cublasmp.h" CUBLASMP_VER cuBLASMp_VERSION)
version_in_header("${NCCL_INCLUDE_DIR}/nccl.h" NCCL nccl_version)

# Before 0.8 it needs NVSHMEM, which takes one process for each GPU. Since then it calls functions of NCCL 2.29.
set(cuBLASMp_NOT_FOUND_MESSAGE "")
set(versions_fit ON)
if(CUBLASMP_LIBRARY AND (cuBLASMp_VERSION VERSION_LESS 0.8 OR nccl_version VERSION_LESS 2.29))
  string(CONCAT cuBLASMp_NOT_FOUND_MESSAGE
         "cuBLASMp 0.8 and NCCL 2.29 are the oldest that do, found ${cuBLASMp_VERSION} in ${CUBLASMP_INCLUDE_DIR} "
         "and ${nccl_version} in ${NCCL_INCLUDE_DIR}")
  set(versions_fit OFF)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cuBLASMp REQUIRED_VARS CUBLASMP_LIBRARY CUBLASMP_INCLUDE_DIR versions_fit
  VERSION_VAR cuBLASMp_VERSION REASON_FAILURE_MESSAGE "${cuBLASMp_NOT_FOUND_MESSAGE}")
