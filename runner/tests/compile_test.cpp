#include "user/compile.hpp"

#include "base/program.hpp"
#include "expectations.hpp"
#include "fixtures/temporary_folder.hpp"
#include "user/wrapper.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

bool has_nvcc() {
  try {
    return run_program({"nvcc", "--version"}).status == 0;
  } catch (const std::system_error&) {
    return false;
  }
}

constexpr const char* SOURCE =
    "#include \"tile.cuh\"\n"
    "#define M 3\n"
    "template <int T> __global__ void k(int m, float* A, const float* B, float* c) { extern __shared__ float s[]; }\n"
    "__global__ void none() {}\n"
    "// launch: const int rows = ceil_div(M, 8); k<TILE><<<rows, dim3(CEIL_DIV(N, K), 1), 49 * 1024>>>(M, A, B, C);"
    " none<<<1, 1>>>(); k<TILE / 2><<<rows, 8, 48 * 1024 + rows>>>(M, A, B, C)\n"
    "// requires: M % 8 == 0 && lda <= ldb + ldc\n"
    "int main() { return M; }\n";

TEST(RunProgram, EndsWhatTakesTooLong) {
  const std::vector<std::string> closes_its_output{"sh", "-c", "exec >&- 2>&-; sleep 600"};
  for (const std::vector<std::string>& words : {std::vector<std::string>{"sleep", "600"}, closes_its_output}) {
    const ProgramResult result = run_program(words, {{}, StopToken(), std::chrono::seconds(1), {}});
    EXPECT_NE(result.status, 0);
    EXPECT_NE(result.output.find(words.front() + " was ended after 1 s"), std::string::npos) << result.output;
  }
}

TEST(RunProgram, EndsWhatTakesTooMuch) {
  const std::string little = "ulimit -v 262144; ulimit -f 2048";
  for (const char* const command :
       {"x=$(head -c 500000000 /dev/zero | tr '\\0' x)", "head -c 2000000 /dev/zero > large"}) {
    EXPECT_NE(run_program({"sh", "-c", command}, {{}, {}, {}, {}, little}).status, 0) << command;
    EXPECT_EQ(run_program({"sh", "-c", "head -c 1000000 /dev/zero"}, {{}, {}, {}, {}, little}).status, 0);
  }
  std::filesystem::remove("large");
}

using CompileTest = TemporaryFolderTest;

/// Expects that the file is compiled, and taken from the cache afterwards.
void expect_compiles(Target target, const CompileOptions& options) {
  std::ofstream("my.cu") << SOURCE;
  std::ofstream("tile.cuh") << "constexpr int TILE = 8;\n";
  const auto file = [&] { return read_user_file({"my.cu", ""}, {}, target, options); };
  try {
    const CompiledFile compiled = compile(file(), target, options);
    const auto made = std::filesystem::last_write_time(compiled.library);
    const CompiledFile again = compile(file(), target, options);
    EXPECT_EQ(again.library, compiled.library);
    EXPECT_EQ(std::filesystem::last_write_time(again.library), made);
    std::ofstream("tile.cuh") << "constexpr int TILE = 16;\n";
    EXPECT_NE(compile(file(), target, options).library, compiled.library) << "an included file has changed";
  } catch (const UsageError& error) {
    FAIL() << error.details() << error.what();
  }
}

TEST_F(CompileTest, ForTheExecutor) { expect_compiles(Target::for_executor, {}); }

TEST_F(CompileTest, ForAGpu) {
  if (!has_nvcc()) {
    GTEST_SKIP() << "nvcc is not on PATH";
  }
  expect_compiles(Target::for_gpu, {{"-DUNUSED=1"}, {}, 90});
  expect_compiles(Target::for_gpu, {{"-DUNUSED=1"}, {}, 90, true});
}

constexpr const char* WORDS_FOR_LAUNCHES =
    "#include <cuda.h>\n"
    "__global__ void boxes(const __grid_constant__ CUtensorMap a, float* c) { *c = *(const float*)&a; }\n"
    "namespace { __constant__ float factor[2]; }\n"
    "__global__ void k(float* c) { *c = factor[1]; }\n"
    "// launch: cudaMemcpyToSymbol(factor, &alpha, 4, 4); cudaMemsetAsync(C, 0, 4 * M, stream); cooperative(); "
    "cluster(2); k<<<2, 1>>>(C);"
    " boxes<<<1, 1>>>(tensor_map(A, M, K, lda, 64, 32, 128), C)\n";

TEST_F(CompileTest, DeviceCodeHasWordsForLaunches) {
  std::ofstream("my.cu") << WORDS_FOR_LAUNCHES;
  if (has_nvcc()) {
    const UserFile file = read_user_file({"my.cu", ""}, {}, Target::for_gpu, {});
    EXPECT_TRUE(std::filesystem::exists(compile(file, Target::for_gpu, {{}, {}, 90, true}).library));
  }
  const auto refusal = [](const char* launch, Target target) {
    std::ofstream("my.cu") << "__global__ void k(float* c) { *c = 1; }\n// launch: " << launch << "\n";
    return usage_message([&] { compile(read_user_file({"my.cu", ""}, {}, target, {}), target, {{}, {}, 90}); });
  };
  EXPECT_EQ(refusal("k<<<1, 1>>>(C); cluster(2)", Target::for_executor), "my.cu: no launch follows 'cluster(2);'");
  std::ofstream("my.cu") << WORDS_FOR_LAUNCHES;
  EXPECT_TRUE(std::filesystem::exists(
      compile(read_user_file({"my.cu", ""}, {}, Target::for_checks, {}), Target::for_checks, {{}, {}, 90}).library));
}

TEST_F(CompileTest, DeviceCodeWithAnUnfinishedLaunchIsRefused) {
  std::ofstream("my.cu") << "__global__ void k(float* c) { *c = 1; }\n// launch: k<<<1, 1>>>(C); k<<<dim3(1),\n";
  const UserFile file = read_user_file({"my.cu", ""}, {}, Target::for_gpu, {});
  EXPECT_EQ(usage_message([&] { device_wrapper_of(file); }),
            "my.cu: 'k<<<dim3(1),;' is no launch: it lacks '>>>(' or its end");
}

TEST_F(CompileTest, AHostFunctionMayHaveTheNameOfAWord) {
  std::ofstream("my.cu")
      << "__global__ void k(float* c) { *c = 1; }\n"
         "void cluster(int M, int N, int K, const float* A, const float* B, float* C) { k<<<1, 1>>>(C); "
         "}\n";
  const UserFile file = read_user_file({"my.cu", ""}, {}, Target::for_executor, {});
  EXPECT_FALSE(needs_device_code(file));
  EXPECT_NE(wrapper_of(file, Target::for_executor).find("cluster(M, N, K, A, B, C);"), std::string::npos);
}

TEST_F(CompileTest, SaysWhichCompilerIsMissing) {
  std::ofstream("my.cu") << SOURCE;
  const UserFile file = read_user_file({"my.cu", ""}, {}, Target::for_executor, {});
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder_.c_str(), 1);
  const std::string message = usage_message([&] { compile(file, Target::for_gpu, {{}, {}, 90}); });
  setenv("PATH", path.c_str(), 1);
  // A build for GPUs knows its nvcc without PATH, by which nvcc looks for its host compiler then.
  if (!message.empty() && message != "my.cu does not compile for the GPU") {
    EXPECT_EQ(message.find("a .cu file is compiled by nvcc for a GPU, and there is none"), 0U) << message;
  }
}

TEST_F(CompileTest, SaysWhichVariableNamesNoCompiler) {
  std::ofstream("my.cu") << SOURCE;
  const UserFile file = read_user_file({"my.cu", ""}, {}, Target::for_executor, {});
  for (const auto& [variable, target] : {std::pair("NVCC", Target::for_gpu), std::pair("CXX", Target::for_executor)}) {
    setenv(variable, "no-such-compiler", 1);
    EXPECT_EQ(usage_message([&, target = target] {
                compile(file, target, {{}, {}, 90});
              }),
              std::string("$") + variable + " is no-such-compiler, and there is no such program");
    unsetenv(variable);
  }
}

}  // namespace
}  // namespace sgemm
