#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace simt {

/// What a file that is included by `name` is called in the translation; nothing leaves the name as it is. `quoted`
/// tells "name" from <name>.
using IncludeName = std::function<std::optional<std::string>(const std::string& name, bool quoted)>;

/// translate(), with includes renamed.
std::string translate_file(std::string_view source, const std::string& path, const IncludeName& include_name);

}  // namespace simt
