#include "cli/selection.hpp"

#include "base/outcome.hpp"
#include "base/words.hpp"
#include "fake_kernels.hpp"
#include "usage_message.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

using Names = std::vector<std::string>;

Names selected(std::string_view expression) {
  const std::vector<Kernel> available = fake_kernels();
  Names ids;
  for (const Kernel* const kernel : select_kernels(expression, available)) {
    ids.push_back(kernel->id());
  }
  return ids;
}

std::string selection_error(std::string_view expression) {
  const std::vector<Kernel> available = fake_kernels();
  return usage_message([&] { select_kernels(expression, available); });
}

TEST(Selection, NamesNumbersRangesAndVariants) {
  const std::string one_to_seven = "01_naive 02_smem_tiled 03_strip_tiled 05_coarse_1d 06_coarse_2d";
  for (const auto& [expression, names] : std::vector<std::pair<std::string, std::string>>{
           {"5", "05_coarse_1d"},
           {"6", "06_coarse_2d"},
           {"06", "06_coarse_2d"},
           {"0", "cublas"},
           {"coarse_1d", "05_coarse_1d"},
           {"05_coarse_1d", "05_coarse_1d"},
           {"cublas", "cublas"},
           {"cpu_blas", "cpu_blas"},
           {"1-7", one_to_seven},
           {"1:7", one_to_seven},
           {"1-99999999999999999999", one_to_seven},  // 10 has no default variant
           {"0-1", "cublas 01_naive"},
           {"4-5", "05_coarse_1d"},
           {"6-6", "06_coarse_2d"},
           {"1:uncoalesced", "01_naive:uncoalesced"},
           {"naive:uncoalesced", "01_naive:uncoalesced"},
           {"01_naive:uncoalesced", "01_naive:uncoalesced"},
           {"2:tile32", "02_smem_tiled:tile32"},
           {"10:reduce", "10_split_k:reduce"},
           {"1-7:uncoalesced", "01_naive:uncoalesced"},
           {"smem_tiled:32", "02_smem_tiled:32"},  // a variant that is a number needs its kernel's name
           {"2:32", "02_smem_tiled 03_strip_tiled 05_coarse_1d 06_coarse_2d"},
           {"6:default", "06_coarse_2d"},
           {"coarse_2d:default", "06_coarse_2d"},
           {"2:*", "02_smem_tiled 02_smem_tiled:32 02_smem_tiled:tile32"},
           {"smem_tiled:*", "02_smem_tiled 02_smem_tiled:32 02_smem_tiled:tile32"},
           {"02_smem_tiled:*", "02_smem_tiled 02_smem_tiled:32 02_smem_tiled:tile32"},
           {"5:*", "05_coarse_1d"},
           {"10:*", "10_split_k:atomic 10_split_k:reduce"},
           {"5-6:*", "05_coarse_1d 06_coarse_2d 06_coarse_2d:vectorized"},
           {"6,1,cublas,5,1-2,coarse_2d", "cublas 01_naive 02_smem_tiled 05_coarse_1d 06_coarse_2d"}}) {
    EXPECT_EQ(fmt::to_string(fmt::join(selected(expression), " ")), names) << expression;
  }
  EXPECT_EQ(selected("all,5,naive:*"), selected("all")) << "each once, in the registry's order";
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
  try {
    selected[1]->build(Target::for_gpu).configurations({});
    FAIL() << "it has such a configuration";
  } catch (const CaseStopped& stopped) {
    EXPECT_EQ(stopped.outcome(), Outcome::not_supported);
    EXPECT_STREQ(stopped.what(), "has no configuration '32x32' for this problem, but 128x256, 64x64 stream-k");
  }
}

TEST(Selection, Groups) {
  EXPECT_EQ(selected("baselines"), (Names{"cublas", "cpu_blas", "cublas_tf32"}));
  EXPECT_EQ(selected("all").size(), fake_kernels().size());
  Names chapters = selected("all");
  chapters.erase(chapters.begin(), chapters.begin() + 3);
  EXPECT_EQ(selected("chapters"), chapters);
  EXPECT_EQ(selected("baselines,chapters"), selected("all"));
}

TEST(Selection, PointsIntoTheGivenList) {
  const std::vector<Kernel> available = fake_kernels();
  for (const Kernel* const kernel : select_kernels("all", available)) {
    EXPECT_TRUE(&available.front() <= kernel && kernel <= &available.back());
  }
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

TEST(Selection, WhatIsUnknownListsTheNearest) {
  for (const auto& [expression, nearest] : std::vector<std::pair<std::string, std::string>>{
           {"coarse_1", "05_coarse_1d, 06_coarse_2d, chapters"},
           {"cublsa", "cublas, cpu_blas, all"},
           {"tiled", "02_smem_tiled, 03_strip_tiled, all"},
           {"chapter", "chapters, 01_naive, all"},
           {"05_coarse_2d", "05_coarse_1d, 06_coarse_2d, 01_naive"},
           {"ALL", "all, 01_naive, cublas"},
           {"nave:uncoalesced", "01_naive, all, chapters"},
           {":uncoalesced", "all, chapters, baselines"},
           {"-1", "all, 01_naive, cublas"},
           {" 5", "all, 01_naive, cublas"},
           {"1-2-3", "all, 01_naive, cublas"},
           {"7-", "all, 01_naive, cublas"},
           {"4", "03_strip_tiled, 05_coarse_1d, 02_smem_tiled"},
           {"99", "10_split_k, 06_coarse_2d, 05_coarse_1d"},
           {"99999999999999999999", "10_split_k, 06_coarse_2d, 05_coarse_1d"},
           {"7-9", "06_coarse_2d, 10_split_k, 05_coarse_1d"},
           {"20:30", "10_split_k, 06_coarse_2d, 05_coarse_1d"}}) {
    const std::string kernel = expression == "20:30" ? expression : expression.substr(0, expression.find(':'));
    const std::string message = fmt::format("unknown kernel '{}'; the nearest: {} (--list shows all)", kernel, nearest);
    EXPECT_EQ(selection_error(expression), message);
    EXPECT_EQ(selection_error("5," + expression), message);
  }
}

TEST(Selection, WhatIsWrongIsSaidInASentence) {
  for (const std::string expression : {"", "5,", ",5", "5,,6"}) {
    EXPECT_EQ(selection_error(expression), "bad kernels '" + expression + "': a term is empty");
  }
  for (const std::string range : {"7-1", "7:1"}) {
    EXPECT_EQ(selection_error(range), "bad kernels '" + range + "': the range is empty, 7 is above 1");
  }
  for (const auto& [kernel, variant, variants] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"2", ":tile64", "default, 32, tile32"},
           {"coarse_1d", ":vectorized", "default"},
           {"5", ":", "default"},
           {"10", "", "atomic, reduce"},
           {"10", ":default", "atomic, reduce"},
           {"1-2", ":tile64", "default, uncoalesced, 32, tile32"},
           {"naive", ":uncoalesced:x", "default, uncoalesced"}}) {
    EXPECT_EQ(selection_error(kernel + variant),
              fmt::format("kernel '{}' has no variant '{}'; its variants: {}", kernel,
                          variant.empty() ? "default" : variant.substr(1), variants));
  }
  EXPECT_EQ(selection_error("5,cublasxt"), "kernel 'cublasxt' is gone: cublas on one GPU is faster");
  EXPECT_EQ(selection_error("15:mma"),
            "kernel '15:mma' is gone: chapter 17 has the same integers on GPUs since Ampere");
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

TEST(Selection, NoKernelsAtAll) {
  EXPECT_TRUE(select_kernels("all", {}).empty());
  EXPECT_NE(usage_message([] { select_kernels("5", {}); }).find("unknown kernel '5'"), std::string::npos);
}

TEST(Nearest, DistanceCountsEdits) {
  EXPECT_EQ(word_distance("naive", "naive"), 0U);
  EXPECT_EQ(word_distance("nave", "naive"), 1U);    // insertion
  EXPECT_EQ(word_distance("nnaive", "naive"), 1U);  // deletion
  EXPECT_EQ(word_distance("noive", "naive"), 1U);   // substitution
  EXPECT_EQ(word_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(word_distance("abc", ""), 3U);
  EXPECT_EQ(word_distance("tile", "smem_tiled"), 0U);  // contained
}

TEST(Nearest, OrdersByDistanceAndKeepsTies) {
  EXPECT_EQ(nearest({{2, "a"}, {1, "b"}, {2, "c"}, {0, "d"}}, 3), (Names{"d", "b", "a"}));
  EXPECT_EQ(nearest({{2, "a"}}, 3), Names{"a"});
  EXPECT_TRUE(nearest({}, 3).empty());
}

}  // namespace
}  // namespace sgemm
