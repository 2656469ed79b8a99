#pragma once

// What a shared object of plain CUDA offers the tests.

#include <cstddef>

namespace simt::test {

constexpr int PLAIN_ELEMENTS = 64;

/// A host function that launches kernels on 64 inputs and outputs, and what the outputs have to be.
struct PlainFeature {
  const char* name;
  void (*run)(const float* in, float* out);
  float (*expected)(const float* in, int i);
};

/// The same for kernels that are wrong or not supported, with parts of the message.
struct PlainFault {
  void (*run)(const float* in, float* out);
  const char* parts[3];
};

template <class T>
struct Table {
  const T* begin;
  std::size_t size;
};

}  // namespace simt::test
