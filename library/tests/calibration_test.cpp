// Constants that are fitted to times, and the file that they are kept in.

#include "calibration/calibration.hpp"
#include "calibration/fit.hpp"
#include "fixtures/temporary_folder.hpp"
#include "gemm_case.hpp"
#include "host_blas.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace sgemm::test {
namespace {

/// Works as calibration has them: launches, splitting, short and long products.
std::vector<Cost> costs(Method method) {
  std::vector<Cost> all;
  for (double cycles = 2e4; cycles < 1e8; cycles *= 1.7) {
    for (const double bytes : {1e6, 3e7, 4e8}) {
      for (const double launches : {1.0, 2.0}) {
        for (const double single : {0.0, bytes}) {
          const bool splits = method != Method::every_shape;
          all.push_back({method, launches, cycles, splits ? bytes : 0.0, 4.0, splits ? single : 0.0});
        }
      }
    }
  }
  return all;
}

/// A board with other constants than an H200's.
BoardModel other_board() {
  BoardModel board;
  board.methods = {{{3, 1400, 1300, 3.8e6, 0.85e6},
                    {12, 1350, 700, 1.2e6, 0.3e6},
                    {15, 1410, 1000, 2.1e6, 0.4e6},
                    {7, 1380, 900, 1.4e6, 0.5e6},
                    {}}};
  board.cublas = {4.5, 2.5e5, 1.3e6};
  return board;
}

TEST(FitTest, ConstantsOfAMethodAreFoundAgain) {
  const BoardModel board = other_board();
  for (const Method method : {Method::every_shape, Method::bf16x6, Method::tall_bf16x6, Method::fp16x3}) {
    std::vector<TimedCost> times;
    for (const Cost& cost : costs(method)) {
      times.push_back({cost, microseconds(board, cost)});
    }
    const MethodRates rates = fit_method(times, board.full_clock_cycles);
    EXPECT_NEAR(rates.launch, board[method].launch, 0.2) << static_cast<int>(method);
    EXPECT_NEAR(rates.clock / board[method].clock, 1.0, 0.01) << static_cast<int>(method);
    EXPECT_NEAR(rates.throttled / board[method].throttled, 1.0, 0.01) << static_cast<int>(method);
    EXPECT_NEAR(rates.bytes / board[method].bytes, 1.0, 0.01) << static_cast<int>(method);
    EXPECT_NEAR(rates.single / board[method].single, 1.0, 0.01) << static_cast<int>(method);
  }
}

/// Times have noise, and some algorithms are not what their model says.
TEST(FitTest, OutliersBendNothing) {
  const BoardModel board = other_board();
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0.0, 0.02);
  std::vector<TimedCost> times;
  for (const Cost& cost : costs(Method::bf16x6)) {
    const double factor = times.size() % 6 == 0 ? 1.8 : std::exp(noise(random));
    times.push_back({cost, factor * microseconds(board, cost)});
  }
  BoardModel fitted = board;
  fitted[Method::bf16x6] = fit_method(times, board.full_clock_cycles);
  for (const Cost& cost : costs(Method::bf16x6)) {
    EXPECT_NEAR(microseconds(fitted, cost) / microseconds(board, cost), 1.0, 0.06) << cost.cycles << ' ' << cost.bytes;
  }
}

TEST(FitTest, TooFewTimesMakeNoConstants) {
  const Cost cost = costs(Method::fp16x3).front();
  EXPECT_EQ(fit_method({}, 1).clock, 0.0);
  EXPECT_EQ(fit_method({7, TimedCost{cost, 10}}, 1).clock, 0.0);
}

std::vector<TimedProduct> cublas_times(const CublasRates& rates, const std::vector<double>& factors) {
  std::vector<TimedProduct> times;
  for (const std::int64_t m : {128, 512, 2048, 8192}) {
    for (const std::int64_t n : {128, 512, 2048, 8192}) {
      for (const std::int64_t k : {32, 256, 2048, 8192}) {
        const PredictedShape shape{m, n, k, 46};
        const double factor = factors[times.size() % factors.size()];
        times.push_back({shape, factor * cublas_microseconds(rates, shape, 1)});
      }
    }
  }
  return times;
}

TEST(FitTest, ConstantsOfCublasAreThoseOfItsFastProducts) {
  CublasRates rates = other_board().cublas;
  rates.bytes = 0.4e6;  // so low that memory limits some of the products
  for (const std::vector<double>& factors : {std::vector{1.0}, {1.0, 1.0, 1.0, 1.25, 1.1}}) {
    const CublasRates fitted = fit_cublas(cublas_times(rates, factors));
    EXPECT_NEAR(fitted.call / rates.call, 1.0, 0.03);
    EXPECT_NEAR(fitted.flops / rates.flops, 1.0, 0.03);
    EXPECT_NEAR(fitted.bytes / rates.bytes, 1.0, 0.03);
  }
}

TEST(CublasTableTest, ProductsTakeAsMuchLongerAsTheirNeighbours) {
  BoardModel board = other_board();
  const PredictedShape shape{1024, 1024, 1024, 46, 1};
  const double least = cublas_microseconds(board.cublas, shape, 1);
  EXPECT_DOUBLE_EQ(cublas_microseconds(board, shape, 1), least) << "without a table";
  board.cublas_table.multiprocessors = 46;
  board.cublas_table.at(1, 10, 10, 10) = 1.3 * least;
  EXPECT_DOUBLE_EQ(cublas_microseconds(board, shape, 1), 1.3 * least);
  const auto expect_least = [&](const PredictedShape& other, const char* why) {
    EXPECT_DOUBLE_EQ(cublas_microseconds(board, other, 1), cublas_microseconds(board.cublas, other, 1)) << why;
  };
  expect_least({1024, 1024, 1024, 46, 0}, "another layout");
  expect_least({1024, 1024, 1024, 23, 1}, "other multiprocessors");
  expect_least({1 << 20, 1, 1 << 20, 46, 3}, "far from all");
  const PredictedShape between{1448, 1024, 1024, 46, 1};
  const double factor = cublas_microseconds(board, between, 1) / cublas_microseconds(board.cublas, between, 1);
  EXPECT_NEAR(factor, (std::sqrt(1.3) + 1) / 2, 0.001);
}

// ---- The file ----

const CalibrationKey KEY{{"device", "NVIDIA Test 1"}, {"multiprocessors", "46"}, {"driver", "13000"}};

Calibration calibration() {
  Calibration result{KEY, "2026-01-02T03:04:05Z", other_board()};
  result.board.cublas_table.multiprocessors = 46;
  result.board.cublas_table.at(3, 5, 13, 9) = 123.5;
  return result;
}

/// A folder for caches.
class CalibrationTest : public TemporaryFolderTest {
 protected:
  void SetUp() override {
    TemporaryFolderTest::SetUp();
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    setenv("SGEMM_CALIBRATION", "", 1);
    path_ = (folder_ / "sgemm" / "nvidia-test-1-46.txt").string();
  }
  void TearDown() override {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("SGEMM_CALIBRATION");
    TemporaryFolderTest::TearDown();
  }
  static FoundCalibration found() {
    return find_calibration(calibration_path(KEY), [] { return KEY; });
  }
  std::string why_not(const std::string& text) {
    write_whole(path_, text);
    const FoundCalibration now = found();
    EXPECT_EQ(now.calibration.has_value(), now.why_not.empty());
    return now.why_not;
  }

  std::string path_;
  std::string text_ = text_of(calibration());
};

TEST_F(CalibrationTest, WhatIsWrittenIsRead) {
  EXPECT_EQ(calibration_path(KEY), path_);
  EXPECT_NE(found().why_not.find("there is none"), std::string::npos);
  require_writable(path_);
  write_whole(path_, text_);
  const FoundCalibration read = found();
  ASSERT_TRUE(read.calibration) << read.why_not;
  EXPECT_EQ(text_of(*read.calibration), text_);
  const BoardModel& board = read.calibration->board;
  EXPECT_EQ(board[Method::fp16x3].throttled, 900);
  EXPECT_FALSE(board.knows(Method::reproducible)) << "it was not measured";
  EXPECT_EQ(board.cublas.flops, 2.5e5);
  EXPECT_EQ(board.cublas_table.at(3, 5, 13, 9), 123.5);
  const std::vector<double>& us = board.cublas_table.us;
  EXPECT_EQ(std::count_if(us.begin(), us.end(), [](double time) { return time > 0.0; }), 1);
  EXPECT_EQ(board.cublas_table.multiprocessors, 46);
  EXPECT_EQ(board.margin, CALIBRATED_MARGIN);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "sgemm"), {}), 1) << "nothing is left";
  constexpr auto BY_ALL = std::filesystem::perms::others_read;
  EXPECT_EQ(std::filesystem::status(path_).permissions() & BY_ALL, BY_ALL) << "root may have made it for users";
}

TEST_F(CalibrationTest, AProgramsCommasChangeNothing) {
  const char* const commas = std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(text_of(calibration()), text_);
  EXPECT_EQ(text_of(calibration_of(text_)), text_);
  std::setlocale(LC_ALL, "C");
  if (commas == nullptr) {
    GTEST_SKIP() << "this system has no such locale";
  }
}

TEST_F(CalibrationTest, AFileOfSomethingElseIsIgnoredWithAReason) {
  for (std::size_t i = 0; i < KEY.size(); ++i) {
    Calibration other = calibration();
    other.key[i].second = "7";
    EXPECT_EQ(why_not(text_of(other)), "it is of " + KEY[i].first + " 7, and this is " + KEY[i].second);
  }
  Calibration old = calibration();
  old.key.pop_back();
  EXPECT_EQ(why_not(text_of(old)), "it is of driver no, and this is 13000");
}

TEST_F(CalibrationTest, EveryPieceOfAFileIsNone) {
  EXPECT_EQ(why_not(text_), "");
  for (std::size_t length = 0; length + 1 < text_.size(); ++length) {
    EXPECT_NE(why_not(text_.substr(0, length)), "") << length;
  }
  EXPECT_NE(why_not("\x7f"
                    "ELF"),
            "");
  EXPECT_NE(why_not(text_ + text_), "") << "two files in one";
}

TEST_F(CalibrationTest, NumbersThatNoBoardHasAreRefused) {
  const auto with = [&](const std::string& part, const std::string& instead) {
    std::string text = text_;
    const std::size_t at = text.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    return why_not(text.replace(at, part.size(), instead));
  };
  EXPECT_EQ(with("11_bf16x6 12 1350", "11_bf16x6 12 1351"), "");
  for (const char* const number : {"0", "-5", "nan", "inf", "1e300", "fast", "", "12 1350 700 1"}) {
    EXPECT_NE(with("11_bf16x6 12 1350", "11_bf16x6 12 " + std::string(number)), "") << number;
    EXPECT_NE(with("cublas 4.5", "cublas " + std::string(number)), "") << number;
    EXPECT_NE(with(" 123.5", " " + std::string(number)), "") << number;
  }
  for (const char* const line : {"CT 32 8192 512", "TT 33 8192 512", "TT 16 32 32", "TT 32 16384 512"}) {
    EXPECT_NE(with("TT 32 8192 512", line), "") << line;
  }
  EXPECT_NE(with("12_fp16x3", "12_fp16x4"), "") << "a method that this version does not have";
  EXPECT_NE(with("cublas 4.5 250000 1300000\n", ""), "");
}

TEST_F(CalibrationTest, TheEnvironmentNamesAFileOrForbidsIt) {
  const std::string elsewhere = (folder_ / "mine").string();
  setenv("SGEMM_CALIBRATION", elsewhere.c_str(), 1);
  write_whole(elsewhere, text_);
  EXPECT_EQ(found().path, elsewhere);
  EXPECT_TRUE(found().calibration);
  setenv("SGEMM_CALIBRATION", "0", 1);
  EXPECT_FALSE(found().calibration);
  EXPECT_NE(found().why_not.find("SGEMM_CALIBRATION is 0"), std::string::npos);
}

/// Its key has cuBLAS's version, for which cuBLAS is loaded.
TEST_F(CalibrationTest, WithoutAFileNobodyAsksForTheKey) {
  const auto never = [] {
    ADD_FAILURE();
    return KEY;
  };
  EXPECT_FALSE(find_calibration(path_, never).calibration);
  EXPECT_FALSE(find_calibration("", never).calibration);
  write_whole(path_, "nothing");
  EXPECT_FALSE(find_calibration(path_, never).calibration);
}

TEST_F(CalibrationTest, AFolderThatCanNotBeWrittenIsNamed) {
  std::ofstream(folder_ / "file") << "x";
  const std::string path = (folder_ / "file" / "in it.txt").string();
  EXPECT_THROW(write_whole(path, text_), CalibrationError);
  EXPECT_THROW(require_writable(path), CalibrationError);
  EXPECT_THROW(require_writable((folder_ / "new/").string()), CalibrationError) << "before a minute of measuring";
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new")) << "what is refused leaves nothing";
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  EXPECT_FALSE(found().calibration);
}

/// Another file would take the place of a device, and a pipe waits for its other end.
TEST_F(CalibrationTest, WhatIsNoFileIsNeitherReadNorReplaced) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {folder_.string(), pipe}) {
    setenv("SGEMM_CALIBRATION", path.c_str(), 1);
    EXPECT_EQ(found().why_not, "it is no file");
    EXPECT_THROW(require_writable(path), CalibrationError) << "before a minute of measuring";
    EXPECT_THROW(write_whole(path, text_), CalibrationError);
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(CalibrationTest, NothingBesideItIsTouched) {
  const std::string beside = path_ + ".new";
  write_whole(beside, "of somebody else");
  require_writable(path_);
  EXPECT_EQ(read(beside), "of somebody else");
}

/// Whoever reads finds one of both files, at any time.
TEST_F(CalibrationTest, WritersLeaveOneWholeFile) {
  Calibration other = calibration();
  other.date = std::string(4000, 'x');
  const std::string texts[] = {text_, text_of(other)};
  write_whole(path_, texts[0]);
  std::vector<std::jthread> writers;
  for (const std::string& text : texts) {
    writers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        write_whole(path_, text);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    const std::string seen = read(path_);
    EXPECT_TRUE(seen == texts[0] || seen == texts[1]) << seen.size();
  }
  writers.clear();  // which joins them
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "sgemm"), {}), 1);
}

TEST_F(CalibrationTest, ItIsDescribed) {
  write_whole(path_, text_);
  EXPECT_EQ(describe(found()), path_ + ", of 2026-01-02T03:04:05Z");
  EXPECT_EQ(describe({"/a/file", std::nullopt, "because"}), "/a/file: not used, because");
}

// ---- Choices ----

sgemm_plan_t plan_of(sgemm_accuracy_t accuracy, std::int64_t size) {
  const Handle handle;
  EXPECT_EQ(sgemm_set_accuracy(handle, accuracy), SGEMM_STATUS_SUCCESS);
  return planned(handle, product_of(size, size, size));
}

TEST(CalibratedChoiceTest, ChoicesGoByTheFilesConstants) {
  host_board() = {};
  EXPECT_STREQ(plan_of(SGEMM_ACCURACY_NORMWISE, 4096).kernel, "12_fp16x3");
  EXPECT_STREQ(plan_of(SGEMM_ACCURACY_ROWWISE, 8192).kernel, "15_reproducible");
  Calibration slow = calibration();
  slow.board[Method::fp16x3].clock = slow.board[Method::fp16x3].throttled = 100;
  host_board() = calibration_of(text_of(slow)).board;
  EXPECT_STREQ(plan_of(SGEMM_ACCURACY_NORMWISE, 4096).kernel, "11_bf16x6");
  EXPECT_STREQ(plan_of(SGEMM_ACCURACY_ROWWISE, 8192).kernel, "11_bf16x6") << "15 is not in the file";
  slow.board.methods = {};
  host_board() = calibration_of(text_of(slow)).board;
  EXPECT_STREQ(plan_of(SGEMM_ACCURACY_NORMWISE, 4096).kernel, "cublas");
  host_board() = {};
}

TEST_F(CalibrationTest, TheInterfaceWritesAFile) {
  const std::string path = (folder_ / "calibration.txt").string();
  const char* text = nullptr;
  EXPECT_EQ(sgemm_calibrate(path.c_str(), &text), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(text, path);
  EXPECT_NE(calibration_of(read(path)).date, "");
  EXPECT_EQ(sgemm_calibrate("/dev/null/x", &text), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_NE(std::string(text).find("can not be written"), std::string::npos);
  EXPECT_EQ(sgemm_calibrate(path.c_str(), nullptr), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_STREQ(sgemm_calibration(), "of the host");
}

}  // namespace
}  // namespace sgemm::test
