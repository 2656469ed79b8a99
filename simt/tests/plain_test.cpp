// Plain CUDA, translated and compiled into shared objects: every feature of PLAIN_CUDA.md gives what it should, run and
// checked, and every fault its message.

#include "observed.hpp"
#include "plain_features.hpp"

#include "simt/compile.hpp"
#include "simt/plain_cuda.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

  std::vector<GlobalArray> described() { return {input("IN", in), output("OUT", out)}; }
};

void expect_results(std::span<const PlainFeature> features, bool checked) {
  for (const PlainFeature& feature : features) {
    SCOPED_TRACE(feature.name);
    Arrays arrays;
    std::optional<CheckedArrays> watched;
    if (checked) {
      watched.emplace(arrays.described());
    }
    EXPECT_EQ(message_of<std::exception>([&] { feature.run(arrays.in, arrays.out); }), "");
    watched.reset();
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
    SCOPED_TRACE(fault.parts[0]);
    Arrays arrays;
    const CheckedArrays watched(arrays.described());
    const std::string message = message_of<std::exception>([&] { fault.run(arrays.in, arrays.out); });
    for (const char* const part : fault.parts) {
      expect_parts(message, {part != nullptr ? part : ""});
    }
  }
}

TEST(PlainCuda, IsCounted) {
  Arrays arrays;
  const auto features = table_of<PlainFeature>("simt_checked_plain_features.so", "plain_features");
  const auto fused = std::ranges::find(features, std::string_view("fused"), &PlainFeature::name);
  const LaunchCounts counts = counts_of(arrays.described(), [&] { fused->run(arrays.in, arrays.out); });
  EXPECT_EQ(counts.function, "fused_kernel");
  EXPECT_EQ(counts.flops, 2U * PLAIN_ELEMENTS);
  EXPECT_EQ(counts.bytes_read[0], sizeof arrays.in);
  ASSERT_FALSE(counts.lines.empty());
  expect_parts(counts.lines[0].file, {"fused.cu"});
  EXPECT_EQ(counts.lines[0].line, 3U);
}

#endif

/// A folder with files, which goes with the object.
class Files {
 public:
  Files() { std::filesystem::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  Translation translation(const std::string& name, const std::string& more = "") const {
    return translate_file(folder_ / name, compiler_for(name), folder_ / "translated", more);
  }
  Source source(const std::string& name) const {
    return read_file(folder_ / name, compiler_for(name), folder_ / "read");
  }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  std::vector<std::string> compiler_for(const std::string& name) const {
    std::vector<std::string> words{compiler(), "-std=c++20"};
    for (const std::vector<std::string>& flags : {header_flags(), folder_flags(folder_ / name, {folder_ / "others"})}) {
      words.insert(words.end(), flags.begin(), flags.end());
    }
    return words;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("simt_translation_" + std::to_string(getpid()));
};

/// The message that the translation of `source` ends with; empty where it does not.
std::string refusal_of(const std::string& source) {
  const Files files;
  files.write("my.cu", source);
  return message_of<TranslationError>([&] { files.translation("my.cu"); });
}

TEST(Translation, RefusesWhatIsNotUnderstood) {
  for (const auto& [source, message] : std::vector<std::pair<std::string, std::string>>{
           {"void f() {\n  <<<1, 1>>>();\n}", "my.cu:2: no kernel stands before <<<"},
           {"void f() { k<<<1, 1>>; }", "my.cu:1: this launch has no >>>( that ends its configuration"},
           {"\nvoid f() { __shared__ }", "my.cu:2: __shared__ is understood where a whole declaration stands"},
           {"__shared__ float a[4];", "my.cu:1: a __shared__ variable outside of functions is not supported"},
           {"extern __shared__ float a;",
            "or dynamic shared memory as an array without a size: extern __shared__ float a[];"},
       }) {
    expect_parts(refusal_of(source), {message});
  }
}

TEST(Translation, TakesSharedVariablesOfKernelsWithCNames) {
  EXPECT_EQ(refusal_of("extern \"C\" __global__ void f() { __shared__ float a[4]; }"), "");
  EXPECT_NE(refusal_of("extern \"C\" { __shared__ float a[4]; }"), "");
}

TEST(Translation, LeavesLinesAndTextsAlone) {
  const Files files;
  const std::string source =
      "const char* text = \"k<<<1, 1>>>()\";\n"
      "const char* raw = R\"x(asm(\")\")x\";\n"
      "using Nested = A<B<C<int>>>;\n"
      "int last = 1'000 << 3 >> 2;\n";
  files.write("my.cu", "// k<<<1, 1>>>(), don't\n#if 0\nit's not k<<<\n#endif\n" + source);
  const std::string translation = files.translation("my.cu").text;
  expect_parts(translation, {"\n" + source});
}

TEST(Translation, ReadsWhatIsCompiled) {
  const Files files;
  files.write("my.cu",
              "#ifndef A\n// launch: f()\nvoid f() {\n#else\n// launch: g()\nvoid g() {\n#endif\n}\n#define NAME h\n"
              "void NAME(int) {}\n#include \"near.cuh\"\n");
  files.write("near.cuh", "void near() {}\n");
  const Source source = files.source("my.cu");
  std::vector<std::string> signatures;
  for (const Function& function : source.functions) {
    signatures.push_back(std::filesystem::path(function.file).filename().string() + ' ' + function.signature());
  }
  EXPECT_EQ(signatures, (std::vector<std::string>{"my.cu f()", "my.cu h(int)", "near.cuh near()"}));
  ASSERT_EQ(source.directives("launch").size(), 1U);
  EXPECT_EQ(source.directives("launch")[0].text, "f()");
  EXPECT_EQ(source.files, (std::vector<std::filesystem::path>{files / "my.cu", files / "near.cuh"}));
}

TEST(Translation, TellsWhatItRead) {
  const Files files;
  files.write("own/my.cu",
              "#include \"near.cuh\"\n#include <far.cuh>\n#include <vector>\n#include \"cuda_fp16.h\"\nint mine;\n");
  files.write("own/near.cuh", "int near;\n");
  files.write("own/cuda_fp16.h", "#error the executor's own is meant\n");
  files.write("others/far.cuh", "#pragma once\n#include \"../own/near.cuh\"\nint far;\n");
  const Translation translation = files.translation("own/my.cu");
  EXPECT_EQ(translation.files, (std::vector<std::filesystem::path>{files / "own/my.cu", files / "own/near.cuh",
                                                                   files / "others/far.cuh"}));
  EXPECT_TRUE(translation.missing.empty());
  EXPECT_THROW(files.translation("none.cu"), std::filesystem::filesystem_error);
}

TEST(Translation, ComesBehindThePreprocessor) {
  const Files files;
  files.write("my.cu",
              "#include <helper_image.h>\n#include \"samples/more.h\"\n"
              "#define SHARED __shared__ float\n#if defined(SMALL)\nvoid f() {\n#else\n"
              "__global__ void f() {\n#endif\n  SHARED a[4];\n  asm volatile(\"bar.sync\"\n#if __CUDA_ARCH__ >= 800\n"
              "    \" 0;\"\n#else\n    \" 1;\"\n#endif\n  );\n  asm(\"none;\");\n}\n");
  const Translation translation = files.translation("my.cu");
  EXPECT_EQ(translation.missing, (std::vector<std::string>{(files / "my.cu").string() + ":1: helper_image.h",
                                                           (files / "my.cu").string() + ":2: samples/more.h"}));
  expect_parts(translation.text, {"simt::shared_variable<", "simt::barrier(static_cast<unsigned>(0)", "my.cu:17)"});
}

TEST(Translation, LeavesOutWhatALaunchDoesNotReach) {
  const Files files;
  files.write("my.cu",
              "struct Timer { cudaUnknown_t begin; };\nnamespace cde = cuda::unknown;\nusing Cut = "
              "cute::unknown;\nenum { SIZE = 4 };\n"
              "template <class T> struct Box {\n  T value;\n} box;\n"
              "namespace mine {\n__device__ int twice(int);\n__device__ int twice(int a) { return 2 * a; }\n"
              "__global__ void f(int* a) { *a = twice(SIZE); }\n}\n"
              "void other(cublasUnknown_t handle);\nvoid other(cublasUnknown_t handle) { Timer timer; }\n"
              "int main() {\n  fprintf(stderr, \"%d\", EOF);\n  other({});\n}\n"
              "static cudaUnknown_t alone{};\ntypedef Timer Times[2];\n"
              "template <class T> void tell() {}\ntemplate void tell<Timer>();\nDEFINE_unknown(stderr);\n");
  expect_parts(files.translation("my.cu").text, {"cudaUnknown_t", "main"});
  const std::string text = files.translation("my.cu", "void go() { mine::f<<<1, 1>>>(nullptr); }").text;
  expect_parts(text, {"twice(SIZE)", "return 2 * a", "SIZE = 4", "} box;", "go()"});
  const std::string own = text.substr(text.find("SIZE = 4"));
  for (const std::string_view word : {"cuda::unknown", "cute::unknown", "cudaUnknown_t", "cublasUnknown_t", "Timer",
                                      "main", "stderr", "-1", "#pragma simt"}) {
    EXPECT_EQ(own.find(word), std::string::npos) << word;
  }
}

TEST(Translation, TellsOfNamesThatNothingDeclares) {
  const std::string place = "my.cu: In function 'void f()':\nmy.cu:7:3: error: ";
  const std::string unmodelled = "the executor does not model ";
  struct Message {
    std::string text;
    std::string told;
    std::vector<std::string> missing = {};
  };
  for (const auto& [text, told, missing] : std::vector<Message>{
           {"'cudaFoo' was not declared in this scope; did you mean 'cudaFree'?\n", unmodelled + "cudaFoo (my.cu:7)"},
           {"variable or field 'k' declared void\n" + place + "'cudaTextureObject_t' was not declared\n",
            unmodelled + "cudaTextureObject_t (my.cu:7)"},
           {"‘BlockReduce’ is not a member of ‘cub’\nmy.cu:9:1: error: expected ';'\n",
            unmodelled + "cub::BlockReduce (my.cu:7)"},
           {"'struct cudaDeviceProp' has no member named 'foo'\n", unmodelled + "cudaDeviceProp::foo (my.cu:7)"},
           {"no matching function for call to 'atomicAdd(float4*, float4&)'\n",
            unmodelled + "atomicAdd(float4*, float4&) (my.cu:7)"},
           {"no matching function for call to 'add(int&)'\n", ""},
           {"'check' was not declared in this scope\n", ""},
           {"'CUDA_CHECK' was not declared in this scope\n",
            "nothing declares CUDA_CHECK (my.cu:7)\n"
            "my.cu:1: helper.h is not there: where it declares what is needed, name its folder with --include",
            {"my.cu:1: helper.h"}},
           {"expected ';' before '}' token\n", "", {"my.cu:1: helper.h"}}}) {
    EXPECT_EQ(
        message_of<TranslationError>([&, &text = text, &missing = missing] { check_names(place + text, missing); }),
        told);
  }
}

TEST(Translation, PassesTheCompilersMessagesOn) {
  const Files files;
  files.write("my.cu", "int a;\n#error this can not be\n");
  expect_parts(message_of<CompilerError>([&] { files.translation("my.cu"); }),
               {"my.cu:2:2: error: #error this can not be"});
}

}  // namespace
}  // namespace simt::test
