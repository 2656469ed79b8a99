#include "user/library.hpp"

#include "common/cuda_check.hpp"
#include "device/device_buffer.hpp"
#include "problem/batch.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
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

/// The functions in a cubin, an ELF file, by their mangled names.
std::vector<std::string> functions_in(const std::vector<char>& cubin) {
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
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && begin < cubin.size()) {
        const char* const text = cubin.data() + begin;
        names.emplace_back(text, strnlen(text, cubin.size() - begin));
      }
    }
  }
  return names;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : name;
}

/// The kernel of launch `index`, mangled. The wrapper has a function for each launch whose name has that of its kernel
/// as an argument of a template: "void sgemm_named<0, &(void tiled<32>(int, float*))>()", or "...<0, &tiled>()" where
/// the kernel is no template.
std::string kernel_of_launch(const std::vector<std::string>& functions, std::size_t index) {
  const std::string begin = fmt::format("void {}<{}, &", NAMED_SYMBOL, index);
  constexpr std::string_view END = ">()";
  for (const std::string& function : functions) {
    std::string text = demangled(function);
    if (!text.starts_with(begin)) {
      continue;
    }
    text = text.substr(begin.size(), text.size() - begin.size() - END.size());
    const bool whole = text.starts_with('(');
    if (whole) {
      text = text.substr(1, text.size() - 2);
    }
    for (const std::string& candidate : functions) {
      const std::string name = demangled(candidate);
      if (name == text || (!whole && name.substr(0, name.find('(')) == text)) {
        return candidate;
      }
    }
  }
  throw std::runtime_error(fmt::format("the compiled file lacks the kernel of its launch {}", index + 1));
}

/// One of the operands, whose address an argument may have.
enum class Base { none, a, b, c, workspace };

/// Where the launch line is told that they lie, as many times this as their number.
constexpr std::uint64_t NOWHERE = std::uint64_t{1} << 40U;

struct Argument {
  std::size_t offset = 0;  ///< in the bytes of all arguments
  Base base = Base::none;  ///< the eight bytes there are this address and a distance
};

/// A launch whose numbers are frozen.
struct FrozenLaunch {
  CUfunction function = nullptr;
  UserPlan plan{};
  std::vector<Argument> addresses;  ///< those of the arguments that are
};

/// The shape of a problem, whatever its addresses are.
UserProblem without_addresses(UserProblem problem) {
  problem.a = problem.b = problem.c = nullptr;
  problem.workspace = nullptr;
  return problem;
}

class DeviceCode final : public UserCode {
 public:
  explicit DeviceCode(const std::filesystem::path& path) {
    CUDA_CHECK(cudaFree(nullptr));  // so that the device has a context
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> cubin{std::istreambuf_iterator<char>(file), {}};
    functions_ = functions_in(cubin);
    require(SGEMM_DRIVER(cuModuleLoadData)(&module_, cubin.data()), "can not load the compiled file");
  }
  ~DeviceCode() override { SGEMM_DRIVER(cuModuleUnload)(module_); }
  DeviceCode(const DeviceCode&) = delete;
  DeviceCode& operator=(const DeviceCode&) = delete;

  bool meets_requirement(const Problem& problem) const override { return facts_of(problem).meets != 0; }
  std::size_t workspace_bytes(const Problem& problem) const override;
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
    const UserProblem* const given = &problem;
    Result* address = on_device.data();
    std::array<void*, 2> parameters{const_cast<UserProblem*>(given), &address};
    require(SGEMM_DRIVER(cuLaunchKernel)(function(name), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters.data(), nullptr),
            "the launch line can not be evaluated");
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
      throw std::runtime_error(fmt::format("the launch line can not be evaluated: {}", cudaGetErrorString(error)));
    }
    on_device.copy_to_host(result);
    return result.front();
  }

  UserFacts facts_of(const Problem& problem) const {
    return ask<UserFacts>(std::string(FACTS_SYMBOL), problem_of(problem));
  }

  FrozenLaunch freeze(std::size_t index, UserProblem problem) const;
  const std::vector<FrozenLaunch>& launches_of(const UserProblem& problem) const;

  CUmodule module_ = nullptr;
  std::vector<std::string> functions_;
  mutable std::optional<UserProblem> shape_;  // of the launches
  mutable std::vector<FrozenLaunch> launches_;
};

/// The launch line is evaluated with addresses that are none, and again with each of them moved: an argument that moves
/// as far has that address.
FrozenLaunch DeviceCode::freeze(std::size_t index, UserProblem problem) const {
  constexpr std::uint64_t MOVED = std::uint64_t{1} << 36U;
  const std::string plan_name = fmt::format("{}{}", PLAN_SYMBOL, index);
  const auto with = [&](Base moved) {
    const auto address = [&](Base base) {
      const auto number = static_cast<std::uint64_t>(base);
      return reinterpret_cast<float*>(number * NOWHERE + (base == moved ? MOVED : 0));
    };
    problem.a = address(Base::a);
    problem.b = address(Base::b);
    problem.c = address(Base::c);
    problem.workspace = address(Base::workspace);
    return ask<UserPlan>(plan_name, problem);
  };
  FrozenLaunch frozen;
  frozen.function = function(kernel_of_launch(functions_, index));
  frozen.plan = with(Base::none);
  const UserPlan& plan = frozen.plan;
  if (plan.parameters > MOST_PARAMETERS || plan.offsets[plan.parameters] > plan.arguments.size() ||
      !std::is_sorted(plan.offsets.begin(), plan.offsets.begin() + plan.parameters + 1)) {
    throw std::runtime_error("a kernel has more parameters than the runner passes on");
  }
  // The driver reads what the kernel takes, and a file can write a plan of its own: its macros hold for the wrapper
  // too.
  const auto parameter_info = SGEMM_DRIVER(cuFuncGetParamInfo);
  std::size_t place = 0;
  std::size_t size = 0;
  for (unsigned i = 0; parameter_info(frozen.function, i, &place, &size) == CUDA_SUCCESS; ++i) {
    if (i >= plan.parameters || plan.offsets[i] + size > plan.arguments.size()) {
      throw std::runtime_error("a kernel takes other parameters than its launch passes");
    }
  }
  for (const Base base : {Base::a, Base::b, Base::c, Base::workspace}) {
    UserPlan moved = with(base);
    for (unsigned parameter = 0; parameter < plan.parameters; ++parameter) {
      const std::size_t end = plan.offsets[parameter + 1];
      for (std::size_t at = plan.offsets[parameter]; at + sizeof(MOVED) <= end; at += sizeof(MOVED)) {
        std::uint64_t before = 0;
        std::uint64_t after = 0;
        std::memcpy(&before, plan.arguments.data() + at, sizeof(before));
        std::memcpy(&after, moved.arguments.data() + at, sizeof(after));
        if (after - before == MOVED) {
          frozen.addresses.push_back({at, base});
          std::memcpy(moved.arguments.data() + at, &before, sizeof(before));
        }
      }
    }
    if (moved != plan) {
      throw std::runtime_error("its launch depends on where an operand lies");
    }
  }
  if (plan.smem_bytes > 0) {
    const CUresult set = SGEMM_DRIVER(cuFuncSetAttribute)(
        frozen.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(plan.smem_bytes));
    require(set, fmt::format("{} bytes of dynamic shared memory", plan.smem_bytes));
  }
  return frozen;
}

const std::vector<FrozenLaunch>& DeviceCode::launches_of(const UserProblem& problem) const {
  const UserProblem wanted = without_addresses(problem);
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

std::size_t DeviceCode::workspace_bytes(const Problem& problem) const {
  const long long bytes = facts_of(problem).workspace_bytes;
  if (bytes < 0) {
    throw std::runtime_error(fmt::format("asks for a workspace of {} bytes", bytes));
  }
  return static_cast<std::size_t>(bytes);
}

std::optional<Resources> DeviceCode::resources() const {
  std::optional<Resources> most;
  for (const FrozenLaunch& launch : launches_) {
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

void DeviceCode::launch(const Problem& problem, void* workspace, cudaStream_t stream) const {
  const UserProblem operands = problem_of(problem, workspace);
  for (const FrozenLaunch& launch : launches_of(operands)) {
    UserPlan plan = launch.plan;
    for (const Argument& argument : launch.addresses) {
      const std::array<void*, 5> bases{nullptr, operands.a, operands.b, operands.c, operands.workspace};
      std::uint64_t address = 0;
      std::memcpy(&address, plan.arguments.data() + argument.offset, sizeof(address));
      address += reinterpret_cast<std::uint64_t>(bases.at(static_cast<std::size_t>(argument.base))) -
                 static_cast<std::uint64_t>(argument.base) * NOWHERE;
      std::memcpy(plan.arguments.data() + argument.offset, &address, sizeof(address));
    }
    std::array<void*, MOST_PARAMETERS> parameters{};
    for (unsigned parameter = 0; parameter < plan.parameters; ++parameter) {
      parameters.at(parameter) = plan.arguments.data() + plan.offsets[parameter];
    }
    require(SGEMM_DRIVER(cuLaunchKernel)(launch.function, plan.grid[0], plan.grid[1], plan.grid[2], plan.block[0],
                                         plan.block[1], plan.block[2], static_cast<unsigned>(plan.smem_bytes), stream,
                                         parameters.data(), nullptr),
            "the launch failed");
  }
}

}  // namespace

std::unique_ptr<UserCode> load_device_code(const std::filesystem::path& cubin) {
  return std::make_unique<DeviceCode>(cubin);
}

}  // namespace sgemm
