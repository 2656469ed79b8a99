#pragma once

#include <sys/types.h>

#include <filesystem>

// A process that runs a stranger's code can read what its user can, and compute. It can do nothing to what is outside:
//
// - it is a user namespace's nobody, so it has no capabilities, and the memory of processes outside is not its own
// - its processes have numbers of their own: it has none to send a signal to, and all of them end with the first one
// - it has a network of its own, without any device, and connects to nothing: a path may be another program's socket
// - it opens no file for writing, and no device, but for files of one folder, which are in memory and go with it, and
// for
//   named pipes of its user

namespace sgemm {

/// As fork() does, into namespaces of its own. The new process is confined, with the rights to confine itself further
/// that the programs which it executes do not have, and can write below `folder` alone, which is empty. `error` says
/// there what the system did not allow, or 0. Nothing is to be executed then.
pid_t fork_confined(const std::filesystem::path& folder, int& error);

/// What such a process does while its child runs, with all signals blocked: it hands them on, and waits for all whose
/// parents have ended. Returns the child's state, as waitpid() tells it.
int wait_confined(pid_t child);

}  // namespace sgemm
