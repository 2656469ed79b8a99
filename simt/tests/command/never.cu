__global__ void never(const float* in, float* out, unsigned n, float factor) { out[threadIdx.x] = factor * in[n - 1]; }
