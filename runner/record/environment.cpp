#include "record/results_file.hpp"

#include "base/build_info.hpp"
#include "timing/sampling.hpp"
#include "timing/turn.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <regex>
#include <string_view>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace sgemm {
namespace {

/// Version 2 added energy, sustained speed, and traces. Readers take version 1 as well.
constexpr int SCHEMA_VERSION = 2;

/// Local time in ISO 8601, "2026-11-20T14:03:07+01:00".
std::string now() {
  std::string text = fmt::format("{:%Y-%m-%dT%H:%M:%S%z}", fmt::localtime(std::time(nullptr)));
  if (text[text.size() - 3] != ':') {
    text.insert(text.size() - 2, 1, ':');
  }
  return text;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

template <class Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json describe(const Device& device, const std::string& driver) {
  Json json;
  json["index"] = device.index;
  json["name"] = device.name;
  json["compute_capability"] = capability_text(device.compute_capability);
  json["multiprocessors"] = device.multiprocessors;
  json["l2_bytes"] = device.l2_bytes;
  json["memory_bytes"] = device.memory_bytes;
  json["smem_per_sm_bytes"] = device.smem_per_sm_bytes;
  json["smem_per_block_optin_bytes"] = device.smem_per_block_optin_bytes;
  json["max_sm_clock_mhz"] = device.max_sm_clock_mhz;
  json["max_memory_clock_mhz"] = device.max_memory_clock_mhz;
  json["memory_bus_bits"] = device.memory_bus_bits;
  if (const std::optional<double> peak = device.fp32_peak_gflops()) {
    json["fp32_peak_gflops"] = *peak;
    json["fp32_peak_basis"] = device.fp32_peak_basis();
  }
  json["dram_peak_gbytes_s"] = device.dram_peak_gbytes_s();
  json["dram_peak_basis"] = device.dram_peak_basis();
  if (!driver.empty()) {
    json["driver"] = driver;
  }
  return json;
}

/// The flags without the one that names the folder of the sources, which changes nothing that is measured.
std::string without_source_folder(std::string_view flags) {
  return std::regex_replace(std::string(flags), std::regex("[ ,]-ffile-prefix-map=[^ ,]*"), "");
}

Json describe(const BuildInfo& build) {
  return {{"cxx_compiler", build.cxx_compiler},
          {"cxx_flags", without_source_folder(build.cxx_flags)},
          {"nvcc", build.nvcc},
          {"nvcc_flags", without_source_folder(build.nvcc_flags)},
          {"cuda_architectures", build.cuda_architectures},
          {"build_type", build.build_type}};
}

Json describe(const Protocol& protocol, const GpuFacts& facts) {
  const bool accuracy = protocol.mode == Mode::accuracy;
  Json json;
  json["l2"] = to_string(protocol.l2);
  json["time"] = to_string(protocol.time);
  json["data"] = accuracy ? Json(protocol.data) : Json(protocol.data.front());
  json["seed"] = protocol.seed;
  json["alpha"] = protocol.alpha;
  json["beta"] = protocol.beta;
  json["max_seconds"] = protocol.max_seconds;
  json["verify"] = protocol.verify;
  json["check"] = protocol.check;
  json["count"] = protocol.mode == Mode::count;
  json["accuracy"] = accuracy;
  json["profile"] = protocol.mode == Mode::profile;
  json["energy"] = protocol.energy;
  json["sustain"] = protocol.mode == Mode::sustain;
  if (protocol.mode == Mode::sustain) {
    json["sustain_s"] = protocol.sustain_s;
    json["cool_kelvin"] = COOL_KELVIN;
    json["cool_s"] = COOL_SECONDS;
  }
  if (protocol.energy) {
    json["energy_s"] = ENERGY_SECONDS;
  }
  json["flush_bytes"] = protocol.l2 == L2State::cold ? facts.flush_bytes : 0;
  json["min_samples"] = MIN_SAMPLES;
  json["max_samples"] = MAX_SAMPLES;
  json["target_ci"] = TARGET_CI;
  json["confidence"] = CONFIDENCE;
  if (facts.empty_kernel_us > 0.0) {
    json["empty_kernel_us"] = facts.empty_kernel_us;
    json["event_resolution_us"] = facts.event_resolution_us;
  }
  if (protocol.time == TimeMode::end_to_end) {
    json["host_memory"] = "pageable";
  }
  return json;
}

}  // namespace

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

Json describe_environment(const std::vector<std::string>& argv, const Protocol& protocol, const DeviceQuery& query,
                          const GpuFacts& facts) {
  const BuildInfo& build = build_info();
  Json json;
  json["schema_version"] = SCHEMA_VERSION;
  json["date"] = now();
  json["host_name"] = host_name();
  json["executable"] = argv.empty() ? "" : argv.front();
  json["argv"] = argv;
  json["num_cpus"] = std::thread::hardware_concurrency();
  json["cpu"] = cpu_model();
  json["library"] = fmt::format("sgemm-worklog {}", build.version);
  json["git_commit"] = build.git_commit;
  json["git_dirty"] = build.git_dirty;
  json["device"] = query.device ? describe(*query.device, facts.driver) : Json(nullptr);
  json["device_error"] = query.error;
  const GpuLibraries libraries = gpu_libraries();
  json["cuda_runtime"] = value_or_null(libraries.cuda_runtime);
  json["cuda_driver_api"] = value_or_null(libraries.cuda_driver_api);
  json["cublas_version"] = value_or_null(libraries.cublas);
  json["cublas_math_mode"] = value_or_null(libraries.cublas_math_mode);
  json["cublas_workspace_bytes"] = value_or_null(libraries.cublas_workspace_bytes);
  const char* const tf32_override = std::getenv("NVIDIA_TF32_OVERRIDE");
  json["nvidia_tf32_override"] = tf32_override == nullptr ? Json(nullptr) : Json(tf32_override);
  json["build"] = describe(build);
  json["protocol"] = describe(protocol, facts);
  return json;
}

}  // namespace sgemm
