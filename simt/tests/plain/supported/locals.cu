// Local arrays and vectors of every shape, structs with arrays in them, lambdas, loops around declarations.
__device__ float sum_of(const float (&values)[4]) {
  float sum = 0;
  for (float value : values) sum += value;
  return sum;
}

template <typename T, int N>
struct Tile {
  T values[N][2] = {};
  __device__ T& at(int i) { return values[i / 2][i % 2]; }
};

__global__ void locals_kernel(const float* in, float* out) {
  struct Pair {
    float parts[2];
    union {
      int whole[1];
      float real;
    };
  };
  Pair pair;
  pair.parts[0] = in[threadIdx.x];
  pair.whole[0] = 0;
  float acc[2][2] = {0.0}, unused = 0;
  unsigned char bytes[4]{};
  const int offsets[3] = {1, 2, 3};
  Tile<float, 2> tile;
  for (int k = 0; k < 4; ++k) {
    float part[4] = {in[k], in[k + 1], 1.0f, 2.0f};
    int4 vector{k, 1, 2, 3};
    int* const numbers = reinterpret_cast<int*>(&vector);
    acc[k / 2][k % 2] += sum_of(part) + numbers[3];
    bytes[k] = static_cast<unsigned char>(k);
    tile.at(k) = part[0];
  }
  switch (threadIdx.x) {
    case 64:
      float never[2];
      never[0] = 1;
      unused = never[0];
      break;
    default:
      unused = 0;
  }
  auto twice = [&](int i) {
    float copy[2] = {acc[0][i], acc[1][i]};
    return copy[0] + copy[1];
  };
  out[threadIdx.x] = twice(0) + twice(1) + bytes[3] + offsets[2] + pair.parts[0] + pair.real + unused + tile.at(1);
}

void locals(const float* in, float* out) { locals_kernel<<<1, 64>>>(in, out); }

float locals_expected(const float* in, int i) {
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += in[k] + in[k + 1] + 3 + 3;
  return sum + 3 + 3 + in[i] + in[1];
}
