// Inline assembly as C++: operands become variables (PTX's registers), and instructions calls of functions in
// simt/ptx_instructions.hpp. PTX ISA 9.0; the constraints are those of "Inline PTX Assembly in CUDA".

#include "translate/inline_assembly.hpp"

#include "simt/source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <map>
#include <optional>
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

/// One instruction: "cp.async.cg.shared.global" with its operands.
class Instruction {
 public:
  Instruction(const std::string& text, const std::vector<Operand>& operands) : asm_operands_(operands) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    mnemonic_ = text.substr(0, end);
    // "::" is part of "shared::cta".
    parts_ = split(mnemonic_, '.');
    arguments_ = split(text.substr(end), ',');
  }

  std::string translation() const {
    using Form = std::string (Instruction::*)() const;
    static const std::map<std::string_view, Form> forms{{"mov", &Instruction::mov},
                                                        {"ld", &Instruction::load},
                                                        {"ldu", &Instruction::load},
                                                        {"st", &Instruction::store},
                                                        {"cp", &Instruction::copy},
                                                        {"cvta", &Instruction::cvta},
                                                        {"cvt", &Instruction::cvt},
                                                        {"bar", &Instruction::bar},
                                                        {"barrier", &Instruction::bar},
                                                        {"mma", &Instruction::mma},
                                                        {"ldmatrix", &Instruction::matrix},
                                                        {"stmatrix", &Instruction::matrix},
                                                        {"red", &Instruction::atomic},
                                                        {"atom", &Instruction::atomic},
                                                        {"mbarrier", &Instruction::mbarrier},
                                                        {"setp", &Instruction::setp},
                                                        {"selp", &Instruction::selp},
                                                        {"bra", &Instruction::bra},
                                                        {"nanosleep", &Instruction::give_way},
                                                        {"shfl", &Instruction::shuffle},
                                                        // Hints, and orders that the executor keeps anyway.
                                                        {"prefetch", &Instruction::nothing},
                                                        {"prefetchu", &Instruction::nothing},
                                                        {"membar", &Instruction::nothing},
                                                        {"fence", &Instruction::nothing},
                                                        {"griddepcontrol", &Instruction::nothing},
                                                        {"setmaxnreg", &Instruction::nothing}};
    const auto form = forms.find(parts_.front());
    return form == forms.end() ? arithmetic() : (this->*form->second)();
  }

 private:
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
    if (text.starts_with("%%") ||
        (text.starts_with('%') && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1])) == 0)) {
      return special(text.substr(text.find_last_of('%') + 1));
    }
    if (text.starts_with('%')) {
      const std::size_t number = std::stoul(text.substr(1));
      if (number >= asm_operands_.size()) {
        throw Unknown{};
      }
      return register_of(number);
    }
    if (text.starts_with("0f") || text.starts_with("0F")) {
      return "simt::ptx::as<float>(0x" + text.substr(2) + "U)";
    }
    if (text.starts_with("0d") || text.starts_with("0D")) {
      return "simt::ptx::as<double>(0x" + text.substr(2) + "ULL)";
    }
    if (text.empty() || text.find_first_of("{}[]|") != text.npos) {
      throw Unknown{};
    }
    if (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-') {
      return text;
    }
    return "simt_" + text;  // declared by .reg
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
    if (has("local") || has("param") || has("shared::cluster") || has("const")) {
      throw Unknown{};
    }
    return is_shared() ? "simt::ptx::shared_pointer(" + shared(index) + ")"
                       : "simt::ptx::generic_pointer(" + address(index) + ")";
  }

  std::string nothing() const { return ""; }
  std::string give_way() const { return "simt::give_way()"; }
  std::string bra() const { return "goto simt_label_" + argument(0); }
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
    if (has("v8")) {
      throw Unknown{};
    }
    const std::string count = has("v2") ? "2" : has("v4") ? "4" : "1";
    return "simt::ptx::Vector<" + type_named(parts_.back()) + ", " + count + ">";
  }
  std::string load() const {
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
    if (parts_[2] == "mbarrier" && has("noinc")) {
      return "simt::mbarrier_arrive_after_copies(" + shared(0) + ", simt_site)";
    }
    if (parts_[2] != "ca" && parts_[2] != "cg") {
      throw Unknown{};
    }
    const std::size_t hints = has("L2::cache_hint") ? 1 : 0;  // the last operand
    const bool has_source_bytes = arguments_.size() > 3 + hints && !argument(3).empty();
    return "simt::ptx::cp_async(" + shared(0) + ", simt::ptx::generic_pointer(" + address(1) + "), " + value(2) + ", " +
           (has_source_bytes ? "simt::ptx::source_bytes(" + value(3) + ", " + value(2) + ")" : value(2)) +
           ", simt_site)";
  }

  std::string bulk_copy() const {
    // cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes, of a cluster of one block
    if (parts_.size() < 6 || !parts_[3].starts_with("shared::") || parts_[4] != "global" ||
        parts_[5] != "mbarrier::complete_tx::bytes") {
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
    if (parts_.size() != 10 || parts_[1] != "sync" || parts_[4] != "row" || parts_[5] != "col" ||
        parts_[7] != parts_[8] || parts_[6] != parts_[9] || !parts_[3].starts_with("m16n8k")) {
      throw Unknown{};
    }
    const std::string k = parts_[3].substr(6);
    const std::string& type = parts_[7];
    const bool tf32 = type == "tf32" && parts_[6] == "f32" && (k == "4" || k == "8");
    const bool half = (type == "f16" || (type == "bf16" && parts_[6] == "f32")) && (k == "8" || k == "16") &&
                      (parts_[6] == "f32" || parts_[6] == "f16");
    const bool integers = type == "s8" && parts_[6] == "s32" && k == "32";
    if (!tf32 && !half && !integers) {
      throw Unknown{};
    }
    const std::string format = type == "tf32" ? "tf32" : type == "f16" ? "fp16" : "bf16";
    const std::string results = integers ? "std::int32_t" : parts_[6] == "f32" ? "float" : "std::uint32_t";
    const std::string sums = integers             ? "simt::ptx::Integers"
                             : results == "float" ? "simt::ptx::Floats"
                                                  : "simt::ptx::PackedHalves";
    if (registers(0).size() != (parts_[6] == "f16" ? 2U : 4U)) {
      throw Unknown{};
    }
    return spread(results, "simt::ptx::mma(" + (integers ? "" : "simt::MmaFormat::" + format + ", " + k + ", ") +
                               list("std::uint32_t", 1) + ", " + list("std::uint32_t", 2) + ", " + sums +
                               list(results, 3) + ", simt_site)");
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
    static const std::map<std::string, std::string> operations{{"add", "add"},      {"min", "min"}, {"max", "max"},
                                                               {"and", "and_"},     {"or", "or_"},  {"xor", "xor_"},
                                                               {"exch", "exchange"}};
    static const std::map<std::string, std::string> types{{"u32", "u32"}, {"b32", "u32"}, {"s32", "i32"},
                                                          {"u64", "u64"}, {"b64", "u64"}, {"s64", "i64"},
                                                          {"f32", "f32"}, {"f64", "f64"}};
    const auto operation =
        std::ranges::find_if(parts_, [&](const std::string& part) { return operations.contains(part); });
    const auto type = types.find(parts_.back());
    const bool returns = parts_.front() == "atom";
    if (operation == parts_.end() || type == types.end() || has("v2") || has("v4") || has("v8") ||
        arguments_.size() != (returns ? 3U : 2U)) {
      throw Unknown{};
    }
    const std::string bits = type->second.ends_with("64") ? "std::uint64_t" : "std::uint32_t";
    const std::string call = "simt::atomic(simt::AtomicOperation::" + operations.at(*operation) +
                             ", simt::AtomicType::" + type->second + ", " + pointer(returns ? 1 : 0) + ", " +
                             as(bits, returns ? 2 : 1) + ", 0, simt_site)";
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
    allow({"ftz", parts_.size() > 1 ? parts_[1] : ""});
    const std::string a = typed(1);
    const std::string b = typed(2);
    if (const auto found = comparisons.find(parts_[1]); found != comparisons.end()) {
      return assign("bool", a + " " + found->second + " " + b);
    }
    const std::string different = "(" + a + " < " + b + " || " + a + " > " + b + ")";
    if (parts_[1] == "ne") {
      return assign("bool", different);
    }
    if (const auto found = opposites.find(parts_[1]); found != opposites.end()) {
      return assign("bool", "!" + (found->second == "ne" ? different : "(" + a + " " + found->second + " " + b + ")"));
    }
    throw Unknown{};
  }

  std::string shuffle() const {
    // shfl.sync.bfly.b32 d, value, lane, limits, mask
    if (parts_.size() != 4 || parts_[1] != "sync" || parts_[2] == "sync" || parts_[3] != "b32" ||
        argument(0).find('|') != std::string::npos) {
      throw Unknown{};
    }
    allow({"sync", "up", "down", "bfly", "idx"});
    return assign("std::uint32_t", "simt::ptx::shuffle(simt::ptx::Shuffle::" + parts_[2] + ", " + typed(1) + ", " +
                                       typed(2) + ", " + typed(3) + ", " + typed(4) + ", simt_site)");
  }

  std::string arithmetic() const {
    static const std::map<std::string, std::string> operators{{"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"},
                                                              {"rem", "%"}, {"and", "&"}, {"or", "|"},  {"xor", "^"}};
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
    const bool wide = has("wide") && (base == "mul" || base == "mad") && (type_name == "u32" || type_name == "s32");
    if (wide) {
      allow({"wide"});
      const std::string result = type_name == "u32" ? "std::uint64_t" : "std::int64_t";
      const std::string product = "static_cast<" + result + ">(" + typed(1) + ") * " + typed(2);
      return assign(result, base == "mul" ? product : product + " + " + as(result, 3));
    }
    if (base == "mul" && has("hi") && (type_name == "u32" || type_name == "s32")) {
      allow({"hi"});
      return assign(type, "static_cast<" + type + ">(static_cast<std::" + (type_name == "u32" ? "u" : "") +
                              "int64_t>(" + typed(1) + ") * " + typed(2) + " >> 32)");
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
    if (floats) {
      allow({"rn", "ftz", base == "div" ? "approx" : "rn", base == "div" ? "full" : "rn"});
    } else {
      allow({"lo"});
    }
    if (const auto found = operators.find(base); found != operators.end()) {
      return assign(type, "static_cast<" + type + ">(" + typed(1) + " " + found->second + " " + typed(2) + ")");
    }
    if (base == "fma" && floats) {
      return assign(type, "__builtin_fma" + std::string(type == "float" ? "f(" : "(") + typed(1) + ", " + typed(2) +
                              ", " + typed(3) + ")");
    }
    if (base == "mad" && !floats) {
      return assign(type, "static_cast<" + type + ">(" + typed(1) + " * " + typed(2) + " + " + typed(3) + ")");
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

  const std::vector<Operand>& asm_operands_;
  std::string mnemonic_;
  std::vector<std::string> parts_;
  std::vector<std::string> arguments_;
};

/// ".reg .b32 a, b" as "std::uint32_t simt_a, simt_b".
std::string declaration(const std::string& text) {
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
    names += (names.empty() ? " simt_" : ", simt_") + name;
  }
  return "[[maybe_unused]] " + type_named(type.substr(1)) + names + ";";
}

/// One statement up to its semicolon, with its labels and guards.
std::string statement(std::string text, const std::vector<Operand>& operands) {
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
    return result + declaration(text) + " ";
  }
  if (text.starts_with('@')) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const bool negated = text.starts_with("@!");
    std::string predicate = text.substr(negated ? 2 : 1, end - (negated ? 2 : 1));
    if (predicate.starts_with('%')) {
      throw Unknown{};
    }
    result += std::string("if (") + (negated ? "!" : "") + "simt_" + predicate + ") ";
    text = trimmed(std::string_view(text).substr(end));
  }
  return result + "{ " + Instruction(text, operands).translation() + "; } ";
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

std::string instructions(const std::string& assembly, const std::vector<Operand>& operands, const std::string& place) {
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
      result += statement(one, operands);
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
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      const std::string type = type_of(operand);
      before += "[[maybe_unused]] " + type + " " + register_of(i);
      before += operand.read ? " = simt::ptx::in<" + type + ">(" + operand.expression + "); " : "{}; ";
      if (operand.written) {
        after += "simt::ptx::out(" + operand.expression + ", " + register_of(i) + "); ";
      }
    }
    return "[&]([[maybe_unused]] simt::Site simt_site = simt::Site::current()) __attribute__((always_inline)) { " +
           before + instructions(assembly, operands_, place_) + after + "}()";
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
      operands_.push_back(operand);
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
  std::vector<Operand> operands_;
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
