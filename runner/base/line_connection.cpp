#include "base/line_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace sgemm {

bool LineConnection::send(std::string line) const {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      return false;
    }
    rest.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
  }
  return true;
}

bool LineConnection::receive(std::chrono::milliseconds moment) {
  pollfd descriptor{socket_, POLLIN, 0};
  const int ready = poll(&descriptor, 1, static_cast<int>(moment.count()));
  if (ready <= 0) {
    return ready == 0 || errno == EINTR;
  }
  std::array<char, 65536> part{};
  const ssize_t length = recv(socket_, part.data(), part.size(), 0);
  if (length <= 0) {
    return length < 0 && errno == EINTR;
  }
  received_.append(part.data(), static_cast<std::size_t>(length));
  return true;
}

std::optional<std::string> LineConnection::take() {
  const std::size_t end = received_.find('\n');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

}  // namespace sgemm
