// Programs under the drop-in with different environments.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sgemm/sgemm.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>

namespace {

struct Outcome {
  int status;
  std::string out;     // standard output
  std::string errors;  // standard error
};

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class EnvironmentTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "drop_in_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Runs the program with the framework, with variables "NAME=value NAME=value" and a library. Without arguments it
  /// computes four products.
  Outcome run(const std::string& variables, const char* library = FAKE_SGEMM, const char* arguments = "") const {
    const std::string out = folder_ / "out";
    const std::string errors = folder_ / "errors";
    std::ostringstream command;
    command << "env -u SGEMM_LOG -u SGEMM_ACCURACY LD_PRELOAD=" DROP_IN " SGEMM_LIBRARY=" << library << ' ' << variables
            << " " FRAMEWORK_PROGRAM " " << arguments << " >" << out << " 2>" << errors;
    const int status = std::system(command.str().c_str());
    return {status, read(out), read(errors)};
  }

  std::filesystem::path folder_;
};

TEST_F(EnvironmentTest, AFrameworkThatHidesCublasIsServedWithTheAccuracy) {
  const Outcome componentwise = run("");
  EXPECT_EQ(componentwise.status, 0);
  EXPECT_EQ(componentwise.out, "4 1\n");
  EXPECT_EQ(componentwise.errors, "");
  EXPECT_EQ(run("SGEMM_ACCURACY=fp32").out, "4 0\n");
  EXPECT_EQ(run("SGEMM_ACCURACY=normwise").out, "4 2\n");
  EXPECT_EQ(run("SGEMM_ACCURACY=rowwise").out, "4 3\n");
  EXPECT_EQ(run("SGEMM_ACCURACY=reproducible").out, "4 4\n");
}

TEST_F(EnvironmentTest, AWrongAccuracyIsNamedOnceAndCublasComputes) {
  const Outcome wrong = run("SGEMM_ACCURACY=fp16 SGEMM_LOG=1");
  EXPECT_EQ(wrong.status, 0);
  EXPECT_EQ(wrong.out, "cublas\n");
  EXPECT_EQ(wrong.errors,
            "libsgemm_cublas: SGEMM_ACCURACY=fp16 is none of fp32, componentwise, normwise, rowwise, reproducible; "
            "cuBLAS gets all calls\n");
}

TEST_F(EnvironmentTest, WithoutTheLibraryCublasComputesAndTheReasonIsNamedOnce) {
  const Outcome missing = run("SGEMM_LOG=1", "/nowhere/libsgemm.so");
  EXPECT_EQ(missing.status, 0);
  EXPECT_EQ(missing.out, "cublas\n");
  EXPECT_NE(missing.errors.find("cublas                   libsgemm was not loaded: /nowhere/libsgemm.so"),
            std::string::npos)
      << missing.errors;
  const std::string line =
      "libsgemm_cublas: libsgemm was not loaded: /nowhere/libsgemm.so: cannot open shared object "
      "file: No such file or directory; cuBLAS gets all calls\n";
  EXPECT_EQ(run("", "/nowhere/libsgemm.so").errors, line);
}

TEST_F(EnvironmentTest, AnotherLibraryInItsPlaceIsNamed) {
  const Outcome other = run("", FRAMEWORK);
  EXPECT_EQ(other.status, 0);
  EXPECT_EQ(other.errors.rfind("libsgemm_cublas: libsgemm has no sgemm_", 0), 0U) << other.errors;
}

TEST_F(EnvironmentTest, ALibraryOfAnotherVersionIsNamed) {
  const Outcome other = run("FAKE_SGEMM_VERSION=10305");
  EXPECT_EQ(other.status, 0);
  EXPECT_EQ(other.out, "0 0\n");  // it is loaded, and computes nothing
  EXPECT_EQ(other.errors, "libsgemm_cublas: libsgemm is of version 1.3.5, and the drop-in of " SGEMM_VERSION_TEXT
                          "; cuBLAS gets all calls\n");
  const int later_patch = SGEMM_VERSION / 100 * 100 + 99;
  EXPECT_EQ(run("FAKE_SGEMM_VERSION=" + std::to_string(later_patch)).out, "4 1\n");
  const int next_minor = SGEMM_VERSION + 100;
  EXPECT_EQ(run("FAKE_SGEMM_VERSION=" + std::to_string(next_minor)).out, "0 0\n");
}

TEST_F(EnvironmentTest, AMissingLibraryIsNamedWithAllPlaces) {
  const Outcome unnamed = run("", "");
  EXPECT_EQ(unnamed.status, 0);
  // With an empty name dlopen() would take the program itself for the library.
  EXPECT_EQ(unnamed.errors.find("libsgemm has no"), std::string::npos) << unnamed.errors;
  if (dlopen(SGEMM_SONAME, RTLD_LAZY) != nullptr) {
    GTEST_SKIP() << "the loader finds an installed libsgemm here";
  }
  const std::string beside = std::filesystem::path(DROP_IN).replace_filename(SGEMM_SONAME ": ");
  EXPECT_NE(unnamed.errors.find(beside), std::string::npos) << unnamed.errors;
  EXPECT_NE(unnamed.errors.find("; " SGEMM_SONAME ": "), std::string::npos) << unnamed.errors;
}

TEST_F(EnvironmentTest, ALogOfZeroIsNone) {
  EXPECT_EQ(run("SGEMM_LOG=0").errors, "");
  EXPECT_FALSE(std::filesystem::exists("0"));
}

TEST_F(EnvironmentTest, TheLogHasALineForEachShape) {
  const std::string log = folder_ / "log";
  for (int process = 1; process <= 2; ++process) {
    EXPECT_EQ(run("SGEMM_LOG=" + log).errors, "");
  }
  std::istringstream text(read(log));
  std::string line;
  for (int process = 1; process <= 2; ++process) {
    std::getline(text, line);
    EXPECT_EQ(line.rfind("# libsgemm_cublas: process ", 0), 0U) << line;
    EXPECT_NE(line.find("SGEMM_ACCURACY=componentwise"), std::string::npos) << line;
    std::getline(text, line);
    EXPECT_NE(line.find("calls"), std::string::npos);
    // The line that took the longest is first. The time of a first call counts where there is no other.
    for (const auto& [calls, columns, mean_us] : {std::tuple{1, 1, 5000.0}, std::tuple{3, 2, 100.0}}) {
      std::getline(text, line);
      std::istringstream fields(line);
      int count = 0, timed = 0;
      double us = 0, total_ms = 0;
      std::string product, field;
      fields >> count >> timed >> us >> total_ms;
      while (fields >> field) {
        product += field + ' ';
      }
      EXPECT_EQ(std::tuple(count, timed, us), std::tuple(calls, calls, mean_us));
      EXPECT_DOUBLE_EQ(total_ms, calls * mean_us / 1e3);
      EXPECT_EQ(product, "cublasSgemm NT 2 " + std::to_string(columns) + " 2 1 11_bf16x6 predicted ");
    }
  }
  EXPECT_FALSE(std::getline(text, line)) << line;
}

TEST_F(EnvironmentTest, TheLogTellsThatCublasComputedForWantOfMemory) {
  const Outcome outcome = run("SGEMM_LOG=1", FAKE_SGEMM, "framework_products 2");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "4 1\n");
  // Calls that came to nothing in the library are neither counted nor timed there.
  const std::tuple<const char*, const char*> lines[] = {
      {"       1      1      5000.0", " 11_bf16x6                predicted"},
      {"       2      2       100.0", " cublas                   no room for the 3 MB that 11_bf16x6 works in"},
      {"       1      1       100.0", " 11_bf16x6                predicted"},
  };
  std::istringstream text(outcome.errors);
  std::string line;
  std::getline(text, line);
  std::getline(text, line);
  for (const auto& [numbers, by_and_why] : lines) {
    std::getline(text, line);
    EXPECT_EQ(line.rfind(numbers, 0), 0U) << line;
    EXPECT_NE(line.find(by_and_why), std::string::npos) << line;
  }
  EXPECT_FALSE(std::getline(text, line)) << line;
}

TEST_F(EnvironmentTest, AForkedChildWritesNoLog) {
  const Outcome outcome = run("SGEMM_LOG=1", FAKE_SGEMM, "framework_products_and_fork");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.errors.rfind("# libsgemm_cublas: process "), 0U) << outcome.errors;
}

TEST_F(EnvironmentTest, TheLogTimesCallsOnEveryDevice) {
  const Outcome outcome = run("SGEMM_LOG=1", FAKE_SGEMM, "framework_products_on_two_devices");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.errors.find("\n       6      6"), std::string::npos) << outcome.errors;
  EXPECT_NE(outcome.errors.find("\n       2      2"), std::string::npos) << outcome.errors;
}

/// Captures are not broken: an event may not be asked while any thread captures, unless it says that it knows what it
/// does. An error of the program stays, and ones of the drop-in go. In a forked child cuBLAS gets all calls.
TEST_F(EnvironmentTest, ProgramsFindNothingChanged) {
  for (const char* const function : {"framework_products_beside_captures", "framework_products_after_a_mistake",
                                     "framework_products_in_a_forked_child"}) {
    EXPECT_EQ(run("SGEMM_LOG=1", FAKE_SGEMM, function).status, 0) << function;
  }
}

TEST_F(EnvironmentTest, AWorkerThatIsForkedBeforeAnyCallHasTheLibrary) {
  const Outcome outcome = run("SGEMM_LOG=1", FAKE_SGEMM, "framework_products_in_a_child_alone");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "4 1\n");
  EXPECT_NE(outcome.errors.find("\n       3      3"), std::string::npos) << outcome.errors;
}

TEST_F(EnvironmentTest, ADropInThatIsClosedLeavesItsLogAndNothingElse) {
  const Outcome outcome =
      run("LD_PRELOAD= DROP_IN=" DROP_IN " SGEMM_LOG=1", FAKE_SGEMM, "framework_closes_the_drop_in");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "1 1\n");
  EXPECT_NE(outcome.errors.find("\n       1      1"), std::string::npos) << outcome.errors;
}

/// A handle of one version is nothing to the functions of the other.
TEST_F(EnvironmentTest, EachVersionOfCublasGetsItsOwnHandles) {
  for (const char* accuracy : {"componentwise", "none"}) {
    const Outcome outcome = run(std::string("OTHER_FRAMEWORK=" OTHER_FRAMEWORK " SGEMM_ACCURACY=") + accuracy,
                                FAKE_SGEMM, "framework_products_beside_another_cublas");
    EXPECT_EQ(outcome.status, 0) << accuracy;
  }
}

TEST_F(EnvironmentTest, TheLogHasBatchesByAddress) {
  const Outcome outcome = run("SGEMM_LOG=1", FAKE_SGEMM, "framework_batch_by_address");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "1 1\n");
  EXPECT_NE(outcome.errors.find("cublasSgemmBatched           NT         2        2        2      1  11_bf16x6"),
            std::string::npos)
      << outcome.errors;
}

TEST_F(EnvironmentTest, ALogThatCanNotBeWrittenIsNamed) {
  const Outcome outcome = run("SGEMM_LOG=/nowhere/log");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.errors, "libsgemm_cublas: SGEMM_LOG=/nowhere/log can not be written: No such file or directory\n");

  const Outcome full = run("SGEMM_LOG=/dev/full");
  EXPECT_EQ(full.status, 0);
  EXPECT_EQ(full.errors, "libsgemm_cublas: SGEMM_LOG=/dev/full can not be written: No space left on device\n");
}

TEST_F(EnvironmentTest, ProgramsWithoutProductsAreLeftAlone) {
  EXPECT_EQ(
      std::system(
          ("LD_PRELOAD=" DROP_IN " SGEMM_LOG=1 SGEMM_ACCURACY=wrong true 2>" + (folder_ / "errors").string()).c_str()),
      0);
  EXPECT_EQ(read(folder_ / "errors"), "");
}

}  // namespace
