# README.md shows the example as it is compiled and run. Run as: cmake -DSIMT=<folder of the executor> -P <this file>.
file(READ ${SIMT}/README.md readme)
foreach(file IN ITEMS example/differences_test.cu example/CMakeLists.txt)
  file(READ ${SIMT}/${file} shown)
  string(FIND "${readme}" "\n${shown}```" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "README.md does not show ${file} as it is")
  endif()
endforeach()
