#include "user/wrapper.hpp"

#include "base/usage_error.hpp"
#include "base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace sgemm {
namespace {

/// The extents of a problem, as locals of type {0} of a function that has `sgemm_problem`.
constexpr std::string_view EXTENTS = R"(
  [[maybe_unused]] const {0} M = sgemm_problem->m, N = sgemm_problem->n, K = sgemm_problem->k;
  [[maybe_unused]] const {0} lda = sgemm_problem->lda, ldb = sgemm_problem->ldb, ldc = sgemm_problem->ldc;
  [[maybe_unused]] const {0} batch = sgemm_problem->batch;
)";

/// Its other names.
constexpr std::string_view FACTORS_AND_MEMORY = R"(
  [[maybe_unused]] const float alpha = sgemm_problem->alpha, beta = sgemm_problem->beta;
  [[maybe_unused]] float* const A = sgemm_problem->a;
  [[maybe_unused]] float* const B = sgemm_problem->b;
  [[maybe_unused]] float* const C = sgemm_problem->c;
  [[maybe_unused]] void* const workspace = sgemm_problem->workspace;
)";

constexpr std::string_view CEIL_DIV_LOCAL =
    "  [[maybe_unused]] const auto ceil_div = [](auto x, auto y) { return (x + y - 1) / y; };\n";

/// All of these, with extents of this type. A function of the file comes before the ceil_div here.
std::string locals_of(std::string_view type, const simt::Source& source) {
  const bool has_own = std::ranges::find(source.functions, "ceil_div", &simt::Function::name) != source.functions.end();
  return fmt::format(EXTENTS, type).append(FACTORS_AND_MEMORY).append(has_own ? "" : CEIL_DIV_LOCAL);
}

/// The launch on the problem's stream, where it names none itself.
std::string on_stream(simt::LaunchParts launch) {
  std::vector<std::string>& configuration = launch.configuration;
  if (configuration.size() == 2) {
    configuration.emplace_back("0");
  }
  if (configuration.size() == 3) {
    configuration.emplace_back("stream");
  }
  return fmt::format("{}<<<{}>>>{};", launch.kernel, fmt::join(configuration, ", "), launch.arguments);
}

/// Notes the kernels that a product launches, for what they occupy. nvcc turns every <<<...>>> into a call of one of
/// CUDA's functions. Which one it is depends on nvcc's version.
constexpr std::string_view RESOURCES = R"(
struct sgemm_user_resource_numbers {
  int threads_per_block, registers, blocks_per_sm;
  unsigned long long smem_bytes, spill_bytes;
};
static struct {
  const void* kernel;
  int threads;
  size_t smem;
} sgemm_launches[8];
static int sgemm_launch_count = 0;
static unsigned long long sgemm_launches_begun = 0;
static void sgemm_note(const void* kernel, dim3 block, size_t smem) {
  ++sgemm_launches_begun;
  if (sgemm_launch_count < 8) {
    sgemm_launches[sgemm_launch_count++] = {kernel, static_cast<int>(block.x * block.y * block.z), smem};
  }
}
#define SGEMM_NOTED(function) \
  extern "C" cudaError_t __real_##function(const void*, dim3, dim3, void**, size_t, cudaStream_t); \
  extern "C" cudaError_t __wrap_##function(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t smem, \
                                           cudaStream_t on) { \
    sgemm_note(kernel, block, smem); \
    return __real_##function(kernel, grid, block, arguments, smem, on); \
  }
SGEMM_NOTED(cudaLaunchKernel)
SGEMM_NOTED(__cudaLaunchKernel)
SGEMM_NOTED(cudaLaunchCooperativeKernel)
#undef SGEMM_NOTED
extern "C" cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
extern "C" cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* kernel, void** arguments) {
  sgemm_note(kernel, how->blockDim, how->dynamicSmemBytes);
  return __real_cudaLaunchKernelExC(how, kernel, arguments);
}
extern "C" cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
extern "C" cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t on) {
  ++sgemm_launches_begun;
  return __real_cudaGraphLaunch(graph, on);
}
extern "C" __attribute__((visibility("default"))) int sgemm_user_resources(sgemm_user_resource_numbers* found) {
  *found = {};
  for (int i = 0; i < sgemm_launch_count; ++i) {
    const auto& launch = sgemm_launches[i];
    cudaFuncAttributes attributes;
    int blocks = 0;
    if (cudaFuncGetAttributes(&attributes, launch.kernel) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.kernel, launch.threads, launch.smem) !=
            cudaSuccess) {
      cudaGetLastError();
    } else if (attributes.numRegs > found->registers) {
      *found = {launch.threads, attributes.numRegs, blocks, attributes.sharedSizeBytes + launch.smem,
                attributes.localSizeBytes};
    }
  }
  return found->registers > 0 ? 1 : 0;
}
)";

/// A kernel has to consent to more dynamic shared memory than 48 KiB.
std::string consent_of(const simt::LaunchParts& launch) {
  if (launch.configuration.size() < 3) {
    return "";
  }
  return fmt::format(
      "  if (const int sgemm_bytes = static_cast<int>({}); sgemm_bytes > 48 * 1024) {{\n"
      "    cudaFuncSetAttribute((const void*)({}), cudaFuncAttributeMaxDynamicSharedMemorySize, sgemm_bytes);\n"
      "  }}\n",
      launch.configuration[2], launch.kernel);
}

/// A call that is never made: without it, a compiler tells of wrong arguments from within the templates that launch.
std::string check_of(const simt::LaunchParts& launch) {
  return fmt::format("  if (false) {}{};\n", launch.kernel, launch.arguments);
}

/// What a launch line may use.
constexpr std::string_view NAMES = R"(
#ifndef CEIL_DIV
#define CEIL_DIV(x, y) (((x) + (y) - 1) / (y))
#endif
struct sgemm_user_problem {
  int m, n, k, lda, ldb, ldc, batch;
  float alpha, beta;
  float *a, *b, *c;
  void* workspace;
};
)";

/// An object of a class with these members, as made_of<Matrix>(&Matrix::data, A), that no constructor has made and no
/// destructor ends: either may allocate memory. It lasts for a call.
constexpr std::string_view MADE_OF = R"(
template <class Class, class Base, class Member, class Value, class... Rest>
void sgemm_put(Class& to, Member Base::*member, Value value, Rest... rest) {
  new ((void*)&(to.*member)) Member(value);
  if constexpr (sizeof...(rest) > 0) {
    sgemm_put(to, rest...);
  }
}
template <class Class, class... Members>
Class& made_of(Members... members) {
  alignas(Class) static unsigned char memory[8][sizeof(Class)];
  static unsigned made = 0;
  auto& object = reinterpret_cast<Class&>(memory[made++ % 8]);
  sgemm_put(object, members...);
  return object;
}
)";

/// The begin of what follows the user's text. A file may have names of the problem as macros.
std::string begin_of_wrapper() {
  std::string text = "\n#line 1 \"the runner's part\"\n";
  for (const std::string_view name : split(NAMES_OF_PROBLEM, ' ')) {
    text += fmt::format("#undef {}\n", name);
  }
  return text.append(NAMES.substr(1));
}

/// What evaluates a launch line on the GPU. Kernels take their parameters one behind the other, each at a multiple of
/// its alignment.
constexpr std::string_view PLANS = R"(
struct sgemm_plan {
  unsigned grid[3], block[3], cluster[3], cooperative;
  unsigned long long smem_bytes, bytes, maps;
  unsigned kind, value, parameters;
  unsigned offsets[65];
  alignas(16) unsigned char arguments[4096];
};
struct sgemm_facts {
  int meets, launches;
  long long workspace_bytes;
};
template <class Parameter>
constexpr bool sgemm_is_map = false;
template <int Launch, auto Kernel>
__global__ void sgemm_named() {}
template <class... Parameters>
struct sgemm_arguments {
  sgemm_plan* plan;
  __device__ void operator()(Parameters... arguments) const {
    static_assert(sizeof...(Parameters) <= 64, "the runner passes on 64 parameters at most");
    unsigned at = 0;
    const auto put = [&](const auto& argument) {
      constexpr unsigned alignment = alignof(decltype(argument));
      at = (at + alignment - 1) / alignment * alignment;
      plan->maps |= static_cast<unsigned long long>(sgemm_is_map<std::decay_t<decltype(argument)>>) << plan->parameters;
      plan->offsets[plan->parameters++] = at;
      for (unsigned i = 0; i < sizeof(argument) && at + i < sizeof(plan->arguments); ++i) {
        plan->arguments[at + i] = reinterpret_cast<const unsigned char*>(&argument)[i];
      }
      at += sizeof(argument);
    };
    (put(arguments), ...);
    plan->offsets[plan->parameters] = at;
  }
};
template <class... Parameters>
sgemm_arguments<Parameters...> sgemm_arguments_of(void (*)(Parameters...));
)";

/// What a launch line can say besides its launches: the words for the next one, memory that is filled, and constants.
constexpr std::string_view PLAN_WORDS = R"(
  [[maybe_unused]] const auto cluster = [&](unsigned x, unsigned y = 1, unsigned z = 1) {
    sgemm_to->cluster[0] = x; sgemm_to->cluster[1] = y; sgemm_to->cluster[2] = z;
  };
  [[maybe_unused]] const auto cooperative = [&] { sgemm_to->cooperative = 1; };
  [[maybe_unused]] const auto cudaMemsetAsync = [&](void* to, int value, unsigned long long bytes,
                                                    cudaStream_t = nullptr) {
    sgemm_arguments<void*>{sgemm_to}(to);
    sgemm_to->kind = 1; sgemm_to->value = value; sgemm_to->bytes = bytes;
  };
  [[maybe_unused]] const auto cudaMemcpyToSymbol = [&](const auto&, const void* from, unsigned long long bytes,
                                                       unsigned offset = 0) {
    for (unsigned i = 0; i < bytes && i < sizeof(sgemm_to->arguments); ++i) {
      sgemm_to->arguments[i] = static_cast<const unsigned char*>(from)[i];
    }
    sgemm_to->kind = 2; sgemm_to->value = offset; sgemm_to->bytes = bytes;
    sgemm_to->parameters = 1; sgemm_to->offsets[1] = bytes;
  };
)";

/// A tensor map can not be made on the GPU: in its place the runner finds what it is of.
constexpr std::string_view TENSOR_MAPS = R"(
#include <cuda.h>
template <>
constexpr bool sgemm_is_map<CUtensorMap> = true;
struct sgemm_map_request {
  const void* address;
  unsigned long long rows, columns, row_bytes;
  unsigned box_rows, box_columns, element_bytes, swizzle_bytes;
};
)";
constexpr std::string_view TENSOR_MAP_WORD = R"(
  [[maybe_unused]] const auto tensor_map = [](const auto* address, long long rows, long long columns, long long ld,
                                              unsigned box_rows, unsigned box_columns, unsigned swizzle_bytes = 0) {
    constexpr unsigned bytes = sizeof(*address);
    CUtensorMap map{};
    *reinterpret_cast<sgemm_map_request*>(&map) = {
        address, static_cast<unsigned long long>(rows), static_cast<unsigned long long>(columns),
        static_cast<unsigned long long>(ld) * bytes, box_rows, box_columns, bytes, swizzle_bytes};
    return map;
  };
)";

/// The executor has a driver of its own.
constexpr std::string_view TENSOR_MAP_ON_EXECUTOR = R"(
  [[maybe_unused]] const auto tensor_map = [](const auto* address, long long rows, long long columns, long long ld,
                                              unsigned box_rows, unsigned box_columns, unsigned swizzle_bytes = 0) {
    constexpr unsigned long long bytes = sizeof(*address);
    constexpr auto type = static_cast<CUtensorMapDataType>(std::bit_width(bytes / 2));  // UINT8, UINT16 or UINT32
    const auto swizzle = static_cast<CUtensorMapSwizzle>(std::bit_width(swizzle_bytes / 32));
    const bool known = swizzle_bytes <= 128 && swizzle_bytes == (16U << swizzle & ~16U);
    const cuuint64_t extents[] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[] = {ld * bytes};
    const cuuint32_t box[] = {box_columns, box_rows}, steps[] = {1, 1};
    CUtensorMap map;
    if (!known ||
        cuTensorMapEncodeTiled(&map, type, 2, const_cast<void*>(static_cast<const void*>(address)), extents, strides,
                               box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
      throw simt::Error("the driver takes no tensor map of " + std::to_string(rows) + " x " + std::to_string(columns) +
                        " numbers in boxes of " + std::to_string(box_rows) + " x " + std::to_string(box_columns) +
                        " with a swizzle of " + std::to_string(swizzle_bytes) + " bytes");
    }
    return map;
  };
)";

/// The same for a launch on the executor. `sgemm_config` is that of the next launch.
constexpr std::string_view EXECUTOR_WORDS = R"(
    cudaLaunchAttribute sgemm_attributes[2];
    sgemm_attributes[0].id = cudaLaunchAttributeClusterDimension;
    sgemm_attributes[0].val.clusterDim = {1, 1, 1};
    sgemm_attributes[1].id = cudaLaunchAttributeCooperative;
    sgemm_attributes[1].val.cooperative = 0;
    cudaLaunchConfig_t sgemm_config{};
    sgemm_config.attrs = sgemm_attributes;
    sgemm_config.numAttrs = 2;
    [[maybe_unused]] const auto cluster = [&](unsigned x, unsigned y = 1, unsigned z = 1) {
      sgemm_attributes[0].val.clusterDim = {x, y, z};
    };
    [[maybe_unused]] const auto cooperative = [&] { sgemm_attributes[1].val.cooperative = 1; };
)";

bool calls(std::string_view statement, std::string_view function) {
  const std::size_t begin = statement.find_first_not_of(" \t\n");
  return begin != std::string_view::npos && statement.substr(begin).starts_with(fmt::format("{}(", function));
}

/// Whether the statement says how the next launch is made. Throws UsageError where there is none.
bool is_for_next(const UserFile& file, std::string_view statement) {
  if (!calls(statement, "cluster") && !calls(statement, "cooperative")) {
    return false;
  }
  const std::string& all = file.launch.statement.text;
  if (all.find("<<<") == std::string::npos) {
    return false;  // a host function of that name
  }
  if (all.find("<<<", all.find(statement)) == std::string::npos) {
    throw UsageError(fmt::format("{}: no launch follows '{}'", file.path, simt::trimmed(statement)));
  }
  return true;
}

/// The constant that the statement copies to; empty where it copies to none.
std::string constant_of(std::string_view statement) {
  if (!calls(statement, "cudaMemcpyToSymbol")) {
    return "";
  }
  const std::size_t begin = statement.find('(') + 1;
  return std::string(simt::trimmed(statement.substr(begin, statement.find(',') - begin)));
}

bool names_tensor_map(std::string_view text) { return text.find("tensor_map(") != std::string_view::npos; }

/// The launch on the executor with what was said of it before.
std::string configured(const simt::LaunchParts& launch, const std::string& said) {
  const auto& parts = launch.configuration;
  return fmt::format(
      "  {{{}{}    sgemm_config.gridDim = {};\n    sgemm_config.blockDim = {};\n"
      "    sgemm_config.dynamicSmemBytes = {};\n    cudaLaunchKernelEx(&sgemm_config, {}, {};\n  }}",
      EXECUTOR_WORDS, said, parts[0], parts[1], parts.size() > 2 ? parts[2] : "0", launch.kernel,
      launch.arguments.substr(1));
}

/// The statements of the file's launch, each with the line that places it for a compiler.
std::vector<std::pair<std::string, std::string>> placed_statements(const UserFile& file) {
  std::vector<std::pair<std::string, std::string>> statements;
  PlacedText part = file.launch.statement;
  for (const std::string& statement : simt::split_statements(file.launch.statement.text)) {
    statements.emplace_back(statement, line_directive(part));
    part.line += static_cast<int>(std::ranges::count(statement, '\n'));
  }
  return statements;
}

/// What the file says of its launch, statement by statement, with what each launch needs before it.
std::string statements_of(const UserFile& file, Target target) {
  std::string text(names_tensor_map(file.launch.statement.text) ? TENSOR_MAP_ON_EXECUTOR : "");
  std::string said;  // of the next launch
  for (const auto& [statement, line] : placed_statements(file)) {
    if (const std::optional<simt::LaunchParts> launch = simt::parts_of_launch(statement)) {
      text +=
          fmt::format("{}{}{}{}", line, target == Target::for_gpu ? "" : check_of(*launch), line, consent_of(*launch));
      text += fmt::format("{}{}\n", line,
                          said.empty() ? fmt::format("  {}", on_stream(*launch)) : configured(*launch, said));
      said.clear();
    } else {
      (is_for_next(file, statement) ? said : text) += fmt::format("{}  {}\n", line, statement);
    }
  }
  return text;
}

/// An expression as it was given, at its place, or else another one.
std::string value_of(const std::optional<PlacedText>& placed, std::string_view without) {
  return placed ? fmt::format("\n{}  ({});\n", line_directive(*placed), placed->text) : fmt::format(" {};\n", without);
}

/// How a launch line's kernels are evaluated for their plans.
class PlanKernels {
 public:
  explicit PlanKernels(const UserFile& file)
      : maps_(names_tensor_map(file.launch.statement.text)), source_(file.source) {
    text_ = fmt::format("{}{}{}", begin_of_wrapper(), PLANS, maps_ ? TENSOR_MAPS : "");
    for (const auto& [statement, line] : placed_statements(file)) {
      add(file, statement, line);
    }
  }

  bool any() const { return any_; }

  std::string with(const std::optional<PlacedText>& requirement, const std::optional<PlacedText>& workspace) const {
    // The bytes of a matrix may be more than an int holds. Names are of the instances of templates that are launched.
    return text_ +
           fmt::format(
               "{} {}(sgemm_user_problem sgemm_given, sgemm_facts* sgemm_to) {{\n{}  sgemm_to->launches = {};\n"
               "  {{{}  sgemm_to->meets ={}  }}\n  {{{}  sgemm_to->workspace_bytes ={}  }}\n}}\n",
               KERNEL, FACTS_SYMBOL, PROBLEM, launches_, locals("int"), value_of(requirement, "1"), locals("long long"),
               value_of(workspace, "0")) +
           fmt::format("[[maybe_unused]] static void sgemm_names() {{\n{}}}\n", names_);
  }

 private:
  static constexpr std::string_view KERNEL = "extern \"C\" __global__ void";
  static constexpr std::string_view PROBLEM = "  const sgemm_user_problem* const sgemm_problem = &sgemm_given;";

  std::string locals(std::string_view type) const {
    return locals_of(type, source_) + "  [[maybe_unused]] const cudaStream_t stream = nullptr;\n";
  }

  void add(const UserFile& file, const std::string& statement, const std::string& line) {
    const std::string placed = fmt::format("{}  {}\n", line, statement);
    if (const std::optional<simt::LaunchParts> launch = simt::parts_of_launch(statement)) {
      const std::string_view smem = launch->configuration.size() > 2 ? std::string_view(launch->configuration[2]) : "0";
      add_name(line, launch->kernel);
      any_ = true;
      add_plan(fmt::format(
          "{}{}  const dim3 sgemm_grid = dim3({});\n{}  const dim3 sgemm_block = dim3({});\n"
          "{}  sgemm_to->smem_bytes = ({});\n"
          "{}  decltype(sgemm_arguments_of({})){{sgemm_to}}({});\n"
          "  sgemm_to->grid[0] = sgemm_grid.x; sgemm_to->grid[1] = sgemm_grid.y; sgemm_to->grid[2] = sgemm_grid.z;\n"
          "  sgemm_to->block[0] = sgemm_block.x; sgemm_to->block[1] = sgemm_block.y;"
          " sgemm_to->block[2] = sgemm_block.z;\n",
          std::exchange(said_, ""), line, launch->configuration[0], line, launch->configuration[1], line, smem, line,
          launch->kernel, launch->arguments.substr(1, launch->arguments.size() - 2)));
    } else if (calls(statement, "cudaMemsetAsync")) {
      add_plan(placed);
    } else if (const std::string constant = constant_of(statement); !constant.empty()) {
      add_name(line, fmt::format("&{}", constant));
      add_plan(placed);
    } else {
      if (statement.find("<<<") != std::string::npos) {
        throw UsageError(
            fmt::format("{}: '{}' is no launch: it lacks '>>>(' or its end", file.path, simt::trimmed(statement)));
      }
      (is_for_next(file, statement) ? said_ : before_) += placed;
    }
  }

  void add_name(const std::string& line, const std::string& name) {
    names_ += fmt::format("{}  {}<{}, ({})><<<1, 1>>>();\n", line, NAMED_SYMBOL, launches_, name);
  }

  void add_plan(const std::string& statements) {
    text_ += fmt::format("{} {}{}(sgemm_user_problem sgemm_given, sgemm_plan* sgemm_to) {{\n{}{}{}{}{}{}}}\n", KERNEL,
                         PLAN_SYMBOL, launches_++, PROBLEM, locals("int"), PLAN_WORDS, maps_ ? TENSOR_MAP_WORD : "",
                         before_, statements);
  }

  const bool maps_;
  const simt::Source& source_;
  std::string text_;
  std::string before_;  ///< statements that launch nothing
  std::string said_;    ///< of the next launch
  std::string names_;
  bool any_ = false;  ///< kernels
  int launches_ = 0;
};

/// Where the launch line is told that operands lie, as many times this as their number, and how far one is moved.
constexpr std::uint64_t NOWHERE = std::uint64_t{1} << 40U;
constexpr std::uint64_t MOVED = std::uint64_t{1} << 36U;

std::uint64_t number_of(Base base) { return static_cast<std::uint64_t>(base) * NOWHERE; }

std::uint64_t address_in(const UserPlan& plan, std::size_t offset) {
  std::uint64_t address = 0;
  std::memcpy(&address, plan.arguments.data() + offset, sizeof(address));
  return address;
}

void put_address(UserPlan& plan, std::size_t offset, std::uint64_t address) {
  std::memcpy(plan.arguments.data() + offset, &address, sizeof(address));
}

}  // namespace

std::string line_directive(const PlacedText& text) {
  std::string file;
  for (const char c : text.file) {
    file += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return fmt::format("#line {} \"{}\"\n", text.line, file);
}

std::string wrapper_of(const UserFile& file, Target target) {
  const simt::Source& all = file.source;
  std::string text = begin_of_wrapper();
  text += target == Target::for_gpu ? RESOURCES : "";
  text += file.launch.statement.text.find("made_of<") == std::string::npos ? "" : MADE_OF;
  const std::string locals = locals_of("int", all);
  constexpr std::string_view EXPORT = "extern \"C\" __attribute__((visibility(\"default\")))";
  text += fmt::format("{} int {}(const sgemm_user_problem* sgemm_problem) {{{}  return !!{}}}\n", EXPORT,
                      REQUIREMENT_SYMBOL, locals, value_of(file.launch.requirement, "1"));
  // The bytes of a matrix may be more than an int holds.
  text += fmt::format("{} long long {}(const sgemm_user_problem* sgemm_problem) {{{}  return{}}}\n", EXPORT,
                      WORKSPACE_SYMBOL, locals_of("long long", all), value_of(file.launch.workspace, "0"));
  text += fmt::format(
      "{} int {}(const sgemm_user_problem* sgemm_problem, void* sgemm_stream, const char** sgemm_error_text) {{{}"
      "  [[maybe_unused]] const cudaStream_t stream = static_cast<cudaStream_t>(sgemm_stream);\n"
      "  cudaGetLastError();\n",
      EXPORT, LAUNCH_SYMBOL, locals);
  // What CUDA's own libraries launch is not seen here.
  const bool by_library = target == Target::for_gpu && std::ranges::any_of(all.words, [](const std::string& word) {
                            return std::ranges::any_of(std::array{"cublas", "cudnn", "cusparse", "cuLaunch"},
                                                       [&](const char* prefix) { return word.starts_with(prefix); });
                          });
  const std::string_view begun = target == Target::for_gpu ? "sgemm_launches_begun" : "simt::launches()";
  text += target == Target::for_gpu ? "  sgemm_launch_count = 0;\n" : "  simt::take_fault_of_host();\n";
  text += fmt::format("  const unsigned long long sgemm_launches_before = {};\n", begun);
  text += statements_of(file, target);
  text += target == Target::for_gpu
              ? ""
              : "  if (auto fault = simt::take_fault_of_host(); !fault.empty()) throw simt::Error(fault);\n";
  text +=
      "#line 1 \"the runner's part\"\n"
      "  const cudaError_t sgemm_error = cudaGetLastError();\n"
      "  *sgemm_error_text = cudaGetErrorString(sgemm_error);\n";
  text += fmt::format(
      "  return sgemm_error == cudaSuccess && {} && {} == sgemm_launches_before ? {} : "
      "static_cast<int>(sgemm_error);\n}}\n",
      !by_library, begun, LAUNCHED_NOTHING);
  return text;
}

bool needs_device_code(const UserFile& file) {
  const std::vector<std::string> statements = simt::split_statements(file.launch.statement.text);
  return names_tensor_map(file.launch.statement.text) || std::ranges::any_of(statements, [&](const std::string& each) {
           return is_for_next(file, each) || !constant_of(each).empty();
         });
}

std::string device_wrapper_of(const UserFile& file) {
  const PlanKernels plans(file);
  if (!plans.any()) {
    throw UsageError(
        fmt::format("{0} launches by host code of its own ({1}), and the code for GPUs is taken alone: give it a line "
                    "'// launch: kernel<<<grid, block>>>(M, N, K, ...)'; --kernel {0} alone times it for its owner",
                    file.path, file.launch.statement.text));
  }
  return plans.with(file.launch.requirement, file.launch.workspace);
}

// ---- Plans of launches ----

float* address_for_plan(Base base, Base moved) {
  return reinterpret_cast<float*>(number_of(base) + (base == moved ? MOVED : 0));  // NOLINT(performance-no-int-to-ptr)
}

std::vector<AddressArgument> find_addresses(const UserPlan& plan,
                                            const std::function<UserPlan(Base moved)>& plan_with) {
  std::vector<AddressArgument> found;
  for (const Base base : {Base::a, Base::b, Base::c, Base::workspace}) {
    UserPlan moved = plan_with(base);
    for (unsigned parameter = 0; parameter < plan.parameters; ++parameter) {
      const std::size_t end = plan.offsets[parameter + 1];
      for (std::size_t at = plan.offsets[parameter]; at + sizeof(MOVED) <= end; at += sizeof(MOVED)) {
        const std::uint64_t before = address_in(plan, at);
        if (address_in(moved, at) - before == MOVED) {
          found.push_back({at, base});
          put_address(moved, at, before);
        }
      }
    }
    if (moved != plan) {
      throw std::runtime_error("its launch depends on where an operand lies");
    }
  }
  if (plan.kind == UserPlan::Kind::fill && (found.size() != 1 || found.front().base < Base::c)) {
    throw std::runtime_error("its launch line fills memory that is neither C nor the workspace");
  }
  if (plan.kind == UserPlan::Kind::copy && !found.empty()) {
    throw std::runtime_error("its launch line copies an operand's address to a constant, and operands move");
  }
  return found;
}

void put_addresses(UserPlan& plan, const std::vector<AddressArgument>& arguments, const UserProblem& operands) {
  const std::array<const void*, 5> bases{nullptr, operands.a, operands.b, operands.c, operands.workspace};
  for (const AddressArgument& argument : arguments) {
    const auto real = reinterpret_cast<std::uint64_t>(bases.at(static_cast<std::size_t>(argument.base)));
    put_address(plan, argument.offset, address_in(plan, argument.offset) + real - number_of(argument.base));
  }
}

void require_whole(const UserPlan& plan, const std::vector<ParameterPlace>& parameters) {
  if (plan.kind == UserPlan::Kind::copy && plan.bytes > plan.arguments.size()) {
    throw std::runtime_error(fmt::format("its launch line copies {} bytes to a constant, and {} are the most",
                                         plan.bytes, plan.arguments.size()));
  }
  if (plan.parameters > MOST_PARAMETERS || plan.offsets[plan.parameters] > plan.arguments.size() ||
      !std::is_sorted(plan.offsets.begin(), plan.offsets.begin() + plan.parameters + 1)) {
    throw std::runtime_error("a kernel has more parameters than the runner passes on");
  }
  for (unsigned i = 0; i < plan.parameters; ++i) {
    constexpr std::size_t MAP_BYTES = 128;
    if ((plan.maps >> i & 1U) != 0 && plan.offsets[i] + MAP_BYTES > plan.arguments.size()) {
      throw std::runtime_error("a kernel has no room for its tensor map");
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i >= plan.parameters || plan.offsets[i] + parameters[i].bytes > plan.arguments.size()) {
      throw std::runtime_error("a kernel takes other parameters than its launch passes");
    }
  }
}

}  // namespace sgemm
