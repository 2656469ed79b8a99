#include "count/count.hpp"

#include "base/words.hpp"
#include "trace_template.hpp"

#include <bit>
#include <filesystem>
#include <map>
#include <utility>

// tools/trace_page/warp.js reads what is written here.

namespace sgemm {
namespace {

/// The lanes of requests, apart from where they begin. Few of them are different.
class Shapes {
 public:
  /// The number of the access's shape, and the address of its first active lane; null where no lane is active.
  Json add(const simt::WarpAccess& access) {
    if (access.active == 0) {
      return nullptr;
    }
    const std::uint64_t first = access.address[static_cast<unsigned>(std::countr_zero(access.active))];
    const Json shape = lanes_of(access, first);
    const auto [known, is_new] = known_.try_emplace(shape.dump(), shapes_.size());
    if (is_new) {
      shapes_.push_back(shape);
    }
    return {known->second, first};
  }
  Json take() { return std::move(shapes_); }

 private:
  Json shapes_ = Json::array();
  std::map<std::string, std::size_t> known_;
};

/// The source file at the path that a compiler was given, or null where it can not be read.
Json text_of(const Kernel& kernel, const std::filesystem::path& path) {
  // Debug information names the program's own files from the suite's folder, and other paths are from the build's.
  const auto folders = kernel.file ? std::vector{std::filesystem::current_path()}
                                   : std::vector<std::filesystem::path>{SGEMM_SOURCE_FOLDER, SGEMM_BUILD_FOLDER};
  for (const std::filesystem::path& folder : folders) {
    if (std::filesystem::is_regular_file(folder / path)) {
      return content_of(folder / path);
    }
  }
  return nullptr;
}

/// The counts of whole lines, of all warps of the launch.
Json lines_of(const CountedLaunch& launch) {
  Json lines = Json::array();
  for (const simt::LineCounts& counts : launch.requests.lines) {
    if (counts.kind) {
      Json line = to_json(counts);
      line.erase("example");
      line.erase("flops");
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

Json data_of(const Kernel& kernel, const Size& size, const Counts& counts) {
  const auto& [number, trace] = *counts.traced;
  const CountedLaunch& launch = counts.launches[number];
  Json places = Json::array();
  Json files = Json::object();
  for (const simt::TracedPlace& place : trace.places) {
    const std::filesystem::path path(place.file);
    const std::string name = path.filename().string();
    places.push_back({{"file", name},
                      {"line", place.line},
                      {"kind", to_string(place.kind)},
                      {"array", place.array},
                      {"copied_to", place.copied_to}});
    if (!files.contains(name)) {
      files[name] = text_of(kernel, path);
    }
  }
  Shapes shapes;
  Json requests = Json::array();
  for (const simt::TracedRequest& request : trace.requests) {
    const simt::Traffic& traffic = request.traffic;
    requests.push_back({request.place, request.barriers, shapes.add(request.access), shapes.add(request.copied_to),
                        traffic.requests, traffic.sectors, traffic.wavefronts, traffic.ideal_wavefronts,
                        traffic.bytes});
  }
  return {{"kernel", kernel.id()},
          {"size", {size.m, size.n, size.k}},
          {"launch", number},
          {"launches", counts.launches.size()},
          {"function", launch.function},
          {"block", trace.of.block},
          {"blocks", trace.blocks},
          {"warp", trace.of.warp},
          {"warps", trace.warps},
          {"left_out_at", trace.left_out_at},
          {"left_out", trace.left_out},
          {"places", std::move(places)},
          {"shapes", shapes.take()},
          {"requests", std::move(requests)},
          {"lines", lines_of(launch)},
          {"files", std::move(files)}};
}

/// Within HTML, "</" could end the script that holds the data.
std::string escaped(std::string json) {
  for (std::size_t at = json.find("</"); at != std::string::npos; at = json.find("</", at + 3)) {
    json.replace(at, 2, "<\\/");
  }
  return json;
}

}  // namespace

std::string trace_page(const Kernel& kernel, const Size& size, const Counts& counts) {
  constexpr std::string_view PLACE = "DATA";  // alone between ">" and "<" of the script that holds it
  std::string page(TRACE_TEMPLATE);
  const std::size_t place = page.find(">DATA<") + 1;
  const std::string json = data_of(kernel, size, counts).dump(-1, ' ', false, Json::error_handler_t::replace);
  return page.replace(place, PLACE.size(), escaped(json));
}

}  // namespace sgemm
