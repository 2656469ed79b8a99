#include "verdict/verdict.hpp"

#include "base/kept_program.hpp"
#include "base/usage_error.hpp"
#include "cli/selection.hpp"
#include "simt/launch_observer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// A case that ended well, and in another way than those of its trial do, is told by somebody else than the runner.
void refuse_foreign(Purpose purpose, Record& record) {
  const Outcome right = purpose == Purpose::check      ? Outcome::executed
                        : purpose == Purpose::operands ? Outcome::compared
                                                       : Outcome::measured;
  if (ended_well(record.outcome) && (record.outcome != right || !record.verified)) {
    record.stop(Outcome::failed,
                fmt::format("the case's process told that it is {}{}, as no case of this trial is",
                            to_string(record.outcome), record.verified ? "" : " without verification"));
  }
}

std::vector<Record> records_of(Purpose purpose, const std::vector<std::string>& words, bool until_supported,
                               const std::function<void(std::string_view)>& observer) {
  if (purpose == Purpose::check) {
    if (const std::string why = simt::why_unobserved(); !why.empty()) {
      throw std::runtime_error(why);  // which is no fault of the file
    }
  }
  std::vector<const char*> arguments{"runner"};
  for (const std::string& word : words) {
    arguments.push_back(word.c_str());
  }
  const Options options = parse_options(static_cast<int>(arguments.size()), arguments.data(), "").options;
  const DeviceQuery device = device_of(options);
  const std::vector<Kernel> kernels = kernels_of_files(kernel_terms(options.kernels).files, options, device);
  std::vector<const Kernel*> selected;
  selected.reserve(kernels.size());
  for (const Kernel& kernel : kernels) {
    selected.push_back(&kernel);
  }
  const std::vector<Case> plan = plan_of(options, selected, device.device.has_value());
  Run run = run_of(options, device, plan);
  run.judged = true;
  const std::unique_ptr<Runner> runner = make_runner(run);
  std::vector<Record> records;
  for (const Case& item : plan) {
    records.push_back(
        runner->run(item, [&](std::string_view activity) { observer(fmt::format("{}: {}", item.name(), activity)); }));
    refuse_foreign(purpose, records.back());
    if (until_supported && records.back().outcome != Outcome::not_supported) {
      break;
    }
  }
  return records;
}

/// Of a compiler's messages; their first line where none is called an error.
std::string first_error(const std::string& messages) {
  const std::size_t at = messages.find("error: ");
  const std::size_t begin = at == std::string::npos ? std::min(messages.find_first_not_of('\n'), messages.size())
                                                    : messages.rfind('\n', at) + 1;
  return messages.substr(begin, messages.find('\n', begin) - begin);
}

}  // namespace

std::string_view to_string(Purpose purpose) {
  constexpr std::array<std::string_view, 4> WORDS{"check", "operands", "decoy", "speed"};
  return WORDS.at(static_cast<std::size_t>(purpose));
}

FileTrial run_trial(Purpose purpose, const std::vector<std::string>& words, bool until_supported,
                    const std::function<void(std::string_view)>& observer) {
  FileTrial trial{purpose, words, 0.0, "", {}};
  const auto begin = std::chrono::steady_clock::now();
  try {
    trial.records = records_of(purpose, words, until_supported, observer);
  } catch (const CanNotConfine& error) {
    trial.failure = fmt::format(
        "this system does not let the judge confine the file's host code (user namespaces and Landlock): {}",
        error.what());
  } catch (const UsageError& error) {
    const std::string first = first_error(error.details());
    trial.failure = first.empty() ? error.what() : fmt::format("{}: {}", error.what(), first);
  } catch (const std::exception& error) {
    trial.failure = error.what();
  }
  trial.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return trial;
}

}  // namespace sgemm
