# Nothing is visible but functions of cuBLAS and those of drop_in.h. Run as: cmake -DNM=... -DDROP_IN=<the drop-in> -P <this file>.
execute_process(COMMAND ${NM} -D --defined-only ${DROP_IN} OUTPUT_VARIABLE exported COMMAND_ERROR_IS_FATAL ANY)
# Functions have the version of cuBLAS that they are of: NAME@libcublas.so.13. The newest of the drop-in has two @.
string(REPLACE "@@" "@" exported "${exported}")
string(REGEX MATCHALL " [TWVBD] [^\n]+" visible "${exported}")
list(FILTER visible EXCLUDE REGEX "^ T cublas[A-Za-z0-9_]+@libcublas(Lt)?[.]so[.]1[123]$")
list(FILTER visible EXCLUDE REGEX "^ T sgemm_drop_in_[a-z_]+@SGEMM_DROP_IN_0$")
if(visible)
  message(FATAL_ERROR "the drop-in has visible symbols that are neither cuBLAS's nor drop_in.h's: ${visible}")
endif()
