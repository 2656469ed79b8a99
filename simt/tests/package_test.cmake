# A project that finds the installed package builds the example and runs it. Run as: cmake -DBUILD=<build folder of the
# executor> -DSIMT=<its source folder> -DGENERATOR=... -DCOMPILER=... -P <this file>.
set(work ${BUILD}/package_test)
file(REMOVE_RECURSE ${work})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/installed)
run(${CMAKE_COMMAND} -S ${SIMT}/example -B ${work}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_PREFIX_PATH=${work}/installed)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${work}/build --output-on-failure --no-tests=error)
# The command works from where it was installed: it finds its headers there.
run(${work}/installed/bin/simt translate ${SIMT}/tests/plain/supported/launches.cu ${work}/translated)
run(${COMPILER} -std=c++20 -fsyntax-only -I${work}/installed/include -I${work}/installed/include/simt/cuda
    ${work}/translated/launches.cpp)

# What it says of a wrong command line.
foreach(words IN ITEMS "chekc|there is no command chekc" "translate;a.cu|takes a source and a folder"
        "translate;a.cu;a;--fast;1|no such option: --fast" "translate;a.cu;a;-fast|no such option: -f"
        "translate;none.cu;${work}/none|cannot read")
  string(REPLACE "|" ";" words "${words}")
  list(POP_BACK words expected)
  execute_process(COMMAND ${work}/installed/bin/simt ${words} RESULT_VARIABLE status ERROR_VARIABLE output)
  if(NOT status EQUAL 2 OR NOT output MATCHES "${expected}")
    message(FATAL_ERROR "simt ${words}: ${status}\n${output}")
  endif()
endforeach()
