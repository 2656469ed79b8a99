#include "simt/source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace simt {
namespace {

std::vector<std::string> signatures(std::string_view source) {
  std::vector<std::string> all;
  for (const Function& function : read_source(source).functions) {
    all.push_back((function.is_kernel ? "kernel " : "") + function.signature());
  }
  return all;
}

using Texts = std::vector<std::string>;

TEST(Source, FindsKernelsAndHostFunctions) {
  EXPECT_EQ(
      signatures("__global__ void k(int M, const float* A, float *C) { C[0] = A[M]; }\n"
                 "static inline void run(int M, float const * __restrict__ A) { if (M) { k<<<1, 1>>>(M, A, A); } }"),
      (Texts{"kernel k(int M, const float * A, float * C)", "run(int M, float const * __restrict__ A)"}));
}

TEST(Source, PassesOverDeclarationsClassesVariablesAndBodies) {
  EXPECT_EQ(signatures("__global__ void declared(int M);\n"
                       "struct S { void method(int x) { while (x) {} } };\n"
                       "constexpr int TABLE[] = {1, 2};\n"
                       "auto lambda = [](int x) { return x; };\n"
                       "float operator+(S a, S b) { return 0; }\n"
                       "void real() {}"),
            (Texts{"real()"}));
}

TEST(Source, ReadsTemplatesAttributesAndNamespaces) {
  const Source found = read_source(
      "namespace mine { namespace {\n"
      "template <int BM = 8, typename T = float, const int BN>\n"
      "__global__ void __launch_bounds__(BM * 32, (2)) k(T* c, int n = 3) {}\n"
      "} }\n"
      "namespace a::b { void f(void) {} }\n"
      "extern \"C\" { void g(float A[], dim3 grid) {} }\n");
  ASSERT_EQ(found.functions.size(), 3U);
  const Function& kernel = found.functions[0];
  EXPECT_EQ(kernel.signature(), "mine::k(T * c, int n)");
  EXPECT_EQ(kernel.line, 3);
  EXPECT_TRUE(kernel.is_kernel);
  EXPECT_TRUE(kernel.needs_template_arguments());
  ASSERT_EQ(kernel.template_parameters.size(), 3U);
  EXPECT_TRUE(kernel.template_parameters[1].has_default);
  EXPECT_EQ(kernel.template_parameters[2].name, "BN");
  EXPECT_EQ(found.functions[1].signature(), "a::b::f()");
  EXPECT_EQ(found.functions[2].signature(), "g(float * A, dim3 grid)");
}

TEST(Source, NamesMembersWithTheirClasses) {
  EXPECT_EQ(signatures("struct S { static void f(int M); };\n"
                       "void S::f(int M) {}\n"
                       "namespace a { std::vector<int> S::T::g() { return {}; } }\n"
                       "::std::string h() { return {}; }\n"
                       "template <class T> void V<T, 2>::k(T x) {}\n"),
            (Texts{"S::f(int M)", "a::S::T::g()", "h()", "V::k(T x)"}));
  const Source found = read_source(
      "namespace a { namespace b { void f(); } struct S { static void f(); void g(); }; }\n"
      "void a::b::f() {}\nvoid a::S::g() {}\nstruct T { static void f(); };\nvoid T::f() {}\n");
  std::vector<bool> methods;
  std::ranges::transform(found.functions, std::back_inserter(methods), &Function::is_method);
  EXPECT_EQ(methods, (std::vector<bool>{false, true, false}));
}

TEST(Source, IsNotMisledByCommentsLiteralsAndThePreprocessor) {
  EXPECT_EQ(signatures("// void a() {}\n/* void b() {} */\n#define C void c() { \\\n }\n"
                       "const char* text = \"void d() {} \\\" {\"; char brace = '{'; int big = 1'000;\n"
                       "const char* raw = R\"x(void e() { )\" )x\";\n"
                       "void f() { const char* s = \"}\"; }\nvoid g() {}"),
            (Texts{"f()", "g()"}));
}

TEST(Source, ReadsTextThatIsCutOffOrIsNoSource) {
  for (const std::string_view text : {"", "{", "}", "void f(", "void f() {", "template <", "\"", "'", "/*", "R\"",
                                      "R\"(", "#define", "\\", "namespace", "(((", "void f() {}}}}"}) {
    EXPECT_NO_THROW(read_source(text)) << text;
  }
}

TEST(Source, FindsWhatCommentsSay) {
  const Source found = read_source(
      "// launch: k<<<dim3(1,\n"
      "//   2), 3>>>(C)\n"
      "// what follows is no part of it\n"
      "/* requires: M % 4 == 0 */\n"
      "const char* text = \"// launch: no\";\n"
      "// to launch: no\n");
  const std::vector<Comment> launches = found.directives("launch");
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].text, "k<<<dim3(1, 2), 3>>>(C)");
  EXPECT_EQ(launches[0].line, 1);
  const std::vector<Comment> requirements = found.directives("requires");
  ASSERT_EQ(requirements.size(), 1U);
  EXPECT_EQ(requirements[0].text, "M % 4 == 0");
  EXPECT_EQ(requirements[0].line, 4);
}

TEST(Source, KnowsFilesByMarkersAndLeavesForeignOnesOut) {
  const Source found = read_source(
      "# 7 \"a.cu\"\nvoid f() {\n  g(\"x\");  // y\n}\n# 1 \"/usr/b.h\" 1 3\nvoid b() {}\n# 10 \"c.cuh\" 2\n// launch: "
      "k\n"
      "void k() {}\n");
  ASSERT_EQ(found.functions.size(), 2U);
  const Function& first = found.functions[0];
  EXPECT_EQ(first.file, "a.cu");
  EXPECT_EQ(first.first_line, 7);
  EXPECT_EQ(first.last_line, 9);
  EXPECT_EQ(found.code.substr(first.begin, first.end - first.begin), "void f() {  g( );   }");
  EXPECT_EQ(found.functions[1].file, "c.cuh");
  ASSERT_EQ(found.directives("launch").size(), 1U);
  EXPECT_EQ(found.directives("launch")[0].file, "c.cuh");
  EXPECT_EQ(found.directives("launch")[0].line, 10);
}

TEST(Source, KnowsWholeWords) {
  const Source found = read_source("int ceil_division; // ceil_div\n");
  EXPECT_TRUE(found.has_word("ceil_division"));
  EXPECT_FALSE(found.has_word("ceil_div"));
}

TEST(LaunchParts, AreKernelAndConfiguration) {
  const auto parts = parts_of_launch("ns::k<T, 8><<<dim3(f(N, 8), 2), dim3{32, 4}, 4 * 8>>>(A, B)");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->kernel, "ns::k<T, 8>");
  EXPECT_EQ(parts->configuration, (Texts{"dim3(f(N, 8), 2)", "dim3{32, 4}", "4 * 8"}));
  EXPECT_FALSE(parts_of_launch("run(M, N)"));
  EXPECT_FALSE(parts_of_launch("k<<<1>>>(A)"));
  EXPECT_EQ(parts->arguments, "(A, B)");
  EXPECT_EQ(parts_of_launch(" k <<<1, 2>>> (f(A), (B)) ;")->arguments, "(f(A), (B))");
  EXPECT_EQ(parts_of_launch("/* go; */ k<<<1, [&] { return 2; }() /* <<< */>>> /**/ (A, \";\")")->arguments,
            "(A, \";\")");
  EXPECT_TRUE(parts_of_launch("k<<<1, 2>>>(0" + std::string(100'000, ' ') + std::string(100'000, '1') + ")"));
  EXPECT_FALSE(parts_of_launch("<<<1, 2>>>(A)"));
  for (const std::string_view kernel : {"k<(A > B), 3>", "k<N << 2>", "::a::k<T<int>>", "k< 8 >"}) {
    const auto template_parts = parts_of_launch(std::string(kernel) + "<<<1, 2>>>(C)");
    ASSERT_TRUE(template_parts) << kernel;
    EXPECT_EQ(template_parts->kernel, kernel);
  }
}

TEST(LaunchParts, AreThoseOfOneLaunchAlone) {
  for (const std::string_view more :
       {"k<<<1, 2>>>(A); l<<<1, 2>>>(B);", "int n = 2; k<<<1, n>>>(A)", "else k<<<1, 2>>>(A)",
        "if (M > 3) k<<<1, 2>>>(A)", "if(M)k<<<1, 2>>>(A)", "{ k<<<1, 2>>>(A); }", "k<<<1, 2>>>(A), l<<<1, 2>>>(B)",
        "k<<<1, 2>>>(A)(B)", "k<<<1, 2>>>"}) {
    EXPECT_FALSE(parts_of_launch(more)) << more;
  }
}

TEST(SplitStatements, LeavesTextInBracketsAndLiteralsTogether) {
  EXPECT_EQ(split_statements("int n = M;\n for (int i = 0; i < n; ++i) { f(\";\"); } k<<<1, n>>>(';'); g()"),
            (Texts{"int n = M;", "\n for (int i = 0; i < n; ++i) { f(\";\"); } k<<<1, n>>>(';');", " g()"}));
  EXPECT_EQ(split_statements("f();"), Texts{"f();"});
  EXPECT_EQ(split_statements(""), Texts{});
}

}  // namespace
}  // namespace simt
