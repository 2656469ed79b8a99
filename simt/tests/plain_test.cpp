// Plain CUDA, translated and compiled into shared objects: every feature of PLAIN_CUDA.md gives what it should, run and
// checked, and every fault its message.

#include "plain_features.hpp"

#include "simt/checked_arrays.hpp"
#include "simt/counter.hpp"
#include "simt/plain_cuda.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace simt::test {
namespace {

/// What a function of a shared object returns, which stays loaded.
template <class T>
std::span<const T> table_of(const std::string& object, const char* function) {
  void* const handle = dlopen((SIMT_PLAIN_OBJECTS + object).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw std::runtime_error(dlerror());
  }
  const auto table = reinterpret_cast<Table<T> (*)()>(dlsym(handle, function))();
  return {table.begin, table.size};
}

/// Inputs and outputs, aligned to 16 bytes.
struct alignas(16) Arrays {
  float in[PLAIN_ELEMENTS];
  float between[PLAIN_ELEMENTS];  // what lies behind one is not the other
  float out[PLAIN_ELEMENTS];

  Arrays() {
    for (int i = 0; i < PLAIN_ELEMENTS; ++i) {
      in[i] = static_cast<float>(i + 1);
      between[i] = out[i] = -1.0F;
    }
  }

  std::vector<simt::GlobalArray> described() { return {simt::input("IN", in), simt::output("OUT", out)}; }
};

void expect_results(std::span<const PlainFeature> features, bool checked) {
  for (const PlainFeature& feature : features) {
    SCOPED_TRACE(feature.name);
    Arrays arrays;
    try {
      std::optional<simt::CheckedArrays> watched;
      if (checked) {
        watched.emplace(arrays.described());
      }
      feature.run(arrays.in, arrays.out);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
      continue;
    }
    for (int i = 0; i < PLAIN_ELEMENTS; ++i) {
      EXPECT_EQ(arrays.out[i], feature.expected(arrays.in, i)) << "element " << i;
    }
  }
}

TEST(PlainCuda, FeaturesGiveWhatTheyShould) {
  expect_results(table_of<PlainFeature>("simt_plain_features.so", "plain_features"), false);
}

#ifdef SIMT_PLAIN_CHECKED

TEST(PlainCuda, ChecksHaveNothingAgainstThem) {
  expect_results(table_of<PlainFeature>("simt_checked_plain_features.so", "plain_features"), true);
}

TEST(PlainCuda, FaultsAreFoundAndNamed) {
  for (const PlainFault& fault : table_of<PlainFault>("simt_checked_plain_faults.so", "plain_faults")) {
    SCOPED_TRACE(fault.name);
    Arrays arrays;
    const simt::CheckedArrays watched(arrays.described());
    std::string message = "no message";
    try {
      fault.run(arrays.in, arrays.out);
    } catch (const std::exception& error) {
      message = error.what();
    }
    EXPECT_NE(message.find(fault.message), std::string::npos) << '\'' << fault.message << "' is not in: " << message;
  }
}

TEST(PlainCuda, IsCounted) {
  Arrays arrays;
  const std::vector<simt::GlobalArray> described = arrays.described();
  simt::Counting counting({{described[0]}, {described[1]}},
                          [](std::size_t, unsigned) { return std::size_t{128} * 1024; });
  for (const PlainFeature& feature : table_of<PlainFeature>("simt_checked_plain_features.so", "plain_features")) {
    if (std::string(feature.name) == "fused") {
      feature.run(arrays.in, arrays.out);
    }
  }
  const std::vector<simt::LaunchCounts> launches = counting.take();
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].function, "fused_kernel");
  EXPECT_EQ(launches[0].flops, 2U * PLAIN_ELEMENTS);
  EXPECT_EQ(launches[0].bytes_read[0], sizeof arrays.in);
  ASSERT_FALSE(launches[0].lines.empty());
  EXPECT_NE(launches[0].lines[0].file.find("fused.cu"), std::string::npos) << launches[0].lines[0].file;
  EXPECT_EQ(launches[0].lines[0].line, 3U);
}

#endif

/// The message that the translation of `source` ends with; empty where it does not.
std::string refusal_of(const std::string& source) {
  try {
    simt::translate(source, "my.cu");
  } catch (const simt::TranslationError& error) {
    return error.what();
  }
  return "";
}

TEST(Translation, RefusesWhatIsNotUnderstood) {
  for (const auto& [source, message] : std::vector<std::pair<std::string, std::string>>{
           {"void f() {\n  <<<1, 1>>>();\n}", "my.cu:2: no kernel stands before <<<"},
           {"void f() { k<<<1, 1>>; }", "my.cu:1: this launch has no >>>( that ends its configuration"},
           {"\n#define SHARED __shared__\n", "my.cu:2: __shared__ is understood where a whole declaration stands"},
           {"__shared__ float a[4];", "my.cu:1: a __shared__ variable outside of functions is not supported"},
           {"void f() { extern __shared__ float a; }", "my.cu:1: dynamic shared memory is declared as an array"},
       }) {
    const std::string refusal = refusal_of(source);
    EXPECT_EQ(refusal.substr(0, message.size()), message) << source;
  }
}

TEST(Translation, TakesSharedVariablesOfKernelsWithCNames) {
  EXPECT_EQ(refusal_of("extern \"C\" __global__ void f() { __shared__ float a[4]; }"), "");
  EXPECT_NE(refusal_of("extern \"C\" { __shared__ float a[4]; }"), "");
}

TEST(Translation, LeavesLinesAndTextsAlone) {
  const std::string source =
      "#define TWO_LINES(x) \\\n  asm volatile(\"bar.sync 0;\" \\\n :: )\n"
      "const char* text = \"k<<<1, 1>>>()\"; // k<<<1, 1>>>(), don't\n"
      "const char* raw = R\"x(asm(\")\")x\";\n"
      "using Nested = A<B<C<int>>>;\n"
      "#if 0\nit's not k<<<\n#endif\n"
      "int last = 1'000 << 3 >> 2;\n";
  const std::string translation = simt::translate(source, "my.cu");
  const std::string begin = "#line 1 \"my.cu\"\n";
  const std::size_t at = translation.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::string body = translation.substr(at + begin.size());
  EXPECT_EQ(std::ranges::count(body, '\n'), std::ranges::count(source, '\n'));
  EXPECT_EQ(body.substr(body.find("const char* text")), source.substr(source.find("const char* text")));
}

TEST(Translation, TellsWhatItRead) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "simt_translation";
  std::filesystem::create_directories(folder / "own");
  std::filesystem::create_directories(folder / "others");
  std::ofstream(folder / "own/my.cu") << "#include \"near.cuh\"\n#include <far.cuh>\n#include <vector>\n";
  std::ofstream(folder / "own/near.cuh") << "#include \"cuda_fp16.h\"\n";
  std::ofstream(folder / "own/cuda_fp16.h") << "#error the executor's own is meant\n";
  std::ofstream(folder / "others/far.cuh") << "#include \"../own/near.cuh\"\n";
  const simt::TranslatedFile file =
      simt::translate_with_includes(folder / "own/my.cu", {folder / "others"}, folder / "translated");
  EXPECT_EQ(file.path, folder / "translated/my.cpp");
  EXPECT_EQ(file.files, (std::vector<std::filesystem::path>{folder / "own/my.cu", folder / "own/near.cuh",
                                                            folder / "others/far.cuh"}));
  EXPECT_THROW(simt::translate_with_includes(folder / "none.cu", {}, folder / "translated"),
               std::filesystem::filesystem_error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace simt::test
