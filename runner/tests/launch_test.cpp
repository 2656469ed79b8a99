#include "user/launch.hpp"

#include "expectations.hpp"
#include "user/readings.hpp"
#include "user/user_file.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

/// "M, N, K | condition" for the parameters of a function, "or" between those that are possible, or "no product".
std::string arguments(std::string_view parameters, const std::string& summed) {
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

TEST(Arguments, AreFoundByTheirNamesAndTypes) {
  constexpr std::string_view SUMMED = "; summed over ";
  expect_answers("arguments.txt", [&](const std::string& line) {
    const std::size_t end = line.find(SUMMED);
    return arguments(line.substr(0, end), end == std::string::npos ? "" : line.substr(end + SUMMED.size()));
  });
  const simt::Source kernel = simt::read_source(
      "__global__ void f(int M, int N, int K, const float* alpha, const float* A, const float* B, "
      "const float* beta, float* C) {}");
  EXPECT_TRUE(readings_of(kernel.functions.at(0)).all.empty()) << "a kernel can not read the host's memory";
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
            "my.cu: there is no kernel in it: no __global__ outside strings, and no host function that launches one");
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
            "my.cu: there is no kernel in it: no __global__ outside strings, and no host function that launches one");
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
