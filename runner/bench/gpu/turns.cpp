// Turns: what a kernel and cuBLAS do for long, and the energy that a product takes then.

#include "bench/gpu/session.hpp"
#include "record/record.hpp"
#include "timing/turn.hpp"

#include <chrono>
#include <thread>

namespace sgemm {
namespace {

Turn turn_of(GpuSession& gpu, const GpuCase& item, const Prepared& kernel, double seconds) {
  DeviceProblem& problem = gpu.on_device(item.operands).problem;
  // What a kernel fails to write shows up as NaN, however often it was launched.
  problem.restore(1, gpu.stream());
  EventQueue queue(kernel, problem.operands(), gpu.stream());
  return take_turn(queue, seconds, gpu.telemetry(), gpu.stop(), item.observer);
}

}  // namespace

void measure_energy(GpuSession& gpu, const GpuCase& item, const Prepared& kernel) {
  Turns turns;
  turns.cublas = turn_of(gpu, item, gpu.cublas_of(item.operands), ENERGY_SECONDS);
  turns.kernel = turn_of(gpu, item, kernel, ENERGY_SECONDS);
  gpu.stop().check();
  if (gpu.protocol().verify) {
    gpu.verify(item, 0, "after the turn for energy: ");
  }
  gpu.require_possible(item, turns.kernel.launch_us(), turns.kernel.launches_per_batch, L2State::warm,
                       "in the turn for energy: ");
  item.record.energy = to_json(turns, flops(item.operands.size));
}

void sustain(GpuSession& gpu, const GpuCase& item) {
  const Prepared prepared = gpu.prepare(item);
  gpu.run_verified(prepared, item);

  const auto idle = [&] {
    const Pause pause = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
    return cool_down(gpu.telemetry(), gpu.idle_c(), pause, gpu.stop(), item.observer);
  };
  Sustained result;
  result.asked_s = gpu.protocol().sustain_s;
  result.before_kernel = idle();
  result.turns.kernel = turn_of(gpu, item, prepared, result.asked_s);
  if (result.turns.kernel.batch_us.empty()) {
    gpu.stop().check();
  }
  if (gpu.protocol().verify) {
    item.observer("verifying");
    gpu.compare(item, 0, "after its turn: ");  // an interrupted turn counts as well, so nothing asks to stop
  }
  gpu.require_possible(item, result.turns.kernel.launch_us(), result.turns.kernel.launches_per_batch, L2State::warm);
  if (!gpu.stop().requested()) {
    result.before_cublas = idle();
    result.turns.cublas = turn_of(gpu, item, gpu.cublas_of(item.operands), result.asked_s);
  }
  item.record.sustained = to_json(result, flops(item.operands.size));
  item.record.outcome = Outcome::sustained;
  gpu.note_resources(item);
}

}  // namespace sgemm
