#pragma once

#include "ranks/rank_device.hpp"

#include <memory>
#include <vector>

namespace sgemm::test {

/// The host as the device of a rank, for tests that change a part of it.
class HostDevice : public RankDevice {
 public:
  void bind() override {}
  std::shared_ptr<float> allocate(std::int64_t floats) override { return host_->allocate(floats); }
  void upload(float* to, const std::vector<float>& from) override { host_->upload(to, from); }
  void copy(float* to, std::int64_t ld_to, const float* from, std::int64_t ld_from, std::int64_t rows,
            std::int64_t columns) override {
    host_->copy(to, ld_to, from, ld_from, rows, columns);
  }
  void fill_with_nan(float* memory, std::int64_t floats) override { host_->fill_with_nan(memory, floats); }
  void get_ready(bool) override {}
  void synchronize() override {}
  Prepared prepare(const Build& build, const Problem& problem) override { return host_->prepare(build, problem); }
  cudaStream_t stream() const override { return nullptr; }
  Platform platform() const override { return host_->platform(); }
  Target target() const override { return host_->target(); }

 private:
  std::unique_ptr<RankDevice> host_ = make_host_rank_device();
};

}  // namespace sgemm::test
