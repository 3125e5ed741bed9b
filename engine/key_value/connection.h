// One connection to a server: requests that are sent, answers that are verified.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "key_value/protocols.h"
#include "key_value/records.h"
#include "storage/descriptor.h"

namespace tierscope::key_value {

// What all connections of a load share.
struct Workload {
  Protocol protocol;
  Records records;
  std::string server;  // As messages name it.
};

class Connection {
 public:
  // `workload` stays where it is. At most `pipeline` requests wait for their answers.
  Connection(Descriptor socket, const Workload& workload, unsigned pipeline);

  int socket() const { return socket_.get(); }
  bool has_room() const { return waiting_ < requests_.size(); }
  // Of the requests that wait for answers. Null: none waits.
  const Request* oldest() const { return waiting_ > 0 ? &requests_[oldest_] : nullptr; }

  // Only where there is room. The request is sent by send_requests().
  void ask(const Request& request);

  // Sends what the socket takes; false: it is full, and some requests are left. Throws Failure.
  bool send_requests();

  // Receives once, and calls `answered(request)` for each request whose answer came and is right.
  // Throws Failure where an answer is wrong or the server closed the connection.
  template <typename Answered>
  void receive(const Answered& answered) {
    receive_once();
    std::size_t taken = 0;
    while (const std::size_t bytes = verified_answer(taken)) {
      taken += bytes;
      const Request request = requests_[oldest_];
      oldest_ = oldest_ + 1 == requests_.size() ? 0 : oldest_ + 1;
      --waiting_;
      answered(request);
    }
    drop(taken);
  }

 private:
  void receive_once();
  // Bytes of the answer to the oldest request, `taken` bytes into what was received; 0: it is not
  // complete.
  std::size_t verified_answer(std::size_t taken) const;
  void verify(const Request& request, const Answer& answer) const;
  void drop(std::size_t taken);

  Descriptor socket_;
  const Workload* workload_;
  std::vector<Request> requests_;  // A ring of those that wait, the oldest first.
  std::size_t oldest_ = 0;
  std::size_t waiting_ = 0;
  std::string to_send_{};
  std::size_t sent_ = 0;
  std::vector<char> received_;
  std::size_t received_bytes_ = 0;
};

}  // namespace tierscope::key_value
