#include "record/results_file.hpp"

#include "base/usage_error.hpp"
#include "base/words.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <regex>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, std::string_view why = std::strerror(errno)) {
  throw UsageError(fmt::format("can not write {}: {}", path.string(), why));
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// A file beside its final place, removed unless it gets there.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target)
      : target_(target), name_((folder_of(target) / ".sgemm-results-XXXXXX").string()) {
    descriptor_ = mkstemp(name_.data());
    if (descriptor_ < 0) {
      refuse(target);
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
    if (!name_.empty()) {
      unlink(name_.c_str());
    }
  }

  void write(std::string_view content) {
    while (!content.empty()) {
      const ssize_t written = ::write(descriptor_, content.data(), content.size());
      if (written < 0 && errno != EINTR) {
        refuse(target_);
      }
      content.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
  }

  void rename() {
    constexpr mode_t READABLE = 0644;  // mkstemp makes files for the owner alone
    if (fchmod(descriptor_, READABLE) != 0 || fsync(descriptor_) != 0 ||
        std::rename(name_.c_str(), target_.c_str()) != 0) {
      refuse(target_);
    }
    name_.clear();
  }

  /// A lock that no other process can have had before the file got its name.
  void lock() const { flock(descriptor_, LOCK_EX | LOCK_NB); }
  /// The file's descriptor, from now on the caller's.
  int release() { return std::exchange(descriptor_, -1); }

 private:
  fs::path target_;
  std::string name_;
  int descriptor_ = -1;
};

/// Whether the name is still that of the open file.
bool names(const fs::path& path, int descriptor, struct stat* status) {
  struct stat named {};
  return fstat(descriptor, status) == 0 && stat(path.c_str(), &named) == 0 && named.st_dev == status->st_dev &&
         named.st_ino == status->st_ino;
}

/// The file at `path`, locked, which is made where there is none; -1 where another process holds it, or where it is
/// there and has to be `made`.
int open_and_lock(const fs::path& path, bool made) {
  constexpr mode_t READABLE = 0644;
  while (true) {
    int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, READABLE);
    if (descriptor < 0 && errno == EEXIST && !made) {
      descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    }
    if (descriptor < 0 && errno == EEXIST) {
      return -1;
    }
    if (descriptor < 0 && errno != ENOENT) {
      refuse(path);
    }
    // Where the file system knows no locks, the name is one's own by having made it alone.
    if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(descriptor);
      return -1;
    }
    struct stat status {};
    if (descriptor >= 0 && names(path, descriptor, &status)) {
      return descriptor;
    }
    close(descriptor);  // another process has put a file in its place meanwhile
  }
}

/// The columns of results as CSV. Their values have the same names in JSON, except for the median of times.
constexpr std::array CSV_COLUMNS{
    "kernel",           "m",       "n",       "k",      "ops",       "batch",           "data",
    "repetition_index", "outcome", "time_us", "gflops", "vs_cublas", "vs_cublas_alone", "cublas_alone_us",
    "rel_err",          "reason"};

/// A cell of CSV: in quotes where it has to be.
std::string csv_cell(const Json& value) {
  if (!value.is_string()) {
    return value.is_null() ? "" : value.dump();
  }
  const std::string text = value.get<std::string>();
  return text.find_first_of(",\"\r\n") == std::string::npos
             ? text
             : fmt::format("\"{}\"", std::regex_replace(text, std::regex("\""), "\"\""));
}

/// One row, without its end.
std::string csv_row(const Json& record) {
  std::vector<std::string> cells;
  for (const char* const column : CSV_COLUMNS) {
    const Json value = record.value(column, Json());
    cells.push_back(csv_cell(value.is_object() ? value.at("median") : value));
  }
  return fmt::format("{}", fmt::join(cells, ","));
}

}  // namespace

std::string slug(std::string_view name) {
  const std::string hyphened = std::regex_replace(in_lower_case(name), std::regex("[^a-z0-9]+"), "-");
  const std::string result = std::regex_replace(hyphened, std::regex("^-|-$"), "");
  return result.empty() ? "unknown" : result;
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void require_writable(const fs::path& path) {
  std::error_code error;
  if (path.filename().empty() || fs::is_directory(path, error)) {
    refuse(path, "it is a folder");
  }
  if (!fs::is_directory(folder_of(path), error)) {
    refuse(path, fmt::format("there is no folder {}", folder_of(path).string()));
  }
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    refuse(path, "it is not a regular file");
  }
  if (fs::is_symlink(path, error) && !fs::exists(path, error)) {
    refuse(path, "it is a link to a file that is not there");
  }
  if (fs::exists(path, error) && access(path.c_str(), W_OK) != 0) {
    refuse(path);
  }
  const TemporaryFile trial(path);
}

void write_atomically(const fs::path& path, std::string_view content) {
  TemporaryFile file(path);
  file.write(content);
  file.rename();
}

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  if (path_.extension() == ".cu" || path_.extension() == ".cuh") {
    refuse(path_, "it has the name of a source");
  }
  require_writable(path_);
  descriptor_ = open_and_lock(path_, false);
  if (descriptor_ < 0) {
    refuse(path_, "another run is writing it");
  }
}

OutputFile OutputFile::unused(const fs::path& folder, const std::string& stem, const std::string& extension) {
  fs::path path = folder / (stem + extension);
  require_writable(path);
  for (int copy = 2;; ++copy) {
    if (const int descriptor = open_and_lock(path, true); descriptor >= 0) {
      return {path, descriptor};
    }
    path = folder / fmt::format("{}-{}{}", stem, copy, extension);
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) {
    return;
  }
  struct stat status {};
  if (names(path_, descriptor_, &status) && status.st_size == 0) {
    unlink(path_.c_str());
  }
  close(descriptor_);
}

void OutputFile::write(std::string_view content) {
  TemporaryFile file(path_);
  file.write(content);
  file.lock();
  file.rename();
  close(std::exchange(descriptor_, file.release()));
}

OutputFile results_file(const std::optional<std::string>& asked, std::string_view device_name) {
  if (asked) {
    return OutputFile(*asked);
  }
  const fs::path folder = fs::path("results") / slug(device_name);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw UsageError(
        fmt::format("can not make the folder {}: {} (--out names another place)", folder.string(), error.message()));
  }
  return OutputFile::unused(folder, fmt::format("{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr))), ".json");
}

bool is_csv(const std::filesystem::path& path) { return in_lower_case(path.extension().string()) == ".csv"; }

ResultsFile::ResultsFile(OutputFile file, const Json& context)
    : file_(std::move(file)), csv_(is_csv(file_.path())), context_(dump_json(context, 1)) {
  write();
}

void ResultsFile::add(const Record& record) {
  records_.push_back(record);
  texts_.emplace_back();
  int repetitions = 0;
  for (Record& earlier : records_) {
    if (earlier.name == record.name) {
      earlier.repetition_index = repetitions++;
    }
  }
  // All repetitions of a case say how many there are.
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].name == record.name) {
      const Json json = to_json(records_[i], repetitions);
      texts_[i] = csv_ ? csv_row(json) : dump_json(json, -1);
    }
  }
  write();
}

void ResultsFile::finish(bool interrupted) {
  interrupted_ = interrupted;
  write();
}

void ResultsFile::write() {
  if (csv_) {
    file_.write(
        fmt::format("{}\n{}{}", fmt::join(CSV_COLUMNS, ","), fmt::join(texts_, "\n"), texts_.empty() ? "" : "\n"));
    return;
  }
  // One line per case: differences between files stay readable, and samples do not take a line each.
  file_.write(fmt::format("{{\n\"context\": {},\n\"interrupted\": {},\n\"benchmarks\": [\n{}\n]\n}}\n", context_,
                          interrupted_, fmt::join(texts_, ",\n")));
}

}  // namespace sgemm
