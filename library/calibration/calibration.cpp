#include "calibration/calibration.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <locale>
#include <sstream>
#include <utility>

namespace sgemm {
namespace {

/// What was written to it. Its own str() is one of GCC 11's library, which older systems have not (old_glibc.h).
std::string content(std::stringstream& text) { return {std::istreambuf_iterator<char>(text), {}}; }

constexpr const char* FIRST_LINE = "libsgemm calibration 1";
constexpr const char* LAST_LINE = "end";
constexpr std::array<const char*, CublasTable::LAYOUTS> LAYOUT_NAMES{"NN",       "NT",       "TN",       "TT",
                                                                     "batch.NN", "batch.NT", "batch.TN", "batch.TT"};

/// The values that a board may have.
struct Range {
  double least;
  double most;
};
// The chapters' own models count cycles for a launch, so that what is left of it may be less than nothing.
constexpr std::array<Range, 5> METHOD_RANGES{{{-20, 200}, {10, 20000}, {10, 20000}, {1e3, 1e13}, {1e3, 1e13}}};
constexpr std::array<Range, 3> CUBLAS_RANGES{{{0.1, 200}, {1e3, 1e8}, {1e3, 1e13}}};
constexpr Range TIME_RANGE{0.1, 1e7};

std::array<double*, 5> numbers_of(MethodRates& method) {
  return {&method.launch, &method.clock, &method.throttled, &method.bytes, &method.single};
}
std::array<double*, 3> numbers_of(CublasRates& cublas) { return {&cublas.call, &cublas.flops, &cublas.bytes}; }

template <std::size_t COUNT>
void print(std::ostream& text, const std::string& name, const std::array<double*, COUNT>& numbers) {
  text << name;
  for (const double* number : numbers) {
    text << ' ' << *number;
  }
  text << '\n';
}

template <std::size_t COUNT>
void read(const std::string& line, const std::string& text, const std::array<double*, COUNT>& numbers,
          const std::array<Range, COUNT>& ranges) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  for (std::size_t i = 0; i < COUNT; ++i) {
    if (!(in >> *numbers[i]) || !(*numbers[i] >= ranges[i].least && *numbers[i] <= ranges[i].most)) {
      throw CalibrationError("no board has '" + line + "'");
    }
  }
  std::string more;
  if (in >> more) {
    throw CalibrationError("too many numbers: '" + line + "'");
  }
}

/// A size's exponent, by which the table of cuBLAS's times goes.
int exponent_of(double size) {
  const int exponent = std::ilogb(size);
  if (exponent < CublasTable::FIRST || exponent > CublasTable::LAST || std::exp2(exponent) != size) {
    throw CalibrationError("no power of two that the table of cuBLAS's times has: " + std::to_string(size));
  }
  return exponent;
}

/// "driver 13000, and this is 13010": how a key differs from the process's own.
std::string differences(const CalibrationKey& of_file, const CalibrationKey& own) {
  std::string text;
  for (const auto& [name, value] : own) {
    const auto found =
        std::find_if(of_file.begin(), of_file.end(), [name = name](const auto& each) { return each.first == name; });
    const std::string other = found == of_file.end() ? "no" : found->second;
    if (other != value) {
      text += (text.empty() ? "" : "; ") + name + " " + other + ", and this is " + value;
    }
  }
  return text.empty() ? "something else" : text;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// "NVIDIA H200" becomes "nvidia-h200".
std::string slug(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  return result;
}

/// A folder, which may not be there yet ("new/"), a device or a pipe. glibc 2.28 has no stat() for programs to be
/// linked to.
bool is_no_file(const std::string& path) {
  struct statx found {};
  return path.ends_with('/') || (statx(AT_FDCWD, path.c_str(), 0, STATX_TYPE, &found) == 0 && !S_ISREG(found.stx_mode));
}

void make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0755);  // what fails here shows when the file is opened
  }
}

void require(bool done, const std::string& temporary) {
  if (!done) {
    const std::string why = std::strerror(errno);
    unlink(temporary.c_str());
    throw CalibrationError("it can not be written: " + why);
  }
}

/// Writes a file that may take the place of another one, and returns its path: other processes may be writing as well.
std::string write_beside(const std::string& path, const std::string& text) {
  if (is_no_file(path)) {
    throw CalibrationError("it can not be written: it is no file");
  }
  make_folders(path);
  std::string temporary = path + ".XXXXXX";
  const int file = mkstemp(temporary.data());
  require(file >= 0, temporary);
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fchmod(file, 0644) == 0 && fsync(file) == 0;
  require(close(file) == 0 && written, temporary);
  return temporary;
}

}  // namespace

std::string text_of(const Calibration& calibration) {
  std::stringstream text;
  text.imbue(std::locale::classic());  // a program may have chosen commas
  text.precision(7);
  text << FIRST_LINE << "\ndate " << calibration.date << '\n';
  for (const auto& [name, value] : calibration.key) {
    text << "key." << name << ' ' << value << '\n';
  }
  BoardModel board = calibration.board;
  for (std::size_t i = 0; i < METHODS; ++i) {
    if (board.methods[i].clock > 0.0) {
      print(text, METHOD_NAMES[i], numbers_of(board.methods[i]));
    }
  }
  print(text, "cublas", numbers_of(board.cublas));
  for (int layout = 0; layout < CublasTable::LAYOUTS; ++layout) {
    for (int m = CublasTable::FIRST; m <= CublasTable::LAST; ++m) {
      for (int n = CublasTable::FIRST; n <= CublasTable::LAST; ++n) {
        for (int k = CublasTable::FIRST; k <= CublasTable::LAST; ++k) {
          if (const double us = std::as_const(board.cublas_table).at(layout, m, n, k); us > 0.0) {
            text << LAYOUT_NAMES[static_cast<std::size_t>(layout)] << ' ' << (1 << m) << ' ' << (1 << n) << ' '
                 << (1 << k) << ' ' << us << '\n';
          }
        }
      }
    }
  }
  text << LAST_LINE << '\n';
  return content(text);
}

Calibration calibration_of(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != FIRST_LINE) {
    throw CalibrationError(std::string("it does not begin with '") + FIRST_LINE + "'");
  }
  Calibration calibration;
  BoardModel& board = calibration.board;
  board.margin = CALIBRATED_MARGIN;
  board.methods = {};
  board.cublas.call = 0.0;
  while (std::getline(lines, line) && line != LAST_LINE) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, blank);
    const std::string value = line.substr(std::min(blank + 1, line.size()));
    const auto* const method = std::find(METHOD_NAMES.begin(), METHOD_NAMES.end(), name);
    const auto* const layout = std::find(LAYOUT_NAMES.begin(), LAYOUT_NAMES.end(), name);
    if (name == "date") {
      calibration.date = value;
    } else if (name.rfind("key.", 0) == 0) {
      calibration.key.emplace_back(name.substr(4), value);
      if (name == "key.multiprocessors") {
        board.cublas_table.multiprocessors = std::atoi(value.c_str());
      }
    } else if (method != METHOD_NAMES.end()) {
      read(line, value, numbers_of(board.methods[static_cast<std::size_t>(method - METHOD_NAMES.begin())]),
           METHOD_RANGES);
    } else if (name == "cublas") {
      read(line, value, numbers_of(board.cublas), CUBLAS_RANGES);
    } else if (layout != LAYOUT_NAMES.end()) {
      double m = 0;
      double n = 0;
      double k = 0;
      double us = 0;
      constexpr Range ANY_SIZE{1, 1e6};
      read<4>(line, value, {&m, &n, &k, &us}, {{ANY_SIZE, ANY_SIZE, ANY_SIZE, TIME_RANGE}});
      board.cublas_table.at(static_cast<int>(layout - LAYOUT_NAMES.begin()), exponent_of(m), exponent_of(n),
                            exponent_of(k)) = us;
    } else {
      throw CalibrationError("it has an unknown line: '" + line.substr(0, 40) + "'");
    }
  }
  if (line != LAST_LINE) {
    throw CalibrationError("its end is missing");
  }
  if (std::getline(lines, line)) {
    throw CalibrationError("it goes on after its end");
  }
  if (board.cublas.call == 0.0) {
    throw CalibrationError("it has no line of cuBLAS");
  }
  return calibration;
}

std::string calibration_path(const CalibrationKey& key) {
  if (const std::string named = variable("SGEMM_CALIBRATION"); !named.empty()) {
    return named == "0" ? "" : named;
  }
  const std::string caches = variable("XDG_CACHE_HOME");
  const std::string home = variable("HOME");
  if (caches.empty() && home.empty()) {
    return "";
  }
  return (caches.empty() ? home + "/.cache" : caches) + "/sgemm/" + slug(key.at(0).second + "-" + key.at(1).second) +
         ".txt";
}

void write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = write_beside(path, text);
  require(std::rename(temporary.c_str(), path.c_str()) == 0, temporary);
}

void require_writable(const std::string& path) { unlink(write_beside(path, "").c_str()); }

FoundCalibration find_calibration(const std::string& path, CalibrationKey (*key)()) {
  FoundCalibration found{path, std::nullopt, ""};
  if (found.path.empty()) {
    found.why_not = "SGEMM_CALIBRATION is 0, or there is no folder for caches";
    return found;
  }
  if (is_no_file(found.path)) {  // a pipe would wait for a writer, and a device may have no end
    found.why_not = "it is no file";
    return found;
  }
  std::ifstream file(found.path, std::ios::binary);
  if (!file) {
    found.why_not = "there is none: sgemm_calibrate() makes it";
    return found;
  }
  try {
    std::stringstream text;
    text << file.rdbuf();
    Calibration calibration = calibration_of(content(text));
    if (const CalibrationKey own = key(); calibration.key != own) {
      found.why_not = "it is of " + differences(calibration.key, own);
      return found;
    }
    found.calibration = std::move(calibration);
  } catch (const CalibrationError& error) {
    found.why_not = error.what();
  }
  return found;
}

std::string describe(const FoundCalibration& found) {
  return found.calibration ? found.path + ", of " + found.calibration->date
                           : (found.path.empty() ? "none" : found.path) + ": not used, " + found.why_not;
}

}  // namespace sgemm
