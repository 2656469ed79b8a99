#include "user/launch.hpp"

#include "usage_message.hpp"
#include "user/user_file.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

/// "M, N, K | condition" for the parameters of a function, "or" between those that are possible, or "no product".
std::string arguments(std::string_view parameters, const std::string& summed = "") {
  const simt::Source found = simt::read_source(fmt::format("void f({}) {{}}", parameters));
  Readings readings = readings_of(found.functions.at(0), summed);
  if (readings.certain && !readings.all.empty()) {
    readings.all.resize(1);
  }
  std::vector<std::string> texts;
  for (const Reading& reading : readings.all) {
    texts.push_back(fmt::format("{}{}{}", fmt::join(reading.values, ", "), reading.requirement.empty() ? "" : " | ",
                                reading.requirement));
  }
  return texts.empty() ? "no product" : fmt::format("{}", fmt::join(texts, " or "));
}

UserLaunch launch_of(std::string_view source, const LaunchOptions& options = {}, const std::string& chosen = "") {
  return find_launch(simt::read_source(source), "my.cu", chosen, options);
}

std::string launch_error(std::string_view source, const std::string& chosen = "") {
  return usage_message([&] { launch_of(source, {}, chosen); });
}

TEST(Arguments, AreFoundByName) {
  EXPECT_EQ(arguments("int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C"),
            "M, N, K, alpha, A, B, beta, C");
  EXPECT_EQ(
      arguments("float* C, const float* A, const float* B, size_t k, size_t n, size_t m, float beta, float alpha"),
      "C, A, B, K, N, M, beta, alpha");
  EXPECT_EQ(
      arguments("const float* d_B, int ldb, const float* d_A, int lda, float* d_C, int ldc, int64_t m, int64_t n, "
                "int64_t k, const float alpha, const float beta, cudaStream_t s"),
      "B, ldb, A, lda, C, ldc, M, N, K, alpha, beta, stream");
  EXPECT_EQ(arguments("float* matA, float* matB, float* matC, unsigned M, unsigned N, unsigned K"),
            "A, B, C, M, N, K | alpha == 1 && beta == 0");
}

TEST(Arguments, AreFactorsByPointerAsInBlas) {
  EXPECT_EQ(arguments("int m, int n, int k, const float* alpha, const float* A, int lda, const float* B, int ldb, "
                      "float const *Beta, float* C, int ldc"),
            "M, N, K, &alpha, A, lda, B, ldb, &beta, C, ldc");
  EXPECT_EQ(arguments("int M, int N, int K, const float* alpha, const float* A, const float* B, float* C"),
            "M, N, K, &alpha, A, B, C | beta == 0");
  EXPECT_EQ(
      arguments("int M, int N, int K, const float* d_alpha, const float* A, const float* B, float beta, float* C"),
      "no product")
      << "that factor is in a GPU's memory";
  EXPECT_EQ(arguments("int M, int N, int K, float* alpha, const float* A, const float* B, float beta, float* C"),
            "no product");
  const simt::Source kernel = simt::read_source(
      "__global__ void f(int M, int N, int K, const float* alpha, const float* A, const float* B, "
      "const float* beta, float* C) {}");
  EXPECT_TRUE(readings_of(kernel.functions.at(0)).all.empty()) << "a kernel can not read the host's memory";
}

TEST(Arguments, AreFoundByOtherNames) {
  EXPECT_EQ(arguments("int rows, int columns, int depth, float x, const float* p, const float* q, float y, float* r"),
            "M, N, K, alpha, A, B, beta, C");
  EXPECT_EQ(arguments("const float* A, const float* B, float* C, int width"),
            "A, B, C, N | M == N && N == K && alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("float* Pd, float* Md, float* Nd, int width"),
            "C, A, B, N | M == N && N == K && alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("const float* a, const float* b, float* c, int B, int M, int N, int K"),
            "A, B, C, batch, M, N, K | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("float* A, float* B, float* C, int numARows, int numAColumns, int numBRows, int numBColumns, "
                      "int numCRows, int numCColumns"),
            "A, B, C, M, K, K, N, M, N | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("float* a, float* b, float* c, int hA, int wA, int wB"),
            "A, B, C, M, K, N | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("float* A, float* B, float* C, int rowsA, int colsA, int colsB"),
            "A, B, C, M, K, N | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("const float* lhs, const float* rhs, float* result, int height, int width, int inner"),
            "A, B, C, M, N, K | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("const float* x, int stride_a, const float* w, int pitchB, float* y, int ld_c, int m, int n, "
                      "int k"),
            "A, lda, B, ldb, C, ldc, M, N, K | alpha == 1 && beta == 0");
}

TEST(Arguments, AreSummedOverWhatIsKnownToBe) {
  constexpr const char* BY_BLAS = "const float* A, const float* B, float* C, int M, int N, int K";
  EXPECT_EQ(arguments(BY_BLAS, "N"), "A, B, C, M, K, N | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments(BY_BLAS, "K"), "A, B, C, M, N, K | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("const float* a, const float* b, float* c, int m, int p, int n", "p"),
            "A, B, C, M, K, N | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("const float* a, const float* b, float* c, int height, int width, int columns", "width"),
            "A, B, C, M, K, N | alpha == 1 && beta == 0");
}

TEST(Arguments, AreNotGuessedWhereNamesDoNotTell) {
  EXPECT_EQ(arguments("float* out, const float* p, const float* q, int x, int y, int z"),
            "C, A, B, M, N, K | alpha == 1 && beta == 0 or C, A, B, M, K, N | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("float* X, float* Y, float* Z, int m, int n, int k"),
            "A, B, C, M, N, K | alpha == 1 && beta == 0 or A, C, B, M, N, K | alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("float* p, float* q, float* r, int M, int N, int K"),
            "A, B, C, M, N, K | alpha == 1 && beta == 0 or C, A, B, M, N, K | alpha == 1 && beta == 0");
}

TEST(Arguments, MayBeTensors) {
  EXPECT_EQ(arguments("torch::Tensor a, torch::Tensor b, torch::Tensor c"),
            "torch::from_blob(A, {M, K}), torch::from_blob(B, {K, N}), torch::from_blob(C, {M, N}) | "
            "alpha == 1 && beta == 0");
  EXPECT_EQ(arguments("const at::Tensor& C, const torch::Tensor& B, torch::Tensor A, int N, int M, int K, float alpha, "
                      "float beta"),
            "torch::from_blob(C, {M, N}), torch::from_blob(B, {K, N}), torch::from_blob(A, {M, K}), N, M, K, alpha, "
            "beta");
  EXPECT_EQ(arguments("torch::Tensor a, torch::Tensor b"), "no product");
  EXPECT_EQ(arguments("torch::Tensor a, torch::Tensor b, float* c"), "no product");
  EXPECT_EQ(arguments("torch::Tensor& a, torch::Tensor& b, torch::Tensor& c"), "no product");
}

TEST(Arguments, AreNotGuessedOfOtherFunctions) {
  EXPECT_EQ(arguments("const double* A, const double* B, double* C, int n"), "no product");
  EXPECT_EQ(arguments("const float* x, float* y, int n"), "no product");
  EXPECT_EQ(arguments("int M, int N, const float* A, const float* B, float* C"), "no product");
  EXPECT_EQ(arguments("dim3 grid, const float* A, const float* B, float* C, int n"), "no product");
  EXPECT_EQ(arguments("float** A, const float* B, float* C, int n"), "no product");
}

constexpr std::string_view KERNEL =
    "__global__ void k(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {}\n";

TEST(FindLaunch, OptionComesBeforeCommentBeforeFunction) {
  const std::string host = fmt::format(
      "{}{}", KERNEL, "void run(const float* A, const float* B, float* C, int M, int N, int K) { k<<<1, 1>>>(M); }\n");
  EXPECT_EQ(launch_of(host).statement.text, "run(A, B, C, M, N, K);");
  EXPECT_EQ(launch_of(host).requirement->text, "alpha == 1 && beta == 0");
  const std::string comment = fmt::format("{}{}", host, "// launch: k<<<1, 2>>>(M);\n// requires: N == 1\n");
  EXPECT_EQ(launch_of(comment).statement.text, "k<<<1, 2>>>(M);");
  EXPECT_EQ(launch_of(comment).statement.line, 3);
  EXPECT_EQ(launch_of(comment).requirement->text, "N == 1");
  const UserLaunch given = launch_of(comment, {"k<<<3, 4>>>(lda)", "K == 1", {}, {}});
  EXPECT_EQ(given.statement.text, "k<<<3, 4>>>(lda);");
  EXPECT_EQ(given.statement.file, "--launch");
  EXPECT_EQ(given.requirement->text, "K == 1");
  EXPECT_EQ(given.requirement->file, "--requires");
}

TEST(FindLaunch, AsksForTheWorkspaceThatItNames) {
  const std::string launch = fmt::format("{}// launch: k<<<1, 2>>>((float*)workspace);\n", KERNEL);
  EXPECT_EQ(launch_error(launch),
            "my.cu: the launch names workspace, and nothing says how many bytes it has: add a comment "
            "\"// workspace: 4 * M * N\" to the file, or give --workspace '4 * M * N'");
  const std::string with_bytes = launch + "// workspace: M * N * 4\n";
  EXPECT_EQ(launch_of(with_bytes).workspace->text, "M * N * 4");
  EXPECT_EQ(launch_of(with_bytes).workspace->line, 3);
  EXPECT_EQ(launch_of(with_bytes, {{}, {}, "64", {}}).workspace->text, "64");
  EXPECT_EQ(launch_of(with_bytes, {{}, {}, "64", {}}).workspace->file, "--workspace");
  const std::string unnamed = fmt::format("{}// launch: k<<<1, 2>>>(M);\n// workspace: words of a person\n", KERNEL);
  EXPECT_FALSE(launch_of(unnamed).workspace);
}

TEST(FindLaunch, InstantiatesATemplateOverTheElementsType) {
  EXPECT_EQ(launch_of("template <typename T>\nvoid run(size_t m, size_t n, size_t k, T const* alpha, T const* A, "
                      "size_t lda, T const* B, size_t ldb, T const* beta, T* C, size_t ldc, cudaStream_t stream) {}\n",
                      {}, "run")
                .statement.text,
            "run<float>(M, N, K, &alpha, A, lda, B, ldb, &beta, C, ldc, stream);");
  constexpr std::string_view NUMBER =
      "template <int T>\nvoid run(int n, const float* A, const float* B, float* C) {}\n";
  EXPECT_EQ(launch_error(NUMBER),
            "my.cu: there is no kernel in it: no __global__ function, and no host function that launches one");
}

TEST(FindLaunch, KnowsWhetherRowsMayHaveGaps) {
  EXPECT_TRUE(launch_of(KERNEL, {"k<<<1, 1>>>(M, lda)", {}, {}, {}}).uses_leading_dimensions());
  EXPECT_FALSE(launch_of(KERNEL, {"k<<<1, 1>>>(M, K)", {}, {}, {}}).uses_leading_dimensions());
}

TEST(FindLaunch, OneOfSeveralIsChosenByName) {
  const std::string two =
      "__global__ void a(float* C) {}\n__global__ void b(float* C) {}\n// launch: a<<<1, 1>>>(C)\n"
      "// launch: b<<<1, 1>>>(C)\n";
  EXPECT_EQ(launch_of(two, {}, "b").statement.text, "b<<<1, 1>>>(C);");
  EXPECT_EQ(launch_error(two), "my.cu: it has 2 launch lines: choose a kernel of it, my.cu:NAME");
  EXPECT_EQ(launch_error(two, "c"), "my.cu: there is no function 'c' in it");
}

TEST(LaunchableFunctions, HaveALineOrAUsualSignature) {
  const auto launchable = [](const std::string& text) {
    return launchable_functions(simt::read_source(text), "my.cu");
  };
  EXPECT_EQ(launchable("int ceil_div(int a, int b) { return a; }\n"
                       "__global__ void a(float* C) {}\n__global__ void helper(float* C) {}\n"
                       "__global__ void b(float* C) {}\n"
                       "void reference(const float* A, const float* B, float* C, int n) {}\n"
                       "void run(const float* A, const float* B, float* C, int n) { a<<<1, 1>>>(C); }\n"
                       "// launch: b<<<ceil_div(N, 8), 1>>>(C)\n// launch: a<<<1, 1>>>(C)\n"),
            (std::vector<std::string>{"a", "b", "run"}));
  EXPECT_TRUE(launchable("__global__ void a(float* C) {}\n").empty());
}

TEST(FindLaunch, SaysWhatThereIsWhereNothingFits) {
  EXPECT_EQ(launch_error("int x;"),
            "my.cu: there is no kernel in it: no __global__ function, and no host function that launches one");
  EXPECT_EQ(launch_error(KERNEL), "my.cu: it is not known how to launch its kernel");
  try {
    launch_of(KERNEL);
    FAIL();
  } catch (const UsageError& failure) {
    EXPECT_NE(failure.details().find("my.cu:1: __global__ k(int M,"), std::string::npos) << failure.details();
    EXPECT_NE(failure.details().find("--launch 'k<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, "
                                     "alpha, A, B, beta, C)'"),
              std::string::npos)
        << failure.details();
  }
}

TEST(FileTerms, EndWithAFunction) {
  EXPECT_EQ(parse_file_term("a/my.cu").path, "a/my.cu");
  EXPECT_EQ(parse_file_term("a/my.cu").function, "");
  EXPECT_EQ(parse_file_term("my.cuh:ns::f").path, "my.cuh");
  EXPECT_EQ(parse_file_term("my.cuh:ns::f").function, "ns::f");
  EXPECT_TRUE(names_file("missing.cu:f"));
  EXPECT_FALSE(names_file("1:uncoalesced"));
  EXPECT_FALSE(names_file("cublas"));
}

}  // namespace
}  // namespace sgemm
