// What a file has loaded may change what any function here does.

#include "bench/gpu_bench.hpp"

#include "common/cuda_check.hpp"
#include "device/cuda_handles.hpp"
#include "device/shared_operands.hpp"
#include "host/workspace.hpp"
#include "judge/launcher.hpp"
#include "problem/operands.hpp"
#include "timing/gpu_timers.hpp"
#include "timing/probe.hpp"
#include "user/library.hpp"

#include <memory>
#include <optional>

namespace sgemm {
namespace {

/// After the gate has opened the GPU changes from one process to the other. That is over when a kernel runs.
constexpr long long CYCLES_BEFORE_START = 5000;

class CudaLaunchingGpu final : public LaunchingGpu {
 public:
  void open(const SharedGpu& gpu, const Shape& shape) override {
    in_room([&] { open_shared(gpu); });
    shape_ = shape;
    stream_ = make_stream();
    start_ = make_event();
    stop_ = make_event();
  }

  void load(const std::filesystem::path& library) override { library_.emplace(library); }

  bool meets_requirement() override { return library_->meets_requirement(packed(shape_, nullptr, nullptr, nullptr)); }

  std::size_t prepare() override {
    const std::size_t bytes = library_->workspace_bytes(packed(shape_, nullptr, nullptr, nullptr));
    if (bytes > 0) {
      in_room([&] { workspace_ = allocate_workspace(bytes); });
    }
    return bytes;
  }

  double sample(const std::vector<Places>& launches) override {
    in_room([&] {
      CUDA_CHECK(cudaStreamWaitEvent(stream_.get(), gate_.get(), 0));
      launch_hold(CYCLES_BEFORE_START, stream_.get());
      CUDA_CHECK(cudaEventRecord(start_.get(), stream_.get()));
      if (library_) {
        for (const Places& places : launches) {
          launch(places);
        }
      } else {
        launch_empty(stream_.get());
      }
      CUDA_CHECK(cudaEventRecord(stop_.get(), stream_.get()));
      wait();
    });
    float milliseconds = 0.0F;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()));
    return double{milliseconds} * 1000.0;
  }

  void enqueue(const Places& places, int launches) override {
    if (!queue_) {
      const Prepared prepared{{"", 0,
                               [this](const Problem& problem, void*, cudaStream_t stream) {
                                 library_->launch(problem, workspace_.get(), stream);
                               }},
                              nullptr};
      queue_.emplace(prepared, problem_at(places), stream_.get());
    }
    in_room([&] { queue_->enqueue(launches); });
  }

  double finish() override { return queue_.value().finish(); }

  std::optional<Resources> resources() override { return library_->resources(); }

 private:
  void open_shared(const SharedGpu& gpu) {
    CUDA_CHECK(cudaSetDevice(gpu.device));
    cudaIpcMemHandle_t memory{};
    from_hexadecimal(gpu.memory, &memory, sizeof(memory));
    void* begin = nullptr;
    CUDA_CHECK(cudaIpcOpenMemHandle(&begin, memory, cudaIpcMemLazyEnablePeerAccess));
    memory_ = static_cast<char*>(begin);
    cudaIpcEventHandle_t handle{};
    from_hexadecimal(gpu.gate, &handle, sizeof(handle));
    cudaEvent_t gate = nullptr;
    CUDA_CHECK(cudaIpcOpenEventHandle(&gate, handle));
    gate_.reset(gate);
  }

  template <class Work>
  static void in_room(const Work& work) {
    try {
      work();
    } catch (const CudaError& error) {
      if (error.code() == cudaErrorMemoryAllocation) {
        throw NoRoom(error.what());
      }
      throw;
    }
  }

  Problem problem_at(const Places& places) const {
    const auto at = [this](std::size_t place) { return reinterpret_cast<float*>(memory_ + place); };
    return packed(shape_, at(places.a), at(places.b), at(places.c));
  }

  /// Without going to sleep, whatever a file has chosen for waits (cudaSetDeviceFlags): a thread wakes up late.
  void wait() const {
    while (cudaEventQuery(stop_.get()) == cudaErrorNotReady) {
    }
    cudaGetLastError();  // that it was not ready is no error
    CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
  }

  void launch(const Places& places) const { library_->launch(problem_at(places), workspace_.get(), stream_.get()); }

  char* memory_ = nullptr;
  Event gate_;
  Shape shape_;
  Stream stream_;
  Event start_;
  Event stop_;
  std::optional<UserLibrary> library_;
  std::shared_ptr<void> workspace_;
  std::optional<EventQueue> queue_;
};

}  // namespace

void serve_as_launcher() {
  Serving serving(LAUNCHER_VARIABLE);
  CudaLaunchingGpu gpu;
  serve_launches(serving.connection(), gpu);
}

}  // namespace sgemm
