#pragma once

// Stands in for PyTorch's header, see types.h. Functions are not made known to Python.

#include "types.h"

#include <iostream>
#include <string>

#define PYBIND11_MODULE(name, module) \
  template <class Module>             \
  void torch_module_without_python(Module& module)
#define TORCH_LIBRARY(name, module) PYBIND11_MODULE(name, module)
