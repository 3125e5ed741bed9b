// Connections to a server, which may still be starting.
#pragma once

#include <cstdint>
#include <string>

#include "key_value/protocols.h"
#include "storage/descriptor.h"

namespace tierscope::key_value {

struct Address {
  std::string socket{};  // Path of a Unix socket; where it is empty:
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;

  // As messages name it.
  std::string text() const { return socket.empty() ? host + ":" + std::to_string(port) : socket; }
};

// Waits until the server takes connections and answers, at most 60 s. Throws Failure.
void wait_for(const Address& address, Protocol protocol);

// A connection that never blocks. Throws Failure.
Descriptor connect_to(const Address& address);

// Text of a server as one printable line of at most 100 characters, in quotes.
std::string in_quotes(std::string_view text);

}  // namespace tierscope::key_value
