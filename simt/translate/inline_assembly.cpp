// Inline assembly as C++: operands become variables (PTX's registers), and instructions calls of functions in
// simt/ptx_instructions.hpp. PTX ISA 9.0; the constraints are those of "Inline PTX Assembly in CUDA".

#include "translate/inline_assembly.hpp"

#include "simt/source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace simt {
namespace {

/// The instruction is none of those that are known here.
struct Unknown {};

/// The statement is not understood.
struct NotUnderstood {
  std::string what;
};

/// Splits where no bracket is open.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (depth == 0 && text[i] == separator)) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    } else {
      depth += text[i] == '{' || text[i] == '[' || text[i] == '(' ? 1 : 0;
      depth -= text[i] == '}' || text[i] == ']' || text[i] == ')' ? 1 : 0;
    }
  }
  if (parts.size() == 1 && parts.front().empty()) {
    parts.clear();
  }
  return parts;
}

std::string type_named(std::string_view name) {
  static const std::map<std::string_view, std::string> types{
      {"b8", "std::uint8_t"},   {"u8", "std::uint8_t"},     {"s8", "std::int8_t"},       {"b16", "std::uint16_t"},
      {"u16", "std::uint16_t"}, {"s16", "std::int16_t"},    {"f16", "std::uint16_t"},    {"bf16", "std::uint16_t"},
      {"b32", "std::uint32_t"}, {"u32", "std::uint32_t"},   {"s32", "std::int32_t"},     {"f32", "float"},
      {"b64", "std::uint64_t"}, {"u64", "std::uint64_t"},   {"s64", "std::int64_t"},     {"f64", "double"},
      {"pred", "bool"},         {"f16x2", "std::uint32_t"}, {"bf16x2", "std::uint32_t"}, {"tf32", "std::uint32_t"}};
  const auto found = types.find(name);
  if (found == types.end()) {
    throw Unknown{};
  }
  return found->second;
}

struct Operand {
  std::string constraint;  ///< without "=" and "+"
  bool written = false;
  bool read = false;
  std::string expression;
};

std::string register_of(std::size_t operand) { return "simt_" + std::to_string(operand); }

/// What an asm statement's instructions may name.
struct Names {
  std::vector<Operand> operands;
  std::set<std::string> declared;  ///< by .reg, without percent signs
};

std::string_view without_percent(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('%'), name.size()));
}

/// One instruction: "cp.async.cg.shared.global" with its operands.
class Instruction {
 public:
  Instruction(const std::string& text, const Names& names) : names_(names) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    // "::" is part of "shared::cta".
    parts_ = split(std::string_view(text).substr(0, end), '.');
    arguments_ = split(std::string_view(text).substr(end), ',');
  }

  std::string translation() const {
    struct Form {
      std::string (Instruction::*translate)() const;
      std::string_view modifiers;  ///< that it takes, beside types; "L::" for hints to caches. Others are refused
    };
    constexpr std::string_view ANY = "*";
    static const std::map<std::string_view, Form> forms{
        {"mov", {&Instruction::mov, ""}},
        {"ld",
         {&Instruction::load,
          "global shared shared::cta shared::cluster weak volatile relaxed acquire cta cluster "
          "gpu sys nc ca cg cs lu cv v2 v4 L::"}},
        {"ldu", {&Instruction::load, "global v2 v4"}},
        {"st",
         {&Instruction::store,
          "global shared shared::cta weak volatile relaxed release cta cluster gpu sys wb cg "
          "cs wt v2 v4 L::"}},
        {"cp",
         {&Instruction::copy,
          "async bulk ca cg shared shared::cta shared::cluster global bulk_group read prefetch "
          "L2 mbarrier mbarrier::complete_tx::bytes arrive noinc commit_group wait_group "
          "wait_all L::"}},
        {"cvta", {&Instruction::cvta, "to shared shared::cta global"}},
        {"cvt", {&Instruction::cvt, "rn rna rni rmi rpi rzi ftz"}},
        {"bar", {&Instruction::bar, "cta warp sync arrive aligned"}},
        {"barrier", {&Instruction::bar, "cta cluster sync arrive wait aligned release acquire relaxed"}},
        {"mma", {&Instruction::mma, ANY}},
        {"ldmatrix", {&Instruction::matrix, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta"}},
        {"stmatrix", {&Instruction::matrix, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta"}},
        {"red", {&Instruction::atomic, ATOMIC}},
        {"atom", {&Instruction::atomic, ATOMIC}},
        {"mbarrier",
         {&Instruction::mbarrier,
          "init arrive expect_tx try_wait test_wait parity shared shared::cta "
          "release acquire cta cluster"}},
        {"setp", {&Instruction::setp, "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ftz"}},
        {"selp", {&Instruction::selp, ""}},
        {"bra", {&Instruction::bra, "uni"}},
        {"nanosleep", {&Instruction::give_way, ""}},
        {"shfl", {&Instruction::shuffle, "sync up down bfly idx"}},
        {"vote", {&Instruction::vote, "sync ballot any all"}},
        {"elect", {&Instruction::elect, "sync"}},
        {"mapa", {&Instruction::mapa, "shared::cluster"}},
        {"wgmma", {&Instruction::wgmma, ANY}},
        {"createpolicy", {&Instruction::policy, ANY}},
        // Hints, and orders that the executor keeps anyway.
        {"prefetch", {&Instruction::nothing, ANY}},
        {"prefetchu", {&Instruction::nothing, ANY}},
        {"membar", {&Instruction::nothing, ANY}},
        {"fence", {&Instruction::nothing, ANY}},
        {"griddepcontrol", {&Instruction::nothing, ANY}},
        {"setmaxnreg", {&Instruction::nothing, ANY}}};
    const auto form = forms.find(parts_.front());
    if (form == forms.end()) {
      return arithmetic();
    }
    const std::string_view modifiers = form->second.modifiers;
    const std::vector<std::string> known = split(modifiers, ' ');
    const bool hints = modifiers.ends_with("L::");
    for (std::size_t i = 1; i < parts_.size() && modifiers != ANY; ++i) {
      const std::string& part = parts_[i];
      if (std::ranges::find(known, part) == known.end() &&
          !(hints && (part.starts_with("L1::") || part.starts_with("L2::")))) {
        type_named(part);
      }
    }
    return (this->*form->second.translate)();
  }

 private:
  static constexpr std::string_view ATOMIC =
      "global shared shared::cta relaxed release acquire acq_rel cta cluster gpu sys add min max and or xor exch cas "
      "inc "
      "dec L::";

  bool has(std::string_view part) const { return std::ranges::find(parts_, part) != parts_.end(); }

  /// Refuses what stands between the name and the last `last` parts, unless it is among `known`.
  void allow(std::initializer_list<std::string_view> known, std::size_t last = 1) const {
    for (std::size_t i = 1; i + last < parts_.size(); ++i) {
      if (std::ranges::find(known, parts_[i]) == known.end()) {
        throw Unknown{};
      }
    }
  }

  const std::string& argument(std::size_t index) const {
    if (index >= arguments_.size()) {
      throw Unknown{};
    }
    return arguments_[index];
  }

  /// The C++ expression of a register or an immediate operand.
  std::string expression(const std::string& text) const {
    if (const std::string name(without_percent(text)); names_.declared.contains(name)) {
      return "simt_" + name;
    }
    if (text.starts_with('%') && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1])) != 0) {
      const std::size_t number = std::stoul(text.substr(1));
      if (number >= names_.operands.size()) {
        throw Unknown{};
      }
      return register_of(number);
    }
    if (text.starts_with('%')) {
      return special(std::string(without_percent(text)));
    }
    if (text == "_") {
      return "simt_unused";
    }
    if (text.starts_with("0f") || text.starts_with("0F")) {
      return "simt::ptx::as<float>(0x" + text.substr(2) + "U)";
    }
    if (text.starts_with("0d") || text.starts_with("0D")) {
      return "simt::ptx::as<double>(0x" + text.substr(2) + "ULL)";
    }
    if (text.empty() || (std::isdigit(static_cast<unsigned char>(text[0])) == 0 && text[0] != '-')) {
      throw Unknown{};
    }
    return text;
  }

  static std::string special(const std::string& name) {
    static const std::map<std::string, std::string> registers{{"laneid", "simt::lane()"},
                                                              {"smid", "0U"},
                                                              {"tid.x", "threadIdx.x"},
                                                              {"tid.y", "threadIdx.y"},
                                                              {"tid.z", "threadIdx.z"},
                                                              {"ctaid.x", "blockIdx.x"},
                                                              {"ctaid.y", "blockIdx.y"},
                                                              {"ctaid.z", "blockIdx.z"},
                                                              {"ntid.x", "blockDim.x"},
                                                              {"ntid.y", "blockDim.y"},
                                                              {"ntid.z", "blockDim.z"},
                                                              {"nctaid.x", "gridDim.x"},
                                                              {"nctaid.y", "gridDim.y"},
                                                              {"nctaid.z", "gridDim.z"},
                                                              {"clock", "static_cast<unsigned>(clock64())"},
                                                              {"clock64", "static_cast<std::uint64_t>(clock64())"},
                                                              {"globaltimer", "static_cast<std::uint64_t>(clock64())"}};
    const auto found = registers.find(name);
    if (found == registers.end()) {
      throw Unknown{};
    }
    return found->second;
  }

  std::string value(std::size_t index) const {
    const std::string& text = argument(index);
    return text.starts_with('!') ? "!" + expression(text.substr(1)) : expression(text);
  }
  std::string as(const std::string& type, std::size_t index) const {
    return "simt::ptx::as<" + type + ">(" + value(index) + ")";
  }
  /// As the type that the mnemonic ends with.
  std::string typed(std::size_t index) const { return as(type_named(parts_.back()), index); }

  std::string assign(const std::string& type, const std::string& result) const {
    return "simt::ptx::set<" + type + ">(" + value(0) + ", " + result + ")";
  }

  /// Of "a|p": what `call` gives goes to a, and to the predicate whether it holds, which is `call`'s last argument.
  std::string assign_with_predicate(const std::string& call) const {
    const std::string& both = argument(0);
    const std::size_t bar = both.find('|');
    const std::string predicate = bar == both.npos ? "_" : trimmed(std::string_view(both).substr(bar + 1));
    return "bool simt_holds; simt::ptx::set<std::uint32_t>(" + expression(trimmed(both.substr(0, bar))) + ", " + call +
           ", simt_holds)); " +
           (predicate == "_" ? "" : "simt::ptx::set<bool>(" + expression(predicate) + ", simt_holds)");
  }

  /// "{a, b}" as the registers; one alone without brackets.
  std::vector<std::string> registers(std::size_t index) const {
    std::string_view text = argument(index);
    if (text.starts_with('{') && text.ends_with('}')) {
      text = text.substr(1, text.size() - 2);
    }
    std::vector<std::string> result;
    for (const std::string& part : split(text, ',')) {
      result.push_back(expression(part));
    }
    return result;
  }

  /// The registers of argument 0 with the elements of what `array` gives.
  std::string spread(const std::string& type, const std::string& array, const std::string& member = "") const {
    std::string text = "{ const auto simt_array = " + array + ";";
    const std::vector<std::string> targets = registers(0);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      text += " simt::ptx::set<" + type + ">(" + targets[i] + ", simt_array" + member + "[" + std::to_string(i) + "]);";
    }
    return text + " }";
  }

  /// "{a, b}", for a std::array.
  std::string list(const std::string& type, std::size_t index) const {
    std::string text;
    for (const std::string& part : registers(index)) {
      text.append(text.empty() ? "" : ", ").append("simt::ptx::as<").append(type).append(">(").append(part) += ')';
    }
    return "{" + text + "}";
  }

  /// Of "[register+4]", without the brackets.
  std::string address(std::size_t index) const {
    const std::string& text = argument(index);
    if (!text.starts_with('[') || !text.ends_with(']')) {
      throw Unknown{};
    }
    const std::string inside = trimmed(std::string_view(text).substr(1, text.size() - 2));
    const std::size_t sign = inside.find_first_of("+-", 1);
    if (sign == inside.npos) {
      return expression(inside);
    }
    const std::string offset = trimmed(std::string_view(inside).substr(sign + 1));
    return expression(trimmed(std::string_view(inside).substr(0, sign))) + " " + inside[sign] + " " +
           expression(offset);
  }
  std::string shared(std::size_t index) const { return "static_cast<unsigned>(" + address(index) + ")"; }
  bool is_shared() const { return has("shared") || has("shared::cta"); }
  /// A pointer, as the mnemonic's state space says.
  std::string pointer(std::size_t index) const {
    return is_shared() ? "simt::ptx::shared_pointer(" + shared(index) + ")"
                       : "simt::ptx::generic_pointer(" + address(index) + ")";
  }

  std::string nothing() const { return ""; }
  std::string give_way() const { return "simt::give_way()"; }
  std::string bra() const { return "goto simt_label_" + argument(0); }
  std::string policy() const { return assign("std::uint64_t", "std::uint64_t{}"); }
  std::string selp() const { return assign(type_named(parts_.back()), value(3) + " ? " + typed(1) + " : " + typed(2)); }

  std::string mov() const {
    const std::string type = type_named(parts_.back());
    if (argument(1).starts_with('{')) {
      return assign(type, "simt::ptx::packed<" + type + ">" + pair(1));
    }
    if (argument(0).starts_with('{')) {
      return "simt::ptx::unpack<" + type + ">(" + value(1) + ", " + pair(0).substr(1);
    }
    return assign(type, typed(1));
  }
  /// "(a, b)"
  std::string pair(std::size_t index) const {
    const std::vector<std::string> two = registers(index);
    if (two.size() != 2) {
      throw Unknown{};
    }
    return "(" + two[0] + ", " + two[1] + ")";
  }

  std::string vector_type() const {
    const std::string count = has("v2") ? "2" : has("v4") ? "4" : "1";
    return "simt::ptx::Vector<" + type_named(parts_.back()) + ", " + count + ">";
  }
  std::string load() const {
    if (has("shared::cluster")) {
      return spread(type_named(parts_.back()),
                    "simt::ptx::load_in_cluster<" + vector_type() + ">(" + shared(1) + ", simt_site)", ".values");
    }
    return spread(type_named(parts_.back()), "simt::ptx::load<" + vector_type() + ">(" + pointer(1) + ")", ".values");
  }
  std::string store() const {
    return "simt::ptx::store(" + pointer(0) + ", " + vector_type() + "{" + list(type_named(parts_.back()), 1) + "})";
  }

  std::string copy() const {
    if (parts_.size() < 3 || parts_[1] != "async") {
      throw Unknown{};
    }
    if (has("bulk")) {
      return bulk_copy();
    }
    if (parts_[2] == "commit_group") {
      return "simt::commit_copies()";
    }
    if (parts_[2] == "wait_group") {
      return "simt::wait_for_copies(static_cast<unsigned>(" + value(0) + "))";
    }
    if (parts_[2] == "wait_all") {
      return "simt::commit_copies(); simt::wait_for_copies(0)";
    }
    if (parts_[2] == "mbarrier" && has("arrive")) {
      return std::string("simt::mbarrier_") + (has("noinc") ? "arrive_after" : "announce") + "_copies(" + shared(0) +
             ", simt_site)";
    }
    if ((parts_[2] != "ca" && parts_[2] != "cg") || parts_.size() < 5 || !parts_[3].starts_with("shared") ||
        has("shared::cluster") || parts_[4] != "global") {
      throw Unknown{};
    }
    const std::size_t hints = has("L2::cache_hint") ? 1 : 0;  // the last operand
    const bool has_source_bytes = arguments_.size() > 3 + hints && !argument(3).empty();
    return "simt::ptx::cp_async(" + shared(0) + ", simt::ptx::generic_pointer(" + address(1) + "), " + value(2) + ", " +
           (has_source_bytes ? "simt::ptx::source_bytes(" + value(3) + ", " + value(2) + ")" : value(2)) +
           ", simt_site)";
  }

  std::string bulk_copy() const {
    if (has("prefetch") || has("commit_group") || has("wait_group")) {
      return "";  // copies to global memory are complete when they have started
    }
    const auto is = [&](std::initializer_list<std::string_view> spaces) {
      return parts_.size() >= 3 + spaces.size() &&
             std::ranges::equal(spaces, std::span(parts_).subspan(3, spaces.size()));
    };
    if (is({"global", "shared::cta", "bulk_group"})) {
      return "simt::ptx::bulk_copy_to_global(simt::ptx::generic_pointer(" + address(0) + "), " + shared(1) +
             ", static_cast<unsigned>(" + value(2) + "), simt_site)";
    }
    // Of a cluster, to the own block.
    if (!is({"shared::cluster", "global", "mbarrier::complete_tx::bytes"}) &&
        !is({"shared::cta", "global", "mbarrier::complete_tx::bytes"})) {
      throw Unknown{};
    }
    return "simt::bulk_copy(" + shared(0) + ", simt::ptx::generic_pointer(" + address(1) + "), static_cast<unsigned>(" +
           value(2) + "), " + shared(3) + ", simt_site)";
  }

  std::string cvta() const {
    if (has("to")) {
      return assign(type_named(parts_.back()), is_shared() ? "simt::ptx::to_shared(" + value(1) + ")" : typed(1));
    }
    return assign(type_named(parts_.back()), is_shared() ? "simt::ptx::from_shared(" + value(1) + ")" : typed(1));
  }

  std::string cvt() const {
    if (parts_.size() < 3) {
      throw Unknown{};
    }
    const std::string& to = parts_[parts_.size() - 2];
    const std::string& from = parts_.back();
    const std::string type = type_named(to);
    if (to == "tf32" && from == "f32") {
      allow({"rna"}, 2);
      return assign(type, "simt::ptx::to_tf32(" + as("float", 1) + ")");
    }
    if (from == "f32" && to.find("f16") != to.npos) {
      allow({"rn"}, 2);
      return assign(type, to.ends_with("x2")
                              ? "simt::ptx::packed_" + to + "(" + as("float", 1) + ", " + as("float", 2) + ")"
                              : "simt::ptx::to_" + to + "(" + as("float", 1) + ")");
    }
    if ((from == "f16" || from == "bf16") && to == "f32") {
      allow({"ftz"}, 2);
      return assign(type, "simt::ptx::from_" + from + "(" + as("std::uint16_t", 1) + ")");
    }
    if (to.find("f16") != to.npos || from.find("f16") != from.npos) {
      throw Unknown{};
    }
    if (from[0] == 'f') {
      static const std::map<std::string_view, std::string> roundings{
          {"rni", "__builtin_rint"}, {"rmi", "__builtin_floor"}, {"rpi", "__builtin_ceil"}, {"rzi", "__builtin_trunc"}};
      const auto rounding = roundings.find(parts_[1]);
      if (rounding != roundings.end()) {
        allow({parts_[1], "ftz"}, 2);
        const std::string whole = rounding->second + "(" + typed(1) + ")";
        return assign(type, to[0] == 'f' ? "static_cast<" + type + ">(" + whole + ")"
                                         : "simt::ptx::to_integer<" + type + ">(" + whole + ")");
      }
      if (to[0] != 'f') {
        throw Unknown{};
      }
    }
    allow({"rn", "ftz"}, 2);
    return assign(type, "static_cast<" + type + ">(" + typed(1) + ")");
  }

  std::string bar() const {
    if (has("cluster")) {
      if (has("arrive") == has("wait")) {
        throw Unknown{};
      }
      return has("wait") ? "simt::cluster_barrier(simt_site)" : "";  // where all threads wait, all have arrived
    }
    if (has("warp")) {
      return "simt::warp_barrier(static_cast<unsigned>(" + value(0) + "), simt_site)";
    }
    const std::string threads =
        arguments_.size() > 1 ? "static_cast<unsigned>(" + value(1) + ")" : "blockDim.x * blockDim.y * blockDim.z";
    const std::string arguments = "(static_cast<unsigned>(" + value(0) + "), " + threads + ", simt_site)";
    if (has("arrive")) {
      return "simt::barrier_arrive" + arguments;
    }
    if (!has("sync")) {
      throw Unknown{};
    }
    return "simt::barrier" + arguments;
  }

  std::string mma() const {
    // mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    if (has("satfinite") && has("s8")) {
      Instruction plain = *this;
      std::erase(plain.parts_, "satfinite");
      return plain.integer_mma(true);
    }
    if (has("s8")) {
      return integer_mma(false);
    }
    if (parts_.size() != 10 || parts_[1] != "sync" || parts_[4] != "row" || parts_[5] != "col" ||
        parts_[7] != parts_[8] || parts_[6] != parts_[9] || !parts_[3].starts_with("m16n8k")) {
      throw Unknown{};
    }
    const std::string k = parts_[3].substr(6);
    const std::string& type = parts_[7];
    const bool tf32 = type == "tf32" && parts_[6] == "f32" && (k == "4" || k == "8");
    const bool half = (type == "f16" || (type == "bf16" && parts_[6] == "f32")) && (k == "8" || k == "16") &&
                      (parts_[6] == "f32" || parts_[6] == "f16");
    if (!tf32 && !half) {
      throw Unknown{};
    }
    const std::string format = type == "tf32" ? "tf32" : type == "f16" ? "fp16" : "bf16";
    const std::string results = parts_[6] == "f32" ? "float" : "std::uint32_t";
    const std::string sums = results == "float" ? "simt::ptx::Floats" : "simt::ptx::PackedHalves";
    if (registers(0).size() != (parts_[6] == "f16" ? 2U : 4U)) {
      throw Unknown{};
    }
    return spread(results, "simt::ptx::mma(simt::MmaFormat::" + format + ", " + k + ", " + list("std::uint32_t", 1) +
                               ", " + list("std::uint32_t", 2) + ", " + sums + list(results, 3) + ", simt_site)");
  }

  /// mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 and the like.
  std::string integer_mma(bool saturates) const {
    static const std::map<std::string_view, std::array<std::size_t, 3>> registers_of{
        {"m8n8k16", {2, 1, 1}}, {"m16n8k16", {4, 2, 1}}, {"m16n8k32", {4, 4, 2}}};
    const std::vector<std::string> behind{"row", "col", "s32", "s8", "s8", "s32"};
    const auto shape = registers_of.find(parts_.size() == 10 ? parts_[3] : "");
    if (shape == registers_of.end() || parts_[1] != "sync" || parts_[2] != "aligned" ||
        !std::equal(behind.begin(), behind.end(), parts_.begin() + 4)) {
      throw Unknown{};
    }
    for (std::size_t i = 0; i < 4; ++i) {
      if (registers(i).size() != shape->second[i % 3]) {
        throw Unknown{};
      }
    }
    std::string extents(shape->first.substr(1));
    extents.replace(extents.find('n'), 1, ", ").replace(extents.find('k'), 1, ", ");
    return spread("std::int32_t", "simt::ptx::mma({" + extents + "}, " + list("std::uint32_t", 1) + ", " +
                                      list("std::uint32_t", 2) + ", simt::ptx::Integers" + list("std::int32_t", 3) +
                                      (saturates ? ", true" : ", false") + ", simt_site)");
  }

  /// wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {d}, a, b, add, 1, 1, 0, 0, whose result is there at once.
  std::string wgmma() const {
    if (parts_.size() > 1 && (parts_[1] == "fence" || parts_[1] == "commit_group" || parts_[1] == "wait_group")) {
      return "";
    }
    const std::size_t results = registers(0).size();
    const bool half = parts_.size() == 8 && (parts_[6] == "f16" || parts_[6] == "bf16") && parts_[7] == parts_[6];
    if (!half || parts_[1] != "mma_async" || parts_[5] != "f32" || results == 0 || results % 4 != 0 || results > 128 ||
        parts_[4] != "m64n" + std::to_string(2 * results) + "k16") {
      throw Unknown{};
    }
    const bool a_in_registers = argument(1).starts_with('{');
    const std::vector<std::string_view> flags = a_in_registers ? std::vector<std::string_view>{"1", "1", "0"}
                                                               : std::vector<std::string_view>{"1", "1", "0", "0"};
    for (std::size_t i = 0; i < flags.size(); ++i) {  // signs of A and B, and whether they are transposed
      if (constant(4 + i) != flags[i]) {
        throw Unknown{};
      }
    }
    const std::string a = a_in_registers ? "simt::ptx::WgmmaPart{" + list("std::uint32_t", 1) + "}"
                                         : "simt::ptx::wgmma_rows(" + as("std::uint64_t", 1) + ")";
    return spread("float", "simt::ptx::wgmma(simt::HalfFormat::" + std::string(parts_[6] == "f16" ? "fp16" : "bf16") +
                               ", std::array<float, " + std::to_string(results) + ">" + list("float", 0) + ", " + a +
                               ", " + as("std::uint64_t", 2) + ", " + value(3) + ", simt_site)");
  }
  /// An immediate operand, also one that the statement passes in.
  std::string constant(std::size_t index) const {
    const std::string& text = argument(index);
    const std::size_t number = text.starts_with('%') ? std::stoul(text.substr(1)) : names_.operands.size();
    return number < names_.operands.size() ? names_.operands[number].expression : text;
  }

  /// ldmatrix and stmatrix.
  std::string matrix() const {
    const bool loads = parts_.front() == "ldmatrix";
    const std::string count = has("x4") ? "4" : has("x2") ? "2" : "1";
    if (!has("m8n8") || !has("b16") || !is_shared() || std::to_string(registers(loads ? 0 : 1).size()) != count) {
      throw Unknown{};
    }
    const std::string behind = std::string(has("trans") ? ", true" : ", false") + ", simt_site)";
    return loads ? spread("std::uint32_t", "simt::ptx::ldmatrix<" + count + ">(" + shared(1) + behind)
                 : "simt::ptx::stmatrix<" + count + ">(" + shared(0) + ", " + list("std::uint32_t", 1) + behind;
  }

  /// red.global.add.f32 [a], b and atom.global.add.u32 d, [a], b, of one number each.
  std::string atomic() const {
    static const std::map<std::string, std::string> operations{
        {"add", "add"}, {"min", "min"},  {"max", "max"},       {"and", "and_"},
        {"or", "or_"},  {"xor", "xor_"}, {"exch", "exchange"}, {"cas", "compare_and_swap"},
        {"inc", "inc"}, {"dec", "dec"}};
    static const std::map<std::string, std::string> types{{"u32", "u32"}, {"b32", "u32"}, {"s32", "i32"},
                                                          {"u64", "u64"}, {"b64", "u64"}, {"s64", "i64"},
                                                          {"f32", "f32"}, {"f64", "f64"}};
    const auto operation =
        std::ranges::find_if(parts_, [&](const std::string& part) { return operations.contains(part); });
    const auto type = types.find(parts_.back());
    const bool returns = parts_.front() == "atom";
    const bool swaps = has("cas");
    if (operation == parts_.end() || type == types.end() ||
        arguments_.size() != (returns ? 3U : 2U) + (swaps ? 1U : 0U)) {
      throw Unknown{};
    }
    const std::string bits = type->second.ends_with("64") ? "std::uint64_t" : "std::uint32_t";
    const std::string call = "simt::atomic(simt::AtomicOperation::" + operations.at(*operation) +
                             ", simt::AtomicType::" + type->second + ", " + pointer(returns ? 1 : 0) + ", " +
                             as(bits, arguments_.size() - 1) + ", " + (swaps ? as(bits, 2) : "0") + ", simt_site)";
    return returns ? assign(bits, "static_cast<" + bits + ">(" + call + ")") : call;
  }

  std::string mbarrier() const {
    const std::string& what = parts_.size() > 1 ? parts_[1] : throw Unknown{};
    if (what == "init") {
      return "simt::mbarrier_init(" + shared(0) + ", static_cast<unsigned>(" + value(1) + "), simt_site)";
    }
    if (what == "arrive") {
      const std::size_t first = argument(0).starts_with('[') ? 0 : 1;
      if (has("expect_tx")) {
        return "simt::mbarrier_arrive_expecting(" + shared(first) + ", static_cast<unsigned>(" + value(first + 1) +
               "), simt_site)";
      }
      if (arguments_.size() == first + 1) {
        return "simt::mbarrier_arrive(" + shared(first) + ", simt_site)";
      }
    }
    if ((what == "try_wait" || what == "test_wait") && has("parity")) {
      return "simt::mbarrier_wait(" + shared(1) + ", static_cast<unsigned>(" + value(2) + "), simt_site); " +
             assign("bool", "true");
    }
    throw Unknown{};
  }

  std::string setp() const {
    // With NaN, comparisons do not hold, those of "u" do.
    static const std::map<std::string, std::string> comparisons{{"eq", "=="}, {"lt", "<"},  {"le", "<="}, {"gt", ">"},
                                                                {"ge", ">="}, {"lo", "<"},  {"ls", "<="}, {"hi", ">"},
                                                                {"hs", ">="}, {"neu", "!="}};
    static const std::map<std::string, std::string> opposites{
        {"equ", "ne"}, {"ltu", ">="}, {"leu", ">"}, {"gtu", "<="}, {"geu", "<"}};
    if (parts_.size() != (has("ftz") ? 4U : 3U)) {
      throw Unknown{};
    }
    const std::string a = typed(1);
    const std::string b = typed(2);
    if (const auto found = comparisons.find(parts_[1]); found != comparisons.end()) {
      return assign("bool", a + " " + found->second + " " + b);
    }
    const std::string different = "(" + a + " < " + b + " || " + a + " > " + b + ")";
    if (parts_[1] == "ne") {
      return assign("bool", different);
    }
    if (parts_[1] == "num" || parts_[1] == "nan") {
      const std::string sign = parts_[1] == "num" ? " == " : " != ";
      return assign("bool", a + sign + a + (parts_[1] == "num" ? " && " : " || ") + b + sign + b);
    }
    if (const auto found = opposites.find(parts_[1]); found != opposites.end()) {
      return assign("bool", "!" + (found->second == "ne" ? different : "(" + a + " " + found->second + " " + b + ")"));
    }
    throw Unknown{};
  }

  std::string shuffle() const {
    // shfl.sync.bfly.b32 d, value, lane, limits, mask
    if (parts_.size() != 4 || parts_[1] != "sync" || parts_[2] == "sync" || parts_[3] != "b32") {
      throw Unknown{};
    }
    return assign_with_predicate("simt::ptx::shuffle(simt::ptx::Shuffle::" + parts_[2] + ", " + typed(1) + ", " +
                                 typed(2) + ", " + typed(3) + ", " + typed(4) + ", simt_site");
  }

  std::string elect() const {
    return assign_with_predicate("simt::ptx::elect(" + as("std::uint32_t", 1) + ", simt_site");
  }

  /// vote.sync.ballot.b32 d, p, mask
  std::string vote() const {
    if (parts_.size() != 4 || parts_[1] != "sync" || (parts_[2] == "ballot") != (parts_[3] == "b32")) {
      throw Unknown{};
    }
    return assign(type_named(parts_[3]),
                  "__" + parts_[2] + "_sync(" + as("std::uint32_t", 2) + ", " + value(1) + " ? 1 : 0, simt_site)");
  }

  std::string mapa() const {
    if (parts_.size() != 3 || parts_[2] != "u32") {
      throw Unknown{};
    }
    return assign("std::uint32_t", "simt::ptx::in_cluster(" + typed(1) + ", " + typed(2) + ", simt_site)");
  }

  std::string arithmetic() const {
    static const std::map<std::string, std::string> operators{{"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"},
                                                              {"rem", "%"}, {"and", "&"}, {"or", "|"},  {"xor", "^"}};
    static const std::map<std::string, std::string> functions{
        {"ex2", "__builtin_exp2"},         {"lg2", "__builtin_log2"},  {"sin", "__builtin_sin"},
        {"cos", "__builtin_cos"},          {"tanh", "__builtin_tanh"}, {"sqrt", "__builtin_sqrt"},
        {"rsqrt", "1.0 / __builtin_sqrt"}, {"rcp", "1.0 / "},          {"popc", "std::popcount"},
        {"clz", "std::countl_zero"},       {"brev", "__brev"}};
    const std::string& base = parts_.front();
    const std::string& type_name = parts_.back();
    if (parts_.size() < 2 || type_name.find("f16") != type_name.npos) {
      throw Unknown{};
    }
    const std::string type = type_named(type_name);
    const bool floats = type == "float" || type == "double";
    const auto call = [&](const std::string& function, std::size_t operands) {
      std::string arguments;
      for (std::size_t i = 1; i <= operands; ++i) {
        arguments += (i == 1 ? "" : ", ") + typed(i);
      }
      return assign(type, "simt::ptx::" + function + "<" + type + ">(" + arguments + ")");
    };
    const auto sign = [&](char letter, std::string_view bits) {
      return std::string("std::") + (letter == 's' ? "" : "u") + "int" + std::string(bits) + "_t";
    };
    const bool is_32 = type_name == "u32" || type_name == "s32";
    if (has("wide") && (base == "mul" || base == "mad") && (is_32 || type_name == "u16" || type_name == "s16")) {
      allow({"wide"});
      const std::string result = sign(type_name[0], is_32 ? "64" : "32");
      const std::string product = "static_cast<" + result + ">(" + typed(1) + ") * " + typed(2);
      return assign(result, base == "mul" ? product : product + " + " + as(result, 3));
    }
    if (base == "mul" && has("hi") && is_32) {
      allow({"hi"});
      return assign(type, "static_cast<" + type + ">(static_cast<" + sign(type_name[0], "64") + ">(" + typed(1) +
                              ") * " + typed(2) + " >> 32)");
    }
    if (base == "dp4a") {
      if (parts_.size() != 3 || (parts_[1] != "u32" && parts_[1] != "s32") || !is_32) {
        throw Unknown{};
      }
      return assign("std::uint32_t", "simt::sum_of_byte_products<" + sign(parts_[1][0], "8") + ", " +
                                         sign(type_name[0], "8") + ">(" + as("std::uint32_t", 1) + ", " +
                                         as("std::uint32_t", 2) + ", " + as("std::uint32_t", 3) + ")");
    }
    if (base == "shl" || base == "shr") {
      allow({});
      return assign(type, "simt::ptx::" + base + "(" + typed(1) + ", " + as("std::uint32_t", 2) + ")");
    }
    if (base == "lop3" || base == "prmt") {
      allow({});
      return base == "prmt" ? call("prmt", 3)
                            : assign(type, "simt::ptx::lop3(" + typed(1) + ", " + typed(2) + ", " + typed(3) + ", " +
                                               value(4) + ")");
    }
    if (base == "bfe") {
      allow({});
      return assign(type,
                    "simt::ptx::bfe(" + typed(1) + ", " + as("std::uint32_t", 2) + ", " + as("std::uint32_t", 3) + ")");
    }
    if (base == "abs") {
      allow({"ftz"});
      return call("abs", 1);
    }
    if (base == "bfi") {
      allow({});
      return assign(type, "simt::ptx::bfi(" + typed(1) + ", " + typed(2) + ", " + as("std::uint32_t", 3) + ", " +
                              as("std::uint32_t", 4) + ")");
    }
    if (const auto found = functions.find(base); found != functions.end()) {
      allow(floats ? std::initializer_list<std::string_view>{"rn", "approx", "ftz"}
                   : std::initializer_list<std::string_view>{});
      return assign(floats ? type : "std::uint32_t", found->second + "(" + typed(1) + ")");
    }
    if (floats) {
      allow({"rn", "ftz", base == "div" ? "approx" : "rn", base == "div" ? "full" : "rn"});
    } else {
      allow({base == "mul" || base == "mad" ? "lo" : ""});
    }
    if (const auto found = operators.find(base); found != operators.end()) {
      // In registers of integers, sums and products wrap around.
      const bool wraps = !floats && type != "bool" && std::string_view("+-*").find(found->second) != std::string::npos;
      const std::string operand = wraps ? "std::make_unsigned_t<" + type + ">" : type;
      return assign(type, "static_cast<" + type + ">(" + (wraps ? "1U * " : "") + as(operand, 1) + " " + found->second +
                              " " + as(operand, 2) + ")");
    }
    if ((base == "fma" || base == "mad") && floats) {
      return assign(type, "__builtin_fma" + std::string(type == "float" ? "f(" : "(") + typed(1) + ", " + typed(2) +
                              ", " + typed(3) + ")");
    }
    if (base == "mad") {
      const std::string operand = "std::make_unsigned_t<" + type + ">";
      return assign(type, "static_cast<" + type + ">(1U * " + as(operand, 1) + " * " + as(operand, 2) + " + " +
                              as(operand, 3) + ")");
    }
    if (base == "min" || base == "max") {
      return call(base, 2);
    }
    if (base == "neg" || base == "not") {
      return assign(type, "static_cast<" + type + ">(" +
                              (base == "neg"    ? "-"
                               : type == "bool" ? "!"
                                                : "~") +
                              typed(1) + ")");
    }
    throw Unknown{};
  }

  const Names& names_;
  std::vector<std::string> parts_;
  std::vector<std::string> arguments_;
};

/// ".reg .b32 a, b" as "std::uint32_t simt_a, simt_b".
std::string declaration(const std::string& text, std::set<std::string>& declared) {
  std::istringstream words(text);
  std::string reg;
  std::string type;
  words >> reg >> type;
  std::string rest;
  std::getline(words, rest, '\0');
  if (type.size() < 2 || rest.find('<') != rest.npos) {
    throw Unknown{};
  }
  std::string names;
  for (const std::string& name : split(rest, ',')) {
    names += (names.empty() ? " simt_" : ", simt_") + *declared.emplace(without_percent(name)).first;
  }
  return "[[maybe_unused]] " + type_named(type.substr(1)) + names + ";";
}

/// One statement up to its semicolon, with its labels and guards.
std::string statement(std::string text, Names& names) {
  std::string result;
  for (std::size_t colon = text.find(':'); colon != text.npos; colon = text.find(':')) {
    const std::string label = trimmed(std::string_view(text).substr(0, colon));
    const bool is_label = !label.empty() && std::ranges::all_of(label, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '$';
    }) && !text.substr(colon).starts_with("::");
    if (!is_label) {
      break;
    }
    result += "simt_label_" + label + ":; ";
    text = trimmed(std::string_view(text).substr(colon + 1));
  }
  if (text.empty()) {
    return result;
  }
  if (text.starts_with(".reg")) {
    return result + declaration(text, names.declared) + " ";
  }
  if (text.starts_with('@')) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const bool negated = text.starts_with("@!");
    const std::string predicate(without_percent(text.substr(negated ? 2 : 1, end - (negated ? 2 : 1))));
    if (!names.declared.contains(predicate)) {
      throw Unknown{};
    }
    result += std::string("if (") + (negated ? "!" : "") + "simt_" + predicate + ") ";
    text = trimmed(std::string_view(text).substr(end));
  }
  return result + "{ " + Instruction(text, names).translation() + "; } ";
}

/// What stands in front of the first blank, or in front of the semicolon.
std::string mnemonic_of(const std::string& text) {
  std::string rest = text;
  if (rest.starts_with('@')) {
    rest = trimmed(std::string_view(rest).substr(std::min(rest.find_first_of(" \t"), rest.size())));
  }
  return rest.substr(0, rest.find_first_of(" \t"));
}

std::string refusal(const std::string& what, const std::string& place) {
  return "simt::not_supported(\"" + escaped(what + " (" + place + ")") + "\")";
}

std::string instructions(const std::string& assembly, Names& names, const std::string& place) {
  std::string result;
  std::string text;
  int list = 0;  // open brackets of operands, in which a brace is no block's
  const auto end_of_statement = [&] {
    const std::string one = trimmed(text);
    text.clear();
    if (one.empty()) {
      return;
    }
    try {
      result += statement(one, names);
    } catch (const Unknown&) {
      result += refusal("the instruction " + mnemonic_of(one), place) + "; ";
    }
  };
  for (std::size_t i = 0; i < assembly.size(); ++i) {
    const char c = assembly[i];
    if (assembly.compare(i, 2, "//") == 0) {
      i = std::min(assembly.find('\n', i), assembly.size()) - 1;
    } else if (c == '\n') {
      text += ' ';
    } else if (c == ';') {
      end_of_statement();
    } else if (c == '{' && trimmed(text).empty()) {
      result += "{ ";
    } else if (c == '{') {
      ++list;
      text += c;
    } else if (c == '}' && list == 0) {
      end_of_statement();
      result += "} ";
    } else {
      list -= c == '}' ? 1 : 0;
      text += c;
    }
  }
  end_of_statement();
  return result;
}

std::string joined(std::span<const Token> tokens) {
  std::string text;
  for (const Token& token : tokens) {
    text += token.kind == TokenKind::space ? " " : std::string(token.text);
  }
  return trimmed(text);
}

class Parser {
 public:
  Parser(std::span<const Token> tokens, const std::string& place) : tokens_(tokens), place_(place) {}

  std::string run() {
    std::string assembly;
    for (skip_space(); more() && !is_colon(); skip_space()) {
      if (tokens_[at_].kind != TokenKind::string) {
        throw NotUnderstood{"a name in the text of inline assembly, " + std::string(tokens_[at_].text)};
      }
      assembly += text_of_literal(tokens_[at_++].text);
    }
    for (int section = 0; section < 2 && next_section(); ++section) {
      read_operands(section == 0);
    }
    std::string before;
    std::string after;
    for (std::size_t i = 0; i < names_.operands.size(); ++i) {
      const Operand& operand = names_.operands[i];
      const std::string type = type_of(operand);
      before += "[[maybe_unused]] " + type + " " + register_of(i);
      before += operand.read ? " = simt::ptx::in<" + type + ">(" + operand.expression + "); " : "{}; ";
      if (operand.written) {
        after += "simt::ptx::out(" + operand.expression + ", " + register_of(i) + "); ";
      }
    }
    return "[&]([[maybe_unused]] simt::Site simt_site = simt::Site::current()) __attribute__((always_inline)) { "
           "[[maybe_unused]] std::uint64_t simt_unused; " +
           before + instructions(assembly, names_, place_) + after + "}()";
  }

 private:
  bool more() const { return at_ < tokens_.size(); }
  bool is_colon() const { return tokens_[at_].is(":") || tokens_[at_].is("::"); }
  void skip_space() {
    while (more() && tokens_[at_].kind == TokenKind::space) {
      ++at_;
    }
  }
  /// Whether another section follows; of "::" the second colon is left.
  bool next_section() {
    skip_space();
    if (half_colon_) {
      half_colon_ = false;
      return true;
    }
    if (!more() || !is_colon()) {
      return false;
    }
    half_colon_ = tokens_[at_++].is("::");
    return true;
  }

  void read_operands(bool outputs) {
    for (skip_space(); !half_colon_ && more() && !is_colon(); skip_space()) {
      Operand operand;
      if (!more() || tokens_[at_].kind != TokenKind::string) {
        throw NotUnderstood{"an operand of inline assembly without a constraint"};
      }
      operand.constraint = text_of_literal(tokens_[at_++].text);
      operand.written = outputs;
      operand.read = !outputs || operand.constraint.starts_with('+');
      std::erase_if(operand.constraint, [](char c) { return c == '=' || c == '+' || c == '&'; });
      skip_space();
      if (!more() || !tokens_[at_].is("(")) {
        throw NotUnderstood{"an operand of inline assembly without an expression in parentheses"};
      }
      const std::size_t begin = at_ + 1;
      int depth = 0;
      do {
        depth += tokens_[at_].is("(") ? 1 : tokens_[at_].is(")") ? -1 : 0;
        ++at_;
      } while (more() && depth > 0);
      operand.expression = joined(tokens_.subspan(begin, at_ - 1 - begin));
      names_.operands.push_back(operand);
      skip_space();
      if (more() && tokens_[at_].is(",")) {
        ++at_;
      }
    }
  }

  std::string type_of(const Operand& operand) const {
    static const std::map<std::string, std::string> types{{"h", "std::uint16_t"}, {"r", "std::uint32_t"},
                                                          {"l", "std::uint64_t"}, {"f", "float"},
                                                          {"d", "double"},        {"n", "long long"}};
    const auto found = types.find(operand.constraint);
    if (found == types.end()) {
      throw NotUnderstood{"the constraint " + operand.constraint + " of an operand of inline assembly"};
    }
    return found->second;
  }

  const std::span<const Token> tokens_;
  const std::string& place_;
  std::size_t at_ = 0;
  bool half_colon_ = false;
  Names names_;
};

}  // namespace

std::string translate_assembly(std::span<const Token> tokens, const std::string& place) {
  try {
    return Parser(tokens, place).run();
  } catch (const NotUnderstood& error) {
    return refusal(error.what, place);
  }
}

}  // namespace simt
