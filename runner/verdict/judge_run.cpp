#include "base/build_info.hpp"
#include "base/interrupt.hpp"
#include "base/kept_program.hpp"
#include "base/outcome.hpp"
#include "base/program.hpp"
#include "base/usage_error.hpp"
#include "base/words.hpp"
#include "cli/selection.hpp"
#include "cli/values.hpp"
#include "judge/hidden.hpp"
#include "record/results_file.hpp"
#include "report/console.hpp"
#include "simt/launch_observer.hpp"
#include "user/compile.hpp"
#include "user/user_file.hpp"
#include "user/wrapper.hpp"
#include "verdict/verdict.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

/// The largest extents of hidden sizes: what the executor computes, or checks, in a moment, and a GPU with the operands
/// that the host makes.
constexpr std::int64_t EXECUTED = 72;
constexpr std::int64_t CHECKED = 40;
constexpr std::int64_t ON_GPU = 512;
/// The largest extent of a size that was asked for, to be tried with many other operands.
constexpr std::int64_t MOST_ASKED = 2048;
constexpr std::int64_t MOST_MADE = 8192;  ///< likewise with few
/// Sizes near those that were asked for are timed beside so many of them.
constexpr std::size_t MOST_NEAR = 3;
constexpr int VERDICTS_VERSION = 2;

/// What is the same for all files of a run.
struct JudgeRun {
  const Options& options;
  const DeviceQuery& device;
  Secret secret;
  std::vector<Size> asked;
  std::function<void(std::string_view)> progress;

  bool on_gpu() const { return device.device.has_value(); }
};

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

/// Runs the cases of a command line, or those up to the first that the kernel supports. Foreign code runs in the
/// processes that the cases get; nothing but records comes back from there. Cases after an interruption are skipped.
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

/// The trials of one file.
class FileTrials {
 public:
  FileTrials(const JudgeRun& run, std::string term, const UserFile& file)
      : run_(run),
        term_(std::move(term)),
        file_(file),
        numbers_(run.secret, first_number(file.hash)),
        parts_(drawn_parts(numbers_)),
        base_(smallest(run.asked)),
        taken_(run.asked) {
    findings_.asked = run.asked;
    findings_.no_gpu = run.on_gpu() ? "" : run.device.error;
  }

  FileVerdict run() {
    if (run_.on_gpu() && run_.device.device->reaches_host_memory) {
      notes_.emplace_back(
          "this GPU reaches all of the host's memory, so that a kernel could look for the judge's secret");
    }
    find_grain();
    if (right_so_far()) {
      check();
    }
    if (right_so_far()) {
      try_operands();
    }
    if (right_so_far()) {
      try_small_sizes_and_factors();
    }
    if (right_so_far() && run_.on_gpu()) {
      measure_decoys();
    }
    if (right_so_far() && run_.on_gpu()) {
      measure();
    }
    FileVerdict verdict = verdict_of(findings_);
    verdict.notes.insert(verdict.notes.end(), notes_.begin(), notes_.end());
    return verdict;
  }

 private:
  /// Runs a trial of the file with the flags that hold for all of them.
  void try_out(Purpose purpose, const Words& flags, bool until_supported = false) {
    Words words{"--kernel", term_};
    append(words, flags);
    append(words, given(flags));
    const bool on_gpu = run_.on_gpu() && purpose != Purpose::check;
    if (on_gpu) {
      words.emplace_back("--device-code");
    }
    if (on_gpu && run_.options.device != 0) {
      append(words, {"--device", fmt::format("{}", run_.options.device)});
    }
    findings_.trials.push_back(run_trial(purpose, words, until_supported, run_.progress));
  }

  /// What the command line says of files and of the problem, but for the flags that a trial has of its own.
  Words given(const Words& own) const {
    constexpr std::array<std::string_view, 8> PASSED{"--launch",     "--requires", "--workspace", "--include",
                                                     "--nvcc-flags", "--timeout",  "--alpha",     "--beta"};
    const Words& all = run_.options.argv;
    Words words;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const std::string flag = all[i].substr(0, all[i].find('='));
      if (std::ranges::find(PASSED, flag) != PASSED.end() && !contains(own, flag)) {
        words.insert(words.end(), all.begin() + i, all.begin() + i + (flag == all[i] ? 2 : 1));
      }
    }
    return words;
  }

  /// The same on operands of hidden kinds, of which a file may rule out sizes and factors.
  void try_what_it_takes(const Words& flags, bool until_supported = false) {
    try_out(Purpose::operands, flags, until_supported);
    std::erase_if(findings_.trials.back().records,
                  [](const Record& record) { return record.outcome == Outcome::not_supported; });
  }

  std::string seed() { return fmt::format("{}", numbers_.next()); }

  /// Where GPU kernels run, for the purposes that are for both.
  Words place() const { return run_.on_gpu() ? Words{} : Words{"--device", "cpu"}; }

  /// With double precision, on operands of a seed of their own.
  Words comparison(const std::vector<Distribution>& kinds, const std::vector<Size>& sizes) {
    Words flags{"--accuracy", "--data", words(kinds, ","), "--seed", seed(), "--sizes", words(sizes, ",")};
    append(flags, place());
    return flags;
  }

  /// Nor does a file that can not be run, where checks are not the cause, come further in another trial.
  bool right_so_far() const {
    const bool ran = std::ranges::all_of(findings_.trials, [](const FileTrial& trial) {
      return trial.failure.empty() || trial.purpose == Purpose::check;
    });
    return ran && verdict_of(findings_).decision != Decision::refused && !interrupted();
  }

  /// Of a file that does not take all sizes: by trying, from what is hardest to foresee to the roundest sizes.
  void find_grain() {
    if (!file_.launch.requirement) {
      grain_ = GRAINS.front();
      return;
    }
    find_grain(EXECUTED);
    if (!grain_ && run_.on_gpu()) {
      const Size asked = base_;
      base_ = larger(asked);  // it may want all extents above those that were asked for
      least_ = MOST_ASKED;
      find_grain(least_);
      if (!grain_) {
        base_ = asked;
      }
    }
    if (!grain_) {
      findings_.no_hidden_size = fmt::format(
          "no hidden size fits its requirement ({}), so it was tried at the sizes "
          "that were asked for alone",
          file_.launch.requirement->text);
    }
  }

  void find_grain(std::int64_t most) {
    std::vector<Size> sizes;
    sizes.reserve(GRAINS.size());
    std::vector<Size> taken = taken_;
    for (const Grain& grain : GRAINS) {
      sizes.push_back(near_size(base_, grain, most, taken, numbers_));
    }
    try_what_it_takes(comparison({Distribution::uniform}, sizes), true);
    if (const std::vector<Record>& records = findings_.trials.back().records; !records.empty()) {
      const auto found = std::ranges::find(sizes, records.back().size);
      grain_ = GRAINS.at(static_cast<std::size_t>(found - sizes.begin()));
    }
  }

  static const Size& smallest(const std::vector<Size>& sizes) {
    return *std::ranges::min_element(sizes, {}, [](const Size& size) { return products(size); });
  }

  static Size larger(Size size) {
    for (std::int64_t* const extent : {&size.m, &size.n, &size.k}) {
      *extent += *extent / 8;
    }
    return size;
  }

  static std::uint64_t first_number(const std::string& hash) {
    constexpr std::size_t DIGITS = 12;
    constexpr unsigned OF_A_FILE = 16;  // bits of the numbers that a file takes
    return hash.empty() ? 0 : std::stoull(hash.substr(0, DIGITS), nullptr, 16) << OF_A_FILE;
  }

  /// So many hidden sizes, or the one that was asked for where none fit.
  std::vector<Size> hidden(std::int64_t most, bool lopsided) {
    if (!grain_) {
      return {base_};
    }
    std::vector<Size> sizes{near_size(base_, *grain_, std::max(most, least_), taken_, numbers_)};
    if (lopsided && least_ == 0) {
      sizes.push_back(lopsided_size(base_, *grain_, most, taken_, parts_, numbers_));
      parts_ = reversed(parts_);  // a kernel that is wrong where one extent is longer than another meets both
    }
    return sizes;
  }

  void check() {
    if (can_compile_checks()) {
      std::vector<Size> sizes = hidden(CHECKED, true);
      if (grain_ && least_ == 0) {
        sizes.push_back(near_size(base_, {grain_->step, true}, CHECKED, taken_, numbers_));  // which may be special
      }
      try_out(Purpose::check, {"--device", "cpu", "--check", "--seed", seed(), "--sizes", words(sizes, ",")});
    } else {
      notes_.emplace_back("not checked: this build's compiler can not watch accesses to memory");
    }
  }

  /// All kinds of operands at the size next to the one that was asked for. At the others a few tell as much, and the
  /// decoys: a kernel that looks at a few elements meets by chance, one time in eight, what gives a decoy away.
  void try_operands() {
    constexpr std::int64_t LARGE_STEP = 64;  // two such products with many kinds of operands take the executor too long
    constexpr std::size_t FEW = 5;
    const bool both = run_.on_gpu() || !grain_ || grain_->step < LARGE_STEP;
    const std::vector<Distribution> kinds = hidden_kinds(numbers_);
    std::vector<Size> sizes = hidden(run_.on_gpu() ? ON_GPU : EXECUTED, both);
    const Size& asked = smallest(run_.asked);
    const std::int64_t extent = std::max({asked.m, asked.n, asked.k});
    if (grain_ && extent <= (run_.on_gpu() ? MOST_ASKED : EXECUTED)) {
      sizes.push_back(asked);  // a kernel that knows what is asked for meets other numbers there
    }
    Words chosen{fmt::format("/{}/", to_string(sizes.front()))};
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      std::vector<Distribution> few(kinds.begin() + static_cast<std::ptrdiff_t>(FEW * (i - 1)),
                                    kinds.begin() + static_cast<std::ptrdiff_t>(FEW * i));
      few.insert(few.end(), DECOYS.begin(), DECOYS.end());
      chosen.push_back(fmt::format("/{}/({})$", to_string(sizes[i]), words(few, "|")));
    }
    Words flags = comparison(kinds, sizes);
    if (sizes.size() > 1) {
      flags.push_back(fmt::format("--benchmark_filter={}", fmt::join(chosen, "|")));
    }
    try_out(Purpose::operands, flags);
    // A kernel may be another one for large sizes. The host makes these operands, so they are few.
    const Size& largest = *std::ranges::max_element(run_.asked, {}, [](const Size& size) { return products(size); });
    const std::int64_t most = std::max({largest.m, largest.n, largest.k});
    if (run_.on_gpu() && MOST_ASKED < most && most <= MOST_MADE && right_so_far()) {
      const Distribution other = kinds[kinds[0] == Distribution::huge_row ? 1 : 0];
      try_out(Purpose::operands, comparison({Distribution::huge_row, other}, {largest}));
    }
    if (run_.on_gpu() && grain_ && right_so_far()) {
      try_between(largest, kinds);
    }
  }

  /// A kernel may be another one for sizes between the hidden ones and those that were asked for, or for long ones. A
  /// file may rule them out.
  void try_between(const Size& largest, std::vector<Distribution> kinds) {
    constexpr std::size_t FEW = 2;
    std::vector<Size> sizes;
    while (sizes.size() < FEW) {
      sizes.push_back(any_size(largest, *grain_, MOST_ASKED, taken_, numbers_));
    }
    std::erase_if(kinds, [](Distribution kind) {  // zeros and small integers are right in any precision
      return !is_required(kind) || kind == Distribution::zeros || kind == Distribution::integers;
    });
    kinds.resize(FEW);
    try_what_it_takes(comparison(kinds, sizes));
  }

  /// Sizes that no other trial has, and factors other than 1 and 0 where the launch names them. A file may rule them
  /// out.
  void try_small_sizes_and_factors() {
    Words flags{"--accuracy", "--data", "uniform", "--seed", seed()};
    append(flags, place());
    const auto try_with = [&](const Words& more) {
      Words all = flags;
      append(all, more);
      try_what_it_takes(all);
    };
    try_with({"--sizes", words(std::vector{tiny_size(numbers_), tiny_size(numbers_)}, ",")});
    const Protocol& protocol = run_.options.protocol;
    Words factors;
    for (const auto& [name, value] : {std::pair{"alpha", "2"}, std::pair{"beta", "-3"}}) {
      if (simt::read_source(file_.launch.statement.text).has_word(name)) {
        append(factors, {fmt::format("--{}", name), value});
      } else {
        notes_.push_back(fmt::format("tried with {} alone: its launch does not name it",
                                     name == std::string_view("alpha") ? "alpha 1" : "beta 0"));
      }
    }
    if (!factors.empty() && protocol.alpha == 1.0F && protocol.beta == 0.0F && right_so_far()) {
      append(factors, {"--sizes", words(hidden(EXECUTED, false), ",")});
      try_with(factors);
    }
  }

  /// A kernel may be right when it is compared and take uniform operands for granted when it is timed, or where it is
  /// too large to be compared with other operands. Outliers look so, and nobody knows which other kind comes.
  void measure_decoys() {
    constexpr std::array OTHERS{Distribution::normal, Distribution::uniform01, Distribution::integers};
    const Distribution other = OTHERS.at(static_cast<std::size_t>(numbers_.below(OTHERS.size())));
    for (const Distribution kind : {Distribution::outliers, other}) {
      try_out(Purpose::decoy, {"--sizes", words(decoy_sizes(run_.asked, numbers_), ","), "--data",
                               std::string(to_string(kind)), "--seed", seed(), "--max-seconds", "0.1"});
    }
  }

  void measure() {
    std::vector<Size> sizes = run_.asked;
    for (std::size_t i = 0; grain_ && i < std::min(run_.asked.size(), MOST_NEAR); ++i) {
      const Size& asked = run_.asked[run_.asked.size() - 1 - i];
      sizes.push_back(near_size(asked, *grain_, std::max({asked.m, asked.n, asked.k}), taken_, numbers_));
    }
    try_out(Purpose::speed, {"--sizes", words(sizes, ","), "--seed", seed(), "--max-seconds",
                             fmt::format("{}", run_.options.protocol.max_seconds)});
  }

  const JudgeRun& run_;
  const std::string term_;
  const UserFile& file_;
  SecretNumbers numbers_;
  Parts parts_;
  Size base_;                ///< beside which hidden sizes are drawn
  std::int64_t least_ = 0;   ///< extents that they may have at least, whatever a trial takes
  std::vector<Size> taken_;  ///< what was asked for, and hidden sizes so far
  std::optional<Grain> grain_;
  Findings findings_;
  std::vector<std::string> notes_;
};

FileVerdict judge(const JudgeRun& run, const FileTerm& term) {
  const UserOptions& user = run.options.user;
  const std::string name = term.function.empty() ? term.path : fmt::format("{}:{}", term.path, term.function);
  FileVerdict verdict;
  try {
    const UserFile file = read_user_file(term, user.launch, Target::for_gpu, user.compile);
    device_wrapper_of(file);  // throws where it launches by host code
    verdict = FileTrials(run, name, file).run();
    verdict.hash = file.hash;
  } catch (const UsageError& error) {
    verdict.decision = Decision::refused;
    verdict.outcome = to_string(Outcome::failed);
    verdict.reason = error.what();
  }
  verdict.file = name;
  return verdict;
}

std::string speed_text(const FileVerdict& verdict) {
  std::vector<std::string> speeds;
  for (const Record* const record : verdict.timed()) {
    speeds.push_back(fmt::format("{:.3g} TFLOP/s at {}", to_json(*record).at("gflops").get<double>() / 1e3,
                                 to_string(record->size)));
  }
  return fmt::format("{}", fmt::join(speeds, ", "));
}

void print(std::ostream& out, const FileVerdict& verdict) {
  const auto line = [&](std::string_view begin, const std::string& text) {
    constexpr std::size_t INDENT = 11;
    out << fmt::format("{:<{}}", begin, INDENT);
    out << wrap(text, terminal_width(), INDENT) << '\n';
  };
  std::string text = verdict.file;
  if (verdict.ratio) {
    text += fmt::format(": {:.3f} of cuBLAS ({:.3f} to {:.3f})", verdict.ratio->mean, verdict.ratio->low,
                        verdict.ratio->high);
  }
  text += verdict.decision == Decision::accepted ? fmt::format("; {}", speed_text(verdict))
                                                 : fmt::format(": {}: {}", verdict.outcome, verdict.reason);
  line(to_string(verdict.decision), text);
  for (const std::string& note : verdict.notes) {
    line("  note", note);
  }
  out << std::flush;
}

ExitStatus status_of(const std::vector<FileVerdict>& verdicts) {
  const auto any = [&](Decision decision) {
    return std::ranges::any_of(verdicts, [&](const auto& each) { return each.decision == decision; });
  };
  if (interrupted()) {
    return INTERRUPTED;
  }
  return any(Decision::refused) ? FILE_REFUSED : any(Decision::undecided) ? NOTHING_MEASURED : ALL_WELL;
}

}  // namespace

std::vector<std::string> judged_files(std::string_view expression) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& file) {
    if (!contains(files, file)) {
      files.push_back(file);
    }
  };
  for (const std::string_view term : split(expression, ',')) {
    std::error_code error;
    const fs::path path(term);
    if (!fs::is_directory(path, error)) {
      const std::string file = parse_file_term(term).path;
      if (!fs::exists(file, error)) {
        throw UsageError(fmt::format("--judge: there is no file or folder '{}'", file));
      }
      add(std::string(term));
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".cu") {
        found.push_back(entry.path().string());
      }
    }
    if (found.empty()) {
      throw UsageError(fmt::format("--judge: there is no .cu file in the folder '{}'", term));
    }
    std::sort(found.begin(), found.end());
    for (const std::string& file : found) {
      if (file.find(',') != std::string::npos) {
        throw UsageError(fmt::format("--judge: '{}' has a comma in its name, which separates files", file));
      }
      add(file);
    }
  }
  return files;
}

Json verdicts_document(const Options& options, const DeviceQuery& device, const std::vector<Size>& asked,
                       const std::optional<Secret>& secret, const std::vector<FileVerdict>& verdicts) {
  Json context = describe_environment(options.argv, options.protocol, device, {});
  context.erase("schema_version");  // of results
  context.erase("protocol");        // each trial has its own
  Json json;
  json["verdicts_version"] = VERDICTS_VERSION;
  json["context"] = std::move(context);
  json["sizes"] = words(asked, ",");
  if (secret) {
    json["secret"] = secret->text();
  }
  json["interrupted"] = interrupted();
  json["verdicts"] = Json::array();
  for (const FileVerdict& verdict : verdicts) {
    json["verdicts"].push_back(to_json(verdict));
  }
  return json;
}

ExitStatus run_judge(const Options& options) {
  const std::vector<std::string> files = judged_files(options.kernels);
  const DeviceQuery device = device_of(options);
  require_compiler(device.device ? Target::for_gpu : Target::for_executor);
  share_cache();
  const bool to_stdout = options.json == "-";
  std::optional<OutputFile> file;
  if (options.json && !to_stdout) {
    file.emplace(*options.json);
  }
  std::ostream& out = to_stdout ? std::cerr : std::cout;
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  const std::string& secret = options.protocol.secret;
  const JudgeRun run{options, device, secret.empty() ? Secret::draw() : Secret::parse(secret),
                     parse_sizes(options.sizes ? *options.sizes : default_sizes(Mode::judge, true)),
                     [&](std::string_view activity) {
                       if (shows_progress) {
                         std::cerr << fmt::format("\r\033[K{}\r", cut(std::string(activity), 79)) << std::flush;
                       }
                     }};
  for (const Size& size : run.asked) {
    if (size.transposed_a || size.transposed_b || size.batch > 1) {
      throw UsageError(fmt::format("--judge ranks single products of matrices in rows, not {}", to_string(size)));
    }
  }
  std::vector<FileVerdict> verdicts;
  const auto document = [&](const std::optional<Secret>& told) {
    return dump_json(verdicts_document(options, device, run.asked, told, verdicts), 1) + "\n";
  };
  const auto judge_all_of = [&](const std::string& each) {
    for (const FileTerm& term :
         single_functions(parse_file_term(each), options.user.launch, Target::for_gpu, options.user.compile)) {
      verdicts.push_back(judge(run, term));
      run.progress("");
      print(out, verdicts.back());
      if (file) {
        file->write(document({}));  // whoever reads it now must not know what the next file is tried with
      }
      StopToken(interrupted).check();
    }
  };
  try {
    std::ranges::for_each(files, judge_all_of);
  } catch (const CaseStopped&) {  // the run is interrupted, and so may be a compiler
  }
  if (file) {
    file->write(document(run.secret));
  }
  if (to_stdout) {
    std::cout << document(run.secret);
  }
  return status_of(verdicts);
}

}  // namespace sgemm
