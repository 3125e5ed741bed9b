#include "pmem_check/commands.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <string_view>

#include "errors.h"
#include "pmem_check/mapped_words.h"
#include "pmem_check/pool.h"
#include "pmem_check/replay.h"
#include "pmem_check/slots.h"

namespace tierscope {
namespace {

using Json = nlohmann::ordered_json;

struct Writer {
  std::string_view name;
  bool pool;
  bool transactions;
  SlotsFault fault;
};

constexpr std::array kWriters{
    Writer{"transactions", true, true, SlotsFault::kNone},
    Writer{"no-transactions", true, false, SlotsFault::kNone},
    Writer{"slots", false, false, SlotsFault::kNone},
    Writer{"slots-no-flush", false, false, SlotsFault::kNoFlush},
    Writer{"slots-no-fence", false, false, SlotsFault::kNoFence},
};

constexpr std::uint64_t kGenerations = 16;  // Of a trace.

const Writer& writer_of(const std::string& name) {
  const auto* const found = std::find_if(kWriters.begin(), kWriters.end(),
                                         [&](const Writer& writer) { return writer.name == name; });
  if (found == kWriters.end()) throw Unavailable(Cause::kOther, "no writer is named " + name);
  return *found;
}

[[noreturn]] void write_until_the_end(const Writer& writer, const std::string& path) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (writer.pool) {
    PoolWriter pool(path, writer.transactions);
    write_acknowledgement(0);
    for (std::uint64_t generation = 1;; ++generation) {
      pool.write(generation);
      write_acknowledgement(generation);
    }
  }
  MappedWords words(path, kSlotsWords);
  write_acknowledgement(0);
  for (std::uint64_t generation = 1;; ++generation) write_slots(words, generation, writer.fault);
}

Json look(const Writer& writer, const std::string& path) {
  const Survivor found =
      writer.pool ? read_pool(path) : read_slots(MappedWords(path, kSlotsWords).words());
  return {{"generation", found.generation}, {"problem", found.problem}};
}

Json replayed(const Writer& writer, const ReplayLimits& limits) {
  Recorder recorder;
  for (std::uint64_t generation = 1; generation <= kGenerations; ++generation) {
    write_slots(recorder, generation, writer.fault);
  }
  std::uint64_t inconsistent = 0;
  std::string first;
  const Replayed result = replay(
      recorder.trace(), kSlotsWords, limits,
      [&](std::span<const std::uint64_t> words, std::uint64_t acknowledged) {
        Survivor found = read_slots(words);
        if (found.problem.empty() && found.generation >= acknowledged) return;
        if (++inconsistent > 1) return;
        first = found.problem.empty() ? fmt::format("generation {} was acknowledged, and {} counts",
                                                    acknowledged, found.generation)
                                      : std::move(found.problem);
      });
  return {{"writer", writer.name},        {"crash_points", result.crash_points},
          {"sampled", result.sampled},    {"states", result.states},
          {"inconsistent", inconsistent}, {"first", first}};
}

std::uint64_t number(const std::string& word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc{} && end == word.data() + word.size()) return value;
  throw Unavailable(Cause::kOther, fmt::format("'{}' is not a number", word));
}

}  // namespace

Json pmem_check(const std::vector<std::string>& words) {
  const std::string what = words.size() == 3 ? words[0] : "";
  if (what == "write") write_until_the_end(writer_of(words[1]), words[2]);
  if (what == "look") return look(writer_of(words[1]), words[2]);
  if (what != "replay") {
    throw Unavailable(Cause::kOther,
                      "pmem-check takes: write WRITER FILE, look WRITER FILE, or "
                      "replay STATES SEED");
  }
  const ReplayLimits limits{.states = number(words[1]), .seed = number(words[2])};
  Json checks = Json::array();
  for (const Writer& writer : kWriters) {
    if (!writer.pool) checks.push_back(replayed(writer, limits));
  }
  return {{"checks", std::move(checks)}};
}

}  // namespace tierscope
