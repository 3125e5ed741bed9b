#include "key_value/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "errors.h"
#include "key_value/server.h"

namespace tierscope::key_value {
namespace {

constexpr std::size_t kLargeBuffer = std::size_t{1} << 16;

std::size_t buffer_bytes(const Workload& workload, unsigned pipeline) {
  const std::size_t answer = workload.records.value_bytes() + kAnswerOverhead;
  return std::max(answer, std::min(answer * pipeline, kLargeBuffer));
}

}  // namespace

Connection::Connection(Descriptor socket, const Workload& workload, unsigned pipeline)
    : socket_(std::move(socket)),
      workload_(&workload),
      requests_(pipeline),
      received_(buffer_bytes(workload, pipeline)) {}

void Connection::ask(const Request& request) {
  const std::string key = key_of(request.record);
  if (request.write) {
    add_set(to_send_, workload_->protocol, key, workload_->records.value_of(request.record));
  } else {
    add_get(to_send_, workload_->protocol, key);
  }
  const std::size_t next = oldest_ + waiting_++;
  requests_[next < requests_.size() ? next : next - requests_.size()] = request;
}

bool Connection::send_requests() {
  while (sent_ < to_send_.size()) {
    const ssize_t count = send(socket_.get(), to_send_.data() + sent_, to_send_.size() - sent_,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count < 0) {
      throw Failure(fmt::format("{}: {}", workload_->server, std::strerror(errno)));
    }
    sent_ += static_cast<std::size_t>(count);
  }
  to_send_.clear();
  sent_ = 0;
  return true;
}

void Connection::receive_once() {
  const ssize_t count = recv(socket_.get(), received_.data() + received_bytes_,
                             received_.size() - received_bytes_, MSG_DONTWAIT);
  if (count > 0) {
    received_bytes_ += static_cast<std::size_t>(count);
  } else if (count == 0) {
    throw Failure(fmt::format("{}: the server closed the connection", workload_->server));
  } else if (errno != EAGAIN && errno != EINTR) {
    throw Failure(fmt::format("{}: {}", workload_->server, std::strerror(errno)));
  }
}

std::size_t Connection::verified_answer(std::size_t taken) const {
  if (taken == received_bytes_) return 0;
  const std::string_view received(received_.data() + taken, received_bytes_ - taken);
  if (waiting_ == 0) {
    throw Failure(fmt::format("{}: the server says {}, which nobody asked for", workload_->server,
                              in_quotes(received)));
  }
  const Answer answer =
      parse_answer(workload_->protocol, received, workload_->records.value_bytes());
  if (answer.kind == Answer::Kind::kPartial) return 0;
  verify(requests_[oldest_], answer);
  return answer.bytes;
}

void Connection::verify(const Request& request, const Answer& answer) const {
  const auto wrong = [&](std::string_view what) {
    return Failure(fmt::format("{}: {} of {} {}", workload_->server,
                               request.write ? "storing the value" : "reading the value",
                               key_of(request.record), what));
  };
  if (answer.kind == Answer::Kind::kError || answer.kind == Answer::Kind::kMalformed) {
    throw wrong("is answered by " + in_quotes(answer.text));
  }
  if (request.write) {
    if (answer.kind == Answer::Kind::kDone) return;
    throw wrong("is answered as if it was read");
  }
  if (answer.kind == Answer::Kind::kMissing) {
    throw wrong(
        "finds nothing; fill the server first (--fill) with the same --bytes and --value, and give "
        "it enough memory to keep all records");
  }
  if (answer.kind != Answer::Kind::kValue ||
      !workload_->records.is_value_of(request.record, answer.text)) {
    throw wrong(fmt::format(
        "finds {} bytes that are not the {} bytes stored; the server's results are wrong, or it "
        "was filled with another --value",
        answer.text.size(), workload_->records.value_bytes()));
  }
}

void Connection::drop(std::size_t taken) {
  if (taken == 0) return;
  received_bytes_ -= taken;
  std::memmove(received_.data(), received_.data() + taken, received_bytes_);
}

}  // namespace tierscope::key_value
