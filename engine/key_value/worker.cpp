#include "key_value/worker.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <span>

#include "errors.h"
#include "sampling/clock.h"
#include "storage/pattern.h"

namespace tierscope::key_value {
namespace {

constexpr std::int64_t kAnswerPatienceNs = 10'000'000'000;
constexpr int kLongWaitMs = 100;
constexpr double kGrowingShare = 0.002;

void watch(const Descriptor& epoll, int operation, int socket, std::size_t connection,
           std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = connection}};
  if (epoll_ctl(epoll.get(), operation, socket, &event) != 0) {
    throw Failure(fmt::format("epoll_ctl: {}", std::strerror(errno)));
  }
}

}  // namespace

void OpenLoop::add(const OpenLoop& other) {
  latencies.add(other.latencies);
  sum_ns += other.sum_ns;
  due += other.due;
  in_time += other.in_time;
  fell_behind |= other.fell_behind;
  behind_s = std::max(behind_s, other.behind_s);
}

bool falls_behind(const std::array<double, kLooks>& behind_s, double seconds) {
  constexpr std::size_t kThird = kLooks / 3;
  const std::span looks(behind_s);
  const double begin_most = std::ranges::max(looks.first(kThird));
  const auto [middle_least, middle_most] = std::ranges::minmax(looks.subspan(kThird, kThird));
  const double end_least = std::ranges::min(looks.last(kThird));
  return middle_least > begin_most && end_least > middle_most &&
         end_least > begin_most + kGrowingShare * seconds;
}

Worker::Worker(const Workload& workload, const Address& address, unsigned clients,
               unsigned pipeline)
    : workload_(&workload), pipeline_(pipeline), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw Failure(fmt::format("epoll_create1: {}", std::strerror(errno)));
  for (std::size_t i = 0; i < clients; ++i) {
    connections_.emplace_back(connect_to(address), workload, pipeline);
    watch(epoll_, EPOLL_CTL_ADD, connections_[i].socket(), i, EPOLLIN);
  }
  full_.resize(clients);
}

void Worker::ask(std::size_t connection, const Request& request) {
  if (unanswered_++ == 0) heard_ns_ = now_ns();
  connections_[connection].ask(request);
}

void Worker::send(std::size_t connection) {
  const bool full = !connections_[connection].send_requests();
  if (full == full_[connection]) return;
  full_[connection] = full;
  watch(epoll_, EPOLL_CTL_MOD, connections_[connection].socket(), connection,
        full ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

// Waits for events at most so long, and handles those that came.
void Worker::serve(int timeout_ms, const Answered& answered) {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  if (count < 0 && errno != EINTR) {
    throw Failure(fmt::format("epoll_wait: {}", std::strerror(errno)));
  }
  now_ns_ = now_ns();
  for (const epoll_event& event :
       std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
    const std::size_t connection = event.data.u64;
    if ((event.events & ~EPOLLOUT) != 0) {
      heard_ns_ = now_ns_;
      connections_[connection].receive([&](const Request& request) {
        --unanswered_;
        answered(connection, request);
      });
    }
    send(connection);
  }
  if (unanswered_ > 0 && now_ns_ - heard_ns_ > kAnswerPatienceNs) {
    throw Failure(fmt::format("{}: the server has not answered for {} s", workload_->server,
                              kAnswerPatienceNs / 1'000'000'000));
  }
}

std::optional<std::int64_t> Worker::oldest_due_ns() const {
  std::optional<std::int64_t> oldest;
  for (const Connection& connection : connections_) {
    const Request* request = connection.oldest();
    if (request && (!oldest || request->due_ns < *oldest)) oldest = request->due_ns;
  }
  return oldest;
}

std::uint64_t Worker::closed_loop(const Next& next, std::int64_t end_ns) {
  std::uint64_t in_time = 0;
  const auto ask_next = [&](std::size_t connection) {
    const std::optional<Request> request = next();
    if (request) ask(connection, *request);
    return request.has_value();
  };
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    while (connections_[i].has_room() && ask_next(i)) {
    }
    send(i);
  }
  while (unanswered_ > 0) {
    serve(kLongWaitMs, [&](std::size_t connection, const Request&) {
      if (now_ns_ < end_ns) ++in_time;
      ask_next(connection);
    });
  }
  return in_time;
}

OpenLoop Worker::open_loop(Choices& choices, double rate, std::uint64_t seed, std::int64_t start_ns,
                           double seconds) {
  OpenLoop found;
  Arrivals arrivals(rate, true, seed);
  std::deque<std::size_t> room;  // Connections, each as often as it has room for a request.
  for (unsigned i = 0; i < pipeline_; ++i) {
    for (std::size_t j = 0; j < connections_.size(); ++j) room.push_back(j);
  }
  const double end_ns = seconds * 1e9;
  double due_ns = arrivals.next_ns();
  std::array<double, kLooks> behind_s{};
  std::size_t looks = 0;
  const auto answered = [&](std::size_t connection, const Request& request) {
    // Others may have been handled since the events came.
    const std::int64_t at_ns = now_ns() - start_ns;
    const std::int64_t latency = std::max<std::int64_t>(at_ns - request.due_ns, 0);
    found.latencies.record(static_cast<std::uint64_t>(latency));
    found.sum_ns += static_cast<double>(latency);
    if (static_cast<double>(at_ns) < end_ns) ++found.in_time;
    room.push_back(connection);
  };
  while (due_ns < end_ns || unanswered_ > 0 || looks < kLooks) {
    const auto at_ns = static_cast<double>(now_ns() - start_ns);
    while (due_ns < end_ns && due_ns <= at_ns && !room.empty()) {
      Request request = choices.next();
      request.due_ns = static_cast<std::int64_t>(due_ns);
      ask(room.front(), request);
      send(room.front());
      room.pop_front();
      ++found.due;
      due_ns = arrivals.next_ns();
    }
    while (looks < kLooks && at_ns >= end_ns * static_cast<double>(looks + 1) / kLooks) {
      // Requests are sent in the order in which they are due.
      const double oldest_ns = static_cast<double>(oldest_due_ns().value_or(due_ns));
      found.behind_s = behind_s[looks++] = std::max(at_ns - oldest_ns, 0.0) / 1e9;
      if (looks == kLooks && falls_behind(behind_s, seconds)) {
        found.fell_behind = true;
        return found;
      }
    }
    // epoll_wait() wakes up to a millisecond late, so the last one before a request is due is
    // spent without sleeping.
    const double idle_ms = (std::min(due_ns, end_ns) - at_ns) / 1e6;
    const int timeout_ms = room.empty() ? 1 : std::clamp(static_cast<int>(idle_ms), 0, kLongWaitMs);
    if (timeout_ms == 0) sched_yield();
    serve(timeout_ms, answered);
  }
  return found;
}

}  // namespace tierscope::key_value
