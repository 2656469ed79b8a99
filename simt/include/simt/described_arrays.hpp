#pragma once

// What the code that `simt check` makes of a launch's description calls.

#include "simt/global_array.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>

namespace simt {

enum class ArrayUse : std::uint8_t { in, out, inout };

/// Makes the arrays of a launch.
class DescribedArrays {
 public:
  virtual ~DescribedArrays() = default;

  /// Memory for an array, far from that of any other.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void add(GlobalArray array) = 0;
  /// All arrays are there; what follows is checked.
  virtual void begin() = 0;
};

template <class Function, std::size_t INDEX>
struct ParameterOf;
template <class Result, class... Parameters, std::size_t INDEX>
struct ParameterOf<Result(Parameters...), INDEX> {
  static_assert(INDEX < sizeof...(Parameters), "the launch has more arguments than the kernel has parameters");
  using type = std::tuple_element_t<INDEX, std::tuple<Parameters...>>;
};
/// What parameter INDEX of a function points to.
template <class Function, std::size_t INDEX>
using ElementOf = std::remove_cv_t<std::remove_pointer_t<typename ParameterOf<Function, INDEX>::type>>;

/// The elements of an array whose description has no "=".
struct AnyElements {};

/// A float between -1 and 1 that depends on `index` alone.
inline double any_number(std::uint64_t index) {
  std::uint64_t bits = (index + 1) * 0x9E3779B97F4A7C15U;  // the generator splitmix64
  bits = (bits ^ bits >> 30U) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ bits >> 27U) * 0x94D049BB133111EBU;
  return static_cast<double>((bits ^ bits >> 31U) >> 11U) * 0x1p-52 - 1.0;
}

/// An array of so many elements. `elements` is AnyElements or gives each by its index.
template <class T, class Elements>
T* make_array(DescribedArrays& arrays, const char* name, ArrayUse use, long long count, const Elements& elements) {
  static_assert(!std::is_void_v<T> && !std::is_pointer_v<T>,
                "an array's element type has to stand before its name where the parameter is no pointer to one");
  if (count < 0) {
    throw std::invalid_argument(std::string(name) + " has fewer than no elements: " + std::to_string(count));
  }
  const auto size = static_cast<std::size_t>(count);
  T* const array = static_cast<T*>(arrays.allocate(size * sizeof(T)));
  if constexpr (!std::is_same_v<Elements, AnyElements>) {
    for (long long i = 0; i < count; ++i) {
      array[i] = static_cast<T>(elements(i));
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 0; i < size; ++i) {
      array[i] = static_cast<T>(any_number(i));
    }
  } else {
    std::memset(static_cast<void*>(array), 0, size * sizeof(T));
  }
  arrays.add(use == ArrayUse::in    ? input(name, array, count)
             : use == ArrayUse::out ? output(name, array, count)
                                    : in_out(name, array, count));
  return array;
}

}  // namespace simt
