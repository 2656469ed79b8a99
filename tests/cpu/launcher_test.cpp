// The judge and a launcher at both ends of a socket, with a launcher that has no GPU.

#include "judge/launcher.hpp"
#include "base/outcome.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sgemm {
namespace {

/// Notes what it is asked for.
class FakeGpu final : public LaunchingGpu {
 public:
  void open(const SharedGpu& gpu, const Shape& shape) override {
    shared = gpu;
    this->shape = shape;
  }
  void load(const std::filesystem::path& library) override {
    if (library == "missing.so") {
      throw std::runtime_error("can not load the compiled file: \"missing.so\"");
    }
  }
  bool meets_requirement() override { return shape.m % 2 == 0; }
  std::size_t prepare() override {
    if (shape.k > 1000) {
      throw NoRoom("cudaMalloc");
    }
    return std::size_t{1} << 40U;
  }
  double sample(const std::vector<Places>& launches) override {
    samples.push_back(launches);
    return us;
  }
  void enqueue(const Places&, int launches) override { enqueued = launches; }
  double finish() override { return 1000.0 * enqueued; }
  std::optional<Resources> resources() override {
    return samples.empty() ? std::nullopt : std::optional<Resources>({256, 128, 49152, 0, 2});
  }

  SharedGpu shared;
  Shape shape;
  std::vector<std::vector<Places>> samples;
  int enqueued = 0;
  double us = 12.25;
};

class LauncherTest : public testing::Test {
 protected:
  /// What the other end does, in a thread of its own; then it is gone.
  void at_other_end(const std::function<void(LineConnection&)>& work) {
    std::array<int, 2> sockets{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
    judge_socket_ = sockets[0];
    launcher_ = std::make_unique<Launcher>(sockets[0], StopToken());
    other_end_ = std::thread([work, socket = sockets[1]] {
      LineConnection connection(socket);
      work(connection);
      close(socket);
    });
  }

  void serve() {
    at_other_end([this](LineConnection& connection) { serve_launches(connection, gpu_); });
  }

  /// Answers requests by `answer`, which has the request's number at the first %.
  void answer(const std::string& answer) {
    at_other_end([answer](LineConnection& connection) {
      do {
        while (const std::optional<std::string> line = connection.take()) {
          const std::string number = line->substr(line->rfind(':') + 1, line->rfind('}') - line->rfind(':') - 1);
          const std::size_t at = answer.find('%');
          connection.send(at == std::string::npos ? answer : answer.substr(0, at) + number + answer.substr(at + 1));
        }
      } while (connection.receive());
    });
  }

  void TearDown() override { hang_up(); }

  void hang_up() {
    if (other_end_.joinable()) {
      shutdown(judge_socket_, SHUT_RDWR);
      other_end_.join();
      launcher_.reset();
      close(judge_socket_);
    }
  }

  std::string refusal(const std::function<void()>& work, Outcome outcome = Outcome::failed) {
    try {
      work();
    } catch (const CaseStopped& stopped) {
      EXPECT_EQ(stopped.outcome(), outcome);
      return stopped.what();
    }
    return "";
  }

  FakeGpu gpu_;
  std::unique_ptr<Launcher> launcher_;

 private:
  int judge_socket_ = -1;
  std::thread other_end_;
};

TEST_F(LauncherTest, WhatIsAskedArrivesAsItIs) {
  serve();
  launcher_->open({3, "00ff", "abcd"}, {192, 160, 224, 1.5F, -0.1F});
  EXPECT_FALSE(launcher_->resources());
  launcher_->load("kernel.so");
  EXPECT_TRUE(launcher_->meets_requirement());
  EXPECT_EQ(launcher_->prepare(), std::size_t{1} << 40U);
  EXPECT_EQ(launcher_->sample({{0, 512, std::size_t{1} << 36U}, {1, 2, 3}}), 12.25);
  launcher_->enqueue({4, 5, 6}, 20000);
  EXPECT_EQ(launcher_->finish(), 2e7);
  const std::optional<Resources> resources = launcher_->resources();
  ASSERT_TRUE(resources);
  EXPECT_EQ(resources->threads_per_block, 256);
  EXPECT_EQ(resources->registers, 128);
  EXPECT_EQ(resources->smem_bytes, 49152U);
  EXPECT_EQ(resources->blocks_per_sm, 2);
  hang_up();
  EXPECT_EQ(gpu_.shared.device, 3);
  EXPECT_EQ(gpu_.shared.memory, "00ff");
  EXPECT_EQ(gpu_.shared.gate, "abcd");
  EXPECT_EQ(gpu_.shape.n, 160);
  EXPECT_EQ(gpu_.shape.alpha, 1.5F);
  EXPECT_EQ(gpu_.shape.beta, -0.1F);
  ASSERT_EQ(gpu_.samples.size(), 1U);
  ASSERT_EQ(gpu_.samples[0].size(), 2U);
  EXPECT_EQ(gpu_.samples[0][0].c, std::size_t{1} << 36U);
  EXPECT_EQ(gpu_.samples[0][1].b, 2U);
}

TEST_F(LauncherTest, ErrorsAreTheCasesOwn) {
  serve();
  launcher_->open({0, "", ""}, {1, 1, 1001});
  EXPECT_FALSE(launcher_->meets_requirement());
  EXPECT_EQ(refusal([&] { launcher_->load("missing.so"); }), "can not load the compiled file: \"missing.so\"");
  EXPECT_EQ(refusal([&] { launcher_->prepare(); }, Outcome::skipped), "not enough device memory");
}

TEST_F(LauncherTest, TimesAreNumbersOfMicroseconds) {
  gpu_.us = -1.0;
  serve();
  EXPECT_NE(refusal([&] { launcher_->sample({}); }, Outcome::implausible), "");
  hang_up();
  gpu_.us = std::numeric_limits<double>::infinity();
  serve();
  EXPECT_NE(refusal([&] { launcher_->sample({}); }), "");  // JSON has no such number
}

TEST_F(LauncherTest, AnExitIsTold) {
  answer(R"({"exit": 7})");
  EXPECT_EQ(refusal([&] { launcher_->sample({}); }), "called exit(7)");
}

TEST_F(LauncherTest, AnAnswerToNothingIsNone) {
  at_other_end([](LineConnection& connection) { connection.send(R"({"us": 1, "number": 0})"); });
  EXPECT_EQ(refusal([&] { launcher_->sample({}); }), "its process answered what it was not asked");
}

TEST_F(LauncherTest, ASecondAnswerIsNotForTheNextQuestion) {
  answer("{\"us\": 1, \"number\": %}\n{\"us\": 1, \"number\": 0}");
  EXPECT_EQ(launcher_->sample({}), 1.0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::string reason = refusal([&] { launcher_->sample({}); });
  EXPECT_TRUE(reason == "its process answered before it was asked" ||
              reason == "its process answered what it was not asked")
      << reason;
}

TEST_F(LauncherTest, OtherLanguagesAreNotUnderstood) {
  for (const char* const text : {"us = 1", "[]", R"({"number": %})", R"({"us": "1", "number": %})", "{"}) {
    answer(text);
    EXPECT_EQ(refusal([&] { launcher_->sample({}); }), "its process answered in another language") << text;
    hang_up();
  }
}

TEST_F(LauncherTest, AnAnswerHasAnEnd) {
  at_other_end([](LineConnection& connection) {
    const std::string part(1U << 16U, ' ');
    for (int i = 0; i < 64 && send(connection.socket(), part.data(), part.size(), MSG_NOSIGNAL) > 0; ++i) {
    }
    connection.send("{}");
  });
  EXPECT_EQ(refusal([&] { launcher_->sample({}); }), "its process does not stop answering");
}

TEST_F(LauncherTest, ALauncherThatIsGoneIsACaseThatFailed) {
  at_other_end([](LineConnection&) {});
  EXPECT_EQ(refusal([&] { launcher_->sample({}); }), "ended the process: exit(0)");
}

}  // namespace
}  // namespace sgemm
