# The library's own files. Those of SGEMM_LIBRARY_GPU_SOURCES call what the executor has not; tests/ has others in
# their place.
set(SGEMM_LIBRARY_SOURCES
  board.cpp
  calibration/calibration.cpp
  calibration/fit.cpp
  choice.cpp
  context.cpp
  every_layout_algorithms.cu
  gemm_call.cpp
  int8_algorithms.cu
  lines_algorithms.cu
  memory_limit.cpp
  predicted_time.cpp
  sgemm.cpp
  small_algorithms.cu
  split_algorithms.cu
  stacked_algorithms.cu
  status.cpp
  tall_algorithms.cu)
# What runs on GPUs that the rest has no code for.
set(SGEMM_LIBRARY_SOURCES_FOR_EVERY_GPU passes.cu thin_algorithms.cu)
set(SGEMM_LIBRARY_GPU_SOURCES calibration/calibrate.cpp calibration/measurement.cpp cublas.cpp cuda_guard.cpp current_board.cpp memory_pool.cpp
  recomputed.cpp)
list(TRANSFORM SGEMM_LIBRARY_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(TRANSFORM SGEMM_LIBRARY_SOURCES_FOR_EVERY_GPU PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(TRANSFORM SGEMM_LIBRARY_GPU_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
