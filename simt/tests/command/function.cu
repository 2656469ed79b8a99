// Host functions, structures, dynamic shared memory beyond 48 KiB.
// simt: rows = 7; scale_rows(in factors[rows] = i + 0.5, inout float matrix[rows][33], rows)
// simt: move<<<1, 96, 60000>>>(in from[96] = Point{float(i), 1}, out to[96], Offset{1.0f, -1.0f})
#include <cuda_runtime.h>

struct Point {
  float x, y;
};
struct Offset {
  float x, y;
};

__global__ void scale(const double* factors, float* matrix) {
  matrix[blockIdx.x * 33 + threadIdx.x] *= factors[blockIdx.x];
}
void scale_rows(const double* factors, float* matrix, int rows) { scale<<<rows, 33>>>(factors, matrix); }

__global__ void move(const Point* from, Point* to, Offset by) {
  extern __shared__ Point moved[];
  moved[95 - threadIdx.x] = {from[threadIdx.x].x + by.x, from[threadIdx.x].y + by.y};
  __syncthreads();
  to[threadIdx.x] = moved[95 - threadIdx.x];
}
