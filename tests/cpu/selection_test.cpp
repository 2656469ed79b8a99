#include "cli/selection.hpp"

#include "base/nearest.hpp"
#include "base/outcome.hpp"
#include "fake_kernels.hpp"
#include "usage_message.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
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

TEST(Selection, NumberIsTheDefaultVariant) {
  EXPECT_EQ(selected("5"), Names{"05_coarse_1d"});
  EXPECT_EQ(selected("6"), Names{"06_coarse_2d"});
  EXPECT_EQ(selected("06"), Names{"06_coarse_2d"});
  EXPECT_EQ(selected("0"), Names{"cublas"});
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

TEST(Selection, NameWithAndWithoutNumber) {
  EXPECT_EQ(selected("coarse_1d"), Names{"05_coarse_1d"});
  EXPECT_EQ(selected("05_coarse_1d"), Names{"05_coarse_1d"});
  EXPECT_EQ(selected("cublas"), Names{"cublas"});
  EXPECT_EQ(selected("cpu_blas"), Names{"cpu_blas"});
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

TEST(Selection, RangeOfNumbers) {
  const Names expected{"01_naive", "02_smem_tiled", "03_strip_tiled", "05_coarse_1d", "06_coarse_2d"};
  EXPECT_EQ(selected("1-7"), expected);
  EXPECT_EQ(selected("1:7"), expected);
  EXPECT_EQ(selected("1-99999999999999999999"), expected);  // 10 has no default variant
  EXPECT_EQ(selected("0-1"), (Names{"cublas", "01_naive"}));
  EXPECT_EQ(selected("4-5"), Names{"05_coarse_1d"});
  EXPECT_EQ(selected("6-6"), Names{"06_coarse_2d"});
}

TEST(Selection, Variant) {
  EXPECT_EQ(selected("1:uncoalesced"), Names{"01_naive:uncoalesced"});
  EXPECT_EQ(selected("naive:uncoalesced"), Names{"01_naive:uncoalesced"});
  EXPECT_EQ(selected("01_naive:uncoalesced"), Names{"01_naive:uncoalesced"});
  EXPECT_EQ(selected("2:tile32"), Names{"02_smem_tiled:tile32"});
  EXPECT_EQ(selected("10:reduce"), Names{"10_split_k:reduce"});
  EXPECT_EQ(selected("1-7:uncoalesced"), Names{"01_naive:uncoalesced"});
}

TEST(Selection, VariantCalledByANumberNeedsTheName) {
  EXPECT_EQ(selected("smem_tiled:32"), Names{"02_smem_tiled:32"});
  EXPECT_EQ(selected("2:32"), (Names{"02_smem_tiled", "03_strip_tiled", "05_coarse_1d", "06_coarse_2d"}));
}

TEST(Selection, DefaultVariantByName) {
  EXPECT_EQ(selected("6:default"), Names{"06_coarse_2d"});
  EXPECT_EQ(selected("coarse_2d:default"), Names{"06_coarse_2d"});
}

TEST(Selection, AllVariants) {
  const Names expected{"02_smem_tiled", "02_smem_tiled:32", "02_smem_tiled:tile32"};
  EXPECT_EQ(selected("2:*"), expected);
  EXPECT_EQ(selected("smem_tiled:*"), expected);
  EXPECT_EQ(selected("02_smem_tiled:*"), expected);
  EXPECT_EQ(selected("5:*"), Names{"05_coarse_1d"});
  EXPECT_EQ(selected("10:*"), (Names{"10_split_k:atomic", "10_split_k:reduce"}));
  EXPECT_EQ(selected("5-6:*"), (Names{"05_coarse_1d", "06_coarse_2d", "06_coarse_2d:vectorized"}));
}

TEST(Selection, Groups) {
  EXPECT_EQ(selected("baselines"), (Names{"cublas", "cpu_blas", "cublas_tf32"}));
  EXPECT_EQ(selected("all").size(), fake_kernels().size());
  Names chapters = selected("all");
  chapters.erase(chapters.begin(), chapters.begin() + 3);
  EXPECT_EQ(selected("chapters"), chapters);
  EXPECT_EQ(selected("baselines,chapters"), selected("all"));
}

TEST(Selection, KeepsTheRegistrysOrderWithoutDuplicates) {
  EXPECT_EQ(selected("6,1,cublas,5,1-2,coarse_2d"),
            (Names{"cublas", "01_naive", "02_smem_tiled", "05_coarse_1d", "06_coarse_2d"}));
  EXPECT_EQ(selected("all,5,naive:*"), selected("all"));
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

TEST(Selection, EmptyTerms) {
  EXPECT_EQ(selection_error(""), "bad kernels '': a term is empty");
  EXPECT_EQ(selection_error("5,"), "bad kernels '5,': a term is empty");
  EXPECT_EQ(selection_error(",5"), "bad kernels ',5': a term is empty");
  EXPECT_EQ(selection_error("5,,6"), "bad kernels '5,,6': a term is empty");
}

std::string unknown(std::string_view kernel, std::string_view nearest) {
  return fmt::format("unknown kernel '{}'; the nearest: {} (--list shows all)", kernel, nearest);
}

TEST(Selection, UnknownNameListsTheNearest) {
  EXPECT_EQ(selection_error("coarse_1"), unknown("coarse_1", "05_coarse_1d, 06_coarse_2d, chapters"));
  EXPECT_EQ(selection_error("5,cublsa"), unknown("cublsa", "cublas, cpu_blas, all"));
  EXPECT_EQ(selection_error("tiled"), unknown("tiled", "02_smem_tiled, 03_strip_tiled, all"));
  EXPECT_EQ(selection_error("chapter"), unknown("chapter", "chapters, 01_naive, all"));
  EXPECT_EQ(selection_error("05_coarse_2d"), unknown("05_coarse_2d", "05_coarse_1d, 06_coarse_2d, 01_naive"));
  EXPECT_EQ(selection_error("ALL"), unknown("ALL", "all, 01_naive, cublas"));
  EXPECT_EQ(selection_error("nave:uncoalesced"), unknown("nave", "01_naive, all, chapters"));
  EXPECT_EQ(selection_error(":uncoalesced"), unknown("", "all, chapters, baselines"));
  EXPECT_EQ(selection_error("-1"), unknown("-1", "all, 01_naive, cublas"));
  EXPECT_EQ(selection_error(" 5"), unknown(" 5", "all, 01_naive, cublas"));
  EXPECT_EQ(selection_error("1-2-3"), unknown("1-2-3", "all, 01_naive, cublas"));
  EXPECT_EQ(selection_error("7-"), unknown("7-", "all, 01_naive, cublas"));
}

TEST(Selection, UnknownNumberListsTheNearest) {
  EXPECT_EQ(selection_error("4"), unknown("4", "03_strip_tiled, 05_coarse_1d, 02_smem_tiled"));
  EXPECT_EQ(selection_error("99"), unknown("99", "10_split_k, 06_coarse_2d, 05_coarse_1d"));
  EXPECT_EQ(selection_error("99999999999999999999"),
            unknown("99999999999999999999", "10_split_k, 06_coarse_2d, 05_coarse_1d"));
  EXPECT_EQ(selection_error("7-9"), unknown("7-9", "06_coarse_2d, 10_split_k, 05_coarse_1d"));
  EXPECT_EQ(selection_error("20:30"), unknown("20:30", "10_split_k, 06_coarse_2d, 05_coarse_1d"));
}

TEST(Selection, KernelsThatNeedCudaAreNoUnknownOnes) {
  std::vector<Kernel> without_cuda = fake_kernels();
  std::erase_if(without_cuda, [](const Kernel& kernel) { return kernel.name.starts_with("cublas"); });
  for (const std::string kernel : {"cublas", "0", "0-0", "cublas_tf32", "libsgemm", "cublaslt_best", "cublasxt"}) {
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

TEST(Selection, EmptyRange) {
  EXPECT_EQ(selection_error("7-1"), "bad kernels '7-1': the range is empty, 7 is above 1");
  EXPECT_EQ(selection_error("7:1"), "bad kernels '7:1': the range is empty, 7 is above 1");
}

TEST(Selection, UnknownVariantListsTheKernelsVariants) {
  EXPECT_EQ(selection_error("2:tile64"), "kernel '2' has no variant 'tile64'; its variants: default, 32, tile32");
  EXPECT_EQ(selection_error("coarse_1d:vectorized"),
            "kernel 'coarse_1d' has no variant 'vectorized'; its variants: default");
  EXPECT_EQ(selection_error("5:"), "kernel '5' has no variant ''; its variants: default");
  EXPECT_EQ(selection_error("10"), "kernel '10' has no variant 'default'; its variants: atomic, reduce");
  EXPECT_EQ(selection_error("10:default"), "kernel '10' has no variant 'default'; its variants: atomic, reduce");
  EXPECT_EQ(selection_error("1-2:tile64"),
            "kernel '1-2' has no variant 'tile64'; its variants: default, uncoalesced, 32, tile32");
  EXPECT_EQ(selection_error("naive:uncoalesced:x"),
            "kernel 'naive' has no variant 'uncoalesced:x'; its variants: default, uncoalesced");
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
