#include "cli/selection.hpp"

#include "base/outcome.hpp"
#include "base/words.hpp"
#include "expectations.hpp"
#include "fakes.hpp"
#include "problem/sizes.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace sgemm {
namespace {

using Names = std::vector<std::string>;

TEST(Selection, ExpressionsStandForKernelsInTheRegistrysOrder) {
  const std::vector<Kernel> available = fake_kernels();
  expect_answers("kernels.txt", [&](const std::string& expression) {
    Names ids;
    for (const Kernel* const kernel : select_kernels(expression, available)) {
      ids.push_back(kernel->id());
    }
    return fmt::to_string(fmt::join(ids, " "));
  });
}

TEST(Sizes, ExpressionsStandForSizesInTheirOrder) {
  expect_answers("sizes.txt", [](const std::string& expression) {
    Names names;
    for (const Size& size : parse_sizes(expression)) {
      names.push_back(to_string(size));
      EXPECT_EQ(parse_sizes(names.back()), std::vector{size}) << "a name is an expression";
    }
    return fmt::to_string(fmt::join(names, " "));
  });
  EXPECT_EQ(parse_sizes("256:8192:256").size(), 32U);
  EXPECT_EQ(parse_sizes("1:100000:1").size(), 100000U);
  EXPECT_THROW(parse_sizes("\t1"), UsageError);
}

TEST(KernelTerms, FilesAreToldFromNames) {
  const KernelTerms terms = kernel_terms("cublas,my.cu,1-3,dir/other.cuh:mine::f,6:*");
  EXPECT_EQ(terms.names, "cublas,1-3,6:*");
  EXPECT_EQ(terms.files, (Names{"my.cu", "dir/other.cuh:mine::f"}));
  EXPECT_EQ(kernel_terms("my.cu").names, "");
  EXPECT_EQ(kernel_terms("all").files, Names{});
  EXPECT_EQ(usage_message([] { kernel_terms("my.cu,"); }), "bad kernels 'my.cu,': a term is empty");
  EXPECT_EQ(usage_message([] { kernel_terms(""); }), "bad kernels '': a term is empty");
}

TEST(Selection, ConfigurationIsAVariantBehindItsKernel) {
  std::vector<Kernel> chapters = fake_kernels();
  Kernel& tunable = chapters[9];
  tunable.tunable = true;
  tunable.build(Target::for_gpu).configurations = [](const Problem&) {
    return std::vector<Configuration>{{"128x256", 100, {}}, {"64x64 stream-k", 200, {}}};
  };
  for (const char* const unnamed : {"", "all", "5", "5:default", "5:*", "1-5:64x64", "1:64x64", "6:vectorized"}) {
    EXPECT_EQ(with_configurations(unnamed, chapters).size(), chapters.size()) << unnamed;
  }
  const std::vector<Kernel> available = with_configurations("coarse_1d:64x64 stream-k,5:32x32", chapters);
  const std::vector<const Kernel*> selected = select_kernels("6,5:64x64 stream-k,5,5:32x32", available);
  ASSERT_EQ(selected.size(), 4U);
  EXPECT_EQ(selected[0]->build(Target::for_gpu).configurations({}).size(), 2U);
  EXPECT_EQ(selected[1]->id(), "05_coarse_1d:32x32");
  EXPECT_EQ(selected[2]->id(), "05_coarse_1d:64x64 stream-k");
  const std::vector<Configuration> only = selected[2]->build(Target::for_gpu).configurations({});
  ASSERT_EQ(only.size(), 1U);
  EXPECT_EQ(only.front().workspace_bytes, 200U);
  EXPECT_FALSE(selected[2]->tunable) << "nothing is chosen";
  EXPECT_EQ(end_of([&] { selected[1]->build(Target::for_gpu).configurations({}); }),
            "not_supported: has no configuration '32x32' for this problem, but 128x256, 64x64 stream-k");
}

TEST(Selection, ChaptersAloneGetACpuBaseline) {
  const std::vector<Kernel> available = fake_kernels();
  const auto added = [&](std::string_view expression) {
    std::vector<const Kernel*> kernels = select_kernels(expression, available);
    const std::size_t named = kernels.size();
    add_cpu_baseline(kernels, available);
    return kernels.size() == named ? "" : kernels.back()->id();
  };
  EXPECT_EQ(added("5"), "cpu_blas");
  EXPECT_EQ(added("1-6:*"), "cpu_blas");
  for (const char* const expression : {"0-5", "cublas", "cpu_blas,5", "all"}) {
    EXPECT_EQ(added(expression), "") << expression;
  }
}

TEST(Selection, KernelsThatNeedCudaAreNoUnknownOnes) {
  std::vector<Kernel> without_cuda = fake_kernels();
  std::erase_if(without_cuda, [](const Kernel& kernel) { return kernel.name.starts_with("cublas"); });
  for (const std::string kernel : {"cublas", "0", "0-0", "cublas_tf32", "libsgemm", "cublaslt_best"}) {
    const std::string expected =
        fmt::format("kernel '{}' needs a build with CUDA: run CMake in a new folder, with ", kernel);
    const auto selecting = [&](const std::string& expression) {
      return usage_message([&] { select_kernels(expression, without_cuda); });
    };
    EXPECT_EQ(selecting(kernel).find(expected), 0U) << selecting(kernel);
    EXPECT_EQ(selecting("5," + kernel + ":*").find(expected), 0U);
  }
  EXPECT_EQ(select_kernels("0-2", without_cuda).size(), 2U);
  const auto left_out = [&](std::string_view expression) {
    return left_out_without_cuda(expression, without_cuda).value_or("");
  };
  EXPECT_EQ(left_out("cpu_blas,0-2").find("0-2 goes without cublas, which needs a build with CUDA"), 0U);
  EXPECT_EQ(left_out("1-2,all,5"), "");
  EXPECT_EQ(left_out(""), "");
  EXPECT_FALSE(left_out_without_cuda("0-2", fake_kernels()));
}

TEST(Selection, KernelsThatNeedCudaAreThoseOfABuildWithIt) {
  for (const Kernel& kernel : kernels()) {
    const bool cuda_alone = kernel.number <= 0 && kernel.min_compute_capability > 0 && kernel.local_kernel.empty() &&
                            !kernel.build(Target::for_executor);
    EXPECT_EQ(left_out_without_cuda(kernel.name, {}).has_value(), cuda_alone) << kernel.id();
  }
}

Names names(const std::string& filter, const std::vector<Distribution>& data = {}) {
  const std::vector<Kernel> kernels{fake_kernel(0, "cublas"), fake_kernel(1, "naive", "uncoalesced")};
  Names result;
  for (const Case& item :
       choose_cases(make_plan({&kernels[0], &kernels[1]}, {{64, 64, 64}, {128, 1, 7}}, data), {filter})) {
    result.push_back(item.name());
  }
  return result;
}

const Names EVERYTHING{"sgemm/cublas/64x64x64", "sgemm/01_naive:uncoalesced/64x64x64", "sgemm/cublas/128x1x7",
                       "sgemm/01_naive:uncoalesced/128x1x7"};

TEST(Plan, GoesThroughTheOperandsOfASize) {
  EXPECT_EQ(names("64x|naive", {Distribution::normal, Distribution::inf}),
            (Names{EVERYTHING[0] + "/normal", EVERYTHING[1] + "/normal", EVERYTHING[0] + "/inf", EVERYTHING[1] + "/inf",
                   EVERYTHING[3] + "/normal", EVERYTHING[3] + "/inf"}));
}

TEST(Plan, GoesSizeBySizeAndFiltersByTheDocumentedNames) {
  EXPECT_EQ(names("all"), EVERYTHING);
  EXPECT_EQ(names("."), EVERYTHING);
  EXPECT_EQ(names("cublas/.*7$"), Names{"sgemm/cublas/128x1x7"});
  EXPECT_EQ(names("-cublas"), (Names{EVERYTHING[1], EVERYTHING[3]}));
  EXPECT_THROW(names("iterations"), UsageError);
  EXPECT_THROW(names("("), UsageError);
}

std::vector<Configuration> none(const Problem&) { return {}; }

class RegistryTest : public testing::TestWithParam<bool> {};

TEST_P(RegistryTest, CompilationsOfAChapterForBothTargetsAreOneKernel) {
  const bool gpu_first = GetParam();
  const std::string name = gpu_first ? "registry_test_a" : "registry_test_b";
  Kernel for_gpu = fake_kernel(-1, name);
  for_gpu.build(Target::for_gpu).configurations = none;
  for_gpu.build(Target::for_gpu).resources = [] { return Resources{}; };
  for_gpu.build(Target::for_gpu).missing_code = "sm_90a";
  Kernel for_executor = fake_kernel(-1, name);
  for_executor.build(Target::for_executor).configurations = none;

  const std::size_t before = kernels().size();
  const KernelRegistration first(gpu_first ? for_gpu : for_executor);
  const KernelRegistration second(gpu_first ? for_executor : for_gpu);
  EXPECT_EQ(kernels().size(), before + 1);
  EXPECT_TRUE(find_kernel(name)->build(Target::for_gpu));
  EXPECT_TRUE(find_kernel(name)->build(Target::for_gpu).resources);
  EXPECT_EQ(find_kernel(name)->build(Target::for_gpu).missing_code, "sm_90a");
  EXPECT_TRUE(find_kernel(name)->build(Target::for_executor));
  EXPECT_FALSE(find_kernel(name)->build(Target::for_executor).resources);
  EXPECT_FALSE(find_kernel(name)->build(Target::for_checks));
  EXPECT_THROW(KernelRegistration{for_gpu}, std::logic_error);
  EXPECT_THROW(KernelRegistration{for_executor}, std::logic_error);
}

INSTANTIATE_TEST_SUITE_P(Orders, RegistryTest, testing::Bool());

}  // namespace
}  // namespace sgemm
