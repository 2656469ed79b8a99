#include "user/library.hpp"

#include "base/words.hpp"
#include "common/cuda_check.hpp"
#include "device/device_buffer.hpp"
#include "problem/batch.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// A function of CUDA's driver, which the runtime has loaded.
template <class Function>
Function* driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) {
    throw std::runtime_error(fmt::format("CUDA's driver has no {}", name));
  }
  return reinterpret_cast<Function*>(found);
}
#define SGEMM_DRIVER(function) driver<decltype(::function)>(#function)

void require(CUresult result, std::string_view what) {
  if (result != CUDA_SUCCESS) {
    const char* text = "";
    SGEMM_DRIVER(cuGetErrorString)(result, &text);
    throw std::runtime_error(fmt::format("{}: {} (CUDA error {})", what, text, static_cast<int>(result)));
  }
}

/// The functions and variables in a cubin, an ELF file, by their mangled names.
std::vector<std::string> names_in(const std::string& cubin) {
  const auto at = [&](std::uint64_t place, auto& to) {
    if (place > cubin.size() || sizeof(to) > cubin.size() - place) {
      throw std::runtime_error("the compiled file is cut off");
    }
    std::memcpy(&to, cubin.data() + place, sizeof(to));
  };
  Elf64_Ehdr header{};
  at(0, header);
  const auto section = [&](std::uint64_t number) {
    Elf64_Shdr found{};
    at(header.e_shoff + number * header.e_shentsize, found);
    return found;
  };
  std::vector<std::string> names;
  for (std::uint64_t number = 0; number < header.e_shnum; ++number) {
    const Elf64_Shdr symbols = section(number);
    if (symbols.sh_type != SHT_SYMTAB) {
      continue;
    }
    const Elf64_Shdr strings = section(symbols.sh_link);
    for (std::uint64_t place = 0; place < symbols.sh_size; place += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol{};
      at(symbols.sh_offset + place, symbol);
      const std::uint64_t begin = strings.sh_offset + symbol.st_name;
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if ((type == STT_FUNC || type == STT_OBJECT) && begin < cubin.size()) {
        const char* const text = cubin.data() + begin;
        names.emplace_back(text, strnlen(text, cubin.size() - begin));
      }
    }
  }
  return names;
}

/// The kernel of launch `index`, or the constant that is copied to there, mangled. The wrapper has a function for each
/// whose name has that one's as an argument of a template: "void sgemm_named<0, &(void tiled<32>(int, float*))>()", or
/// "...<0, &tiled>()" where it is no template. A static variable is called by its last name alone.
std::string name_of_launch(const std::vector<std::string>& names, std::size_t index) {
  const std::string begin = fmt::format("void {}<{}, &", NAMED_SYMBOL, index);
  constexpr std::string_view END = ">()";
  for (const std::string& function : names) {
    std::string text = demangled(function);
    if (!text.starts_with(begin)) {
      continue;
    }
    text = text.substr(begin.size(), text.size() - begin.size() - END.size());
    const bool whole = text.starts_with('(');
    if (whole) {
      text = text.substr(1, text.size() - 2);
    }
    for (const std::string& candidate : names) {
      const std::string name = demangled(candidate);
      if (name == text || (!whole && (name.substr(0, name.find('(')) == text ||
                                      (text.starts_with("_INTERNAL_") && text.ends_with("::" + name))))) {
        return candidate;
      }
    }
  }
  throw std::runtime_error(fmt::format("the compiled file lacks what its launch {} names", index + 1));
}

/// A launch whose numbers are frozen.
struct FrozenLaunch {
  CUfunction function = nullptr;  ///< null where there is no kernel
  UserPlan plan{};
  std::vector<AddressArgument> addresses;
};

class DeviceCode final : public UserCode {
 public:
  explicit DeviceCode(const std::filesystem::path& path) {
    CUDA_CHECK(cudaFree(nullptr));  // so that the device has a context
    const std::string cubin = content_of(path);
    names_ = names_in(cubin);
    require(SGEMM_DRIVER(cuModuleLoadData)(&module_, cubin.data()), "can not load the compiled file");
  }
  ~DeviceCode() override { SGEMM_DRIVER(cuModuleUnload)(module_); }
  DeviceCode(const DeviceCode&) = delete;
  DeviceCode& operator=(const DeviceCode&) = delete;

  bool meets_requirement(const Problem& problem) const override { return facts_of(problem).meets != 0; }
  std::size_t workspace_bytes(const Problem& problem) const override {
    return checked_bytes(facts_of(problem).workspace_bytes);
  }
  std::optional<Resources> resources() const override;
  void launch(const Problem& problem, void* workspace, cudaStream_t stream) const override;

 private:
  CUfunction function(const std::string& name) const {
    CUfunction found = nullptr;
    require(SGEMM_DRIVER(cuModuleGetFunction)(&found, module_, name.c_str()), fmt::format("can not find {}", name));
    return found;
  }

  /// Launches one of the wrapper's kernels in a single thread and returns what it has written.
  template <class Result>
  Result ask(const std::string& name, const UserProblem& problem) const {
    std::vector<Result> result(1);
    DeviceBuffer<Result> on_device(1);
    on_device.copy_from_host(result);
    Result* address = on_device.data();
    std::array<void*, 2> parameters{const_cast<UserProblem*>(&problem), &address};
    require(SGEMM_DRIVER(cuLaunchKernel)(function(name), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters.data(), nullptr),
            "the launch line can not be evaluated");
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
      throw std::runtime_error(fmt::format("the launch line can not be evaluated: {}", cudaGetErrorString(error)));
    }
    on_device.copy_to_host(result);
    return result.front();
  }

  /// It is told of a shape alone: its code could learn from operands what they are.
  UserFacts facts_of(const Problem& problem) const {
    UserProblem shape = problem_of(problem);
    shape.a = shape.b = shape.c = nullptr;
    return ask<UserFacts>(std::string(FACTS_SYMBOL), shape);
  }

  /// For all products of a shape: what is copied is the same, so it is no part of a product.
  void copy_to_constant(const std::string& name, const UserPlan& plan) const {
    CUdeviceptr constant = 0;
    std::size_t size = 0;
    require(SGEMM_DRIVER(cuModuleGetGlobal_v2)(&constant, &size, module_, name.c_str()),
            fmt::format("can not find {}", name));
    if (plan.value + plan.bytes > size) {
      throw std::runtime_error(fmt::format("its launch line copies to byte {} of {}, which has {}",
                                           plan.value + plan.bytes, demangled(name), size));
    }
    CUDA_CHECK(cudaMemcpy(reinterpret_cast<void*>(constant + plan.value), plan.arguments.data(), plan.bytes,
                          cudaMemcpyHostToDevice));
  }

  FrozenLaunch freeze(std::size_t index, UserProblem problem) const;
  const std::vector<FrozenLaunch>& launches_of(const UserProblem& problem) const;

  CUmodule module_ = nullptr;
  std::vector<std::string> names_;
  mutable std::optional<UserProblem> shape_;  // of the launches
  mutable std::vector<FrozenLaunch> launches_;
};

/// As the driver has read them from the kernel.
std::vector<ParameterPlace> parameters_of(CUfunction function) {
  const auto info = SGEMM_DRIVER(cuFuncGetParamInfo);
  std::vector<ParameterPlace> parameters;
  ParameterPlace place{};
  while (info(function, parameters.size(), &place.begin, &place.bytes) == CUDA_SUCCESS) {
    parameters.push_back(place);
  }
  return parameters;
}

FrozenLaunch DeviceCode::freeze(std::size_t index, UserProblem problem) const {
  const auto plan_with = [&](Base moved) {
    problem.a = address_for_plan(Base::a, moved);
    problem.b = address_for_plan(Base::b, moved);
    problem.c = address_for_plan(Base::c, moved);
    problem.workspace = address_for_plan(Base::workspace, moved);
    return ask<UserPlan>(fmt::format("{}{}", PLAN_SYMBOL, index), problem);
  };
  FrozenLaunch frozen{nullptr, plan_with(Base::none), {}};
  const UserPlan& plan = frozen.plan;
  std::vector<ParameterPlace> parameters;
  if (plan.kind == UserPlan::Kind::launch) {
    frozen.function = function(name_of_launch(names_, index));
    parameters = parameters_of(frozen.function);
  } else if (plan.kind == UserPlan::Kind::fill) {
    parameters = {{0, sizeof(float*)}};
  }
  require_whole(plan, parameters);
  frozen.addresses = find_addresses(plan, plan_with);
  if (plan.kind == UserPlan::Kind::copy) {
    copy_to_constant(name_of_launch(names_, index), plan);
  }
  if (const auto bytes = static_cast<int>(plan.smem_bytes); bytes > 0 && frozen.function != nullptr) {
    require(SGEMM_DRIVER(cuFuncSetAttribute)(frozen.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
            fmt::format("{} bytes of dynamic shared memory", bytes));
  }
  return frozen;
}

const std::vector<FrozenLaunch>& DeviceCode::launches_of(const UserProblem& problem) const {
  UserProblem wanted = problem;  // whatever its addresses are
  wanted.a = wanted.b = wanted.c = nullptr;
  wanted.workspace = nullptr;
  if (shape_ != wanted) {
    shape_.reset();
    launches_.clear();
    const auto facts = ask<UserFacts>(std::string(FACTS_SYMBOL), wanted);
    for (int index = 0; index < facts.launches; ++index) {
      launches_.push_back(freeze(static_cast<std::size_t>(index), wanted));
    }
    shape_ = wanted;
  }
  return launches_;
}

std::optional<Resources> DeviceCode::resources() const {
  std::optional<Resources> most;
  for (const FrozenLaunch& launch : launches_) {
    if (launch.function == nullptr) {
      continue;
    }
    const auto attribute = [&](CUfunction_attribute which) {
      int value = 0;
      require(SGEMM_DRIVER(cuFuncGetAttribute)(&value, which, launch.function), "can not ask for a kernel's resources");
      return value;
    };
    const auto& block = launch.plan.block;
    const auto threads = static_cast<int>(block[0] * block[1] * block[2]);
    int blocks = 0;
    require(SGEMM_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, launch.function, threads,
                                                                      launch.plan.smem_bytes),
            "can not ask for a kernel's occupancy");
    const int registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
    if (!most || registers > most->registers) {
      most =
          Resources{threads, registers,
                    static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)) + launch.plan.smem_bytes,
                    static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)), blocks};
    }
  }
  return most;
}

/// Makes the tensor maps that the plan's arguments ask for, at their places.
void make_tensor_maps(UserPlan& plan) {
  for (unsigned parameter = 0; parameter < plan.parameters; ++parameter) {
    if ((plan.maps >> parameter & 1U) == 0) {
      continue;
    }
    unsigned char* const argument = plan.arguments.data() + plan.offsets[parameter];
    TensorMapRequest asked{};
    std::memcpy(&asked, argument, sizeof(asked));
    const auto type = asked.element_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                      : asked.element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    const auto swizzle = asked.swizzle_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                         : asked.swizzle_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                         : asked.swizzle_bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                     : CU_TENSOR_MAP_SWIZZLE_NONE;
    const std::array<cuuint64_t, 2> extents{asked.columns, asked.rows};
    const std::array<cuuint64_t, 1> strides{asked.row_bytes};
    const std::array<cuuint32_t, 2> box{asked.box_columns, asked.box_rows};
    const std::array<cuuint32_t, 2> steps{1, 1};
    CUtensorMap map{};
    require(SGEMM_DRIVER(cuTensorMapEncodeTiled)(&map, type, 2, asked.address, extents.data(), strides.data(),
                                                 box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            fmt::format("a tensor map of {} x {} numbers in boxes of {} x {}", asked.rows, asked.columns,
                        asked.box_rows, asked.box_columns));
    std::memcpy(argument, &map, sizeof(map));
  }
}

void DeviceCode::launch(const Problem& problem, void* workspace, cudaStream_t stream) const {
  const UserProblem operands = problem_of(problem, workspace);
  for (const FrozenLaunch& launch : launches_of(operands)) {
    if (launch.plan.kind == UserPlan::Kind::copy) {
      continue;
    }
    UserPlan plan = launch.plan;
    put_addresses(plan, launch.addresses, operands);
    if (plan.kind == UserPlan::Kind::fill) {
      CUdeviceptr filled = 0;
      std::memcpy(&filled, plan.arguments.data(), sizeof(filled));
      require(SGEMM_DRIVER(cuMemsetD8Async)(filled, static_cast<unsigned char>(plan.value), plan.bytes, stream),
              "memory can not be filled");
      continue;
    }
    make_tensor_maps(plan);
    std::array<void*, MOST_PARAMETERS> parameters{};
    for (unsigned parameter = 0; parameter < plan.parameters; ++parameter) {
      parameters.at(parameter) = plan.arguments.data() + plan.offsets[parameter];
    }
    std::array<CUlaunchAttribute, 2> attributes{};
    unsigned count = 0;
    if (plan.cooperative != 0) {
      attributes.at(count).id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      attributes.at(count++).value.cooperative = 1;
    }
    if (plan.cluster[0] != 0) {
      attributes.at(count).id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes.at(count++).value.clusterDim = {plan.cluster[0], plan.cluster[1], plan.cluster[2]};
    }
    const CUlaunchConfig config{plan.grid[0],
                                plan.grid[1],
                                plan.grid[2],
                                plan.block[0],
                                plan.block[1],
                                plan.block[2],
                                static_cast<unsigned>(plan.smem_bytes),
                                stream,
                                attributes.data(),
                                count};
    require(SGEMM_DRIVER(cuLaunchKernelEx)(&config, launch.function, parameters.data(), nullptr), "the launch failed");
  }
}

}  // namespace

std::unique_ptr<UserCode> load_device_code(const std::filesystem::path& cubin) {
  return std::make_unique<DeviceCode>(cubin);
}

}  // namespace sgemm
