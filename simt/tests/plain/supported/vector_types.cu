// Vector types, casts of pointers to them, and their make functions.
__global__ void vector_types_kernel(const float* in, float* out) {
  const int i = threadIdx.x;
  float4 four = reinterpret_cast<const float4*>(in)[i];
  const float2 two = make_float2(four.x, four.y);
  const int4 whole = make_int4(1, 2, 3, 4);
  const uint2 pair{5u, 6u};
  const double3 three = make_double3(1, 2, 3);
  const uchar4 bytes = make_uchar4(1, 2, 3, 255);
  four.x = two.y + whole.w;
  four.y = two.x + pair.x;
  four.z += static_cast<float>(three.z);
  four.w += bytes.w;
  reinterpret_cast<float4*>(&out[i * 4])[0] = four;
}

void vector_types(const float* in, float* out) { vector_types_kernel<<<1, 16>>>(in, out); }

float vector_types_expected(const float* in, int i) {
  const float added[] = {4, 5, 3, 255};
  return in[i % 4 < 2 ? i ^ 1 : i] + added[i % 4];
}
