#include "verdict/verdict.hpp"

#include "base/outcome.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

/// "1031x1019x1023, outliers, with checks", for the begin of a reason.
std::string circumstances(const JudgedCase& item) {
  std::string text = to_string(item.record.size);
  if (item.record.data) {
    text += fmt::format(", {} operands", to_string(*item.record.data));
  }
  const std::string_view how = item.purpose == Purpose::check   ? ", with checks"
                               : item.purpose == Purpose::decoy ? ", timed with other operands"
                                                                : "";
  return text + std::string(how);
}

/// An error on operands on which a file need not keep its bound.
bool is_weak(const JudgedCase& item) {
  return item.purpose == Purpose::operands && item.record.outcome == Outcome::incorrect && item.record.data &&
         !is_required(*item.record.data);
}

/// A timed case beside cuBLAS.
struct Pair {
  double paired;                   ///< in turns
  double smaller;                  ///< of that and alone
  std::array<double, 2> interval;  ///< of `paired`
};

/// Nothing where the case was not timed beside cuBLAS.
std::optional<Pair> beside_cublas(const Record& record) {
  const Json json = to_json(record);
  if (!json.contains("vs_cublas")) {
    return std::nullopt;
  }
  const double paired = json.at("vs_cublas");
  return Pair{paired, std::min(paired, json.value("vs_cublas_alone", paired)), json.at("vs_cublas_ci")};
}

std::optional<Ratio> ratio_of(const std::vector<const Record*>& timed) {
  Ratio sums;  // of logarithms
  for (const Record* const record : timed) {
    const std::optional<Pair> pair = beside_cublas(*record);
    if (!pair) {
      return std::nullopt;
    }
    sums.mean += std::log(pair->smaller);
    sums.low += std::log(pair->smaller * pair->interval[0] / pair->paired);
    sums.high += std::log(pair->smaller * pair->interval[1] / pair->paired);
  }
  const auto of_all = [&](double sum) { return std::exp(sum / static_cast<double>(timed.size())); };
  return timed.empty() ? std::nullopt : std::optional(Ratio{of_all(sums.mean), of_all(sums.low), of_all(sums.high)});
}

void end(FileVerdict& verdict, Decision decision, Outcome outcome, const std::string& reason) {
  verdict.decision = decision;
  verdict.outcome = to_string(outcome);
  verdict.reason = reason;
}

/// Ends with the first case that `decides`.
bool ends_with_case(FileVerdict& verdict, Decision decision, const std::function<bool(const JudgedCase&)>& decides) {
  const auto found = std::ranges::find_if(verdict.cases, decides);
  if (found != verdict.cases.end()) {
    end(verdict, decision, found->record.outcome, fmt::format("{}: {}", circumstances(*found), found->record.reason));
  }
  return found != verdict.cases.end();
}

/// Whether a case or a trial tells that the file is to be refused, or not to be decided.
bool ends_early(const Findings& findings, FileVerdict& verdict) {
  if (ends_with_case(verdict, Decision::refused,
                     [](const JudgedCase& item) { return went_wrong(item.record.outcome) && !is_weak(item); })) {
    return true;
  }
  for (const FileTrial& trial : findings.trials) {
    // Without a GPU, or with checks, it is the executor's: it does not know all of CUDA.
    if (!trial.failure.empty() && trial.purpose != Purpose::check && findings.no_gpu.empty()) {
      end(verdict, Decision::refused, Outcome::failed, trial.failure);
      return true;
    }
  }
  const auto of_asked = [](Outcome outcome) {
    return [outcome](const JudgedCase& item) {
      return item.purpose == Purpose::speed && !item.hidden && item.record.outcome == outcome;
    };
  };
  return ends_with_case(verdict, Decision::refused, of_asked(Outcome::not_supported)) ||
         ends_with_case(verdict, Decision::undecided, of_asked(Outcome::skipped)) ||
         ends_with_case(verdict, Decision::undecided, [](const JudgedCase& item) {
           const Outcome outcome = item.record.outcome;
           return (outcome == Outcome::skipped || outcome == Outcome::not_supported) && item.hidden &&
                  item.purpose != Purpose::check;
         });
}

void decide(const Findings& findings, FileVerdict& verdict) {
  if (ends_early(findings, verdict)) {
    return;
  }
  if (!findings.no_hidden_size.empty()) {
    return end(verdict, Decision::undecided, Outcome::not_supported, findings.no_hidden_size);
  }
  if (!findings.asked.empty() && verdict.timed().size() == findings.asked.size()) {
    return end(verdict, Decision::accepted, Outcome::measured, "");
  }
  const bool executed = std::ranges::any_of(verdict.cases, [](const JudgedCase& item) {
    return item.record.outcome == Outcome::compared || item.record.outcome == Outcome::executed;
  });
  if (executed) {
    return end(verdict, Decision::undecided, Outcome::executed,
               fmt::format("right so far; speed was not judged: {}", findings.no_gpu));
  }
  std::string reason = findings.no_gpu;
  for (const FileTrial& trial : findings.trials) {
    reason = trial.failure.empty() ? reason : trial.failure;
  }
  for (const JudgedCase& item : verdict.cases) {
    reason = item.record.reason.empty() ? reason : fmt::format("{}: {}", circumstances(item), item.record.reason);
  }
  end(verdict, Decision::undecided, Outcome::skipped, reason);
}

/// Trials that there were not, unless the verdict's reason tells it.
void note_failures(FileVerdict& verdict) {
  for (const FileTrial& trial : verdict.trials) {
    if (!trial.failure.empty() && trial.failure != verdict.reason) {
      const bool check = trial.purpose == Purpose::check;
      const std::string what = check ? "not checked" : fmt::format("no trial of {}", to_string(trial.purpose));
      verdict.notes.push_back(fmt::format("{}: {}", what, trial.failure));
    }
  }
}

/// Kinds of operands on which a kernel is not what FP32 is.
void note_weaknesses(FileVerdict& verdict) {
  std::vector<std::string_view> kinds;
  std::string first;
  for (const JudgedCase& item : verdict.cases) {
    const std::optional<Distribution>& data = item.record.data;
    if (is_weak(item) && std::ranges::find(verdict.weak_on, *data) == verdict.weak_on.end()) {
      verdict.weak_on.push_back(*data);
      kinds.push_back(to_string(*data));
      first = first.empty() ? fmt::format("{}: {}", circumstances(item), item.record.reason) : first;
    }
  }
  if (!kinds.empty()) {
    verdict.notes.push_back(
        fmt::format("does not keep the bound of FP32 with {} operands; {}", fmt::join(kinds, ", "), first));
  }
}

/// The timed case that is most like this size.
const Record& nearest(const std::vector<const Record*>& timed, const Size& size) {
  return **std::ranges::min_element(
      timed, {}, [&](const Record* record) { return std::abs(std::log(products(record->size) / products(size))); });
}

/// Sizes next to those that were asked for at which a kernel is far slower beside cuBLAS.
void note_special_sizes(FileVerdict& verdict) {
  constexpr double FAR_SLOWER = 0.6;
  const std::vector<const Record*> timed = verdict.timed();
  for (const JudgedCase& item : verdict.cases) {
    const std::optional<Pair> near = beside_cublas(item.record);
    if (item.purpose != Purpose::speed || !item.hidden || !near) {
      continue;
    }
    const Record& asked = nearest(timed, item.record.size);
    const std::optional<Pair> there = beside_cublas(asked);
    if (there && near->paired < FAR_SLOWER * there->paired) {
      verdict.notes.push_back(fmt::format("fast only at {}: {:.3f} of cuBLAS there, and {:.3f} at {}",
                                          to_string(asked.size), there->paired, near->paired,
                                          to_string(item.record.size)));
    }
  }
}

/// Sizes at which a kernel is slower beside cuBLAS with operands that only look uniform. It knew the others, so that
/// the ratio with these counts.
void count_slower_decoys(FileVerdict& verdict) {
  constexpr double SLOWER = 0.9;  // by less it may be chance: decoys have fewer samples
  const std::vector<const Record*> timed = verdict.timed();
  for (const Record* const record : timed) {
    const std::optional<Pair> uniform = beside_cublas(*record);
    const double ratio = uniform ? uniform->smaller : 0.0;
    double of_decoy = ratio;  // the smallest
    for (const JudgedCase& item : verdict.cases) {
      const std::optional<Pair> decoy = beside_cublas(item.record);
      if (item.purpose == Purpose::decoy && item.record.size == record->size && decoy &&
          decoy->interval[1] < SLOWER * ratio) {
        of_decoy = std::min(of_decoy, decoy->paired);
      }
    }
    if (verdict.ratio && of_decoy < ratio) {
      const double factor = std::pow(of_decoy / ratio, 1.0 / static_cast<double>(timed.size()));
      verdict.ratio = {verdict.ratio->mean * factor, verdict.ratio->low * factor, verdict.ratio->high * factor};
      verdict.notes.push_back(
          fmt::format("slower with other operands at {}: {:.3f} of cuBLAS, which counts, and {:.3f} "
                      "with uniform ones",
                      to_string(record->size), of_decoy, ratio));
    }
  }
}

void copy_if_there(Json& json, const Json& of_case, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (of_case.contains(name)) {
      json[name] = of_case.at(name);
    }
  }
}

Json speed_json(const Record& record) {
  const Json of_case = to_json(record);
  const Json& time = of_case.at("time_us");
  const double flop = flops(record.size);
  Json json;
  json["size"] = to_string(record.size);
  for (const char* const name : {"median", "ci_low", "ci_high"}) {
    json["time_us"][name] = time.at(name);
  }
  json["gflops"] = of_case.at("gflops");
  json["gflops_ci"] = {flop / time.at("ci_high").get<double>() / 1e3, flop / time.at("ci_low").get<double>() / 1e3};
  copy_if_there(json, of_case, {"vs_cublas", "vs_cublas_ci", "vs_cublas_alone"});
  json["samples"] = of_case.at("samples_us").size();
  json["throttled"] = record.throttled();
  return json;
}

}  // namespace

void to_json(Json& json, const FileTrial& trial) {
  json = {{"trial", to_string(trial.purpose)}, {"command", trial.words}, {"seconds", trial.seconds}};
}

void to_json(Json& json, const JudgedCase& item) {
  json = {{"trial", to_string(item.purpose)}, {"hidden", item.hidden}, {"size", to_string(item.record.size)}};
  if (item.record.data) {
    json["data"] = *item.record.data;
  }
  json["outcome"] = to_string(item.record.outcome);
  json["reason"] = item.record.reason;
  copy_if_there(json, to_json(item.record), {"rel_err", "gflops", "vs_cublas"});
}

std::string_view to_string(Purpose purpose) {
  constexpr std::array<std::string_view, 4> WORDS{"check", "operands", "decoy", "speed"};
  return WORDS.at(static_cast<std::size_t>(purpose));
}

std::string_view to_string(Decision decision) {
  constexpr std::array<std::string_view, 3> WORDS{"accepted", "refused", "undecided"};
  return WORDS.at(static_cast<std::size_t>(decision));
}

std::vector<const Record*> FileVerdict::timed() const {
  std::vector<const Record*> timed;
  for (const JudgedCase& item : cases) {
    if (item.purpose == Purpose::speed && !item.hidden && item.record.outcome == Outcome::measured) {
      timed.push_back(&item.record);
    }
  }
  return timed;
}

FileVerdict verdict_of(const Findings& findings) {
  FileVerdict verdict;
  verdict.trials = findings.trials;
  for (const FileTrial& trial : findings.trials) {
    for (const Record& record : trial.records) {
      const bool asked = std::ranges::find(findings.asked, record.size) != findings.asked.end();
      const bool hidden = !asked || record.data || trial.purpose == Purpose::decoy;
      verdict.cases.push_back({trial.purpose, hidden, record});
    }
  }
  decide(findings, verdict);
  note_failures(verdict);
  note_weaknesses(verdict);
  if (verdict.decision == Decision::accepted) {
    verdict.ratio = ratio_of(verdict.timed());
    count_slower_decoys(verdict);
    note_special_sizes(verdict);
  }
  return verdict;
}

Json to_json(const FileVerdict& verdict) {
  Json json;
  json["file"] = verdict.file;
  json["hash"] = verdict.hash;
  json["accepted"] = verdict.decision == Decision::accepted;
  json["verdict"] = to_string(verdict.decision);
  json["outcome"] = verdict.outcome;
  json["reason"] = verdict.reason;
  json["vs_cublas"] = nullptr;
  if (verdict.ratio) {
    json["vs_cublas"] = {
        {"mean", verdict.ratio->mean}, {"ci_low", verdict.ratio->low}, {"ci_high", verdict.ratio->high}};
  }
  json["speeds"] = Json::array();
  if (verdict.decision == Decision::accepted) {
    for (const Record* const record : verdict.timed()) {
      json["speeds"].push_back(speed_json(*record));
    }
  }
  json["weak_on"] = verdict.weak_on;
  json["notes"] = verdict.notes;
  json["trials"] = verdict.trials;
  json["cases"] = verdict.cases;
  return json;
}

}  // namespace sgemm
