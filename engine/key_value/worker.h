// One thread's connections, and the loops that drive them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "key_value/connection.h"
#include "key_value/records.h"
#include "key_value/server.h"
#include "sampling/histogram.h"
#include "storage/descriptor.h"

namespace tierscope::key_value {

// Times at which an open loop looks how far it is behind: how long ago the oldest request that is
// not answered was due. Equally spaced, the last one at the end of its time.
inline constexpr std::size_t kLooks = 12;

// Whether the server does not keep up: at each look the loop is further behind than at any look of
// the third of `seconds` before, and at the end by more than 0.2% of `seconds` than in the first
// third. Neither a stall is enough, from which a server that keeps up recovers, nor a machine that
// becomes busier.
bool falls_behind(const std::array<double, kLooks>& behind_s, double seconds);

// What came of an open loop.
struct OpenLoop {
  Histogram latencies{};      // In ns, from when a request was due to its answer.
  double sum_ns = 0;          // Of all latencies.
  std::uint64_t due = 0;      // Requests of the schedule, as far as it was followed.
  std::uint64_t in_time = 0;  // Of them, those that were answered before the end.
  bool fell_behind = false;   // The server does not keep up: the rest was left out.
  double behind_s = 0;        // How far, at the end.

  void add(const OpenLoop& other);
};

// For one thread at a time.
class Worker {
 public:
  // Connects. `workload` stays where it is. Throws Failure.
  Worker(const Workload& workload, const Address& address, unsigned clients, unsigned pipeline);

  // Closed loop: each connection asks for what `next` says as soon as an answer came, until `next`
  // says nothing; returns once all are answered. Returns the answers that came before `end_ns` of
  // now_ns(). Throws Failure.
  using Next = std::function<std::optional<Request>()>;
  std::uint64_t closed_loop(const Next& next, std::int64_t end_ns);

  // Open loop: requests are due as in a Poisson process of `rate` a second, whatever the answers
  // do, for `seconds` from `start_ns` on. One that is due while no connection has room is sent
  // later, and its latency counts from when it was due: Gil Tene, "How NOT to measure latency", and
  // his wrk2 (https://github.com/giltene/wrk2). Throws Failure.
  OpenLoop open_loop(Choices& choices, double rate, std::uint64_t seed, std::int64_t start_ns,
                     double seconds);

 private:
  // A request was answered on a connection, which has room now.
  using Answered = std::function<void(std::size_t connection, const Request& request)>;

  void ask(std::size_t connection, const Request& request);
  void send(std::size_t connection);
  void serve(int timeout_ms, const Answered& answered);
  std::optional<std::int64_t> oldest_due_ns() const;  // Of the requests that wait for answers.

  const Workload* workload_;
  unsigned pipeline_;
  Descriptor epoll_;
  std::vector<Connection> connections_{};
  std::vector<bool> full_{};      // Connections whose socket takes no more for now.
  std::uint64_t unanswered_ = 0;  // Requests of all connections.
  std::int64_t now_ns_ = 0;       // When serve() last saw an event,
  std::int64_t heard_ns_ = 0;     // or an answer.
};

}  // namespace tierscope::key_value
