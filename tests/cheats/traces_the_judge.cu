// Opens the memory of the process that started this one, and attaches itself to it as a debugger does, which stops its
// clock's thread for a tenth of a second.
// family: process
// source: own, after https://github.com/gpu-mode/pygpubench/issues/23
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static int calls = 0;
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  if (++calls != 8) {
    return;
  }
  const pid_t judge = getppid();
  const int memory = open(("/proc/" + std::to_string(judge) + "/mem").c_str(), O_RDWR);
  std::printf("the judge's memory is %s\n", memory >= 0 ? "open" : "closed");
  if (memory >= 0) {
    close(memory);
  }
  if (ptrace(PTRACE_ATTACH, judge, nullptr, nullptr) == 0) {
    waitpid(judge, nullptr, 0);
    std::printf("the judge is held\n");
    usleep(100000);
    ptrace(PTRACE_DETACH, judge, nullptr, nullptr);
  }
}
