// Options of `tierscope-engine key-value-load`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "key_value/protocols.h"
#include "key_value/server.h"

namespace tierscope::key_value {

struct LoadOptions {
  Protocol protocol = Protocol::kRedis;
  Address address{};
  bool fill = false;
  std::uint64_t bytes = 0;  // Of all values.
  std::size_t value = 1000;
  unsigned clients = 50;
  unsigned threads = 1;
  unsigned pipeline = 1;
  double seconds = 5;
  std::optional<double> rate{};  // Of all threads; with it there is an open loop.
  double skew = 0.99;
  double writes = 0;
  double warm_up = 5;

  std::uint64_t records() const { return bytes / value; }
};

// What `--help` prints.
std::string_view load_usage();

// Throws Unavailable, whose text names the option and what it takes.
LoadOptions parse_options(const std::vector<std::string>& words);

}  // namespace tierscope::key_value
