// Plans of launches, which a file's own code has written: what is an address in them, and what is refused.

#include "user/wrapper.hpp"

#include "expectations.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

namespace sgemm {
namespace {

/// A launch with two parameters: `first` has eight bytes, and the second is an int.
UserPlan plan_of(const void* first, int second = 7) {
  UserPlan plan{};
  plan.grid = plan.block = {1, 1, 1};
  plan.parameters = 2;
  plan.offsets[1] = 8;
  plan.offsets[2] = 12;
  std::memcpy(plan.arguments.data(), &first, sizeof(first));
  std::memcpy(plan.arguments.data() + 8, &second, sizeof(second));
  return plan;
}

TEST(PlanOfLaunch, FindsAddressesAndPutsTheOperandsThere) {
  const auto with = [](Base moved) { return plan_of(address_for_plan(Base::c, moved) + 3); };
  UserPlan plan = with(Base::none);
  const std::vector<AddressArgument> found = find_addresses(plan, with);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().base, Base::c);
  EXPECT_EQ(found.front().offset, 0U);
  std::vector<float> c(8);
  UserProblem operands{};
  operands.c = c.data();
  put_addresses(plan, found, operands);
  const float* put = nullptr;
  std::memcpy(&put, plan.arguments.data(), sizeof(put));
  EXPECT_EQ(put, c.data() + 3);
}

TEST(PlanOfLaunch, NothingElseDependsOnAnAddress) {
  const auto half = [](Base moved) {
    return plan_of(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address_for_plan(Base::a, moved)) / 2));
  };
  const auto grid = [](Base moved) {
    UserPlan plan = plan_of(address_for_plan(Base::a, moved));
    plan.grid[0] = moved == Base::b ? 2 : 1;
    return plan;
  };
  for (const std::function<UserPlan(Base)>& with : {std::function<UserPlan(Base)>(half), {grid}}) {
    EXPECT_EQ(message_of<std::runtime_error>([&] { find_addresses(with(Base::none), with); }),
              "its launch depends on where an operand lies");
  }
}

TEST(PlanOfLaunch, FillsCAndTheWorkspaceAlone) {
  for (const Base filled : {Base::a, Base::b, Base::c, Base::workspace}) {
    const auto with = [&](Base moved) {
      UserPlan plan = plan_of(address_for_plan(filled, moved));
      plan.parameters = 1;
      plan.kind = UserPlan::Kind::fill;
      return plan;
    };
    EXPECT_EQ(message_of<std::runtime_error>([&] { find_addresses(with(Base::none), with); }),
              filled < Base::c ? "its launch line fills memory that is neither C nor the workspace" : "");
  }
}

TEST(PlanOfLaunch, CopiesNoAddressAndNoMoreThanThereIs) {
  const auto copying = [](const void* first, unsigned long long bytes) {
    UserPlan plan = plan_of(first);
    plan.kind = UserPlan::Kind::copy;
    plan.bytes = bytes;
    plan.parameters = 1;
    return plan;
  };
  const auto address = [&](Base moved) { return copying(address_for_plan(Base::a, moved), 8); };
  EXPECT_EQ(message_of<std::runtime_error>([&] { find_addresses(address(Base::none), address); }),
            "its launch line copies an operand's address to a constant, and operands move");
  EXPECT_EQ(message_of<std::runtime_error>([&] { require_whole(copying(nullptr, 4096), {}); }), "");
  EXPECT_EQ(message_of<std::runtime_error>([&] { require_whole(copying(nullptr, 4097), {}); }),
            "its launch line copies 4097 bytes to a constant, and 4096 are the most");
}

TEST(PlanOfLaunch, HasAllThatTheKernelReads) {
  constexpr const char* OTHER = "a kernel takes other parameters than its launch passes";
  const UserPlan plan = plan_of(nullptr);
  EXPECT_EQ(message_of<std::runtime_error>([&] { require_whole(plan, {{0, 8}, {8, 4}}); }), "");
  EXPECT_EQ(message_of<std::runtime_error>([&] { require_whole(plan, {{0, 8}, {8, 4}, {16, 8}}); }), OTHER);
  EXPECT_EQ(message_of<std::runtime_error>([&] { require_whole(plan, {{0, 8}, {8, 4096}}); }), OTHER);
  for (const auto& [parameters, last] : {std::pair{65U, 12U}, {2U, 5000U}, {2U, 4U}}) {
    UserPlan wrong = plan;
    wrong.parameters = parameters;
    wrong.offsets[2] = last;
    EXPECT_EQ(message_of<std::runtime_error>([&] {
                require_whole(wrong, {{0, 8}});
              }),
              "a kernel has more parameters than the runner passes on");
  }
}

}  // namespace
}  // namespace sgemm
