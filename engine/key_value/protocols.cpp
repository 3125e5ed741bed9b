#include "key_value/protocols.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <optional>

namespace tierscope::key_value {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

Answer malformed(std::string_view text) { return {Answer::Kind::kMalformed, text}; }

std::optional<std::size_t> length_of(std::string_view digits) {
  std::size_t value = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value);
  if (error != std::errc{} || end != last) return std::nullopt;
  return value;
}

// An answer of a line with the value's length, the value, and `tail`.
Answer value_answer(std::string_view received, std::size_t line, std::string_view digits,
                    std::size_t most, std::string_view tail) {
  const std::optional<std::size_t> length = length_of(digits);
  if (!length || *length > most) return malformed(received.substr(0, line));
  const std::size_t first = line + kLineEnd.size();
  const std::size_t bytes = first + *length + tail.size();
  if (received.size() < bytes) return {Answer::Kind::kPartial};
  if (received.substr(first + *length, tail.size()) != tail) {
    return malformed(received.substr(0, line));
  }
  return {Answer::Kind::kValue, received.substr(first, *length), bytes};
}

Answer redis_answer(std::string_view received, std::size_t line_bytes, std::size_t most) {
  const std::string_view line = received.substr(0, line_bytes);
  const std::size_t bytes = line_bytes + kLineEnd.size();
  if (line == "$-1") return {Answer::Kind::kMissing, {}, bytes};
  if (line.starts_with('$')) {
    return value_answer(received, line_bytes, line.substr(1), most, kLineEnd);
  }
  if (line.starts_with('+')) return {Answer::Kind::kDone, line.substr(1), bytes};
  if (line.starts_with('-')) return {Answer::Kind::kError, line.substr(1), bytes};
  return malformed(line);
}

Answer memcached_answer(std::string_view received, std::size_t line_bytes, std::size_t most) {
  const std::string_view line = received.substr(0, line_bytes);
  const std::size_t bytes = line_bytes + kLineEnd.size();
  if (line.starts_with("VALUE ")) {  // VALUE key flags length
    return value_answer(received, line_bytes, line.substr(line.rfind(' ') + 1), most,
                        "\r\nEND\r\n");
  }
  if (line == "END") return {Answer::Kind::kMissing, {}, bytes};
  if (line == "STORED" || line.starts_with("VERSION ")) return {Answer::Kind::kDone, line, bytes};
  if (line == "NOT_STORED" || line.starts_with("ERROR") || line.starts_with("CLIENT_ERROR") ||
      line.starts_with("SERVER_ERROR")) {
    return {Answer::Kind::kError, line, bytes};
  }
  return malformed(line);
}

}  // namespace

void add_get(std::string& to, Protocol protocol, std::string_view key) {
  if (protocol == Protocol::kRedis) {
    fmt::format_to(std::back_inserter(to), "*2\r\n$3\r\nGET\r\n${}\r\n{}\r\n", key.size(), key);
  } else {
    fmt::format_to(std::back_inserter(to), "get {}\r\n", key);
  }
}

void add_set(std::string& to, Protocol protocol, std::string_view key, std::string_view value) {
  if (protocol == Protocol::kRedis) {
    fmt::format_to(std::back_inserter(to), "*3\r\n$3\r\nSET\r\n${}\r\n{}\r\n${}\r\n", key.size(),
                   key, value.size());
  } else {
    fmt::format_to(std::back_inserter(to), "set {} 0 0 {}\r\n", key, value.size());
  }
  to.append(value).append(kLineEnd);
}

void add_greeting(std::string& to, Protocol protocol) {
  to.append(protocol == Protocol::kRedis ? "*1\r\n$4\r\nPING\r\n" : "version\r\n");
}

Answer parse_answer(Protocol protocol, std::string_view received, std::size_t most) {
  const std::string_view start = received.substr(0, kLongestLine + kLineEnd.size());
  const std::size_t line = start.find(kLineEnd);
  if (line == std::string_view::npos) {
    if (received.size() < kLongestLine + kLineEnd.size()) return {Answer::Kind::kPartial};
    return malformed(start);
  }
  return protocol == Protocol::kRedis ? redis_answer(received, line, most)
                                      : memcached_answer(received, line, most);
}

}  // namespace tierscope::key_value
