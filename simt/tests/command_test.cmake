# What the command says of files, and its exit status. Run as: cmake -DSIMT=<the program> -DFILES=<folder command> -P
# <this file>.
set(ENV{TMPDIR} ${CMAKE_CURRENT_BINARY_DIR})

# expect(STATUS PARTS WORDS...): the command's status and regular expressions of what it says.
function(expect status parts)
  execute_process(COMMAND ${SIMT} ${ARGN} WORKING_DIRECTORY ${FILES} RESULT_VARIABLE found OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT found EQUAL status)
    message(SEND_ERROR "simt ${ARGN}: status ${found} in place of ${status}\n${output}")
  endif()
  foreach(part IN LISTS parts)
    if(NOT output MATCHES "${part}")
      message(SEND_ERROR "simt ${ARGN}: does not say ${part}\n${output}")
    endif()
  endforeach()
endfunction()

expect(0 "saxpy.cu:1: saxpy<<<\\(n \\+ 127\\) / 128, 128>>>: no faults" check saxpy.cu)
expect(0 "saxpy.cu:1: .*: no faults" check saxpy.cu n=1)
expect(2 "no launch has a size m" check saxpy.cu m=1)
expect(1 "saxpy.cu:5 in saxpy.*: reads 4 bytes at element 10 of x, which has 10 elements: outside of all arrays"
  check saxpy.cu --launch "n = 20\; saxpy<<<1, 32>>>(n, 1, in x[n / 2], inout y[n])")
expect(1 "saxpy.cu:5 in saxpy.*: writes 4 bytes at element 0 of y, which is an input"
  check saxpy.cu --launch "saxpy<<<1, 32>>>(3, 1, in x[3], in y[3])")
expect(1 "beyond.cu:1: saxpy.*block \\(7,0,0\\), thread \\(104,0,0\\), beyond.cu:5 in .*element 1000 of y, which has 1000"
  check beyond.cu)
expect(0 "no faults" check beyond.cu n=1023 --launch "n = 1\; saxpy<<<(n + 127) / 128, 128>>>(n, 2, in x[n + 1], inout y[n + 1])")
expect(1 "race.cu:1: sums<float, 128><<<4, 128>>>: block .*race.cu:1[14] .* of shared parts, which thread;race.cu:2: .*: no faults"
  check race.cu)
expect(1 "uninitialised.cu:3 .*element 0 of y, which holds nothing before;uninitialised.cu:8 .* of shared values, which"
  check uninitialised.cu)
expect(0 "function.cu:2: scale_rows: no faults;function.cu:3: move<<<1, 96, 60000>>>: no faults" check function.cu)
expect(1 "function.cu:14 in scale" check function.cu rows=8
  --launch "rows = 7\; scale_rows(in factors[7] = 1, inout matrix[rows][32], rows)")
expect(2 "// simt: n = 1000; never<<<\\(n \\+ 127\\) / 128, 128>>>\\(in in\\[n\\], inout out\\[n\\], n, 1.0f\\)"
  check never.cu)
expect(0 "never.cu|--launch:1: never.*: no faults" check never.cu
  --launch "never<<<1, 1>>>(in in[8], out out[1], 8, 1)")
expect(2 "--launch:1: 'in in' is no array" check never.cu --launch "never<<<1, 1>>>(in in, out out[1], 8, 1)")
expect(2 "'never 1' is no launch" check never.cu --launch "never 1")
expect(2 "stands behind a launch" check never.cu --launch "f()\; g()")
expect(2 "what is \"out\" holds nothing" check never.cu --launch "never<<<1, 1>>>(in in[1], out out[1] = 1, 8, 1)")
expect(2 "--launch:1:.*error.*m;never.cu does not compile" check never.cu
  --launch "never<<<1, 1>>>(in in[m], out out[1], 8, 1)")
expect(1 "a launch of 1025 threads" check never.cu --launch "never<<<1, 1025>>>(in in[1], out out[1], 1, 1)")
expect(2 "can not read there_is_none.cu" check there_is_none.cu)
expect(2 "takes a file" check)
expect(2 "no such option: --fast" check saxpy.cu --fast)
expect(0 "2 blocks of 128 threads;saxpy.cu:5 +global load +x +7 +25 +0 +800 +0\n;saxpy.cu:5 +0 +0 +0 +0 +400\n"
  count saxpy.cu n=200)
expect(2 "takes a source and a folder" translate saxpy.cu)
expect(2 "there is no part chekc;usage: simt check" chekc saxpy.cu)
expect(0 "usage: simt check" check --help)
expect(0 "simt [0-9]+\\.[0-9]+\\.[0-9]+" --version)
