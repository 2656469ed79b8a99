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

/// One of the many values that have a number instead of a function.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int value_type;
  int status;
  union {
    unsigned as_unsigned;
    unsigned long long as_unsigned_long_long;
  } value;
};
constexpr unsigned FIELD_POWER_INSTANT = 186;  // milliwatts
constexpr int VALUE_UNSIGNED = 1;
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
      function<int (*)()>("nvmlShutdown")();
    }
  }

  TelemetrySample sample() const override {
    TelemetrySample sample;
    sample.sm_clock_mhz = ask<unsigned>("nvmlDeviceGetClockInfo", nvml::CLOCK_SM);
    sample.memory_clock_mhz = ask<unsigned>("nvmlDeviceGetClockInfo", nvml::CLOCK_MEMORY);
    sample.power_w = thousandth(ask<unsigned>("nvmlDeviceGetPowerUsage"));
    sample.temperature_c = ask<unsigned>("nvmlDeviceGetTemperature", nvml::TEMPERATURE_GPU);
    // The new name came with the 535 drivers. They keep the old one, but may drop it some day.
    const auto reasons = ask<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons");
    const auto as_before = [&] { return ask<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons"); };
    sample.throttle_reasons = throttle_reason_names((reasons ? reasons : as_before()).value_or(0));
    sample.instant_power_w = instant_power_w();
    if (const std::optional<double> limit = thousandth(ask<unsigned>("nvmlDeviceGetEnforcedPowerLimit"))) {
      note_power_at(*limit, sample);
    }
    if (no_energy_.empty()) {
      sample.energy_j = energy_j();
    }
    return sample;
  }

  std::string no_energy() const override { return no_energy_; }

  std::string driver_version() const override {
    std::array<char, 96> text{};
    const auto query = function<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
    return query != nullptr && query(text.data(), text.size()) == nvml::SUCCESS ? text.data() : "";
  }

 private:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), dlclose) {}

  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_.get(), name));
  }

  /// What a function tells of the GPU; nothing where the driver lacks it, or does not tell.
  template <class Value, class... Kind>
  std::optional<Value> ask(const char* name, Kind... kind) const {
    Value value{};
    const auto query = function<int (*)(nvml::Device, Kind..., Value*)>(name);
    const bool told = query != nullptr && query(device_, kind..., &value) == nvml::SUCCESS;
    return told ? std::optional(value) : std::nullopt;
  }

  template <class Value>
  static std::optional<double> thousandth(const std::optional<Value>& value) {
    return value ? std::optional(static_cast<double>(*value) / 1000.0) : std::nullopt;
  }

  bool start(const std::string& pci_bus_id) {
    if (!library_) {
      return false;
    }
    const auto init = function<int (*)()>("nvmlInit_v2");
    const auto handle = function<int (*)(const char*, nvml::Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
    if (init == nullptr || handle == nullptr || init() != nvml::SUCCESS) {
      return false;
    }
    started_ = true;
    if (handle(pci_bus_id.c_str(), &device_) != nvml::SUCCESS) {
      return false;
    }
    no_energy_ = why_no_energy();
    return true;
  }

  std::optional<double> instant_power_w() const {
    nvml::FieldValue power{};
    power.field = nvml::FIELD_POWER_INSTANT;
    const auto query = function<int (*)(nvml::Device, int, nvml::FieldValue*)>("nvmlDeviceGetFieldValues");
    if (query == nullptr || query(device_, 1, &power) != nvml::SUCCESS || power.status != nvml::SUCCESS ||
        power.value_type != nvml::VALUE_UNSIGNED) {
      return std::nullopt;
    }
    return power.value.as_unsigned / 1000.0;
  }

  std::optional<double> energy_j() const {
    return thousandth(ask<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption"));
  }

  std::string why_no_energy() const {
    const auto mig_mode = function<int (*)(nvml::Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
    unsigned now = 0;
    unsigned pending = 0;  // after the next reset
    if (mig_mode != nullptr && mig_mode(device_, &now, &pending) == nvml::SUCCESS && now != 0) {
      return "MIG is on, and NVML counts the energy of the whole GPU";
    }
    return energy_j() ? "" : "NVML counts no energy of this GPU, or not for this user";
  }

  std::unique_ptr<void, int (*)(void*)> library_;
  bool started_ = false;
  nvml::Device device_ = nullptr;
  std::string no_energy_;
};

}  // namespace

bool throttles(std::string_view reason) {
  return std::ranges::any_of(REASONS, [&](const Reason& known) { return known.throttles && known.name == reason; });
}

bool TelemetrySample::throttled() const { return std::ranges::any_of(throttle_reasons, throttles); }

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
