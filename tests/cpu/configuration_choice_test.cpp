#include "bench/configuration_choice.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sgemm {
namespace {

std::vector<Configuration> named(const std::vector<std::string>& names) {
  std::vector<Configuration> configurations;
  for (const std::string& name : names) {
    configurations.push_back({name, 100 * (configurations.size() + 1), {}});
  }
  return configurations;
}

TuningEntry tuned_to(const std::string& configuration) {
  return {"09_every_shape", {1, 2, 3}, false, configuration, 1.0, "128x256", 2.0};
}

TEST(ConfigurationChoice, IsTheKernelsOwnWithoutAnEntry) {
  const ConfigurationChoice choice = choose(named({"128x256 stream-k", "64x64"}), nullptr);
  EXPECT_EQ(choice.configuration.name, "128x256 stream-k");
  EXPECT_EQ(choice.configuration.workspace_bytes, 100U);
  EXPECT_EQ(choice.detail, "128x256 stream-k, by cost model");
  EXPECT_EQ(choice.note, "");
}

TEST(ConfigurationChoice, IsTheTunedOneWhereItIsThere) {
  const TuningEntry entry = tuned_to("64x64");
  const ConfigurationChoice choice = choose(named({"128x256 stream-k", "64x64"}), &entry);
  EXPECT_EQ(choice.configuration.name, "64x64");
  EXPECT_EQ(choice.configuration.workspace_bytes, 200U);
  EXPECT_EQ(choice.detail, "64x64, tuned");
  EXPECT_EQ(choice.note, "");
}

TEST(ConfigurationChoice, TunedOneThatIsGoneIsNotedAndIgnored) {
  const TuningEntry entry = tuned_to("32x32");
  const ConfigurationChoice choice = choose(named({"128x256 stream-k", "64x64"}), &entry);
  EXPECT_EQ(choice.configuration.name, "128x256 stream-k");
  EXPECT_EQ(choice.detail, "128x256 stream-k, by cost model");
  EXPECT_NE(choice.note.find("'32x32'"), std::string::npos) << choice.note;
  EXPECT_NE(choice.note.find("09_every_shape for 1x2x3"), std::string::npos) << choice.note;
}

TEST(ConfigurationChoice, KernelWithoutAChoiceHasNothingToSay) {
  EXPECT_EQ(choose(named({""}), nullptr).detail, "");
  const TuningEntry entry = tuned_to("");
  EXPECT_EQ(choose(named({""}), &entry).detail, "");
  EXPECT_EQ(choose(named({""}), &entry).note, "");
}

}  // namespace
}  // namespace sgemm
