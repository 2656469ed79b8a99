#pragma once

#include "base/kernel.hpp"
#include "bench/case_runner.hpp"
#include "cli/options.hpp"
#include "device/device.hpp"
#include "problem/case.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// A --kernel expression taken apart.
struct KernelTerms {
  std::string names;               ///< the terms for select_kernels(), separated by commas; empty for none
  std::vector<std::string> files;  ///< those for user_kernels()
};

/// Which terms of a --kernel expression name files: names_file() says so.
KernelTerms kernel_terms(std::string_view expression);

/// The kernels of `available` that a --kernel expression without files names: terms separated by commas, each kernel
/// once, in the order of `available`. The result points into `available`. --help says what terms there are, and
/// runner/tests/kernels.txt has what they stand for.
///
/// Two numbers with a colon between them are a range. So a variant whose name is a number needs its kernel's name
/// before the colon. Throws UsageError when a term names nothing; the message lists the nearest kernels, or the
/// kernel's variants, or says that the kernel needs a build with CUDA.
std::vector<const Kernel*> select_kernels(std::string_view expression, const std::vector<Kernel>& available);

/// Adds OpenBLAS on the CPU to chapters for one GPU that nothing else was named with. Every record has cuBLAS's times,
/// so a run of chapters has both baselines. Nothing is added to other selections: they name what they want. Returns
/// what was added.
const Kernel* add_cpu_baseline(std::vector<const Kernel*>& selected, const std::vector<Kernel>& available);

/// `available`, and behind their kernels the configurations that the expression names ("9:64x128"), each as a
/// variant that runs it in place of the kernel's own choice. Only a problem tells whether its kernel has it.
std::vector<Kernel> with_configurations(std::string_view expression, std::vector<Kernel> available);

/// Ranges take the kernels that there are. Says, for an expression that select_kernels() takes, where one includes a
/// number whose kernel a build without CUDA lacks.
std::optional<std::string> left_out_without_cuda(std::string_view expression, const std::vector<Kernel>& available);

/// The GPU of a run, or why it has none.
DeviceQuery device_of(const Options& options);

/// The kernels of files, which are compiled for the target that they are going to run on.
std::vector<Kernel> kernels_of_files(const std::vector<std::string>& files, const Options& options,
                                     const DeviceQuery& device);

/// Throws UsageError where the command line says how GPUs share a product, and no kernel of `selected` is for several.
void require_several_gpus(const Options& options, const std::vector<const Kernel*>& selected);

/// Makes a case of every kernel on every size and, with --accuracy, on each of `data`. All kernels on the same operands
/// follow one another, so that operands and reference are made once.
std::vector<Case> make_plan(const std::vector<const Kernel*>& kernels, const std::vector<Size>& sizes,
                            const std::vector<Distribution>& data);

/// The plan of a command line: `kernels` on the sizes that it names or, where it names none, on the mode's own. Throws
/// UsageError as parse_sizes() and choose_cases() do, and for a page that several cases would fill.
std::vector<Case> plan_of(const Options& options, const std::vector<const Kernel*>& kernels, bool on_gpu);

/// Whether a kernel of the plan is for GPUs.
bool is_for_gpus(const std::vector<Case>& plan);

/// The run of the plan on that device. All of them outlive it. `several_gpus` is for its products on several GPUs.
Run run_of(const Options& options, const DeviceQuery& device, const std::vector<Case>& plan,
           BenchMaker several_gpus = {});

}  // namespace sgemm
