#include "user/wrapper.hpp"

#include "base/usage_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

/// Nothing where the file has a function of that name.
std::string_view ceil_div_for(const simt::Source& source) {
  return std::ranges::find(source.functions, "ceil_div", &simt::Function::name) != source.functions.end()
             ? ""
             : CEIL_DIV_LOCAL;
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

/// What the file says of its launch, statement by statement, with what each launch needs before it.
std::string statements_of(const PlacedText& all, Target target) {
  std::string text;
  PlacedText part = all;
  for (const std::string& statement : simt::split_statements(all.text)) {
    part.text = statement;
    const std::optional<simt::LaunchParts> launch = simt::parts_of_launch(statement);
    if (launch) {
      text += line_directive(part) + (target == Target::for_gpu ? "" : check_of(*launch));
      text += line_directive(part) + consent_of(*launch);
    }
    text += line_directive(part) + "  " + (launch ? on_stream(*launch) : statement) + "\n";
    part.line += static_cast<int>(std::ranges::count(statement, '\n'));
  }
  return text;
}

/// Names of the problem that a file may have as macros, and what a launch line may use.
constexpr std::string_view NAMES = R"(
#undef M
#undef N
#undef K
#undef alpha
#undef beta
#undef A
#undef B
#undef C
#undef lda
#undef ldb
#undef ldc
#undef batch
#undef stream
#undef workspace
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

/// What evaluates a launch line on the GPU. Kernels take their parameters one behind the other, each at a multiple of
/// its alignment.
constexpr std::string_view PLANS = R"(
struct sgemm_plan {
  unsigned grid[3], block[3];
  unsigned long long smem_bytes;
  unsigned parameters;
  unsigned offsets[65];
  alignas(16) unsigned char arguments[4096];
};
struct sgemm_facts {
  int meets, launches;
  long long workspace_bytes;
};
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
  std::string text = fmt::format("\n#line 1 \"the runner's part\"{}", NAMES);
  text += target == Target::for_gpu ? RESOURCES : "";
  const std::string_view ceil_div = ceil_div_for(all);
  const std::string locals = fmt::format(EXTENTS, "int") + std::string(FACTORS_AND_MEMORY) + std::string(ceil_div);
  constexpr std::string_view EXPORT = "extern \"C\" __attribute__((visibility(\"default\")))";
  text += fmt::format("{} int {}(const sgemm_user_problem* sgemm_problem) {{{}", EXPORT, REQUIREMENT_SYMBOL, locals);
  const std::optional<PlacedText>& requirement = file.launch.requirement;
  text += requirement ? fmt::format("{}  return ({}) ? 1 : 0;\n}}\n", line_directive(*requirement), requirement->text)
                      : "  return 1;\n}\n";
  // The bytes of a matrix may be more than an int holds.
  text += fmt::format("{} long long {}(const sgemm_user_problem* sgemm_problem) {{{}{}", EXPORT, WORKSPACE_SYMBOL,
                      fmt::format(EXTENTS, "long long"), ceil_div);
  const std::optional<PlacedText>& workspace = file.launch.workspace;
  text += workspace ? fmt::format("{}  return ({});\n}}\n", line_directive(*workspace), workspace->text)
                    : "  return 0;\n}\n";
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
  text += target == Target::for_gpu ? "  sgemm_launch_count = 0;\n" : "";
  text += fmt::format("  const unsigned long long sgemm_launches_before = {};\n", begun);
  text += statements_of(file.launch.statement, target);
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

std::string device_wrapper_of(const UserFile& file) {
  const std::string_view ceil_div = ceil_div_for(file.source);
  const auto locals = [&](std::string_view type) {
    return fmt::format(EXTENTS, type) + std::string(FACTORS_AND_MEMORY) + std::string(ceil_div) +
           "  [[maybe_unused]] const cudaStream_t stream = nullptr;\n";
  };
  constexpr std::string_view KERNEL = "extern \"C\" __global__ void";
  constexpr std::string_view PROBLEM = "  const sgemm_user_problem* const sgemm_problem = &sgemm_given;";
  std::string text = fmt::format("\n#line 1 \"the runner's part\"{}{}", NAMES, PLANS);
  std::string before;  // statements that launch nothing
  std::string names;
  int launches = 0;
  PlacedText part = file.launch.statement;
  for (const std::string& statement : simt::split_statements(file.launch.statement.text)) {
    part.text = statement;
    if (const std::optional<simt::LaunchParts> launch = simt::parts_of_launch(statement)) {
      const std::string_view smem = launch->configuration.size() > 2 ? std::string_view(launch->configuration[2]) : "0";
      const std::string line = line_directive(part);
      text += fmt::format(
          "{} {}{}(sgemm_user_problem sgemm_given, sgemm_plan* sgemm_to) {{\n{}{}{}"
          "{}  const dim3 sgemm_grid = dim3({});\n{}  const dim3 sgemm_block = dim3({});\n"
          "{}  sgemm_to->smem_bytes = ({});\n"
          "{}  decltype(sgemm_arguments_of({})){{sgemm_to}}({});\n"
          "  sgemm_to->grid[0] = sgemm_grid.x; sgemm_to->grid[1] = sgemm_grid.y; sgemm_to->grid[2] = sgemm_grid.z;\n"
          "  sgemm_to->block[0] = sgemm_block.x; sgemm_to->block[1] = sgemm_block.y;"
          " sgemm_to->block[2] = sgemm_block.z;\n}}\n",
          KERNEL, PLAN_SYMBOL, launches, PROBLEM, locals("int"), before, line, launch->configuration[0], line,
          launch->configuration[1], line, smem, line, launch->kernel,
          launch->arguments.substr(1, launch->arguments.size() - 2));
      names += fmt::format("{}  {}<{}, ({})><<<1, 1>>>();\n", line, NAMED_SYMBOL, launches, launch->kernel);
      ++launches;
    } else {
      before += line_directive(part) + "  " + statement + "\n";
    }
    part.line += static_cast<int>(std::ranges::count(statement, '\n'));
  }
  if (launches == 0) {
    throw UsageError(
        fmt::format("{} launches by host code of its own ({}), and the code for GPUs is taken alone: give it a line "
                    "'// launch: kernel<<<grid, block>>>(M, N, K, ...)'",
                    file.path, file.launch.statement.text));
  }
  const auto value = [](const std::optional<PlacedText>& placed, std::string_view without) {
    return placed ? fmt::format("\n{}  ({});\n", line_directive(*placed), placed->text)
                  : fmt::format(" {};\n", without);
  };
  // The bytes of a matrix may be more than an int holds.
  text += fmt::format(
      "{} {}(sgemm_user_problem sgemm_given, sgemm_facts* sgemm_to) {{\n{}  sgemm_to->launches = {};\n"
      "  {{{}  sgemm_to->meets ={}  }}\n  {{{}  sgemm_to->workspace_bytes ={}  }}\n}}\n",
      KERNEL, FACTS_SYMBOL, PROBLEM, launches, locals("int"), value(file.launch.requirement, "1"), locals("long long"),
      value(file.launch.workspace, "0"));
  // Their names, and the instances of templates that are launched.
  return text + fmt::format("[[maybe_unused]] static void sgemm_names() {{\n{}}}\n", names);
}

}  // namespace sgemm
