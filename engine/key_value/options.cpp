#include "key_value/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "errors.h"

namespace tierscope::key_value {
namespace {

constexpr std::string_view kUsage =
    "usage: tierscope-engine key-value-load --protocol redis|memcached ADDRESS --bytes N ...\n"
    "Loads a key-value server, and verifies each value that it answers.\n"
    "  --socket PATH | --port N [--host NAME]  where the server is (127.0.0.1)\n"
    "  --fill           store all records, and end\n"
    "  --bytes N        of all values: there are N / value records\n"
    "  --value N        bytes of a value (1000)\n"
    "  --clients N      connections (50)\n"
    "  --threads N      threads that drive them (1)\n"
    "  --pipeline N     requests of a connection that wait for answers at a time (1)\n"
    "  --seconds S      of each loop (5)\n"
    "  --rate R         after the closed loop: an open one, of R requests a second\n"
    "  --skew A         exponent of Zipf's law, by which records are chosen; 0: all alike (0.99)\n"
    "  --writes SHARE   of the requests that store a record (0)\n"
    "  --warm-up S      at most, before the closed loop, until the throughput rises no more (5)\n"
    "Prints throughput; with --rate also mean, p50, p99, p99.9, offered, achieved; and warm-up.\n"
    "Exit status: 0 done, 1 the server fails, answers wrongly or does not keep up with the rate, 2 "
    "the\n"
    "options are wrong.\n";

Unavailable wrong(std::string_view option, std::string_view takes, std::string_view word) {
  return {Cause::kOther, fmt::format("{} takes {}, not '{}'", option, takes, word)};
}

template <typename Number>
std::optional<Number> number_in(const std::string& word) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

template <typename Number>
Number whole(std::string_view option, const std::string& word, std::uint64_t low,
             std::uint64_t high) {
  const auto value = number_in<std::uint64_t>(word);
  if (value && *value >= low && *value <= high) return static_cast<Number>(*value);
  throw wrong(option, fmt::format("a whole number from {} to {}", low, high), word);
}

double real(std::string_view option, const std::string& word, double low, double high) {
  const auto value = number_in<double>(word);
  if (value && *value >= low && *value <= high) return *value;
  throw wrong(option, fmt::format("a number from {:g} to {:g}", low, high), word);
}

Protocol protocol_in(std::string_view option, const std::string& word) {
  if (word == "redis") return Protocol::kRedis;
  if (word == "memcached") return Protocol::kMemcached;
  throw wrong(option, "redis or memcached", word);
}

struct Option {
  std::string_view name;
  bool of_loops;  // Without meaning for --fill.
  void (*take)(LoadOptions& options, std::string_view option, const std::string& word);
};

using Name = std::string_view;
using Word = const std::string&;

constexpr std::array kOptions{
    Option{"--protocol", false,
           [](LoadOptions& to, Name name, Word word) { to.protocol = protocol_in(name, word); }},
    Option{"--socket", false,
           [](LoadOptions& to, Name name, Word word) {
             if (word.empty()) throw wrong(name, "a path", word);
             to.address.socket = word;
           }},
    Option{"--host", false, [](LoadOptions& to, Name, Word word) { to.address.host = word; }},
    Option{"--port", false,
           [](LoadOptions& to, Name name, Word word) {
             to.address.port = whole<std::uint16_t>(name, word, 1, 65535);
           }},
    Option{"--bytes", false,
           [](LoadOptions& to, Name name, Word word) {
             to.bytes = whole<std::uint64_t>(name, word, 1, std::uint64_t{1} << 50);
           }},
    Option{"--value", false,
           [](LoadOptions& to, Name name, Word word) {
             to.value = whole<std::size_t>(name, word, 1, std::uint64_t{1} << 24);
           }},
    Option{"--clients", false,
           [](LoadOptions& to, Name name, Word word) {
             to.clients = whole<unsigned>(name, word, 1, 10000);
           }},
    Option{"--threads", false,
           [](LoadOptions& to, Name name, Word word) {
             to.threads = whole<unsigned>(name, word, 1, 1024);
           }},
    Option{"--pipeline", true,
           [](LoadOptions& to, Name name, Word word) {
             to.pipeline = whole<unsigned>(name, word, 1, 1000);
           }},
    Option{
        "--seconds", true,
        [](LoadOptions& to, Name name, Word word) { to.seconds = real(name, word, 0.01, 86400); }},
    Option{"--rate", true,
           [](LoadOptions& to, Name name, Word word) { to.rate = real(name, word, 1, 1e8); }},
    Option{"--skew", true,
           [](LoadOptions& to, Name name, Word word) { to.skew = real(name, word, 0, 10); }},
    Option{"--writes", true,
           [](LoadOptions& to, Name name, Word word) { to.writes = real(name, word, 0, 1); }},
    Option{"--warm-up", true,
           [](LoadOptions& to, Name name, Word word) { to.warm_up = real(name, word, 0, 3600); }},
};

Unavailable refused(const std::string& reason) {
  return {Cause::kOther, reason, "see tierscope-engine key-value-load --help"};
}

// What options say together.
void check(const LoadOptions& options, const std::vector<const Option*>& given) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(given, name, &Option::name) != given.end();
  };
  for (const std::string_view needed : {"--protocol", "--bytes"}) {
    if (!has(needed)) throw refused(fmt::format("{} is missing", needed));
  }
  if (has("--socket") == has("--port")) throw refused("either --socket or --port has to be given");
  if (has("--socket") && has("--host")) throw refused("--host goes with --port, not --socket");
  if (options.bytes < options.value) {
    throw refused(fmt::format("--bytes {} is less than one record of --value {}", options.bytes,
                              options.value));
  }
  if (options.threads > options.clients) {
    throw refused(
        fmt::format("--threads {} is more than --clients {}: each thread drives one or more",
                    options.threads, options.clients));
  }
  if (!options.fill) return;
  const auto found = std::ranges::find_if(given, &Option::of_loops);
  if (found != given.end())
    throw refused(fmt::format("{} has no meaning with --fill", (*found)->name));
}

}  // namespace

std::string_view load_usage() { return kUsage; }

LoadOptions parse_options(const std::vector<std::string>& words) {
  LoadOptions options;
  std::vector<const Option*> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--fill") {
      options.fill = true;
      continue;
    }
    const auto* const found = std::ranges::find(kOptions, words[i], &Option::name);
    if (found == kOptions.end()) throw refused(fmt::format("no option is named '{}'", words[i]));
    if (i + 1 == words.size()) throw refused(fmt::format("{} needs a value", words[i]));
    found->take(options, found->name, words[++i]);
    given.push_back(found);
  }
  check(options, given);
  return options;
}

}  // namespace tierscope::key_value
