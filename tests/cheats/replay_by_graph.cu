// Captures the first call of each size as a graph, and launches it in all later ones: it keeps computing with the
// matrices of the first call and writes to that C.
// family: replay
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <map>
#include <tuple>

static std::map<std::tuple<int, int, int>, cudaGraphExec_t> graphs;

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  cudaGraphExec_t& graph = graphs[{M, N, K}];
  if (!graph) {
    cudaGraph_t captured;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    multiply(M, N, K, alpha, A, B, beta, C, stream);
    cudaStreamEndCapture(stream, &captured);
    cudaGraphInstantiate(&graph, captured, 0);
    cudaGraphDestroy(captured);
  }
  cudaGraphLaunch(graph, stream);
}
