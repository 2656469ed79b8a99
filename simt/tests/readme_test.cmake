# README.md shows the example as it is compiled and run. Run as: cmake -DSIMT=<folder of the executor> -P <this file>.
file(READ ${SIMT}/README.md readme)
foreach(file IN ITEMS differences_test.cu CMakeLists.txt)
  file(READ ${SIMT}/example/${file} shown)
  string(FIND "${readme}" "\n${shown}```" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "README.md does not show example/${file} as it is")
  endif()
endforeach()
