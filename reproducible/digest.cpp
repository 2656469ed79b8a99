#include "reproducible/digest.hpp"

#include "base/kernel.hpp"
#include "base/outcome.hpp"
#include "base/usage_error.hpp"
#include "bench/bench.hpp"
#include "cli/selection.hpp"
#include "cli/values.hpp"
#include "device/device_buffer.hpp"
#include "record/results_file.hpp"
#include "reproducible/definition.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <utility>

namespace sgemm {
namespace {

/// On a processor: a few seconds.
constexpr double MOST_ON_CPU = 2048.0 * 2048.0 * 2048.0;
constexpr double MOST_ON_EXECUTOR = 3e7;

/// A way to compute products with the defined bits: a kernel on the executor or a GPU, or the processor without one.
struct Way {
  std::string name = "cpu";
  double most_products = MOST_ON_CPU;  ///< of a case; more only with --force
  const Kernel* kernel = nullptr;
  Target target = Target::for_host;

  bool takes(const Problem& p) const {
    const bool plain = !p.transposed_a && !p.transposed_b && p.batch == 1;
    return kernel == nullptr || ((plain || kernel->takes_every_layout) && !kernel->unsupported(p));
  }

  void multiply(const Shape& shape, const HostOperands& operands, std::vector<float>& c) const {
    const Problem on_host = packed(shape, operands.a.data(), operands.b.data(), c.data());
    if (kernel == nullptr) {
      return reproducible::product(on_host);
    }
    if (target == Target::for_executor) {
      return kernel->build(target).prepare(on_host)(on_host, nullptr);
    }
    DeviceBuffer<float> a(operands.a.size());
    DeviceBuffer<float> b(operands.b.size());
    DeviceBuffer<float> result(c.size());
    a.copy_from_host(operands.a);
    b.copy_from_host(operands.b);
    result.copy_from_host(c);
    const Problem on_gpu = packed(shape, a.data(), b.data(), result.data());
    kernel->build(target).prepare(on_gpu)(on_gpu, nullptr);
    result.copy_to_host(c);
  }
};

/// Every way on this machine, or of the kernels that --kernel names.
std::vector<Way> ways(const Options& options, const DeviceQuery& device) {
  std::vector<Way> all(1);  // the processor
  for (const Kernel* const kernel : select_kernels(options.kernels, kernels())) {
    if (!kernel->is_reproducible()) {
      if (options.kernels != "all") {
        throw UsageError(fmt::format("--digest: the bits of {} are not defined", kernel->id()));
      }
    } else if (options.on_executor && kernel->build(Target::for_executor)) {
      all.push_back({kernel->id() + " on the executor", MOST_ON_EXECUTOR, kernel, Target::for_executor});
    } else if (device.device) {
      try {
        require_code_for(*device.device, *kernel);
        all.push_back({kernel->id(), 0.0, kernel, Target::for_gpu});
      } catch (const CaseStopped&) {  // another way is for this GPU
      }
    }
  }
  return all;
}

/// Some kinds take the C library's exponentials, logarithms and sines, whose last digits differ.
void require_the_same_everywhere(Distribution data) {
  if (data == Distribution::normal || data == Distribution::lognormal1 || data == Distribution::lognormal4) {
    throw UsageError(fmt::format("--digest: operands '{}' differ between C libraries", to_string(data)));
  }
}

std::vector<DigestCase> cases_of(const Options& options) {
  if (options.digests) {
    std::ifstream in(*options.digests);
    if (!in) {
      throw UsageError(fmt::format("--against: can not read {}", *options.digests));
    }
    return read_digests(in, *options.digests);
  }
  std::vector<DigestCase> all;
  const Protocol& protocol = options.protocol;
  for (const Size& size : parse_sizes(options.sizes.value_or(std::string(default_sizes(Mode::digest, true))))) {
    for (const Distribution data : protocol.data) {
      require_the_same_everywhere(data);
      all.push_back({size, protocol.alpha, protocol.beta, data, protocol.seed, ""});
    }
  }
  return all;
}

}  // namespace

std::string DigestCase::text() const {
  return fmt::format("{} {} {} {} {}", to_string(size), alpha, beta, to_string(data), seed);
}

std::string digest_of(const std::vector<float>& numbers) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const float number : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    for (const unsigned shift : {0U, 8U, 16U, 24U}) {
      hash = (hash ^ (bits >> shift & 0xFFU)) * 0x100000001B3U;
    }
  }
  return fmt::format("{:016x}", hash);
}

std::vector<DigestCase> read_digests(std::istream& in, const std::string& path) {
  std::vector<DigestCase> cases;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::istringstream words(line);
    std::string size;
    std::string alpha;
    std::string beta;
    std::string data;
    DigestCase item;
    const std::string where = fmt::format("{}:{}", path, number);
    if (!(words >> size >> alpha >> beta >> data >> item.seed >> item.digest)) {
      constexpr std::size_t SHOWN = 60;
      throw UsageError(fmt::format("{}: '{}' is no case and its digest", where, line.substr(0, SHOWN)));
    }
    item.size = parse_sizes(size).front();
    item.alpha = parse_factor(where, alpha);
    item.beta = parse_factor(where, beta);
    item.data = parse_data(where, data).front();
    require_the_same_everywhere(item.data);
    cases.push_back(item);
  }
  if (cases.empty()) {
    throw UsageError(fmt::format("{} has no digests", path));
  }
  return cases;
}

ExitStatus run_digests(const Options& options) {
  std::optional<OutputFile> file;
  if (options.json) {
    file.emplace(*options.json);
  }
  const std::vector<DigestCase> cases = cases_of(options);
  const std::vector<Way> all_ways = ways(options, device_of(options));
  std::cout << fmt::format("# definition {}: M x N x K, alpha, beta, operands, seed, digest of C\n",
                           reproducible::DEFINITION);
  Json records = Json::array();
  int wrong = 0;
  for (const DigestCase& item : cases) {
    const Shape shape = shape_of(item.size, item.alpha, item.beta);
    const HostOperands operands = make_operands(shape, item.data, item.seed);
    std::string expected = item.digest;
    std::vector<std::string> by;
    for (const Way& way : all_ways) {
      const bool last = by.empty() && &way == &all_ways.back();
      const bool too_large = way.most_products > 0.0 && products(item.size) > way.most_products && !last;
      if ((too_large && !options.force) || !way.takes(packed(shape, nullptr, nullptr, nullptr))) {
        continue;
      }
      std::vector<float> c = operands.c0;
      c.resize(static_cast<std::size_t>(item.size.batch * item.size.m * item.size.n));
      way.multiply(shape, operands, c);
      const std::string digest = digest_of(c);
      if (!expected.empty() && digest != expected) {
        std::cout << fmt::format("# {}: {} has {}, expected {}\n", item.text(), way.name, digest, expected);
        ++wrong;
      }
      expected = expected.empty() ? digest : expected;
      by.push_back(way.name);
    }
    if (by.empty()) {
      std::cout << fmt::format("# {}: nothing here computes it; --force does\n", item.text());
      ++wrong;
      continue;
    }
    std::cout << fmt::format("{} {}\n", item.text(), expected);
    records.push_back({{"case", item.text()}, {"digest", expected}, {"by", by}});
  }
  std::vector<std::string> names;
  std::ranges::transform(all_ways, std::back_inserter(names), &Way::name);
  std::cout << fmt::format("# {} cases by {}: {}\n", cases.size(), fmt::join(names, ", "),
                           wrong == 0 ? "the same bits" : fmt::format("{} with other bits or none", wrong));
  if (file) {
    const Json document{{"definition", reproducible::DEFINITION}, {"wrong", wrong}, {"cases", std::move(records)}};
    file->write(dump_json(document, 1) + "\n");
  }
  return wrong == 0 ? ALL_WELL : CASES_WRONG;
}

}  // namespace sgemm
