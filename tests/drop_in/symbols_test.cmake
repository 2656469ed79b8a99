# Every product that libsgemm gives to cuBLAS passes the drop-in, which can only then tell that cuBLAS computes it. Run as:
# cmake -DNM=... -DLIBRARY=<libsgemm> -DDROP_IN=<the drop-in> -P <this file>.
execute_process(COMMAND ${NM} -D --undefined-only ${LIBRARY} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NM} -D --defined-only ${DROP_IN} OUTPUT_VARIABLE exported COMMAND_ERROR_IS_FATAL ANY)
# Functions with the version of cuBLAS that they are of: NAME@libcublas.so.13. The newest of the drop-in has two @.
string(REGEX MATCHALL "cublas[A-Za-z0-9_]*([Gg]emm|Matmul)[A-Za-z0-9_]*@[a-zA-Z.0-9]+" products "${needed}")
string(REPLACE "@@" "@" exported "${exported}")
if(NOT products)
  message(FATAL_ERROR "libsgemm calls no product of cuBLAS: ${needed}")
endif()
foreach(product ${products})
  if(NOT exported MATCHES " ${product}\n")
    message(FATAL_ERROR "libsgemm calls ${product}, which the drop-in lets pass")
  endif()
endforeach()

# Nothing else is visible, but what drop_in.h declares.
string(REGEX MATCHALL " [TWVBD] [^\n]+" visible "${exported}")
list(FILTER visible EXCLUDE REGEX "^ T cublas[A-Za-z0-9_]+@libcublas(Lt)?[.]so[.]1[123]$")
list(FILTER visible EXCLUDE REGEX "^ T sgemm_drop_in_[a-z_]+@SGEMM_DROP_IN_0$")
if(visible)
  message(FATAL_ERROR "the drop-in has visible symbols that are neither cuBLAS's nor drop_in.h's: ${visible}")
endif()
