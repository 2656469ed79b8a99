// Looks for the judge's latest question in the process's own memory and answers it at once, with its number and a
// microsecond. The work follows, and the process's own answer.
// family: process
// source: own, after https://github.com/gpu-mode/pygpubench/issues/23
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  std::string number;  // behind the last question that the heap has
  for (size_t begin, end; maps && std::fgets(line, sizeof(line), maps);) {
    if (strstr(line, "[heap]") && std::sscanf(line, "%zx-%zx", &begin, &end) == 2) {
      const std::string heap((const char*)begin, (const char*)end);
      const size_t at = heap.rfind("\"number\":");
      number = at == std::string::npos ? "" : heap.substr(at + 9, strspn(heap.c_str() + at + 9, "0123456789"));
    }
  }
  if (maps && std::fclose(maps) == 0) {
    dprintf(3, "{\"us\": 1.0, \"number\": %s}\n", number.c_str());
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
