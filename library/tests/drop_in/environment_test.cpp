// Programs under the drop-in with different environments.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sgemm/sgemm.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>

#include "fixtures/temporary_folder.hpp"

namespace {

struct Outcome {
  std::string out;     // standard output
  std::string errors;  // standard error

  /// Expects a part of what was written to standard error.
  void expect_named(const std::string& part) const { EXPECT_NE(errors.find(part), std::string::npos) << errors; }
};

class EnvironmentTest : public sgemm::TemporaryFolderTest {
 protected:
  /// Runs the program with the framework, with variables "NAME=value NAME=value" and a library. Without arguments it
  /// computes four products. It has to succeed.
  static Outcome run(const std::string& variables, const char* library = FAKE_SGEMM, const char* arguments = "") {
    std::ostringstream command;
    command << "env -u SGEMM_LOG -u SGEMM_ACCURACY LD_PRELOAD=" DROP_IN " SGEMM_LIBRARY=" << library << ' ' << variables
            << " " FRAMEWORK_PROGRAM " " << arguments << " >out 2>errors";
    EXPECT_EQ(std::system(command.str().c_str()), 0) << command.str();
    return {sgemm::read("out"), sgemm::read("errors")};
  }
  /// The same with a log on standard error and a function of the framework.
  static Outcome run_with_log(const char* function) { return run("SGEMM_LOG=1", FAKE_SGEMM, function); }
};

TEST_F(EnvironmentTest, AFrameworkThatHidesCublasIsServedWithTheAccuracy) {
  const Outcome componentwise = run("");
  EXPECT_EQ(componentwise.out, "4 1\n");
  EXPECT_EQ(componentwise.errors, "");
  EXPECT_EQ(run("SGEMM_ACCURACY=fp32").out, "4 0\n");
  EXPECT_EQ(run("SGEMM_ACCURACY=normwise").out, "4 2\n");
  EXPECT_EQ(run("SGEMM_ACCURACY=rowwise").out, "4 3\n");
  EXPECT_EQ(run("SGEMM_ACCURACY=reproducible").out, "4 4\n");
}

TEST_F(EnvironmentTest, AWrongAccuracyIsNamedOnceAndCublasComputes) {
  const Outcome wrong = run("SGEMM_ACCURACY=fp16 SGEMM_LOG=1");
  EXPECT_EQ(wrong.out, "cublas\n");
  EXPECT_EQ(wrong.errors,
            "libsgemm_cublas: SGEMM_ACCURACY=fp16 is none of fp32, componentwise, normwise, rowwise, reproducible; "
            "cuBLAS gets all calls\n");
}

TEST_F(EnvironmentTest, WithoutTheLibraryCublasComputesAndTheReasonIsNamedOnce) {
  const Outcome missing = run("SGEMM_LOG=1", "/nowhere/libsgemm.so");
  EXPECT_EQ(missing.out, "cublas\n");
  missing.expect_named("cublas                   libsgemm was not loaded: /nowhere/libsgemm.so");
  EXPECT_EQ(run("", "/nowhere/libsgemm.so").errors,
            "libsgemm_cublas: libsgemm was not loaded: /nowhere/libsgemm.so: cannot open shared object "
            "file: No such file or directory; cuBLAS gets all calls\n");
}

TEST_F(EnvironmentTest, AnotherLibraryInItsPlaceIsNamed) {
  const Outcome other = run("", FRAMEWORK);
  EXPECT_EQ(other.errors.rfind("libsgemm_cublas: libsgemm has no sgemm_", 0), 0U) << other.errors;
}

TEST_F(EnvironmentTest, ALibraryOfAnotherVersionIsNamed) {
  const auto of_version = [](int version) { return run("FAKE_SGEMM_VERSION=" + std::to_string(version)); };
  const Outcome other = of_version(10305);
  EXPECT_EQ(other.out, "0 0\n");  // it is loaded, and computes nothing
  EXPECT_EQ(other.errors, "libsgemm_cublas: libsgemm is of version 1.3.5, and the drop-in of " SGEMM_VERSION_TEXT
                          "; cuBLAS gets all calls\n");
  EXPECT_EQ(of_version(SGEMM_VERSION / 100 * 100 + 99).out, "4 1\n") << "a later patch";
  EXPECT_EQ(of_version(SGEMM_VERSION + 100).out, "0 0\n") << "the next minor version";
}

TEST_F(EnvironmentTest, AMissingLibraryIsNamedWithAllPlaces) {
  const Outcome unnamed = run("", "");
  // With an empty name dlopen() would take the program itself for the library.
  EXPECT_EQ(unnamed.errors.find("libsgemm has no"), std::string::npos) << unnamed.errors;
  if (dlopen(SGEMM_SONAME, RTLD_LAZY) != nullptr) {
    GTEST_SKIP() << "the loader finds an installed libsgemm here";
  }
  unnamed.expect_named(std::filesystem::path(DROP_IN).replace_filename(SGEMM_SONAME ": "));
  unnamed.expect_named("; " SGEMM_SONAME ": ");
}

TEST_F(EnvironmentTest, ALogOfZeroIsNone) {
  EXPECT_EQ(run("SGEMM_LOG=0").errors, "");
  EXPECT_FALSE(std::filesystem::exists("0"));
}

/// Expects logs of processes with these lines each, in which blanks count as one.
void expect_logs(const std::string& text, int processes, const std::string& lines) {
  std::string expected;
  for (int process = 0; process < processes; ++process) {
    expected +=
        "# libsgemm_cublas: process N, SGEMM_ACCURACY=componentwise; us is the mean of the timed calls but the first\n"
        "calls timed us total_ms function ops m n k batch by why\n" +
        lines;
  }
  const std::string numbered = std::regex_replace(text, std::regex("process [0-9]+"), "process N");
  EXPECT_EQ(std::regex_replace(std::regex_replace(numbered, std::regex(" +"), " "), std::regex("\n "), "\n"), expected);
}

/// The line that took the longest is first. The time of a first call counts where there is no other.
TEST_F(EnvironmentTest, TheLogHasALineForEachShape) {
  for (int process = 1; process <= 2; ++process) {
    EXPECT_EQ(run("SGEMM_LOG=log").errors, "");
  }
  expect_logs(sgemm::read("log"), 2,
              "1 1 5000.0 5.000 cublasSgemm NT 2 1 2 1 11_bf16x6 predicted\n"
              "3 3 100.0 0.300 cublasSgemm NT 2 2 2 1 11_bf16x6 predicted\n");
}

/// Calls that came to nothing in the library are neither counted nor timed there.
TEST_F(EnvironmentTest, TheLogTellsThatCublasComputedForWantOfMemory) {
  const Outcome outcome = run_with_log("framework_products 2");
  EXPECT_EQ(outcome.out, "4 1\n");
  expect_logs(outcome.errors, 1,
              "1 1 5000.0 5.000 cublasSgemm NT 2 1 2 1 11_bf16x6 predicted\n"
              "2 2 100.0 0.200 cublasSgemm NT 2 2 2 1 cublas no room for the 3 MB that 11_bf16x6 works in, or operands "
              "with which it is slow\n"
              "1 1 100.0 0.100 cublasSgemm NT 2 2 2 1 11_bf16x6 predicted\n");
}

TEST_F(EnvironmentTest, AForkedChildWritesNoLog) {
  const Outcome outcome = run_with_log("framework_products_and_fork");
  EXPECT_EQ(outcome.errors.rfind("# libsgemm_cublas: process "), 0U) << outcome.errors;
}

TEST_F(EnvironmentTest, TheLogTimesCallsOnEveryDevice) {
  const Outcome outcome = run_with_log("framework_products_on_two_devices");
  outcome.expect_named("\n       6      6");
  outcome.expect_named("\n       2      2");
}

/// Captures are not broken: an event may not be asked while any thread captures, unless it says that it knows what it
/// does. An error of the program stays, and ones of the drop-in go. In a forked child cuBLAS gets all calls.
TEST_F(EnvironmentTest, ProgramsFindNothingChanged) {
  for (const char* const function : {"framework_products_beside_captures", "framework_products_after_a_mistake",
                                     "framework_products_in_a_forked_child"}) {
    run_with_log(function);
  }
}

TEST_F(EnvironmentTest, AWorkerThatIsForkedBeforeAnyCallHasTheLibrary) {
  const Outcome outcome = run_with_log("framework_products_in_a_child_alone");
  EXPECT_EQ(outcome.out, "4 1\n");
  outcome.expect_named("\n       3      3");
}

TEST_F(EnvironmentTest, ADropInThatIsClosedLeavesItsLogAndNothingElse) {
  const Outcome outcome =
      run("LD_PRELOAD= DROP_IN=" DROP_IN " SGEMM_LOG=1", FAKE_SGEMM, "framework_closes_the_drop_in");
  EXPECT_EQ(outcome.out, "1 1\n");
  outcome.expect_named("\n       1      1");
}

/// A handle of one version is nothing to the functions of the other.
TEST_F(EnvironmentTest, EachVersionOfCublasGetsItsOwnHandles) {
  for (const char* accuracy : {"componentwise", "none"}) {
    run(std::string("OTHER_FRAMEWORK=" OTHER_FRAMEWORK " SGEMM_ACCURACY=") + accuracy, FAKE_SGEMM,
        "framework_products_beside_another_cublas");
  }
}

TEST_F(EnvironmentTest, TheLogHasBatchesByAddress) {
  const Outcome outcome = run_with_log("framework_batch_by_address");
  EXPECT_EQ(outcome.out, "1 1\n");
  outcome.expect_named("cublasSgemmBatched           NT         2        2        2      1  11_bf16x6");
}

TEST_F(EnvironmentTest, ALogThatCanNotBeWrittenIsNamed) {
  for (const auto& [file, why] :
       {std::pair{"/nowhere/log", "No such file or directory"}, {"/dev/full", "No space left on device"}}) {
    const std::string errors = run(std::string("SGEMM_LOG=") + file).errors;
    EXPECT_EQ(errors.find(std::string("libsgemm_cublas: SGEMM_LOG=") + file + " can not be written: " + why + "\n# "),
              0)
        << errors;
    EXPECT_NE(errors.find("cublasSgemm  "), std::string::npos) << "the table is not lost";
  }
}

TEST_F(EnvironmentTest, ProgramsWithoutProductsAreLeftAlone) {
  EXPECT_EQ(std::system("LD_PRELOAD=" DROP_IN " SGEMM_LOG=1 SGEMM_ACCURACY=wrong true 2>errors"), 0);
  EXPECT_EQ(sgemm::read("errors"), "");
}

}  // namespace
