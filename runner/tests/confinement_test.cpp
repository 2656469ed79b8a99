// Programs that KeptProgram confines.

#include "base/kept_program.hpp"
#include "fixtures/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <string>
#include <system_error>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

class ConfinementTest : public TemporaryFolderTest {
 protected:
  static KeptProgram start(const std::string& program, const std::string& commands) {
    return KeptProgram({program, {program, "-c", commands}, {}, {}, {}, fs::absolute("own")});
  }

  /// How the commands end, or -1 where this system confines nothing.
  static int end_of(const std::string& commands) {
    try {
      KeptProgram program = start("sh", "exec 2>/dev/null; " + commands);
      EXPECT_TRUE(program.ends_within(std::chrono::seconds(60)));
      return program.end();
    } catch (const CanNotConfine&) {
      return -1;
    }
  }

  void SetUp() override {
    TemporaryFolderTest::SetUp();
    fs::create_directory("own");
    std::ofstream("theirs") << "as it was\n";
    if (end_of("true") < 0) {
      GTEST_SKIP() << "this system has no user namespaces for everybody";
    }
  }
};

TEST_F(ConfinementTest, TellsHowAProgramEnds) {
  for (const int status : {0, 7, 127}) {
    const int state = end_of("exit " + std::to_string(status));
    EXPECT_TRUE(WIFEXITED(state)) << status;
    EXPECT_EQ(WEXITSTATUS(state), status);
  }
  for (const int signal : {SIGKILL, SIGABRT, SIGSEGV}) {
    const int state = end_of("kill -" + std::to_string(signal) + " $$");
    EXPECT_TRUE(WIFSIGNALED(state)) << signal;
    EXPECT_EQ(WTERMSIG(state), signal);
  }
  EXPECT_THROW(start("no-such-program", ""), std::system_error);
}

TEST_F(ConfinementTest, NothingCanBeWrittenButItsOwn) {
  EXPECT_EQ(end_of("echo > own/mine && echo > /dev/null && cat theirs"), 0);
  std::system("mkfifo pipe && sleep 5 <> pipe >/dev/null 2>&1 &");  // whoever reads there lets writers in
  while (!fs::exists("pipe")) {
  }
  for (const char* const command :
       {": >> theirs", ": >> pipe", ": > new", "rm theirs", "mkdir folder", "mount -o remount,rw /",
        ": > /proc/self/oom_score_adj", ": > /dev/full", "unshare -Urm mount -o remount,rw,bind /"}) {
    EXPECT_NE(end_of(command), 0) << command;
  }
  EXPECT_TRUE(fs::is_empty("own")) << "what it wrote was in memory";
  std::string line;
  std::getline(std::ifstream("theirs"), line);
  EXPECT_EQ(line, "as it was");
}

TEST_F(ConfinementTest, SignalsReachItAndNobodyElse) {
  EXPECT_NE(end_of("kill -0 " + std::to_string(getpid())), 0);
  EXPECT_EQ(end_of("[ $$ -lt 10 ]"), 0);
  KeptProgram program = start("sh", "trap 'exit 3' INT; echo > own/ready; while :; do sleep 0.1; done");
  while (!program.ends_within(std::chrono::milliseconds(100))) {
    program.signal(SIGINT);
  }
  const int state = program.end();
  EXPECT_TRUE((WIFEXITED(state) && WEXITSTATUS(state) == 3) || (WIFSIGNALED(state) && WTERMSIG(state) == SIGINT));
}

TEST_F(ConfinementTest, AllOfItEndsWithIt) {
  KeptProgram program = start("sh", "trap '' INT TERM HUP; setsid sleep 600 & sleep 600");
  program.end();
  EXPECT_EQ(end_of("setsid sleep 600 & exit 0"), 0);
}

}  // namespace
}  // namespace sgemm
