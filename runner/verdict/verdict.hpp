#pragma once

#include "cli/options.hpp"
#include "device/device.hpp"
#include "judge/hidden.hpp"
#include "record/protocol.hpp"
#include "record/record.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// What a file is tried for. Each trial is a run of this program with a command line that anybody can type.
enum class Purpose {
  check,     ///< on the executor, with every access to memory checked
  operands,  ///< hidden sizes and hidden kinds of operands, compared with double precision
  decoy,     ///< timed as for the speed, with operands that only look like its own
  speed,     ///< the sizes that were asked for, and others near them, timed beside cuBLAS
};

std::string_view to_string(Purpose purpose);

struct FileTrial {
  Purpose purpose = Purpose::check;
  std::vector<std::string> words;  ///< the command line, after the program's name
  double seconds = 0.0;
  std::string failure;  ///< why there are no records, in one line
  std::vector<Record> records;
};

/// What becomes of a file.
enum class Decision {
  accepted,   ///< right wherever it was tried, and timed at all sizes that were asked for
  refused,    ///< wrong somewhere, faster than the machine can be, or not a kernel for these sizes
  undecided,  ///< nothing is wrong with it as far as it could be tried here
};

std::string_view to_string(Decision decision);

/// A case of a trial. Those are hidden that the secret chose.
struct JudgedCase {
  Purpose purpose = Purpose::check;
  bool hidden = false;
  Record record;
};

/// How many times as fast as cuBLAS a file is over all sizes that were asked for: the geometric mean of the smaller of
/// both ratios of each, in turns and alone, and of that with decoys where it is far smaller. The interval is that of
/// the ratios in turns, moved to that mean.
struct Ratio {
  double mean = 0.0;
  double low = 0.0;
  double high = 0.0;
};

struct FileVerdict {
  std::string file;
  std::string hash;
  Decision decision = Decision::undecided;
  std::string outcome;  ///< of the case that decided, as results files have it
  std::string reason;   ///< empty where it is accepted
  std::optional<Ratio> ratio;
  std::vector<JudgedCase> cases;
  std::vector<Distribution> weak_on;  ///< where it does not keep the bound of FP32, and need not
  std::vector<std::string> notes;     ///< what could not be tried, and what a reader of the speed has to know
  std::vector<FileTrial> trials;

  /// The cases that were asked for, as far as they were timed.
  std::vector<const Record*> timed() const;
};

/// What is known of a file when its trials are over.
struct Findings {
  std::vector<Size> asked;
  std::string no_gpu;          ///< why nothing is timed here, or empty
  std::string no_hidden_size;  ///< why it was tried at no size but those that were asked for, or empty
  std::vector<FileTrial> trials;
};

/// Decides by the trials of a file. Fills in everything but file and hash.
FileVerdict verdict_of(const Findings& findings);

/// The verdict as verdicts.schema.json has it.
Json to_json(const FileVerdict& verdict);

/// The files that a --judge expression names, as parts of --kernel: files separated by commas, and the *.cu of folders
/// in alphabetical order. Throws UsageError for a file or folder that is not there, and for a folder without any.
std::vector<std::string> judged_files(std::string_view expression);

/// The file of verdicts that --json writes (verdicts.schema.json), without a secret while the run is under way.
Json verdicts_document(const Options& options, const DeviceQuery& device, const std::vector<Size>& asked,
                       const std::optional<Secret>& secret, const std::vector<FileVerdict>& verdicts);

/// Runs the program with --judge: tries each file, prints a verdict for each and, with --json, writes them all.
ExitStatus run_judge(const Options& options);

}  // namespace sgemm
