#pragma once

#include "fake_kernels.hpp"
#include "record.hpp"

#include <vector>

namespace sgemm {

inline constexpr Size CUBE{1024, 1024, 1024};

/// A GPU kernel that was measured beside cuBLAS: 100 us against 80 us.
inline Record measured_record() {
  Record record(fake_kernel(6, "coarse_2d", "vectorized"), CUBE);
  record.verified = true;
  record.rel_err = 3.2e-7;
  record.max_bound_ratio = 0.02;
  record.resources = Resources{256, 128, 16384, 0, 2};
  record.occupancy = 0.25;
  record.telemetry.emplace(TelemetrySample{1980, 3201, 310.5, 45, {}},
                           TelemetrySample{1965, 3201, 512.0, 51, {"sw_power_cap"}});
  Timings timings;
  timings.kernel_us = {100.0, 101.0, 99.0, 100.0, 100.0, 100.5, 99.5};
  timings.rival_us = {80.0, 81.0, 79.0, 80.0, 80.0, 80.5, 79.5};
  Measurement measurement = measurement_of(timings, CUBE);
  measurement.percent_of_peak = 32.1;
  measurement.cublas_alone_us = 78.0;
  measurement.vs_cublas_alone = 0.78;
  record.measurement = measurement;
  return record;
}

/// A GPU kernel that the executor ran.
inline Record executed_record() {
  Record record(fake_kernel(6, "coarse_2d"), CUBE);
  record.outcome = Outcome::executed;
  record.verified = true;
  record.rel_err = 3.2e-7;
  record.max_bound_ratio = 0.02;
  return record;
}

inline Record stopped_record(Outcome outcome, const std::string& reason) {
  Record record(fake_kernel(1, "naive"), CUBE);
  record.stop(outcome, reason);
  return record;
}

}  // namespace sgemm
