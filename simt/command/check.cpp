#include "command/launches.hpp"
#include "simt/checked_arrays.hpp"
#include "simt/executor.hpp"

#include <exception>
#include <iostream>
#include <optional>
#include <utility>

namespace simt::command {
namespace {

/// They are checked from begin() on.
class CheckedLaunch final : public LaunchArrays {
 public:
  void begin() override { checked_.emplace(arrays()); }

  bool observed_any() const { return checked_ && checked_->observed_any(); }

 private:
  std::optional<CheckedArrays> checked_;
};

}  // namespace

int check(Words words) {
  int status = CLEAN;
  const LoadedFile file = load_launches(std::move(words));
  for (const LoadedLaunch& launch : file.launches) {
    CheckedLaunch arrays;
    try {
      launch.run(arrays);
      std::cout << launch.heading << ": " << (arrays.observed_any() ? "no faults" : "no faults: no memory was used")
                << std::endl;
    } catch (const Error& error) {
      std::cerr << launch.heading << ": " << error.what() << std::endl;
      status = FAULTS;
    } catch (const std::exception& error) {  // such as NotSupported
      throw UsageError(launch.heading + ": " + error.what());
    }
  }
  return status;
}

}  // namespace simt::command
