#pragma once

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "judge/secret.hpp"
#include "verdict/verdict.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// The files that a --judge expression names, as parts of --kernel: files separated by commas, and the *.cu of folders
/// in alphabetical order. Throws UsageError for a file or folder that is not there, and for a folder without any.
std::vector<std::string> judged_files(std::string_view expression);

/// The file of verdicts that --json writes (verdicts.schema.json).
nlohmann::ordered_json verdicts_document(const Options& options, const DeviceQuery& device,
                                         const std::vector<Size>& asked, const Secret& secret,
                                         const std::vector<FileVerdict>& verdicts);

/// Runs the program with --judge: tries each file, prints a verdict for each and, with --json, writes them all.
ExitStatus run_judge(const Options& options);

}  // namespace sgemm
