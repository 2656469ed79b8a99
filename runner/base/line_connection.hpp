#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace sgemm {

/// One end of a socket through which two processes send each other lines. It does not own the socket.
class LineConnection {
 public:
  explicit LineConnection(int socket = -1) : socket_(socket) {}

  int socket() const { return socket_; }
  /// Returns false where the other process is gone.
  bool send(std::string line) const;
  /// Waits a moment for what arrives. Returns false at the connection's end.
  bool receive(std::chrono::milliseconds moment = std::chrono::milliseconds(50));
  /// The first line that has arrived and was not taken yet, or nothing.
  std::optional<std::string> take();
  /// Bytes that have arrived and were not taken.
  std::size_t pending() const { return received_.size(); }

 private:
  int socket_;
  std::string received_;
};

}  // namespace sgemm
