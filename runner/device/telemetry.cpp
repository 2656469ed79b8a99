#include "device/telemetry.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sgemm {
namespace {

// The part of NVML's binary interface used here. It is stable across drivers, and many toolkit installations leave
// nvml.h out, so the declarations are repeated rather than included.
namespace nvml {
using Device = struct Opaque*;
constexpr int SUCCESS = 0;
constexpr int CLOCK_SM = 1;
constexpr int CLOCK_MEMORY = 2;
constexpr int TEMPERATURE_GPU = 0;
using Init = int (*)();
using Shutdown = int (*)();
using HandleByPciBusId = int (*)(const char*, Device*);
using DriverVersion = int (*)(char*, unsigned);
using ClockInfo = int (*)(Device, int, unsigned*);
using PowerUsage = int (*)(Device, unsigned*);  // milliwatts
using Temperature = int (*)(Device, int, unsigned*);
using ThrottleReasons = int (*)(Device, unsigned long long*);
using PowerLimit = int (*)(Device, unsigned*);             // milliwatts
using TotalEnergy = int (*)(Device, unsigned long long*);  // millijoules
using MigMode = int (*)(Device, unsigned*, unsigned*);     // now, and after the next reset

/// One of the many values that have a number instead of a function.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int value_type;
  int status;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_unsigned_long_long;
  } value;
};
constexpr unsigned FIELD_POWER_INSTANT = 186;  // milliwatts
constexpr int VALUE_UNSIGNED = 1;
using FieldValues = int (*)(Device, int, FieldValue*);
}  // namespace nvml

struct Reason {
  unsigned long long bit;
  std::string_view name;
  bool throttles;  ///< lowers clocks that the settings and the load would allow
};

constexpr std::array<Reason, 10> REASONS{{
    {0x001, "gpu_idle", false},
    {0x002, "applications_clocks_setting", false},
    {0x004, "sw_power_cap", true},
    {0x008, "hw_slowdown", true},
    {0x010, "sync_boost", false},
    {0x020, "sw_thermal_slowdown", true},
    {0x040, "hw_thermal_slowdown", true},
    {0x080, "hw_power_brake_slowdown", true},
    {0x100, "display_clock_setting", false},
    {0, POWER_AT_LIMIT, true},  // of no bit
}};

struct Unload {
  void operator()(void* library) const { dlclose(library); }
};

class Nvml final : public Telemetry {
 public:
  static std::unique_ptr<Telemetry> open(const std::string& pci_bus_id) {
    std::unique_ptr<Nvml> result(new Nvml);
    return result->start(pci_bus_id) ? std::move(result) : nullptr;
  }

  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  ~Nvml() override {
    if (started_) {
      function<nvml::Shutdown>("nvmlShutdown")();
    }
  }

  TelemetrySample sample() const override {
    TelemetrySample sample;
    unsigned value = 0;
    if (clock_ != nullptr && clock_(device_, nvml::CLOCK_SM, &value) == nvml::SUCCESS) {
      sample.sm_clock_mhz = static_cast<int>(value);
    }
    if (clock_ != nullptr && clock_(device_, nvml::CLOCK_MEMORY, &value) == nvml::SUCCESS) {
      sample.memory_clock_mhz = static_cast<int>(value);
    }
    if (power_ != nullptr && power_(device_, &value) == nvml::SUCCESS) {
      sample.power_w = value / 1000.0;
    }
    if (temperature_ != nullptr && temperature_(device_, nvml::TEMPERATURE_GPU, &value) == nvml::SUCCESS) {
      sample.temperature_c = static_cast<int>(value);
    }
    unsigned long long mask = 0;
    if (reasons_ != nullptr && reasons_(device_, &mask) == nvml::SUCCESS) {
      sample.throttle_reasons = throttle_reason_names(mask);
    }
    sample.instant_power_w = instant_power_w();
    if (power_limit_ != nullptr && power_limit_(device_, &value) == nvml::SUCCESS) {
      note_power_at(value / 1000.0, sample);
    }
    if (no_energy_.empty()) {
      sample.energy_j = energy_j();
    }
    return sample;
  }

  std::string no_energy() const override { return no_energy_; }

  std::string driver_version() const override {
    std::array<char, 96> text{};
    const auto query = function<nvml::DriverVersion>("nvmlSystemGetDriverVersion");
    return query != nullptr && query(text.data(), text.size()) == nvml::SUCCESS ? text.data() : "";
  }

 private:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {}

  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_.get(), name));
  }

  bool start(const std::string& pci_bus_id) {
    if (!library_) {
      return false;
    }
    const auto init = function<nvml::Init>("nvmlInit_v2");
    const auto handle = function<nvml::HandleByPciBusId>("nvmlDeviceGetHandleByPciBusId_v2");
    if (init == nullptr || handle == nullptr || init() != nvml::SUCCESS) {
      return false;
    }
    started_ = true;
    clock_ = function<nvml::ClockInfo>("nvmlDeviceGetClockInfo");
    power_ = function<nvml::PowerUsage>("nvmlDeviceGetPowerUsage");
    temperature_ = function<nvml::Temperature>("nvmlDeviceGetTemperature");
    // The new name came with the 535 drivers. They keep the old one, but may drop it some day.
    reasons_ = function<nvml::ThrottleReasons>("nvmlDeviceGetCurrentClocksEventReasons");
    if (reasons_ == nullptr) {
      reasons_ = function<nvml::ThrottleReasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
    }
    if (handle(pci_bus_id.c_str(), &device_) != nvml::SUCCESS) {
      return false;
    }
    field_values_ = function<nvml::FieldValues>("nvmlDeviceGetFieldValues");
    power_limit_ = function<nvml::PowerLimit>("nvmlDeviceGetEnforcedPowerLimit");
    energy_ = function<nvml::TotalEnergy>("nvmlDeviceGetTotalEnergyConsumption");
    no_energy_ = why_no_energy();
    return true;
  }

  std::optional<double> instant_power_w() const {
    nvml::FieldValue power{};
    power.field = nvml::FIELD_POWER_INSTANT;
    if (field_values_ == nullptr || field_values_(device_, 1, &power) != nvml::SUCCESS ||
        power.status != nvml::SUCCESS || power.value_type != nvml::VALUE_UNSIGNED) {
      return std::nullopt;
    }
    return power.value.as_unsigned / 1000.0;
  }

  std::optional<double> energy_j() const {
    unsigned long long millijoules = 0;
    if (energy_ == nullptr || energy_(device_, &millijoules) != nvml::SUCCESS) {
      return std::nullopt;
    }
    return static_cast<double>(millijoules) / 1000.0;
  }

  std::string why_no_energy() const {
    const auto mig_mode = function<nvml::MigMode>("nvmlDeviceGetMigMode");
    unsigned now = 0;
    unsigned pending = 0;
    if (mig_mode != nullptr && mig_mode(device_, &now, &pending) == nvml::SUCCESS && now != 0) {
      return "MIG is on, and NVML counts the energy of the whole GPU";
    }
    return energy_j() ? "" : "NVML counts no energy of this GPU, or not for this user";
  }

  std::unique_ptr<void, Unload> library_;
  bool started_ = false;
  nvml::Device device_ = nullptr;
  nvml::ClockInfo clock_ = nullptr;
  nvml::PowerUsage power_ = nullptr;
  nvml::Temperature temperature_ = nullptr;
  nvml::ThrottleReasons reasons_ = nullptr;
  nvml::FieldValues field_values_ = nullptr;
  nvml::PowerLimit power_limit_ = nullptr;
  nvml::TotalEnergy energy_ = nullptr;
  std::string no_energy_;
};

}  // namespace

bool throttles(std::string_view reason) {
  return std::any_of(REASONS.begin(), REASONS.end(),
                     [&](const Reason& known) { return known.throttles && known.name == reason; });
}

bool TelemetrySample::throttled() const {
  return std::any_of(throttle_reasons.begin(), throttle_reasons.end(), throttles);
}

std::vector<std::string> throttle_reason_names(unsigned long long mask) {
  std::vector<std::string> names;
  for (const Reason& reason : REASONS) {
    if ((mask & reason.bit) != 0) {
      names.emplace_back(reason.name);
    }
  }
  return names;
}

void note_power_at(double limit_w, TelemetrySample& sample) {
  if (!sample.throttled() && power_of(sample).value_or(0.0) >= limit_w) {
    sample.throttle_reasons.emplace_back(POWER_AT_LIMIT);
  }
}

std::optional<double> power_of(const TelemetrySample& sample) {
  return sample.instant_power_w ? sample.instant_power_w : sample.power_w;
}

std::unique_ptr<Telemetry> Telemetry::open(const std::string& pci_bus_id) { return Nvml::open(pci_bus_id); }

}  // namespace sgemm
