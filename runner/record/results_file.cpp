#include "record/results_file.hpp"

#include "base/usage_error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// A file beside its final place, removed unless it gets there.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : name_((folder_of(target) / ".sgemm-results-XXXXXX").string()) {
    descriptor_ = mkstemp(name_.data());
    if (descriptor_ < 0) {
      throw_errno("can not create a file in " + folder_of(target).string());
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    close(descriptor_);
    if (!name_.empty()) {
      unlink(name_.c_str());
    }
  }

  void write(std::string_view content) {
    while (!content.empty()) {
      const ssize_t written = ::write(descriptor_, content.data(), content.size());
      if (written < 0 && errno != EINTR) {
        throw_errno("can not write " + name_);
      }
      content.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
  }

  void rename_to(const fs::path& target) {
    constexpr mode_t READABLE = 0644;  // mkstemp makes files for the owner alone
    if (fchmod(descriptor_, READABLE) != 0 || fsync(descriptor_) != 0 ||
        std::rename(name_.c_str(), target.c_str()) != 0) {
      throw_errno("can not write " + target.string());
    }
    name_.clear();
  }

 private:
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace

std::string slug(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  if (!result.empty() && result.back() == '-') {
    result.pop_back();
  }
  return result.empty() ? "unknown" : result;
}

std::string dump_json(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

fs::path results_folder(std::string_view device_name) { return fs::path("results") / slug(device_name); }

fs::path make_results_folder(std::string_view device_name, std::string_view flag) {
  fs::path folder = results_folder(device_name);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw UsageError(
        fmt::format("can not make the folder {}: {} ({} names another place)", folder.string(), error.message(), flag));
  }
  return folder;
}

fs::path default_results_path(std::string_view device_name) {
  const fs::path folder = make_results_folder(device_name, "--out");
  const std::string stem = fmt::format("{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)));
  fs::path path = folder / (stem + ".json");
  for (int copy = 2; fs::exists(path); ++copy) {
    path = folder / fmt::format("{}-{}.json", stem, copy);
  }
  return path;
}

fs::path results_path(const std::optional<std::string>& asked, std::string_view device_name) {
  fs::path path = asked ? fs::path(*asked) : default_results_path(device_name);
  require_writable(path);
  return path;
}

void require_writable(const fs::path& path) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("can not write {}: {}", path.string(), why));
  };
  std::error_code error;
  if (path.filename().empty() || fs::is_directory(path, error)) {
    refuse("it is a folder");
  }
  if (!fs::is_directory(folder_of(path), error)) {
    refuse(fmt::format("there is no folder {}", folder_of(path).string()));
  }
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    refuse("it is not a regular file");
  }
  if (fs::exists(path, error) && access(path.c_str(), W_OK) != 0) {
    refuse(std::strerror(errno));
  }
  try {
    const TemporaryFile trial(path);
  } catch (const std::system_error& failure) {
    refuse(failure.code().message());
  }
}

void write_atomically(const fs::path& path, std::string_view content) {
  TemporaryFile file(path);
  file.write(content);
  file.rename_to(path);
}

ResultsFile::ResultsFile(fs::path path, const nlohmann::ordered_json& context)
    : path_(std::move(path)), context_(dump_json(context, 1)) {
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
      texts_[i] = dump_json(to_json(records_[i], repetitions), -1);
    }
  }
  write();
}

void ResultsFile::finish(bool interrupted) {
  interrupted_ = interrupted;
  write();
}

void ResultsFile::write() const {
  // One line per case: differences between files stay readable, and samples do not take a line each.
  write_atomically(path_, fmt::format("{{\n\"context\": {},\n\"interrupted\": {},\n\"benchmarks\": [\n{}\n]\n}}\n",
                                      context_, interrupted_, fmt::join(texts_, ",\n")));
}

}  // namespace sgemm
