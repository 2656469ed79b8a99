#include "user/file_code.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

const std::regex WORD(R"((\b[A-Za-z_]\w*))");

const std::regex LIBRARY(R"(\b(cublas|cutlass|cute|cub|thrust|cudnn)\w*\s*(::|\())");

/// Whether code has a launch, or the call of a library that launches where `libraries` count.
bool launches_itself(const std::string& code, bool libraries) {
  static const std::regex LAUNCH(R"(<<<|\b(cuda|cu|hip)(Launch|GraphLaunch))");
  return std::regex_search(code, LAUNCH) || (libraries && std::regex_search(code, LIBRARY));
}

/// The words of the first group of every match.
Words words_within(const std::string& text, const std::regex& pattern) {
  Words words;
  for (const std::string& part : all_matches(text, pattern)) {
    std::ranges::copy(all_matches(part, WORD), std::back_inserter(words));
  }
  return words;
}

/// Puts others in place of some words of their types.
void replace_words(std::vector<simt::Parameter>& parameters, const std::map<std::string, std::string>& others) {
  for (simt::Parameter& parameter : parameters) {
    Words words;
    for (const std::string_view word : split(parameter.type, ' ')) {
      const auto other = others.find(std::string(word));
      words.push_back(other == others.end() ? std::string(word) : other->second);
    }
    parameter.type = fmt::format("{}", fmt::join(words, " "));
  }
}

/// The function with `float` for the types of its elements that it is a template over, without what else it is a
/// template over where that is known; the function itself where it is no such template.
simt::Function in_single_precision(simt::Function function) {
  std::vector<simt::Parameter>& over = function.template_parameters;
  const auto is_element = [&](const simt::Parameter& one) {
    return !type_of(one) && std::ranges::any_of(function.parameters, [&](const simt::Parameter& parameter) {
      const bool counts =
          is_pointer(parameter) || has(parameter.type, "<") || contains({"alpha", "beta"}, parameter.name);
      return counts && std::ranges::count(split(parameter.type, ' '), one.name) > 0;  // or what a concept allows
    });
  };
  std::map<std::string, std::string> elements;
  for (const simt::Parameter& one : over) {
    if (is_element(one)) {
      elements[one.name] = "float";
    }
  }
  if (elements.empty()) {
    return function;
  }
  replace_words(function.parameters, elements);
  const std::vector<simt::Parameter> before = over;
  const bool deduced = elements.size() > 1 || !elements.contains(over.front().name);
  std::erase_if(over, [&](const simt::Parameter& one) { return elements.contains(one.name); });
  if (std::ranges::all_of(over, &simt::Parameter::has_default)) {
    over.clear();
    function.name += deduced ? "" : "<float>";
  } else {
    over = before;
  }
  return function;
}

/// What stands from `at` to the end of the brace that is open there, without what is in brackets within it. `at` is the
/// end then.
std::string flattened(const std::string& text, std::size_t& at) {
  std::string flat;
  for (int depth = 1; at < text.size(); ++at) {
    depth -= has("})", {&text[at], 1}) ? 1 : 0;
    if (depth == 0) {
      break;
    }
    flat += depth == 1 ? text.substr(at, 1) : "";
    depth += has("{(", {&text[at], 1}) ? 1 : 0;
  }
  return flat;
}

constexpr const char* ATTRIBUTE = R"(\b(?:alignas|__align__|__attribute__)\s*\(+[^()]*\)+\s*)";

/// Of a class with these declarations: "Matrix() : rows() {} public: int rows, cols; float* data;". It has no members
/// where they are not known.
Code::Class declared_in(const std::string& declarations, bool all_public) {
  static const std::regex DECLARED(
      R"(\s*((?:const )?[A-Za-z_][\w: ]*?)\s*((?:[ *&]|__restrict__|const)*)(\w+)\s*(?:=[^;]*)?)");
  static const std::regex LABEL(R"(\b(public|private|protected)\s*:)");
  static const std::regex OTHER(R"(^(?:static|using|typedef|friend|template)\b|operator|^[^=]*\()"
                                R"(|^(?:enum|struct|class|union)\b(?!\s+(?!class\b)\w+[\s*&]+\w))");
  static const std::regex UNKNOWN(
      R"(\b(?:virtual|union)\b|\w\s*:\s*\d|^(?!.*operator).*\(\)\s*[(\[])");  // or a pointer to a function
  Code::Class found{{}, true};
  for (const std::string_view statement : split(declarations, ';')) {
    const std::string whole = std::regex_replace(std::string(statement), std::regex(ATTRIBUTE), "");
    const Words labels = all_matches(whole, LABEL);
    all_public = labels.empty() ? all_public : labels.back() == "public";
    found.plain = found.plain && all_public && !has(whole, "(");
    std::string trimmed = simt::trimmed(std::regex_replace(whole, LABEL, ""));
    const std::size_t body = trimmed.ends_with("{}") && !has(trimmed, "(") ? trimmed.npos : trimmed.rfind("{}");
    trimmed = simt::trimmed(trimmed.substr(body == trimmed.npos ? 0 : body + 2, trimmed.find_last_not_of("{}") + 1));
    if (std::regex_search(whole, UNKNOWN)) {
      return {};
    }
    if (trimmed.empty() || std::regex_search(trimmed, OTHER)) {
      continue;
    }
    std::string type;
    for (const std::string& part : simt::split_arguments(trimmed)) {
      std::smatch match;
      const std::string one = type.empty() ? part : fmt::format("{} {}", type, part);
      if (!std::regex_match(one, match, DECLARED)) {
        return {};
      }
      type = match.str(1);
      const std::string spaced = std::regex_replace(type + " " + match.str(2), std::regex(R"(\*)"), " * ");
      found.members.push_back({all_public ? simt::trimmed(shortened(spaced)) : "private", match.str(3)});
    }
  }
  return found;
}

/// What a local variable is declared to be last, as an expression; empty where no declaration was found, and where it
/// is assigned to behind that.
std::string local_of(const std::string& name, const std::string& body) {
  std::string last;
  static const std::regex DECLARATION(
      R"(\b(dim3|int|uint|unsigned(?:\s+int)?|bool|auto|size_t)(?:\s+const)?\s+([^;]*);)");
  for (std::sregex_iterator at(body.begin(), body.end(), DECLARATION), end; at != end; ++at) {
    for (const std::string& part : simt::split_arguments(at->str(2))) {
      std::string rest = part.starts_with(name) ? simt::trimmed(std::string_view(part).substr(name.size())) : "";
      const bool assigned = rest.starts_with('=');
      rest = assigned ? simt::trimmed(std::string_view(rest).substr(1)) : rest;
      if (rest.starts_with('{') || (!assigned && rest.starts_with('('))) {
        last = at->str(1) == "dim3" ? "dim3" + rest : "(" + rest.substr(1, rest.size() - 2) + ")";
      } else if (assigned) {
        static const std::regex PLAIN(R"([\w.]+|dim3.*)");
        last = std::regex_match(rest, PLAIN) ? rest : "(" + rest + ")";
      } else {
        continue;
      }
      const std::regex again(fmt::format(R"(\b{}\s*(\.\s*[xyz]\s*)?[-+*/]?=[^=])", name));
      last = std::regex_search(at->suffix().str(), again) ? "" : last;
    }
  }
  return last;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "64", "8" of "kernel<64, 8>".
Words template_arguments_of(const std::string& name) {
  static const std::regex OUTSIDE("^[^<]*<?|>[^>]*$");
  return simt::split_arguments(std::regex_replace(name, OUTSIDE, ""));
}

void require_equal(Reading& reading, const std::string& one, const std::string& other) {
  reading.requirement += fmt::format("{}{} == {}", reading.requirement.empty() ? "" : " && ", one, other);
}

}  // namespace

std::string base_name(const std::string& name) { return name.substr(name.rfind(':') + 1); }

std::string shortened(std::string_view code) {
  std::string text;
  std::size_t word = 0;
  std::size_t piece = 0;
  std::size_t statement = 0;
  for (const char c : code) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? word + 1 : 0;
    piece = has("{}()", {&c, 1}) ? 0 : piece;
    statement = c == ';' ? 0 : statement;
    if (word <= LONGEST_NAME && piece <= 10000 && statement <= 6000 && !(blank && text.ends_with(' '))) {
      text += blank ? ' ' : c;
      ++piece, ++statement;
    }
  }
  return text;
}

Words all_matches(const std::string& text, const std::regex& pattern) {
  Words found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    found.push_back(at->str(1));
  }
  return found;
}

Code::Code(const simt::Source& source)
    : functions_(source.functions), text_(source.code), short_text_(shortened(text_)), outside_(text_) {
  for (const simt::Function& function : functions_) {
    std::fill_n(outside_.begin() + static_cast<std::ptrdiff_t>(function.begin), function.end - function.begin, ';');
  }
  outside_ = shortened(outside_);
  static const std::regex NUMBER(R"(\b(\w+)\s*=\s*(\d+)\s*[,;])");
  for (std::sregex_iterator at(outside_.begin(), outside_.end(), NUMBER), end; at != end; ++at) {
    numbers_[at->str(1)] = at->str(2);
  }
  const Words at_file_scope = all_matches(outside_, std::regex(R"(\b(\w+)\s*=[^=])"));
  constants_.insert(at_file_scope.begin(), at_file_scope.end());
  read_classes();
  find_products_of_the_host();
  find_launches();
}

void Code::read_classes() {
  static const std::regex CLASS(R"((?:\btemplate\s*<\s*(?:typename|class)\s+(\w+)\s*>\s*)?)"
                                R"(\b(struct|class)\s*(?:)" +
                                std::string(ATTRIBUTE) + R"()*(\w*)\s*(?:final\s*)?(?::([^{};]*))?\{)");
  static const std::regex BEHIND(R"(^\}\s*(\w*))");
  static const std::regex BASE(R"((\w[\w ]*\w|\w))");
  for (std::sregex_iterator at(short_text_.begin(), short_text_.end(), CLASS), end; at != end; ++at) {
    auto place = static_cast<std::size_t>(at->position() + at->length());
    Class found = declared_in(flattened(short_text_, place), at->str(2) == "struct");
    for (const std::string& base : all_matches(at->str(4), BASE)) {  // its members come first
      const auto known = classes_.find(std::regex_replace(base, std::regex("^public "), ""));
      const bool open = known != classes_.end() && (at->str(2) == "struct" || base.starts_with("public "));
      const std::vector<simt::Parameter> own = std::exchange(found.members, {});
      if (open && !own.empty() && !known->second.members.empty()) {
        found = {known->second.members, false};
        found.members.insert(found.members.end(), own.begin(), own.end());
      }
    }
    replace_words(found.members, {{at->str(1), "float"}});
    const std::string of = at->str(1).empty() ? "" : "<float>";
    const Words behind = all_matches(short_text_.substr(place, LONGEST_NAME), BEHIND);  // typedef struct {} Matrix;
    for (const std::string& name : {at->str(3), behind.empty() ? std::string() : behind.front()}) {
      if (!name.empty()) {
        classes_[name + of] = found;
      }
    }
  }
  classes_["int3"] = classes_["uint3"] = {{{"int", "x"}, {"int", "y"}, {"int", "z"}}, true};
}

void Code::find_launches() {
  // Beside a kernel, what calls a library is what the kernel is compared with.
  const bool libraries = std::ranges::none_of(functions_, &simt::Function::is_kernel);
  for (const simt::Function& function : functions_) {
    if (launches_itself(body_of(function), libraries)) {
      launching_.insert(base_name(function.name));
    }
  }
  if (launches_itself(outside_, libraries)) {  // members of a class: any class may be the one
    for (const std::string& name : all_matches(outside_, std::regex(R"(\b(?:struct|class)\s+(\w+))"))) {
      launching_.insert(name);
    }
  }
  for (std::size_t known = 0; known != launching_.size();) {
    known = launching_.size();
    for (const simt::Function& function : functions_) {
      if (!function.is_kernel && std::ranges::any_of(all_matches(body_of(function), WORD),
                                                     [&](const auto& word) { return launching_.contains(word); })) {
        launching_.insert(base_name(function.name));
      }
    }
  }
}

bool Code::returns_tensor(const simt::Function& function) const {
  static const std::regex RESULT(R"(^\s*(static\s+|inline\s+)*(torch|at)\s*::\s*Tensor\s+\w+\s*\()");
  return std::regex_search(body_of(function), RESULT);
}

std::set<std::string> Code::computed_by(const simt::Function& function) const {
  static const std::regex ASSIGNMENT(
      R"((\w+)\s*(?:\[[^;={}]*\]|[^;={}()[\]]*\))?\s*(?:([-+])\s*)?=(?!=)\s*(?=([^;=]*)))");
  static const std::regex PRODUCT(  // of elements
      R"(\]\s*\)*\s*\*\s*[\w\s()<>:]*\[|\*\s*\w+(?:\+\+)?\s*\)*\s*\*\s*\(*\s*\*|\bfma\w*\s*\()");
  static const std::regex LAMBDA(R"(\]\s*(?:__\w+__\s*)*\()");  // which a kernel may run
  const std::string body = body_of(function);
  std::set<std::string> sums;
  if (function.is_kernel || function.is_device || !std::regex_search(body, PRODUCT) ||
      std::regex_search(body, LAMBDA)) {
    return sums;
  }
  for (std::sregex_iterator at(body.begin(), body.end(), ASSIGNMENT), end; at != end; ++at) {
    const std::string& value = at->str(3);
    const Words words = all_matches(value, WORD);
    const bool adds =
        at->length(2) > 0 || ((value.starts_with(at->str(1)) || has(value, "fma")) && contains(words, at->str(1)));
    if ((adds && std::regex_search(value, PRODUCT)) ||  // or what is made of a sum
        std::ranges::any_of(words, [&](const std::string& word) { return sums.contains(word); })) {
      sums.insert(at->str(1));
    }
  }
  return sums;
}

void Code::find_products_of_the_host() {
  for (const simt::Function& function : functions_) {
    const std::set<std::string> sums = computed_by(function);
    for (std::size_t i = 0; !sums.empty() && i < function.parameters.size(); ++i) {
      if (!is_pointer(function.parameters[i]) || !sums.contains(function.parameters[i].name)) {
        continue;
      }
      computing_.insert(function.begin);
      for (const Call& call : calls_of(function)) {  // as a helper
        if (call.configuration.empty() && call.arguments.size() == function.parameters.size() &&
            contains(names_of(*call.caller), call.arguments[i])) {
          computing_.insert(call.caller->begin);
        }
      }
    }
  }
}

bool Code::computes(const simt::Function& function) const {
  return computing_.contains(function.begin) && launching_.contains(base_name(function.name));
}

bool Code::launches(const simt::Function& function) const {
  return launching_.contains(base_name(function.name)) && !computes(function);
}

std::string Code::why_no_product() const {
  static const std::regex ELSEWHERE(
      R"(shfl|shared__|asm|__constant__|__managed__|tex(?:ture|\dD)|__device__[^(){};]*[;=[{]|>>>\s*\([^;]*[+&[])");
  static const std::regex LOOP(R"(\b(?:for|while|do|goto)\b)");
  bool in_place = std::ranges::any_of(functions_, &simt::Function::is_kernel) &&
                  !std::regex_search(short_text_, ELSEWHERE) && !launches_itself(outside_, true);
  for (const simt::Function& function : functions_) {
    const std::string body = body_of(function);
    in_place &= function.is_kernel
                    ? reads_in_place(function)
                    : !std::regex_search(body, LIBRARY) &&
                          (!launches(function) || function.name == "main" || !std::regex_search(body, LOOP));
  }
  return in_place ? "none of its kernels is a matrix product, C = A * B, which is what runs here: none multiplies "
                    "elements of arrays at different places; --launch runs one all the same"
                  : "";
}

bool Code::reads_in_place(const simt::Function& kernel) const {
  Words all;
  Words inputs;
  for (const simt::Parameter& parameter : with_plain_types(kernel).parameters) {
    const bool array = type_of(parameter) == Type::matrix;
    if (!array && (is_pointer(parameter) || !type_of(parameter))) {
      return false;
    }
    all.insert(all.end(), array ? 1 : 0, parameter.name);
    inputs.insert(inputs.end(), array && has(parameter.type, "const") ? 1 : 0, parameter.name);
  }
  if (inputs.size() < 2 || inputs.size() + 1 != all.size()) {  // A[i] * B[i] may be added up elsewhere
    inputs = all;
  }
  const std::string body = body_of(kernel);
  const auto count = [&](const std::string& pattern) { return all_matches(body, std::regex(pattern)).size(); };
  const std::string use = R"((?:^|[^.>\w])(?:{})({}))";
  const std::string subscript = R"((?:\s*\[[^\[\]]*\])+)";
  const Words places = all_matches(body, std::regex(fmt::format(fmt::runtime(use), fmt::join(inputs, "|"), subscript)));
  const auto is_changed = [&](const std::string& word) { return count(fmt::format(R"(\b({})\s*=[^=])", word)) > 1; };
  return inputs.size() > 1 && places.size() >= inputs.size() &&
         places.size() + inputs.size() == count(fmt::format(fmt::runtime(use), fmt::join(inputs, "|"), "\\b")) &&
         // Others may lie behind numbers.
         count("\\w(" + subscript + ")") == count(fmt::format(fmt::runtime(use), fmt::join(all, "|"), subscript)) &&
         std::ranges::all_of(places, [&](const std::string& place) { return place == places.front(); }) &&
         !has(places.front(), "++") && std::ranges::none_of(all_matches(places.front(), WORD), is_changed);
}

std::map<std::string, Code::Class>::const_iterator Code::class_of(const simt::Parameter& parameter) const {
  static const std::regex BESIDE(R"(^(?:const |struct )*|(?: [*&]| const)*$| )");
  return classes_.find(std::regex_replace(parameter.type.substr(0, LONGEST_NAME), BESIDE, ""));
}

std::string Code::why_closed(const simt::Parameter& parameter) const {
  const auto of = class_of(parameter);
  const std::vector<simt::Parameter> members =
      of == classes_.end() ? std::vector<simt::Parameter>() : of->second.members;
  return of == classes_.end()    ? ""
         : is_pointer(parameter) ? of->first + " by its address"
         : members.empty()       ? of->first + ", of whose bases, functions or members not all are understood"
         : std::ranges::count(members, "private", &simt::Parameter::type) > 0
             ? of->first + ", whose members are not all public"
         : type_of(parameter) ? ""
                              : of->first + ", which has other members than extents and one float*";
}

bool Code::keeps_arrays() const {
  static const std::regex ELSEWHERE(R"(__constant__|__managed__|tex(?:ture|\dD)|__device__[^(){};]*[;=[{])");
  return std::regex_search(short_text_, ELSEWHERE);
}

std::string Code::kernels_elsewhere() const {
  const auto kernel = std::ranges::find_if(functions_, &simt::Function::is_kernel);
  return kernel == functions_.end() ? "" : fmt::format("; {}, which it includes, has kernels", kernel->file);
}

/// The grid and the block, which may be known, of a kernel that computes an element a thread, or with question marks
/// those of another.
std::string Code::configuration_of(const simt::Function& kernel, const std::string& block) const {
  const std::string body = body_of(kernel);
  const auto asks_for = [&](const std::string& pattern) { return std::regex_search(body, std::regex(pattern)); };
  static const std::regex SIDES(R"(^.*dim3\s*[({](.*)[)}].*$)");
  Words own = block.empty() ? Words() : simt::split_arguments(std::regex_replace(block, SIDES, "$1"));
  if (asks_for(R"(blockDim\s*\.\s*x)") && !asks_for(R"((threadIdx|blockIdx)\s*\.\s*y)")) {
    return fmt::format("ceil_div(M * N, {0}), {0}", own.size() == 1 ? own.front() : "256");
  }
  std::string unknown = "?grid, " + (block.empty() ? "?block" : block);
  if (asks_for(";") && !asks_for(R"(threadIdx\s*\.\s*y)")) {
    return unknown;
  }
  Words sides;
  bool rows_along_x = false;  // int row = blockIdx.x * 16 + threadIdx.x; if (row < M ...)
  const Words along_x = all_matches(body, std::regex(R"((\w+)\s*=[^;,]*blockIdx\s*\.\s*x\b)"));
  for (const std::string& variable : std::set<std::string>(along_x.begin(), along_x.end())) {
    const Words bounds = all_matches(body, std::regex("\\b" + variable + R"(\s*(?:<|>=)\s*(\w+))"));
    const auto is_m = [](const std::string& name) { return meaning_of(name, Names::sizes) == "M"; };
    rows_along_x |= is_m(variable) || std::ranges::any_of(bounds, is_m);
  }
  const auto number_of = [&](const std::string& pattern) {
    const Words found = all_matches(body, std::regex(pattern));
    const std::string name = found.empty() ? "?" : found.front();
    return std::isdigit(name.front()) != 0 || constants_.contains(name) ? name : "";
  };
  for (const char* const axis : {"x", "y"}) {
    sides.push_back(number_of(fmt::format(R"(blockIdx\s*\.\s*{}\s*\*\s*(\w+))", axis)));
  }
  if (asks_for("blockIdx") && !asks_for(R"(blockDim\s*\.\s*y)") && kernel.template_parameters.size() != 1 &&
      sides == Words{"", ""}) {
    return unknown;
  }
  const std::string tile = number_of(R"(__shared__[^;]*?\[\s*(\w+)\s*\]\s*\[\s*\1\s*(?:\+\s*1\s*)?\])");
  own.resize(2, !own.empty() ? "1" : tile.empty() ? "32" : tile);
  for (std::size_t axis = 0; axis < sides.size(); ++axis) {
    sides[axis] = sides[axis].empty() ? own[axis] : sides[axis];
  }
  return fmt::format("dim3(ceil_div({2}, {0}), ceil_div({3}, {1})), {4}", sides[0], sides[1], rows_along_x ? "M" : "N",
                     rows_along_x ? "N" : "M", block.empty() ? fmt::format("dim3({}, {})", sides[0], sides[1]) : block);
}

std::vector<Code::Call> Code::calls_of(const simt::Function& function) const {
  const std::regex call(
      fmt::format(R"(\b{}\s*(<[^<>;]*>)?\s*(?:<<<([^;]*?)>>>\s*)?\(([^;]*)\))", shortened(base_name(function.name))));
  std::vector<Call> calls;
  for (const simt::Function& caller : functions_) {
    const std::string head_and_body = caller.begin == function.begin ? "" : body_of(caller);
    const std::string body = head_and_body.substr(std::min(head_and_body.find('{'), head_and_body.size()));
    for (std::sregex_iterator at(body.begin(), body.end(), call), end; at != end; ++at) {
      calls.push_back({&caller, at->str(1), at->str(2), simt::split_arguments(at->str(3)),
                       body.substr(0, static_cast<std::size_t>(at->position()))});
    }
  }
  return calls;
}

/// The kernel of a function's first launch, or null.
const simt::Function* Code::launched_by(const simt::Function& function, Words& arguments) const {
  static const std::regex LAUNCH(R"((\w+)\s*(?:<[^<>;]*>)?\s*<<<[^;]*?>>>\s*\(([^;]*)\)\s*;)");
  const std::string body = body_of(function);
  std::smatch launch;
  const bool launches = std::regex_search(body, launch, LAUNCH);
  arguments = launches ? simt::split_arguments(launch.str(2)) : arguments;
  const auto found = std::ranges::find_if(functions_, [&](const simt::Function& other) {
    return launches && other.is_kernel && base_name(other.name) == launch.str(1);
  });
  return found == functions_.end() ? nullptr : &*found;
}

std::string Code::summed_extent(const simt::Function& function) const {
  const Words names = names_of(function, Type::size);
  const std::string body = body_of(function);
  Words arguments = names_of(function);
  const simt::Function* const kernel = function.is_kernel ? &function : launched_by(function, arguments);
  std::set<std::string> by_loop;
  if (kernel != nullptr && arguments.size() == kernel->parameters.size()) {
    const Words own = names_of(*kernel);
    // What begins with a thread's number goes over elements of C.
    static const std::regex BOUND(R"(\bfor\s*\((?:(?!Idx\b)[^;])*;([^;]*);)");
    for (const std::string& word : words_within(body_of(*kernel), BOUND)) {
      const auto at = static_cast<std::size_t>(std::ranges::find(own, word) - own.begin());
      if (at < own.size() && contains(names, arguments[at])) {
        by_loop.insert(arguments[at]);
      }
    }
  }
  std::set<std::string> outside_of_grid(names.begin(), names.end());
  static const std::regex GRID(R"(\bdim3(\s+\w[^;]*|\s*[({](?:[^(){};]|\((?:[^();]|\([^();]*\))*\))*))");
  for (const std::string& word : words_within(body, GRID)) {
    outside_of_grid.erase(word);
  }
  return by_loop.size() == 1 ? *by_loop.begin() : outside_of_grid.size() == 1 ? *outside_of_grid.begin() : "";
}

Extents Code::extents_of(const simt::Function& function) const {
  static const std::regex EXTENT(R"((\w+)\s*=\s*(?:\(\w+\)\s*)?(\w+)\s*\.\s*size\s*\(\s*(\d)\s*\))");
  static const std::regex THREE(R"(\.\s*size\s*\(\s*2\s*\)|\bdim\s*\(\s*\)\s*[!=]=\s*3\b)");
  const std::string body = body_of(function);
  std::map<std::string, std::string> names;  // "A0" for the first extent of A that is no batch
  const bool batched = std::regex_search(body, THREE);
  const auto is_of = [&](const char* extents) {
    const Words of = all_matches(body, std::regex(R"((\w+)\s*\.\s*)" + std::string(extents)));
    return std::ranges::any_of(of, [](const std::string& word) { return meaning_of(word, Names::matrices) == "B"; });
  };
  const bool shared_b = batched && is_of(R"((?:size\s*\(\s*1|dim\s*\(\s*\)\s*[!=]=\s*2))") &&
                        !is_of(R"((?:size\s*\(\s*2|dim\s*\(\s*\)\s*[!=]=\s*3))");
  for (std::sregex_iterator at(body.begin(), body.end(), EXTENT), end; at != end; ++at) {
    const std::string matrix = meaning_of(at->str(2), Names::matrices);
    const int axis = at->str(3).front() - '0' - (batched && !(shared_b && matrix == "B") ? 1 : 0);
    names[matrix + std::to_string(axis)] = meaning_of(at->str(1), Names::sizes);
  }
  Words arguments;
  const simt::Function* const kernel = function.is_kernel ? &function : launched_by(function, arguments);
  std::set<long> distances;  // of rows: the largest number that a subscript of each matrix multiplies by
  const simt::Function plain = kernel != nullptr ? with_plain_types(*kernel) : simt::Function();
  const Words matrices = names_of(plain, Type::size).empty() ? names_of(plain, Type::matrix) : Words();
  for (const std::string& matrix : matrices) {
    const std::string& type = std::ranges::find(plain.parameters, matrix, &simt::Parameter::name)->type;
    const std::size_t row = type.find("( * ) [ ");
    long largest = row == std::string::npos ? 0 : std::atol(type.c_str() + row + std::string_view("( * ) [ ").size());
    const std::regex subscript(fmt::format(R"(\b{}\s*\[([^\]]*)\])", matrix));
    for (const std::string& index : all_matches(body_of(*kernel), subscript)) {
      static const std::regex PRODUCT(R"((\w*)\s*\*\s*(\w*))");
      for (std::sregex_iterator at(index.begin(), index.end(), PRODUCT), end; at != end; ++at) {
        for (const std::string& factor : {at->str(1), at->str(2)}) {
          const auto constant = numbers_.find(factor);
          largest = std::max(largest, std::atol((constant == numbers_.end() ? factor : constant->second).c_str()));
        }
      }
    }
    distances.insert(largest);
  }
  distances.erase(0);
  std::map<std::string, std::string> fixed;
  bool used = false;
  for (const auto& [name, number] : matrices.empty() ? decltype(numbers_)() : numbers_) {
    if (const std::string meaning = meaning_of(name, Names::sizes); meaning.size() == 1) {
      fixed[meaning] = number;
      used = used || contains(all_matches(body_of(*kernel), WORD), name);
    }
  }
  if (distances.size() == 1 && fixed.size() < 3) {
    const std::string side = std::to_string(*distances.begin());
    fixed = {{"M", side}, {"N", side}, {"K", side}};
    used = true;
  }
  return {batched, shared_b, names["A0"] == "K" && names["A1"] == "M",
          names["B0"] == "N" && (names["A0"] == "K" || names["A1"] == "K"),
          used && fixed.size() == 3 ? fixed : decltype(fixed)()};
}

/// What the file's first call of a function passes for parameters that are no extents by their names, and for those of
/// its template, in words of a launch line.
std::map<std::string, std::string> Code::passed_to(const simt::Function& function) const {
  const std::vector<Call> calls = calls_of(function);
  const Call call = calls.empty() ? Call{} : calls.front();
  Words chosen = template_arguments_of(call.template_arguments);
  chosen.resize(function.template_parameters.size());
  std::map<std::string, std::string> passed;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    passed[function.template_parameters[i].name] = in_words_of_problem(chosen[i], call.before, {}, 3);
  }
  for (std::size_t i = 0; i < std::min(function.parameters.size(), call.arguments.size()); ++i) {
    const std::string value = in_words_of_problem(call.arguments[i], call.before, {}, 3);
    if (!value.empty() && meaning_of(function.parameters[i].name, Names::sizes).size() != 1) {
      passed[function.parameters[i].name] = value;
    }
  }
  return passed;
}

/// What a function that launches calls the problem's extents, by its own parameters and by the arguments that it passes
/// to a kernel of this reading, which then may need squares.
std::map<std::string, std::string> Code::words_in(const simt::Function& function, const Words& arguments,
                                                  Reading& reading) const {
  std::map<std::string, std::string> words = passed_to(function);
  const Readings readings = readings_of(with_plain_types(function), summed_extent(function));
  for (std::size_t i = 0; !readings.all.empty() && i < function.parameters.size(); ++i) {
    if (const std::string& value = readings.all.front().values[i]; value.size() == 1) {
      words[function.parameters[i].name] = value;
    }
  }
  std::map<std::string, std::set<std::string>> passed;  // and what for
  for (std::size_t i = 0; arguments.size() == reading.values.size() && i < arguments.size(); ++i) {
    passed[arguments[i]].insert(reading.values[i]);
  }
  for (const auto& [argument, meanings] : passed) {
    // A number that two macros have in common is no word for both.
    const bool any = meanings.size() == 1;
    const bool size = !is_number(argument);
    if (!std::ranges::all_of(meanings, [&](const std::string& meaning) {
          return meaning.size() == 1 && (any || (has("MNK", meaning) && size));
        })) {
      continue;
    }
    words[argument] = *meanings.rbegin();
    for (auto one = meanings.begin(), next = std::next(one); next != meanings.end(); ++one, ++next) {
      require_equal(reading, *one, *next);
    }
  }
  return words;
}

Launching Code::launching_of(const simt::Function& kernel, const Call& call, Reading reading) const {
  static const std::regex MEMBER(R"(\b\w+\s*(?:\.|->)\s*([MNKmnk])\b(?!\s*\())");  // p.N
  const std::string before = std::regex_replace(call.before, MEMBER, "$1");
  Words parts = simt::split_arguments(call.configuration);
  parts.insert(parts.begin(), kernel.name + call.template_arguments);
  const std::map<std::string, std::string> extents = words_in(*call.caller, call.arguments, reading);
  for (std::string& part : parts) {
    part = in_words_of_problem(std::regex_replace(part, MEMBER, "$1"), before, extents, 4);
  }
  const Words chosen = template_arguments_of(parts[0]);
  for (std::size_t i = 0; i < std::min(chosen.size(), kernel.template_parameters.size()); ++i) {
    const std::string extent = meaning_of(kernel.template_parameters[i].name, Names::sizes);
    if (extent.size() == 1 && is_number(chosen[i])) {
      require_equal(reading, extent, chosen[i]);
    }
  }
  parts.resize(std::max(parts.size(), std::size_t{3}));
  for (const auto& [argument, extent] : extents) {  // a number, as macros are
    const std::regex number(is_number(argument) ? "\\b" + argument + "\\b" : "(?!)");
    parts[1] = std::regex_search(parts[2], number) ? parts[1] : std::regex_replace(parts[1], number, extent);
  }
  static const std::regex OF_C(R"(\b[MN]\b)");
  parts[1] = std::regex_search(parts[1], OF_C) ? parts[1] : "";
  std::replace(parts.begin() + 3, std::min(parts.begin() + 4, parts.end()), std::string(), std::string("?shared"));
  std::replace(parts.begin() + 3, parts.end(), std::string(), std::string("stream"));
  if (parts[1].empty() || parts[2].empty()) {
    parts[0] = parts[2].empty() ? "" : parts[0];  // its template arguments go with its block
    parts[1] = configuration_of(kernel, parts[2]);
    parts.erase(parts.begin() + 2);
  }
  return {parts[0], fmt::format("{}", fmt::join(parts.begin() + 1, parts.end(), ", ")), std::move(reading)};
}

std::vector<Launching> Code::launches_of(const simt::Function& kernel, const Reading& reading) const {
  std::vector<Launching> launches;
  for (const Call& call : calls_of(kernel)) {
    if (!call.configuration.empty() && !call.caller->is_kernel) {
      Launching found = launching_of(kernel, call, reading);
      std::erase_if(launches, [&](const Launching& one) { return one.configuration == found.configuration; });
      launches.push_back(std::move(found));
    }
  }
  return launches.empty() ? std::vector{Launching{"", configuration_of(kernel, ""), reading}} : launches;
}

simt::Function Code::instance_of(const simt::Function& function) const {
  simt::Function instance = unfolded(in_single_precision(with_plain_types(function)));
  std::vector<simt::Parameter>& parameters = instance.parameters;
  const auto is_size = [](const simt::Parameter& parameter) { return type_of(parameter) == Type::size; };
  const auto says_nothing = [&](const simt::Parameter& parameter) {
    const std::string meaning = meaning_of(parameter.name, Names::sizes);
    return is_size(parameter) ? meaning.size() != 1 && meaning != "batch" &&
                                    std::ranges::count_if(parameters, is_size) > 3  // which may be M, N and K
                              : !type_of(parameter) || type_of(parameter) == Type::order;
  };
  while (!parameters.empty() && parameters.back().has_default &&
         (says_nothing(parameters.back()) || readings_of(instance).all.empty())) {
    parameters.pop_back();
  }
  if (!function.is_kernel && instance.needs_template_arguments()) {
    std::set<std::string> called;  // with these arguments, by functions that no launch line would call in its place
    for (const Call& call : calls_of(function)) {
      if (!call.template_arguments.empty() && (call.caller->name == "main" || call.caller->parameters.empty())) {
        called.insert(call.template_arguments);
      }
    }
    if (called.size() == 1) {
      instance.name += *called.begin();
      instance.template_parameters.clear();
    }
  }
  return instance;
}

simt::Function Code::unfolded(simt::Function function) const {
  std::vector<simt::Parameter> parameters;
  for (simt::Parameter& parameter : function.parameters) {
    const bool constant = has(parameter.type, "const ");
    const std::string last = parameter.type.substr(std::max(parameter.type.size(), std::size_t{1}) - 1);
    const std::string sign = last == "*" || (last == "&" && !constant) ? last : "";
    const auto of = class_of(parameter);
    const auto& [members, plain] = of == classes_.end() ? Class() : of->second;
    Words meanings;
    bool of_extents = !members.empty();  // of a product
    for (const simt::Parameter& member : members) {
      const bool is_size = type_of(member) == Type::size;
      meanings.push_back(type_of(member) == Type::matrix ? "memory"
                         : is_size                       ? meaning_of(member.name, Names::members)
                                                         : "");
      of_extents &= is_size && (meaning_of(member.name, Names::sizes).size() == 1 || of->first.ends_with("int3"));
    }
    const auto matrices = std::ranges::count(meanings, "memory");
    const bool of_matrix =
        matrices == 1 && contains(meanings, "rows") && contains(meanings, "columns") && !contains(meanings, "");
    if (parameter.has_default || (function.is_kernel && !sign.empty()) || !(matrices > 1 || of_matrix || of_extents)) {
      parameters.push_back(std::move(parameter));
      continue;
    }
    Words member_names;
    std::ranges::transform(members, std::back_inserter(member_names), &simt::Parameter::name);
    const std::string made = plain ? "" : fmt::format("({})", fmt::join(member_names, " "));
    const std::string before = fmt::format("{}{}{} {}.", of->first, made, sign, parameter.name);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::string& name = of_matrix ? parameter.name : members[i].name;
      parameters.push_back({!of_matrix                ? members[i].type
                            : meanings[i] == "memory" ? fmt::format("{} {}", members[i].type, WITH_EXTENTS)
                                                      : fmt::format("{} {}", EXTENT_OF_MATRIX, meanings[i]),
                            before + name});
    }
  }
  function.parameters = std::move(parameters);
  return function;
}

simt::Function Code::with_plain_types(simt::Function function) const {
  static const std::regex ALIAS(R"(\busing\s+(\w+)\s*=\s*(?:std::)?(\w[\w *<>]*);|)"
                                R"(\btypedef\s+(?:std::)?(\w(?:[\w *<>]*[ *>])??)\s*(\w+)\s*;)");
  std::map<std::string, std::string> types;
  for (std::sregex_iterator at(short_text_.begin(), short_text_.end(), ALIAS), end; at != end; ++at) {
    const std::string name = at->str(1) + at->str(4);
    std::string type = std::regex_replace(at->str(2) + at->str(3), std::regex(R"(\*)"), " * ");
    type = simt::trimmed(shortened(std::regex_replace(type, std::regex(R"(\bstruct )"), "")));
    static const std::regex PLAIN(R"((?:const )?(?:float|int|unsigned|long|size_t|u?int\d+_t)\b.*)");
    if (name != type && (!types.contains(name) || std::regex_match(type, PLAIN))) {
      types[name] = type;
    }
  }
  for (const simt::Parameter& parameter : function.template_parameters) {
    types.erase(parameter.name);
  }
  constexpr int DEEPEST = 8;  // of an alias of an alias
  for (int depth = 0; depth < DEEPEST; ++depth) {
    replace_words(function.parameters, types);
  }
  replace_words(function.parameters, numbers_);  // float (*)[N]: a launch line's N is the problem's
  return function;
}

/// The expression of a function's body with extents by their names in launch lines, and its locals by what they are
/// made of, so many deep; empty where that does not go.
std::string Code::in_words_of_problem(const std::string& expression, const std::string& body,
                                      const std::map<std::string, std::string>& extents, int depth) const {
  static const std::set<std::string> KNOWN{"dim3",  "int",      "unsigned", "uint",  "size_t",     "sizeof",
                                           "float", "ceil_div", "stream",   "ceil",  "min",        "max",
                                           "true",  "false",    "std",      "ceilf", "static_cast"};
  std::string result;
  std::string rest = expression;
  for (std::smatch match; std::regex_search(rest, match, WORD); rest = match.suffix()) {
    const std::string word = match.str();
    const auto known = extents.find(word);
    const std::string extent = known != extents.end() ? known->second : meaning_of(word, Names::sizes);
    const bool is_member = match.prefix().str().ends_with('.');
    const bool is_own = is_member || KNOWN.contains(word) || constants_.contains(word) ||
                        std::ranges::find(functions_, word, &simt::Function::name) != functions_.end();
    std::string value = (known == extents.end() || is_member) && is_own ? word
                        : known != extents.end() || extent.size() == 1  ? extent
                                                                        : "";
    if (value.empty() && depth > 0) {
      value = in_words_of_problem(local_of(word, body), body, extents, depth - 1);
    }
    if (value.empty() || result.size() > 4000) {
      return "";
    }
    result += match.prefix().str() + value;
  }
  static const std::regex POINTED_TO(R"((^|[(,+\-*/%])\s*\*\s*([MNK])\b)");
  return std::regex_replace(result + rest, POINTED_TO, "$1$2");
}

std::string Code::body_of(const simt::Function& function) const {
  return shortened(std::string_view(text_).substr(function.begin, function.end - function.begin));
}

}  // namespace sgemm
