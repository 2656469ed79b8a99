#include "judge/launcher.hpp"

#include "base/outcome.hpp"

#include <chrono>
#include <cmath>
#include <csignal>
#include <exception>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;

using Clock = std::chrono::steady_clock;

/// For so long the judge waits for an answer without going to sleep.
constexpr auto AWAKE = std::chrono::milliseconds(200);

/// Answers are short, so what is longer is none.
constexpr std::size_t LONGEST_ANSWER = 1U << 16U;

Json to_json(const Places& places) { return Json::array({places.a, places.b, places.c}); }

Places places_in(const Json& json) { return {json.at(0), json.at(1), json.at(2)}; }

Json to_json(const Shape& shape) { return Json::array({shape.m, shape.n, shape.k, shape.alpha, shape.beta}); }

Shape shape_in(const Json& json) { return {json.at(0), json.at(1), json.at(2), json.at(3), json.at(4)}; }

}  // namespace

// ---- The judge's side ----

Launcher::Launcher(StopToken stop) : process_({"sgemm-launcher"}, LAUNCHER_VARIABLE), stop_(stop) {}

Launcher::~Launcher() { process_.signal(SIGKILL); }  // so that nothing foreign runs at its exit

template <class Read>
auto Launcher::ask(Json request, const Read& read) {
  if (connection().take()) {
    throw CaseStopped(Outcome::failed, "its process answered before it was asked");
  }
  // The file's kernel can not foresee the number, so it has no answer ready.
  const std::uint64_t number = std::uint64_t{random_()} << 32U | random_();
  request["number"] = number;
  connection().send(request.dump());  // where the process is gone, answer() tells
  try {
    return read(answer(number));
  } catch (const Json::exception&) {
    throw CaseStopped(Outcome::failed, "its process answered in another language");
  }
}

void Launcher::order(Json request) {
  ask(std::move(request), [](const Json&) { return 0; });
}

Json Launcher::answer(std::uint64_t number) {
  const Clock::time_point begin = Clock::now();
  std::optional<std::string> line;
  while (!(line = connection().take())) {
    stop_.check();
    // A thread that sleeps wakes up late, which would be time of the judge's clock.
    const bool awake = Clock::now() - begin < AWAKE;
    if (!(awake ? connection().receive(std::chrono::milliseconds(0)) : connection().receive())) {
      throw CaseStopped(Outcome::failed, ending_text(process_.end()));
    }
    if (connection().pending() > LONGEST_ANSWER) {
      throw CaseStopped(Outcome::failed, "its process does not stop answering");
    }
  }
  Json answer = Json::parse(*line);
  if (answer.contains("exit")) {
    throw CaseStopped(Outcome::failed, fmt::format("called exit({})", answer.at("exit").get<int>()));
  }
  if (answer.at("number") != number) {
    throw CaseStopped(Outcome::failed, "its process answered what it was not asked");
  }
  if (answer.contains("no_room")) {
    throw CaseStopped(Outcome::skipped, "not enough device memory");
  }
  if (answer.contains("error")) {
    throw CaseStopped(Outcome::failed, answer.at("error").get<std::string>());
  }
  return answer;
}

double Launcher::microseconds_in(const Json& answer) {
  const double us = answer.at("us").get<double>();
  if (!(us >= 0.0) || !std::isfinite(us)) {
    throw CaseStopped(Outcome::implausible, fmt::format("its process tells a time of {} us", us));
  }
  return us;
}

void Launcher::open(const SharedGpu& gpu, const Shape& shape) {
  order({{"open", Json::array({gpu.device, gpu.memory, gpu.gate})}, {"shape", to_json(shape)}});
}

void Launcher::load(const std::filesystem::path& library) { order({{"load", library.string()}}); }

bool Launcher::meets_requirement() {
  return ask({{"meets", true}}, [](const Json& answer) { return answer.at("meets").get<bool>(); });
}

std::size_t Launcher::prepare() {
  return ask({{"prepare", true}}, [](const Json& answer) { return answer.at("workspace").get<std::size_t>(); });
}

double Launcher::sample(const std::vector<Places>& launches) {
  Json places = Json::array();
  for (const Places& each : launches) {
    places.push_back(to_json(each));
  }
  return ask({{"sample", std::move(places)}}, microseconds_in);
}

void Launcher::enqueue(const Places& places, int launches) {
  order({{"enqueue", to_json(places)}, {"launches", launches}});
}

double Launcher::finish() { return ask({{"finish", true}}, microseconds_in); }

std::optional<Resources> Launcher::resources() {
  return ask({{"resources", true}}, [](const Json& answer) -> std::optional<Resources> {
    const Json& found = answer.at("resources");
    if (found.is_null()) {
      return std::nullopt;
    }
    return Resources{found.at(0), found.at(1), found.at(2), found.at(3), found.at(4)};
  });
}

// ---- The launcher's side ----

namespace {

/// What a request asks for is the name of its first member.
Json answer_to(const Json& request, LaunchingGpu& gpu) {
  static const std::map<std::string, Json (*)(const Json& request, const Json& value, LaunchingGpu& gpu)> ANSWERS{
      {"open",
       [](const Json& request, const Json& value, LaunchingGpu& gpu) {
         gpu.open({value.at(0), value.at(1), value.at(2)}, shape_in(request.at("shape")));
         return Json::object();
       }},
      {"load",
       [](const Json&, const Json& value, LaunchingGpu& gpu) {
         gpu.load(value.get<std::string>());
         return Json::object();
       }},
      {"meets",
       [](const Json&, const Json&, LaunchingGpu& gpu) {
         return Json{{"meets", gpu.meets_requirement()}};
       }},
      {"prepare",
       [](const Json&, const Json&, LaunchingGpu& gpu) {
         return Json{{"workspace", gpu.prepare()}};
       }},
      {"sample",
       [](const Json&, const Json& value, LaunchingGpu& gpu) {
         std::vector<Places> launches;
         for (const Json& places : value) {
           launches.push_back(places_in(places));
         }
         return Json{{"us", gpu.sample(launches)}};
       }},
      {"enqueue",
       [](const Json& request, const Json& value, LaunchingGpu& gpu) {
         gpu.enqueue(places_in(value), request.at("launches"));
         return Json::object();
       }},
      {"finish",
       [](const Json&, const Json&, LaunchingGpu& gpu) {
         return Json{{"us", gpu.finish()}};
       }},
      {"resources",
       [](const Json&, const Json&, LaunchingGpu& gpu) {
         const std::optional<Resources> found = gpu.resources();
         return Json{{"resources", found ? Json::array({found->threads_per_block, found->registers, found->smem_bytes,
                                                        found->spill_bytes, found->blocks_per_sm})
                                         : Json()}};
       }},
  };
  const auto first = request.begin();
  return ANSWERS.at(first.key())(request, first.value(), gpu);
}

}  // namespace

void serve_launches(LineConnection& connection, LaunchingGpu& gpu) {
  do {
    while (const std::optional<std::string> line = connection.take()) {
      const Json request = Json::parse(*line);
      Json answer;
      try {
        answer = answer_to(request, gpu);
      } catch (const NoRoom&) {
        answer = {{"no_room", true}};
      } catch (const std::exception& error) {
        answer = {{"error", error.what()}};
      }
      answer["number"] = request.at("number");
      connection.send(answer.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  } while (connection.receive());
}

bool is_launcher() { return is_own_process(LAUNCHER_VARIABLE); }

}  // namespace sgemm
