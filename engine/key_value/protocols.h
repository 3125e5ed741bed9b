// What clients of redis and memcached write and read: RESP2
// (https://redis.io/docs/latest/develop/reference/protocol-spec/) and memcached's text protocol
// (https://github.com/memcached/memcached/blob/master/doc/protocol.txt).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tierscope::key_value {

enum class Protocol { kRedis, kMemcached };

// Each appends a request to `to`. Keys have no spaces and no control characters.
void add_get(std::string& to, Protocol protocol, std::string_view key);
void add_set(std::string& to, Protocol protocol, std::string_view key, std::string_view value);
// A request that every server answers with one line once it is ready.
void add_greeting(std::string& to, Protocol protocol);

// The longest line of an answer that is taken; that of a value is shorter than 300 bytes.
inline constexpr std::size_t kLongestLine = 1024;
// What an answer has besides its value, at most.
inline constexpr std::size_t kAnswerOverhead = kLongestLine + 16;

struct Answer {
  enum class Kind {
    kPartial,    // More has to be received.
    kValue,      // The answer to a get: `text` is the value.
    kMissing,    // There is no such record.
    kDone,       // The record is stored, or the server is ready.
    kError,      // The server says in `text` what is wrong.
    kMalformed,  // Not of the protocol, or a value of more than `most` bytes; `text` is its start.
  };
  Kind kind;
  std::string_view text{};
  std::size_t bytes = 0;  // Of the answer as received; 0 for kPartial and kMalformed.
};

// The first answer in `received`, which may end anywhere. At most `most` bytes of a value are
// taken, so that a caller with room for most + kAnswerOverhead bytes can receive every answer.
Answer parse_answer(Protocol protocol, std::string_view received, std::size_t most);

}  // namespace tierscope::key_value
