#include "command/command.hpp"
#include "simt/plain_cuda.hpp"

#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using namespace simt::command;

struct Part {
  std::string_view name;
  std::string_view usage;
  int (*run)(Words words);
};

constexpr std::array PARTS{Part{"check", CHECK_USAGE, check}, Part{"count", COUNT_USAGE, count},
                           Part{"translate", TRANSLATE_USAGE, translate}};

void print_usage(std::ostream& out) {
  for (const Part& part : PARTS) {
    out << part.usage << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help") {
    print_usage(std::cout);
    return CLEAN;
  }
  if (name == "--version") {
    std::cout << "simt " SIMT_VERSION "\n";
    return CLEAN;
  }
  for (const Part& part : PARTS) {
    if (part.name != name) {
      continue;
    }
    if (argc > 2 && std::string_view(argv[2]) == "--help") {
      std::cout << part.usage;
      return CLEAN;
    }
    try {
      return part.run(Words(argc - 2, argv + 2));
    } catch (const UsageError& error) {
      std::cerr << "simt " << name << ": " << error.what() << '\n';
    } catch (const simt::TranslationError& error) {
      std::cerr << error.what() << '\n';
    } catch (const simt::CompilerError& error) {
      std::cerr << error.what();
    } catch (const std::exception& error) {
      std::cerr << "simt " << name << ": " << error.what() << '\n';
    }
    return BAD_USAGE;
  }
  std::cerr << (name.empty() ? "simt: a part is to be named" : "simt: there is no part " + std::string(name)) << "\n\n";
  print_usage(std::cerr);
  return BAD_USAGE;
}
