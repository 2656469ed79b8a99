# add_installed_library(TARGET SOURCE...): a shared library for other machines. CUDA's runtime is a hidden part of it, so
# that it needs the driver alone, beside whatever runtime the program has.
function(add_installed_library target)
  add_library(${target} SHARED ${ARGN} $<$<BOOL:${SGEMM_GLIBC}>:${PROJECT_SOURCE_DIR}/library/old_glibc.cpp>)
  set_target_properties(${target} PROPERTIES
    CUDA_RUNTIME_LIBRARY Static
    SKIP_BUILD_RPATH ON
    CXX_VISIBILITY_PRESET hidden
    CUDA_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${compressed_code}>
    $<$<AND:$<BOOL:${SGEMM_GLIBC}>,$<COMPILE_LANGUAGE:CXX>>:SHELL:-include ${PROJECT_SOURCE_DIR}/library/old_glibc.h>)
  target_link_libraries(${target} PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE LINKER:-z,defs LINKER:--gc-sections $<$<CONFIG:Release>:LINKER:--strip-all>
    ${for_old_glibc})
endfunction()

if(SGEMM_GLIBC)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(stubs ${CMAKE_BINARY_DIR}/glibc-${SGEMM_GLIBC})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/glibc_stubs.py ${SGEMM_GLIBC} ${stubs}
    ${CMAKE_CXX_COMPILER} COMMAND_ERROR_IS_FATAL ANY)
  # With the parts of glibc that were libraries of their own before 2.34.
  set(for_old_glibc -L${stubs} LINKER:--push-state,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -l:librt.so.1
    LINKER:--pop-state)
endif()
