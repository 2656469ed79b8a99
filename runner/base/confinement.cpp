#include "base/kept_program.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t MACHINE = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t MACHINE = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t MACHINE = 0;  // every call ends the process
#endif

/// That of another user than root, who would have capabilities in what is executed.
constexpr int NOBODY = 65534;

bool write_to(const char* path, std::string_view text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno != 0 ? errno : EIO;
  close(file);
  errno = error;
  return written;
}

/// As the kernel has it since Linux 5.12; not all C libraries do.
struct MountAttributes {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
  std::uint64_t propagation = 0;
  std::uint64_t user_namespace = 0;
};
constexpr std::uint64_t READ_ONLY = 1;
constexpr std::uint64_t NO_SETUID = 2;
constexpr std::uint64_t NO_DEVICES = 4;

bool set_attributes(const char* path, int flags, const MountAttributes& attributes) {
  constexpr long MOUNT_SETATTR = 442;
  return syscall(MOUNT_SETATTR, AT_FDCWD, path, flags, &attributes, sizeof(attributes)) == 0;
}

/// Leaves no file to write to, and no device to open, but for the folder and /dev/null.
bool confine_files(const std::filesystem::path& folder) {
  constexpr int WITH_ALL_BELOW = 0x8000;
  if (!set_attributes("/", WITH_ALL_BELOW, {READ_ONLY | NO_SETUID | NO_DEVICES, 0, MS_PRIVATE}) ||
      mount("/dev/null", "/dev/null", nullptr, MS_BIND, nullptr) != 0 ||
      !set_attributes("/dev/null", 0, {0, NO_DEVICES}) ||
      mount("none", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=1g,mode=0700") != 0) {
    return false;
  }
  // That of its own processes. Some containers do not let anybody mount it, and then it sees the names of others.
  mount("none", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  return true;
}

/// Leaves no file to open for writing but those: a read-only file system lets named pipes be written to.
bool confine_writing(const std::filesystem::path& folder) {
  constexpr long CREATE_RULESET = 444;
  constexpr long ADD_RULE = 445;
  constexpr long RESTRICT_SELF = 446;
  constexpr int BENEATH_PATH = 1;
  constexpr std::uint64_t WRITE_FILE = 2;
  const auto rules = static_cast<int>(syscall(CREATE_RULESET, &WRITE_FILE, sizeof(WRITE_FILE), 0));
  for (const char* const path : {folder.c_str(), "/dev/null"}) {
    struct [[gnu::packed]] {
      std::uint64_t allowed;
      std::int32_t beneath;
    } const rule{WRITE_FILE, open(path, O_PATH | O_CLOEXEC)};
    if (syscall(ADD_RULE, rules, BENEATH_PATH, &rule, 0) != 0) {
      return false;
    }
  }
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(RESTRICT_SELF, rules, 0) == 0;
}

/// Refuses what reaches others without a file that is opened, for good and for all that is executed: a read-only folder
/// keeps nobody from connecting to a socket in it, keys belong to the user, and io_uring does all that without calls.
/// Pairs of sockets remain, of the type that can not be sent to anybody else.
bool refuse_calls() {
  constexpr auto LOAD = static_cast<std::uint16_t>(BPF_LD | BPF_W | BPF_ABS);
  constexpr auto IF_EQUAL = static_cast<std::uint16_t>(BPF_JMP | BPF_JEQ | BPF_K);
  constexpr auto IF_LEAST = static_cast<std::uint16_t>(BPF_JMP | BPF_JGE | BPF_K);
  constexpr auto AND = static_cast<std::uint16_t>(BPF_ALU | BPF_AND | BPF_K);
  constexpr auto RETURN = static_cast<std::uint16_t>(BPF_RET | BPF_K);
  constexpr std::uint32_t OF_X32 = 0x40000000;  // the same calls once more, by other numbers
  constexpr std::uint32_t REFUSED = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(EPERM);
  constexpr std::uint32_t TYPE_OF_SOCKET = 0xF;
  std::vector<sock_filter> rules{
      {LOAD, 0, 0, offsetof(seccomp_data, arch)}, {IF_EQUAL, 1, 0, MACHINE}, {RETURN, 0, 0, SECCOMP_RET_KILL_PROCESS},
      {LOAD, 0, 0, offsetof(seccomp_data, nr)},   {IF_LEAST, 0, 1, OF_X32},  {RETURN, 0, 0, SECCOMP_RET_KILL_PROCESS}};
  for (const int number :
       {SYS_socket, SYS_connect, SYS_flock, SYS_io_uring_setup, SYS_add_key, SYS_request_key, SYS_keyctl}) {
    rules.push_back({IF_EQUAL, 0, 1, static_cast<std::uint32_t>(number)});
    rules.push_back({RETURN, 0, 0, REFUSED});
  }
  rules.insert(rules.end(), {{IF_EQUAL, 0, 4, SYS_socketpair},
                             {LOAD, 0, 0, offsetof(seccomp_data, args[1])},
                             {AND, 0, 0, TYPE_OF_SOCKET},
                             {IF_EQUAL, 1, 0, SOCK_STREAM},
                             {RETURN, 0, 0, REFUSED},
                             {RETURN, 0, 0, SECCOMP_RET_ALLOW}});
  const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

pid_t fork_confined(const std::filesystem::path& folder, int& error) {
  constexpr unsigned long OWN = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  constexpr long CLOSE_RANGE = 436;
  constexpr unsigned WHEN_EXECUTING = 4;
  const std::string user = fmt::format("{} {} 1", NOBODY, geteuid());
  const std::string group = fmt::format("{} {} 1", NOBODY, getegid());
  const auto child = static_cast<pid_t>(syscall(SYS_clone, OWN | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  error = child < 0 ? errno : 0;
  if (child != 0) {
    return child;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();  // a terminal takes words from whom it belongs to
  const bool confined = write_to("/proc/self/setgroups", "deny") && write_to("/proc/self/uid_map", user) &&
                        write_to("/proc/self/gid_map", group) && confine_files(folder) && confine_writing(folder) &&
                        prctl(PR_SET_DUMPABLE, 0) == 0 &&  // it has the memory of who has forked it
                        syscall(CLOSE_RANGE, 3U, ~0U, WHEN_EXECUTING) == 0 && refuse_calls();
  error = confined ? 0 : errno;
  return 0;
}

int wait_confined(pid_t child) {
  sigset_t all;
  sigfillset(&all);
  while (true) {
    const int number = sigwaitinfo(&all, nullptr);
    if (number != SIGCHLD && number > 0) {
      kill(child, number);
    }
    int state = 0;
    for (pid_t one = 0; (one = waitpid(-1, &state, WNOHANG)) > 0;) {
      if (one == child) {
        return state;
      }
    }
  }
}

}  // namespace sgemm
