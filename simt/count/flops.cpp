#include "count/flops.hpp"

#include "core/program.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace simt {
namespace {

constexpr std::string_view TRACE_CALL = "<__sanitizer_cov_trace_pc";

/// Operations of functions that instrumented code calls for what the source has as one operation.
unsigned flops_of_call(std::string_view operands) {
  constexpr std::array FMA{"<fmaf@plt>", "<fma@plt>", "<fmaf>", "<fma>"};
  return std::ranges::any_of(FMA, [&](std::string_view name) { return operands.find(name) != operands.npos; }) ? 2 : 0;
}

/// The operations that "addps", "vfmadd231ss" and the like make; 0 for all else. `operands` tell the width of packed
/// ones.
unsigned flops_of(std::string_view mnemonic, std::string_view operands) {
  if (mnemonic.starts_with('v')) {
    mnemonic.remove_prefix(1);
  }
  if (mnemonic.size() < 2) {
    return 0;
  }
  const std::string_view type = mnemonic.substr(mnemonic.size() - 2);
  if (type != "ss" && type != "sd" && type != "ps" && type != "pd") {
    return 0;
  }
  const std::string_view stem = mnemonic.substr(0, mnemonic.size() - 2);
  unsigned flops = 0;
  if (stem == "add" || stem == "sub" || stem == "mul" || stem == "div") {
    flops = 1;
  } else if (stem.starts_with("fmadd") || stem.starts_with("fmsub") || stem.starts_with("fnmadd") ||
             stem.starts_with("fnmsub")) {
    flops = 2;
  }
  if (type[0] == 's') {
    return flops;
  }
  const unsigned bytes = operands.find("%zmm") != std::string_view::npos   ? 64
                         : operands.find("%ymm") != std::string_view::npos ? 32
                                                                           : 16;
  return flops * bytes / (type[1] == 's' ? 4 : 8);
}

/// A line of objdump's output that shows an instruction: "  40117a:\tmulss  %xmm1,%xmm0".
struct Instruction {
  std::uintptr_t address = 0;
  std::string_view mnemonic;
  std::string_view operands;

  static std::optional<Instruction> parse(std::string_view line) {
    const std::size_t colon = line.find(":\t");
    const std::size_t begin = line.find_first_not_of(' ');
    Instruction result;
    if (colon == std::string_view::npos ||
        std::from_chars(line.data() + begin, line.data() + colon, result.address, 16).ptr != line.data() + colon) {
      return std::nullopt;
    }
    const std::string_view text = line.substr(colon + 2);
    const std::size_t gap = std::min(text.find(' '), text.size());
    result.mnemonic = text.substr(0, gap);
    result.operands = text.substr(gap);
    return result;
  }
};

/// Asks objdump. All codes belong to the program.
std::optional<std::vector<Instructions>> look_up([[maybe_unused]] const Program& program,
                                                 [[maybe_unused]] std::span<const void* const> codes) {
#ifdef __x86_64__
  std::vector<Instructions> result(codes.size());
  // Code of a kernel lies together, its helpers possibly far away: what lies near is disassembled at once.
  constexpr std::uintptr_t NEAR = 1U << 16U;
  constexpr std::uintptr_t LONGEST_BLOCK = 1U << 14U;
  for (std::size_t first = 0; first < codes.size();) {
    std::size_t end = first + 1;
    while (end < codes.size() && program.in_file(codes[end]) - program.in_file(codes[end - 1]) < NEAR) {
      ++end;
    }
    std::ostringstream command;
    command << "objdump -d --no-show-raw-insn --start-address=0x" << std::hex << program.in_file(codes[first])
            << " --stop-address=0x" << program.in_file(codes[end - 1]) + LONGEST_BLOCK << " '" << program.path << '\'';
    const std::vector<std::string> lines = output_of(command.str());
    if (lines.empty()) {
      return std::nullopt;
    }
    std::size_t next = first;
    Instructions* behind = nullptr;
    for (const std::string& line : lines) {
      const std::optional<Instruction> instruction = Instruction::parse(line);
      if (!instruction) {
        if (line.ends_with(">:") && next > first) {
          behind = nullptr;  // another function
        }
        continue;
      }
      if (next < end && instruction->address == program.in_file(codes[next])) {
        behind = &result[next++];
      }
      if (instruction->operands.find(TRACE_CALL) != std::string_view::npos) {
        behind = nullptr;
      } else if (behind != nullptr) {
        const bool call = instruction->mnemonic.starts_with("call") || instruction->mnemonic.starts_with("jmp");
        if (const unsigned flops =
                call ? flops_of_call(instruction->operands) : flops_of(instruction->mnemonic, instruction->operands)) {
          behind->push_back({std::bit_cast<const void*>(program.base + instruction->address), flops});
        }
      }
    }
    first = end;
  }
  return result;
#else
  return std::nullopt;
#endif
}

}  // namespace

std::optional<std::vector<Instructions>> flops_behind(std::span<const void* const> codes) {
  if (codes.empty()) {
    return std::vector<Instructions>();
  }
  // What a launch runs lies in one file, where it stays as it is.
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::uintptr_t>, Instructions> known;
  const std::lock_guard lock(mutex);
  const Program program = Program::of(codes.front());
  const auto key = [&](const void* code) { return std::pair(program.path, program.in_file(code)); };
  std::vector<const void*> missing;
  std::copy_if(codes.begin(), codes.end(), std::back_inserter(missing),
               [&](const void* code) { return !known.contains(key(code)); });
  if (!missing.empty()) {
    const auto found = look_up(program, missing);
    if (!found) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < missing.size(); ++i) {
      known[key(missing[i])] = (*found)[i];
    }
  }
  std::vector<Instructions> result;
  for (const void* const code : codes) {
    result.push_back(known[key(code)]);
  }
  return result;
}

}  // namespace simt
