# Every product that libsgemm gives to cuBLAS passes the drop-in, which can only then tell that cuBLAS computes it. Run as:
# cmake -DNM=... -DLIBRARY=<libsgemm> -DDROP_IN=<the drop-in> -P <this file>.
execute_process(COMMAND ${NM} -D --undefined-only ${LIBRARY} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NM} -D --defined-only ${DROP_IN} OUTPUT_VARIABLE exported COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "cublas[A-Za-z0-9_]*([Gg]emm|Matmul)[A-Za-z0-9_]*" products "${needed}")
if(NOT products)
  message(FATAL_ERROR "libsgemm calls no product of cuBLAS: ${needed}")
endif()
foreach(product ${products})
  if(NOT exported MATCHES " ${product}\n")
    message(FATAL_ERROR "libsgemm calls ${product}, which the drop-in lets pass")
  endif()
endforeach()
