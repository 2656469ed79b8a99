#include "user/user_kernels.hpp"

#include "base/usage_error.hpp"
#include "record/results_file.hpp"
#include "user/library.hpp"
#include "user/wrapper.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// A user's file with its libraries, which are compiled and loaded when they are first asked for.
class LoadedFile {
 public:
  /// `target` is the one that is going to be run.
  LoadedFile(UserFile file, const CompileOptions& options, Target target)
      : file_(std::move(file)), options_(options), target_(target) {
    options_.device_code = options.device_code || needs_device_code(file_);
  }

  const UserFile& file() const { return file_; }
  Target target() const { return target_; }

  /// The same file with another launch.
  std::shared_ptr<LoadedFile> with(const UserLaunch& launch) const {
    UserFile file = file_;
    file.launch = launch;
    return std::make_shared<LoadedFile>(std::move(file), options_, target_);
  }

  const CompiledFile& compiled(Target target) {
    std::optional<CompiledFile>& compiled = compiled_[static_cast<std::size_t>(target)];
    if (!compiled) {
      compiled = compile(file_, target, options_);
    }
    return *compiled;
  }

  std::string undefined_function() const {
    const auto compiled = std::ranges::find_if(compiled_, [](const auto& one) { return one.has_value(); });
    return compiled == compiled_.end() ? "" : sgemm::undefined_function((*compiled)->library);
  }

  bool device_code(Target target) const { return target == Target::for_gpu && options_.device_code; }

  /// Device code is loaded again when it is next asked for, as if it had never run.
  void forget(Target target) {
    if (device_code(target)) {
      codes_[static_cast<std::size_t>(target)].reset();
    }
  }

  const UserCode& code(Target target) {
    std::unique_ptr<UserCode>& code = codes_[static_cast<std::size_t>(target)];
    if (!code) {
      const std::filesystem::path& path = compiled(target).library;
      code = device_code(target) ? load_device_code(path) : std::make_unique<UserLibrary>(path);
    }
    return *code;
  }

 private:
  const UserFile file_;
  CompileOptions options_;
  const Target target_;
  std::array<std::optional<CompiledFile>, TARGETS> compiled_;
  std::array<std::unique_ptr<UserCode>, TARGETS> codes_;
};

/// By the ids of kernels: a file as its launch is understood first, and then as it may be understood otherwise.
std::map<std::string, std::vector<std::shared_ptr<LoadedFile>>>& loaded_files() {
  static std::map<std::string, std::vector<std::shared_ptr<LoadedFile>>> files;
  return files;
}

Build build_of(const std::shared_ptr<LoadedFile>& file, Target target) {
  Build build;
  build.configurations = [file, target](const Problem& problem) {
    file->forget(target);  // what its kernels have kept of other cases
    const auto launch = [file, target](const Problem& p, void* workspace, cudaStream_t stream) {
      file->code(target).launch(p, workspace, stream);
    };
    return std::vector{Configuration{"", file->code(target).workspace_bytes(problem), launch}};
  };
  build.allocate = target == Target::for_gpu ? allocate_on_gpu : allocate_for_executor;
  if (target == Target::for_gpu) {
    build.resources = [file] { return file->code(Target::for_gpu).resources(); };
  }
  return build;
}

Kernel kernel_of(const std::shared_ptr<LoadedFile>& loaded, const std::string& name, const std::string& command) {
  const UserFile& file = loaded->file();
  const Target target = loaded->target();
  Kernel kernel;
  kernel.name = name;
  kernel.variant = file.function;
  kernel.summary = file.launch.statement.text;
  kernel.takes_padding = file.launch.uses_leading_dimensions();
  kernel.takes_every_layout = file.launch.as_written;
  kernel.file = KernelFile{file.path, file.hash, command, target == Target::for_gpu && !loaded->device_code(target)};
  kernel.unsupported = [loaded, target](const Problem& problem) -> std::optional<std::string> {
    const UserLaunch& launch = loaded->file().launch;
    if (problem.batch > 1 && !launch.takes_batches()) {
      return "computes one product: its launch does not name batch";
    }
    if (launch.requirement && !loaded->code(target).meets_requirement(problem)) {
      return "requires " + launch.requirement->text;
    }
    return std::nullopt;
  };
  kernel.build(Target::for_gpu) = build_of(loaded, Target::for_gpu);
  kernel.build(Target::for_executor) = build_of(loaded, Target::for_executor);
  if (can_compile_checks()) {
    kernel.build(Target::for_checks) = build_of(loaded, Target::for_checks);
  }
  return kernel;
}

/// Compiles all files, as many at a time as the machine has processors. Throws what the first one that failed threw, in
/// their order.
void compile_all(const std::vector<std::shared_ptr<LoadedFile>>& files) {
  std::counting_semaphore<> processors(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::future<void>> compilations;
  compilations.reserve(files.size());
  for (const std::shared_ptr<LoadedFile>& file : files) {
    compilations.push_back(std::async(std::launch::async, [&] {
      processors.acquire();
      const std::unique_ptr<std::counting_semaphore<>, void (*)(std::counting_semaphore<>*)> taken(
          &processors, [](std::counting_semaphore<>* all) { all->release(); });
      file->compiled(file->target());
    }));
  }
  for (std::future<void>& compilation : compilations) {
    compilation.get();
  }
}

/// The file's name; where two files have the same name, the whole path, with hyphens for what separates folders.
std::string name_of(const std::string& path, const std::set<std::string>& paths) {
  const auto last_part = [](const std::string& text) { return text.substr(text.rfind('/') + 1); };
  std::string name = last_part(path);
  if (std::ranges::count(paths, name, last_part) > 1) {
    name = path;
    std::ranges::replace(name, '/', '-');
  }
  return name;
}

constexpr std::string_view NEW_KERNEL =
    R"(// C = alpha * A * B + beta * C: A is M x K, B is K x N, C is M x N, all row-major in single precision.
//
//   {1} --kernel {0} --device cpu --check --sizes 100,257x130x9  right, and within its arrays?
//   {1} --kernel cublas,1,{0} --sizes 256:4096                   how fast, on a GPU?
//
// launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)
// requires: M <= 32 * 65535

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {{
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) {{
    return;
  }}
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {{
    sum += A[(size_t)row * lda + k] * B[(size_t)k * ldb + column];
  }}
  float* const c = &C[(size_t)row * ldc + column];
  *c = alpha * sum + (beta == 0.0f ? 0.0f : beta * *c);  // C is not read where beta is 0: it may hold anything
}}
)";

}  // namespace

std::vector<Kernel> readings_of(const Kernel& kernel) {
  std::vector<Kernel> readings;
  for (const std::shared_ptr<LoadedFile>& file : loaded_files().at(kernel.id())) {
    readings.push_back(kernel_of(file, kernel.name, kernel.file->command));
  }
  return readings;
}

std::string undefined_function(const Kernel& kernel) {
  return loaded_files().at(kernel.id()).front()->undefined_function();
}

std::vector<std::string> launches_of(const Kernel& kernel) {
  std::vector<std::string> launches;
  for (const std::shared_ptr<LoadedFile>& file : loaded_files().at(kernel.id())) {
    launches.push_back(file->file().launch.statement.text);
  }
  return launches;
}

std::vector<Kernel> user_kernels(const std::vector<std::string>& terms, Target target, const UserOptions& options) {
  std::set<std::string> paths;
  for (const std::string& term : terms) {
    paths.insert(parse_file_term(term).path);
  }
  if (target == Target::for_checks && !can_compile_checks()) {
    target = Target::for_executor;  // cases say that they can not be checked
  }
  std::set<std::pair<std::string, std::string>> known;
  std::vector<std::shared_ptr<LoadedFile>> files;
  for (const std::string& text : terms) {
    for (const FileTerm& term : single_functions(parse_file_term(text), options.launch, target, options.compile)) {
      if (known.emplace(term.path, term.function).second) {
        files.push_back(std::make_shared<LoadedFile>(read_user_file(term, options.launch, target, options.compile),
                                                     options.compile, target));
      }
    }
  }
  compile_all(files);
  std::vector<Kernel> kernels;
  kernels.reserve(files.size());
  for (const std::shared_ptr<LoadedFile>& file : files) {
    kernels.push_back(kernel_of(file, name_of(file->file().path, paths), file->compiled(target).command));
    std::vector<std::shared_ptr<LoadedFile>>& known = loaded_files()[kernels.back().id()];
    known = {file};
    for (const UserLaunch& other : file->file().launch.others) {
      known.push_back(file->with(other));
    }
  }
  return kernels;
}

void write_new_kernel(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    throw UsageError(fmt::format("--new-kernel: there is a file {} already; it is left as it is", path));
  }
  if (!path.ends_with(".cu")) {
    throw UsageError(fmt::format("--new-kernel: '{}' does not end with .cu, by which the runner knows a file", path));
  }
  require_writable(path);
  write_atomically(path, fmt::format(fmt::runtime(NEW_KERNEL), path, program_invocation_name));
}

}  // namespace sgemm
