#include "cli/selection.hpp"

#include "base/outcome.hpp"
#include "base/usage_error.hpp"
#include "base/words.hpp"
#include "simt/gpu_models.hpp"
#include "user/user_file.hpp"
#include "user/user_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace sgemm {
namespace {

constexpr std::size_t MAX_SUGGESTIONS = 3;
/// Of a plan, which nobody waits for the end of.
constexpr std::size_t MOST_CASES = 100000;

/// What a build without CUDA lacks, and its number if it has one.
struct CudaKernel {
  std::string_view name;
  int number = -1;
};
constexpr std::array<CudaKernel, 4> CUDA_KERNELS{{{"cublas", 0}, {"cublas_tf32"}, {"cublaslt_best"}, {"libsgemm"}}};

constexpr std::string_view NEEDS_CUDA =
    "needs a build with CUDA: run CMake in a new folder, with the CUDA Toolkit's nvcc on PATH and "
    "SGEMM_WITH_CUDA at its default of ON";

/// A decimal number without a sign, or nothing. Numbers beyond an int become the largest one.
std::optional<int> parse_number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  int number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc::result_out_of_range ? std::numeric_limits<int>::max() : number;
}

/// Chapters from `first` to `last`, both included.
struct NumberRange {
  int first = 0;
  int last = 0;

  std::size_t distance(int number) const {
    return static_cast<std::size_t>(std::max({first - number, number - last, 0}));
  }
};

/// The request of one term. `kernel` is a number, a range of numbers or a name.
struct Term {
  std::string_view kernel;
  std::optional<NumberRange> numbers;    // when `kernel` is a number or a range
  std::string_view variant = "default";  // "*" for all

  bool names(const Kernel& candidate) const {
    return numbers ? candidate.number >= 0 && numbers->distance(candidate.number) == 0
                   : kernel == candidate.name || kernel == candidate.numbered_name();
  }
  bool names_variant_of(const Kernel& candidate) const { return variant == "*" || variant == variant_name(candidate); }
  static std::string variant_name(const Kernel& candidate) {
    return candidate.variant.empty() ? "default" : candidate.variant;
  }
};

std::optional<NumberRange> parse_numbers(std::string_view text, char separator) {
  const std::vector<std::string_view> ends = split(text, separator);
  const std::optional<int> first = parse_number(ends.front());
  const std::optional<int> last = parse_number(ends.back());
  if (ends.size() > 2 || !first || !last) {
    return std::nullopt;
  }
  if (*first > *last) {
    throw UsageError(fmt::format("bad kernels '{}': the range is empty, {} is above {}", text, *first, *last));
  }
  return NumberRange{*first, *last};
}

Term parse_term(std::string_view text) {
  Term term{.kernel = text, .numbers = parse_numbers(text, ':')};
  const std::size_t colon = text.find(':');
  if (!term.numbers && colon != std::string_view::npos) {
    term.kernel = text.substr(0, colon);
    term.variant = text.substr(colon + 1);
  }
  if (!term.numbers) {
    term.numbers = parse_numbers(term.kernel, '-');
  }
  return term;
}

bool is_named_by(const Term& term, const CudaKernel& kernel) {
  return term.numbers ? kernel.number >= 0 && term.numbers->distance(kernel.number) == 0 : term.kernel == kernel.name;
}

[[noreturn]] void reject_kernel(const Term& term, const std::vector<Kernel>& available) {
  if (std::ranges::any_of(CUDA_KERNELS, [&](const auto& each) { return is_named_by(term, each); })) {
    throw UsageError(fmt::format("kernel '{}' {}", term.kernel, NEEDS_CUDA));
  }
  if (const std::string file = fmt::format("{}.cu", term.kernel); std::filesystem::is_regular_file(file)) {
    throw UsageError(fmt::format("unknown kernel '{}'; the file is --kernel {}", term.kernel, file));
  }
  std::vector<Candidate> candidates;
  if (!term.numbers) {
    for (const char* const group : {"all", "chapters", "baselines"}) {
      candidates.push_back({word_distance(term.kernel, group), group});
    }
  }
  for (const Kernel& kernel : available) {
    const std::string name = kernel.numbered_name();
    if ((term.numbers && kernel.number < 0) || (!candidates.empty() && candidates.back().name == name)) {
      continue;
    }
    const auto off = [&](const std::string& word) { return word_distance(term.kernel, word); };
    const std::string number = kernel.number > 0 ? fmt::to_string(kernel.number) : name;
    candidates.push_back(
        {term.numbers ? term.numbers->distance(kernel.number) : std::min({off(kernel.name), off(name), off(number)}),
         name});
  }
  throw UsageError(fmt::format("unknown kernel '{}'; the nearest: {} (--list shows all)", term.kernel,
                               fmt::join(nearest(std::move(candidates), MAX_SUGGESTIONS), ", ")));
}

[[noreturn]] void reject_variant(const Term& term, const std::vector<Kernel>& available) {
  std::vector<std::string> variants;
  for (const Kernel& kernel : available) {
    const std::string variant = Term::variant_name(kernel);
    if (term.names(kernel) && std::ranges::find(variants, variant) == variants.end()) {
      variants.push_back(variant);
    }
  }
  throw UsageError(fmt::format("kernel '{}' has no variant '{}'; its variants: {}", term.kernel, term.variant,
                               fmt::join(variants, ", ")));
}

/// Groups leave kernels of several GPUs out, as those take the GPUs from all else on the machine.
bool of_one_gpu(const Kernel& kernel) { return kernel.local_kernel.empty(); }

/// The kernel with the configuration of that name alone.
Kernel of_configuration(Kernel kernel, const std::string& name) {
  kernel.variant = name;
  kernel.tunable = false;
  for (Build& build : kernel.builds) {
    if (!build) {
      continue;
    }
    build.configurations = [name, all_of = build.configurations](const Problem& problem) {
      const std::vector<Configuration> all = all_of(problem);
      std::vector<std::string_view> others;
      for (const Configuration& configuration : all) {
        if (configuration.name == name) {
          return std::vector{configuration};
        }
        others.push_back(configuration.name);
      }
      throw CaseStopped(Outcome::not_supported, fmt::format("has no configuration '{}' for this problem, but {}", name,
                                                            fmt::join(others, ", ")));
    };
  }
  return kernel;
}

/// Sets `selected[i]` for every kernel that the term names.
void select(std::string_view text, const std::vector<Kernel>& available, std::vector<bool>& selected) {
  const auto mark = [&](const auto& wanted) {
    bool any = false;
    for (std::size_t i = 0; i < available.size(); ++i) {
      if (wanted(available[i])) {
        selected[i] = any = true;
      }
    }
    return any;
  };
  if (text == "all") {
    mark(of_one_gpu);
  } else if (text == "chapters") {
    mark([](const Kernel& kernel) { return kernel.number > 0 && of_one_gpu(kernel); });
  } else if (text == "baselines") {
    mark([](const Kernel& kernel) { return kernel.number <= 0 && of_one_gpu(kernel); });
  } else {
    const Term term = parse_term(text);
    if (std::ranges::none_of(available, [&](const Kernel& kernel) { return term.names(kernel); })) {
      reject_kernel(term, available);
    }
    if (!mark([&](const Kernel& kernel) { return term.names(kernel) && term.names_variant_of(kernel); })) {
      reject_variant(term, available);
    }
  }
}

}  // namespace

KernelTerms kernel_terms(std::string_view expression) {
  KernelTerms terms;
  bool any_name = false;
  for (const std::string_view term : split(expression, ',')) {
    if (names_file(term)) {
      terms.files.emplace_back(term);
    } else {
      terms.names += fmt::format("{}{}", any_name ? "," : "", term);
      any_name = true;
    }
  }
  if (any_name && terms.names.empty()) {
    throw UsageError(fmt::format("bad kernels '{}': a term is empty", expression));
  }
  return terms;
}

std::vector<const Kernel*> select_kernels(std::string_view expression, const std::vector<Kernel>& available) {
  std::vector<bool> selected(available.size(), false);
  for (const std::string_view term : split(expression, ',')) {
    if (term.empty()) {
      throw UsageError(fmt::format("bad kernels '{}': a term is empty", expression));
    }
    select(term, available, selected);
  }
  std::vector<const Kernel*> kernels;
  for (std::size_t i = 0; i < available.size(); ++i) {
    if (selected[i]) {
      kernels.push_back(&available[i]);
    }
  }
  return kernels;
}

const Kernel* add_cpu_baseline(std::vector<const Kernel*>& selected, const std::vector<Kernel>& available) {
  const bool chapters_alone =
      std::ranges::all_of(selected, [](const Kernel* kernel) { return kernel->number > 0 && of_one_gpu(*kernel); });
  return chapters_alone ? selected.emplace_back(select_kernels("cpu_blas", available).front()) : nullptr;
}

std::vector<Kernel> with_configurations(std::string_view expression, std::vector<Kernel> available) {
  for (const std::string_view text : split(expression, ',')) {
    const Term term = parse_term(text);
    const auto is_named = [&](const Kernel& kernel) { return term.names(kernel) && term.names_variant_of(kernel); };
    const auto found =
        std::ranges::find_if(available, [&](const Kernel& kernel) { return kernel.tunable && term.names(kernel); });
    const bool one = !term.numbers || term.numbers->first == term.numbers->last;
    if (one && found != available.end() && std::ranges::none_of(available, is_named)) {
      available.insert(found + 1, of_configuration(*found, std::string(term.variant)));
    }
  }
  return available;
}

std::optional<std::string> left_out_without_cuda(std::string_view expression, const std::vector<Kernel>& available) {
  for (const std::string_view text : split(expression, ',')) {
    const Term term = parse_term(text);
    for (const CudaKernel& missing : CUDA_KERNELS) {
      if (is_named_by(term, missing) &&
          std::ranges::none_of(available, [&](const Kernel& kernel) { return kernel.name == missing.name; })) {
        return fmt::format("{} goes without {}, which {}", term.kernel, missing.name, NEEDS_CUDA);
      }
    }
  }
  return std::nullopt;
}

DeviceQuery device_of(const Options& options) {
  if (!options.on_executor) {
    return query_device(options.device);
  }
  const Protocol& protocol = options.protocol;
  return {std::nullopt, protocol.check ? "--check" : protocol.mode == Mode::count ? "--count" : "--device cpu"};
}

std::vector<Kernel> kernels_of_files(const std::vector<std::string>& files, const Options& options,
                                     const DeviceQuery& device) {
  UserOptions user = options.user;
  user.compile.compute_capability = device.device ? device.device->compute_capability : 0;
  const bool watched = options.protocol.check || options.protocol.mode == Mode::count;
  const Target target = watched ? Target::for_checks : device.device ? Target::for_gpu : Target::for_executor;
  return user_kernels(files, target, user);
}

void require_several_gpus(const Options& options, const std::vector<const Kernel*>& selected) {
  const RankOptions& ranks = options.ranks;
  const bool any = std::ranges::any_of(selected, [](const Kernel* kernel) { return !kernel->local_kernel.empty(); });
  if (!any && (ranks.gpus || ranks.exchange)) {
    throw UsageError(fmt::format(
        "--{} is for products on several GPUs, and --kernel names no kernel for them (many_gpus)", ranks.grid ? "grid"
                                                                                                   : ranks.gpus
                                                                                                       ? "gpus"
                                                                                                       : "exchange"));
  }
}

std::vector<Case> make_plan(const std::vector<const Kernel*>& kernels, const std::vector<Size>& sizes,
                            const std::vector<Distribution>& data) {
  std::vector<std::optional<Distribution>> kinds(data.begin(), data.end());
  if (kinds.empty()) {
    kinds.emplace_back();
  }
  std::vector<Case> plan;
  for (const Size& size : sizes) {
    for (const std::optional<Distribution>& kind : kinds) {
      for (const Kernel* const kernel : kernels) {
        plan.push_back({kernel, size, kind});
      }
    }
  }
  return plan;
}

std::vector<Case> plan_of(const Options& options, const std::vector<const Kernel*>& kernels, bool on_gpu) {
  const Mode mode = options.protocol.mode;
  const std::vector<Size> sizes = parse_sizes(options.sizes ? *options.sizes : default_sizes(mode, on_gpu));
  const std::vector<Distribution> kinds = mode == Mode::accuracy ? options.protocol.data : std::vector<Distribution>{};
  if (const std::size_t cases = kernels.size() * sizes.size() * std::max<std::size_t>(kinds.size(), 1);
      cases > MOST_CASES) {
    throw UsageError(fmt::format("--kernel and --sizes make {} cases, more than {}", cases, MOST_CASES));
  }
  std::vector<Case> plan = choose_cases(make_plan(kernels, sizes, kinds), options.google);
  if (!options.trace.page.empty() && plan.size() > 1) {
    throw UsageError(
        fmt::format("--trace: a page shows one kernel at one size, and these are {} cases ({}, {}, ...); run the "
                    "runner once for each page",
                    plan.size(), plan[0].name(), plan[1].name()));
  }
  return plan;
}

bool is_for_gpus(const std::vector<Case>& plan) {
  return std::ranges::any_of(plan, [](const Case& item) { return item.kernel->platform == Platform::gpu; });
}

Run run_of(const Options& options, const DeviceQuery& device, const std::vector<Case>& plan, BenchMaker several_gpus) {
  const bool spread = std::ranges::any_of(plan, [](const Case& item) { return !of_one_gpu(*item.kernel); });
  const auto largest = std::ranges::max_element(plan, {}, [](const Case& item) { return products(item.size); });
  std::optional<double> seconds = seconds_per_case(options, device.device.has_value(), spread, products(largest->size));
  if (spread && seconds) {
    // The leader of the ranks gives up first, because it knows which rank is silent.
    seconds = 2.0 * time_for_replies(*seconds).count();
  }
  const CountingOptions counting{simt::find_gpu_model(options.gpu_model), options.blocks_per_sm,
                                 options.trace.page.empty() ? std::nullopt : std::optional(options.trace),
                                 options.force};
  return {options.protocol, device, plan, {is_for_gpus(plan), counting, std::move(several_gpus)},
          options.argv,     seconds};
}

}  // namespace sgemm
