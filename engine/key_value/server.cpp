#include "key_value/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "errors.h"
#include "sampling/clock.h"

namespace tierscope::key_value {
namespace {

constexpr double kStartPatienceS = 60;
constexpr std::chrono::milliseconds kRetryAfter{20};

struct Deadline {
  double at_s = now_seconds() + kStartPatienceS;
  double left_s() const { return at_s - now_seconds(); }
};

Failure failure(const Address& address, std::string_view what) {
  return Failure(fmt::format("{}: {}", address.text(), what));
}

// Empty with errno set where the server takes no connection.
Descriptor connect_unix(const Address& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.socket.size() >= sizeof name.sun_path) {
    throw failure(address, fmt::format("a socket's path has at most {} bytes; choose a shorter one",
                                       sizeof name.sun_path - 1));
  }
  std::memcpy(name.sun_path, address.socket.data(), address.socket.size());
  Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made) throw failure(address, std::strerror(errno));
  if (connect(made.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) return {};
  return made;
}

Descriptor connect_tcp(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int wrong =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (wrong != 0) throw failure(address, gai_strerror(wrong));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(list, freeaddrinfo);
  for (const addrinfo* one = list; one; one = one->ai_next) {
    Descriptor made(socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    if (!made || connect(made.get(), one->ai_addr, one->ai_addrlen) != 0) continue;
    // A request is sent when it is made, not when the answer to an earlier one has come.
    const int on = 1;
    setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return made;
  }
  return {};
}

bool may_be_starting(int error) {
  return error == ENOENT || error == ECONNREFUSED || error == ECONNRESET || error == EAGAIN;
}

// A connection to a server that may be starting.
Descriptor patient_connection(const Address& address, const Deadline& deadline) {
  while (true) {
    Descriptor made = address.socket.empty() ? connect_tcp(address) : connect_unix(address);
    if (made) return made;
    if (!may_be_starting(errno)) throw failure(address, std::strerror(errno));
    if (deadline.left_s() < 0) {
      throw failure(address, fmt::format("no server within {} s ({})", kStartPatienceS,
                                         std::strerror(errno)));
    }
    std::this_thread::sleep_for(kRetryAfter);
  }
}

// Sends a greeting, and returns what is said to it; empty: all is well.
std::string greet(const Descriptor& connection, const Address& address, Protocol protocol,
                  const Deadline& deadline) {
  std::string request;
  add_greeting(request, protocol);
  if (send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    throw failure(address, std::strerror(errno));
  }
  std::string received;
  while (true) {
    const Answer answer = parse_answer(protocol, received, 0);
    if (answer.kind == Answer::Kind::kDone) return {};
    if (answer.kind == Answer::Kind::kError) return std::string(answer.text);
    if (answer.kind != Answer::Kind::kPartial) {
      throw failure(address, fmt::format("answers {}, which is not of the protocol; "
                                         "--protocol says which",
                                         in_quotes(answer.text)));
    }
    pollfd ready{.fd = connection.get(), .events = POLLIN, .revents = 0};
    const double left_s = deadline.left_s();
    if (left_s < 0 || poll(&ready, 1, static_cast<int>(left_s * 1e3)) == 0) {
      throw failure(address, fmt::format("no answer within {} s", kStartPatienceS));
    }
    std::array<char, 1024> part;
    const ssize_t count = recv(connection.get(), part.data(), part.size(), 0);
    if (count == 0) throw failure(address, "the server closed the connection");
    if (count < 0 && errno != EINTR) throw failure(address, std::strerror(errno));
    if (count > 0) received.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

void wait_for(const Address& address, Protocol protocol) {
  const Deadline deadline;
  const Descriptor connection = patient_connection(address, deadline);
  while (true) {
    const std::string error = greet(connection, address, protocol, deadline);
    if (error.empty()) return;
    // Redis reads its file of records.
    if (!error.starts_with("LOADING") || deadline.left_s() < 0) {
      throw failure(address, "answers " + in_quotes(error));
    }
    std::this_thread::sleep_for(kRetryAfter);
  }
}

Descriptor connect_to(const Address& address) {
  Descriptor made = patient_connection(address, Deadline{});
  const int flags = fcntl(made.get(), F_GETFL);
  if (fcntl(made.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    throw failure(address, std::strerror(errno));
  }
  return made;
}

std::string in_quotes(std::string_view text) {
  std::string line = "'";
  for (const char letter : text.substr(0, 100)) line += letter < ' ' || letter > '~' ? '?' : letter;
  return line + "'";
}

}  // namespace tierscope::key_value
