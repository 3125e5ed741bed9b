#include "protocol/line_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "errors.h"
#include "interrupt.h"

namespace tierscope {

std::optional<std::string> LineReader::next() {
  while (true) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return line;
    }
    searched_ = buffer_.size();
    if (fill()) continue;
    searched_ = 0;
    // A last line may lack its newline; a signal leaves lines unread.
    if (interrupted() || buffer_.empty()) return std::nullopt;
    return std::exchange(buffer_, {});
  }
}

// False at the end of the file, or once a signal came.
bool LineReader::fill() {
  if (!wait_for_input()) return false;
  std::array<char, 1 << 16> chunk{};
  const ssize_t count = read(file_, chunk.data(), chunk.size());
  if (count < 0) throw Failure(fmt::format("stdin cannot be read: {}", std::strerror(errno)));
  buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  return count > 0;
}

// False once a signal came. Signals are held back until ppoll waits, so that none is missed between
// looking for one and waiting.
bool LineReader::wait_for_input() const {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pollfd input{.fd = file_, .events = POLLIN, .revents = 0};
  while (!interrupted() && ppoll(&input, 1, nullptr, &before) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !interrupted();
}

}  // namespace tierscope
