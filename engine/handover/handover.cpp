#include "handover/handover.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <random>

#include "errors.h"
#include "interrupt.h"
#include "memory/persistent.h"
#include "sampling/clock.h"
#include "splitmix64.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kLineStep = 256;  // Prefetchers of neighbours bring none of the others.
constexpr std::size_t kFields = 7;
using Fields = std::array<std::uint64_t, kFields>;

// What one side tells the other: the mark says that the fields are there, and what they are of.
struct SharedLine {
  Fields fields;
  std::uint64_t mark;
};
static_assert(sizeof(SharedLine) == kCacheLine);

// Their places; the header comes first, as shared files are known by it.
enum Place : std::uint64_t { kHeader, kJoined, kRequest, kAnswer, kFlags };
using Side = std::uint64_t;
constexpr Side kInitiator = 0;
constexpr Side kResponder = 1;

// Fields of a request, and of an answer.
enum : std::size_t { kSession, kNumber, kRounds, kBlockBytes, kCoherence, kFirstRound };
enum : std::size_t { kWrong, kWrongRound, kWrongWord, kStale, kLost, kCpu };

std::span<std::byte> line_at(std::span<std::byte> memory, std::size_t place) {
  return memory.subspan(place * kLineStep, sizeof(SharedLine));
}

std::span<std::byte> block_of(std::span<std::byte> memory, Side side, std::size_t bytes) {
  return memory.subspan(kHandoverControl + side * kLargestHandover, bytes);
}

std::atomic_ref<std::uint64_t> mark_of(std::span<std::byte> line) {
  return std::atomic_ref(reinterpret_cast<SharedLine*>(line.data())->mark);
}

// Fields before the mark, both in memory afterwards.
void publish(std::span<std::byte> line, const Fields& fields, std::uint64_t mark,
             LineCaches& caches) {
  std::memcpy(line.data(), fields.data(), sizeof fields);
  mark_of(line).store(mark, std::memory_order_release);
  caches.write_back(line);
}

Fields fields_of(std::span<std::byte> line) {
  Fields fields{};
  std::memcpy(fields.data(), line.data(), sizeof fields);
  return fields;
}

// What a line says as memory has it.
std::uint64_t look(std::span<std::byte> line, LineCaches& caches) {
  caches.drop(line);
  return mark_of(line).load(std::memory_order_acquire);
}

// Polls until the line has the mark; false once the time is over or it should stop.
template <typename Stop>
bool await(std::span<std::byte> line, std::uint64_t mark, LineCaches& caches, double seconds,
           const Stop& stop) {
  constexpr int kPollsPerLook = 256;  // At a clock.
  const double end = now_seconds() + seconds;
  while (true) {
    for (int poll = 0; poll < kPollsPerLook; ++poll) {
      if (look(line, caches) == mark) return true;
    }
    if (now_seconds() > end || stop()) return false;
  }
}

std::uint64_t mixed(std::uint64_t session, std::uint64_t number, std::uint64_t what) {
  return splitmix64_mixed(session ^ splitmix64_mixed((number << 3) + what));
}
enum : std::uint64_t { kPattern, kFlagMark = 2, kRequestMark = 4, kAnswerMark };

// The pattern of a side's block in a round: its key plus each word's number.
std::uint64_t key_of(std::uint64_t session, std::uint64_t round, Side side) {
  return mixed(session, round, kPattern + side);
}

void fill_pattern(std::span<std::byte> block, std::uint64_t key) {
  auto* const words = reinterpret_cast<std::uint64_t*>(block.data());
  for (std::size_t i = 0; i < block.size() / sizeof *words; ++i) words[i] = key + i;
}

bool holds_pattern(std::span<const std::byte> block, std::uint64_t key) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(block.data());
  std::uint64_t differing = 0;
  for (std::size_t i = 0; i < block.size() / sizeof *words; ++i) differing |= words[i] ^ (key + i);
  return differing == 0;
}

// A session's rounds as one side plays them.
struct Rounds {
  std::span<std::byte> memory;
  HandoverCaches caches;
  std::uint64_t session;
  std::size_t block_bytes;
  Coherence coherence;

  void give(Side side, std::uint64_t round) const {
    const std::span<std::byte> block = block_of(memory, side, block_bytes);
    fill_pattern(block, key_of(session, round, side));
    caches.of_blocks(coherence).write_back(block);
    publish(line_at(memory, kFlags + side), {}, mixed(session, round, kFlagMark + side),
            caches.of_flags(coherence));
  }

  template <typename Stop>
  bool take(Side other, std::uint64_t round, double patience_s, WrongWords& wrong,
            const Stop& stop) const {
    if (!await(line_at(memory, kFlags + other), mixed(session, round, kFlagMark + other),
               caches.of_flags(coherence), patience_s, stop)) {
      return false;
    }
    const std::span<std::byte> block = block_of(memory, other, block_bytes);
    caches.of_blocks(coherence).drop(block);
    if (!holds_pattern(block, key_of(session, round, other)))
      count_wrong(block, other, round, wrong);
    return true;
  }

  void count_wrong(std::span<const std::byte> block, Side other, std::uint64_t round,
                   WrongWords& wrong) const {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(block.data());
    const std::uint64_t key = key_of(session, round, other);
    const std::uint64_t before = key_of(session, round - 1, other);
    for (std::size_t i = 0; i < block.size() / sizeof *words; ++i) {
      const std::uint64_t found = words[i];
      if (found == key + i) continue;
      if (wrong.count++ == 0) {
        wrong = {.count = 1, .round = round, .word = i, .stale = found == before + i ? 1U : 0U};
      }
    }
  }
};

[[noreturn]] void fail_wrong(const WrongWords& wrong, const char* side) {
  throw Failure(
      fmt::format("{} words that the {} loaded were wrong; the first is word {} of the block of "
                  "round {}, which {}",
                  wrong.count, side, wrong.word, wrong.round,
                  wrong.stale != 0 ? "was that of the round before: a stale cache line"
                                   : "was of no round near"),
      Cause::kVerification);
}

std::uint64_t random_session() {
  std::random_device random;
  return (static_cast<std::uint64_t>(random()) << 32 | random()) | 1;
}

// This process, as six words of text.
Fields own_name() {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  Fields fields{static_cast<std::uint64_t>(getpid())};
  std::memcpy(&fields[1], host.data(), (kFields - 1) * sizeof fields[1]);
  return fields;
}

std::string name_in(const Fields& fields) {
  std::array<char, kFields * sizeof(std::uint64_t)> host{};
  std::memcpy(host.data(), &fields[1], (kFields - 1) * sizeof fields[1]);
  return fmt::format("process {} on {}", fields[0], host.data());
}

Fields header_fields() {
  Fields fields{};
  static_assert(kSharedMark.size() <= 3 * sizeof(std::uint64_t));
  std::memcpy(fields.data(), kSharedMark.data(), kSharedMark.size());
  fields[3] = kVersion;
  return fields;
}

}  // namespace

HandoverInitiator::HandoverInitiator(std::span<std::byte> memory, HandoverCaches caches,
                                     double patience_s)
    : memory_(memory), caches_(caches), patience_s_(patience_s), session_(random_session()) {
  publish(line_at(memory_, kHeader), header_fields(), session_, caches_.software);
}

bool HandoverInitiator::meet(double seconds) {
  const std::span<std::byte> joined = line_at(memory_, kJoined);
  const bool met = await(joined, session_, caches_.software, seconds, interrupted);
  if (interrupted()) throw Interrupted();
  if (met) partner_ = name_in(fields_of(joined));
  return met;
}

void HandoverInitiator::play_rounds(const HandoverBatch& batch, std::uint64_t rounds,
                                    WrongWords& wrong) {
  const Rounds play{memory_, caches_, session_, batch.block_bytes, batch.coherence};
  for (std::uint64_t last = round_ + rounds; round_ < last;) {
    ++round_;
    play.give(kInitiator, round_);
    // The responder may still wait for a flag of a batch that failed.
    if (play.take(kResponder, round_, 2 * patience_s_, wrong, interrupted)) continue;
    if (interrupted()) throw Interrupted();
    throw Failure(fmt::format("the responder's flag of round {} did not arrive in {:g} s", round_,
                              2 * patience_s_),
                  Cause::kVerification);
  }
}

HandoverTimes HandoverInitiator::hand_over(const HandoverBatch& batch) {
  ++number_;
  const Fields request{session_,
                       number_,
                       batch.rounds + 1,
                       batch.block_bytes,
                       static_cast<std::uint64_t>(batch.coherence),
                       round_ + 1};
  publish(line_at(memory_, kRequest), request, mixed(session_, number_, kRequestMark),
          caches_.software);
  WrongWords wrong;
  play_rounds(batch, 1, wrong);
  const LostTime lost;
  HandoverTimes times{.start_s = now_seconds()};
  play_rounds(batch, batch.rounds, wrong);
  times.seconds = now_seconds() - times.start_s;
  times.lost_share = lost.share();
  const std::span<std::byte> line = line_at(memory_, kAnswer);
  if (!await(line, mixed(session_, number_, kAnswerMark), caches_.software, patience_s_,
             interrupted)) {
    if (interrupted()) throw Interrupted();
    throw Failure("the responder does not answer any more");
  }
  const Fields answer = fields_of(line);
  if (wrong.count != 0) fail_wrong(wrong, "initiator");
  wrong = {answer[kWrong], answer[kWrongRound], answer[kWrongWord], answer[kStale]};
  if (wrong.count != 0) fail_wrong(wrong, "responder");
  verified_ += 2 * batch.block_bytes * (batch.rounds + 1);
  times.lost_share = std::max(times.lost_share, std::bit_cast<double>(answer[kLost]));
  times.responder_cpu = static_cast<int>(answer[kCpu]);
  return times;
}

namespace {

class Responder {
 public:
  Responder(std::span<std::byte> memory, HandoverCaches caches, double patience_s,
            const std::function<bool()>& stop)
      : memory_(memory), caches_(caches), patience_s_(patience_s), stop_(stop) {}

  Served serve() {
    // Whoever waits for a session need not keep a CPU busy.
    constexpr double kSpinS = 0.05;
    constexpr unsigned kSleepUs = 1000;
    double busy_until = now_seconds() + kSpinS;
    while (!stop_()) {
      join();
      if (const std::optional<Fields> request = next()) {
        answer(*request);
        busy_until = now_seconds() + kSpinS;
      } else if (now_seconds() > busy_until) {
        usleep(kSleepUs);
      }
    }
    return served_;
  }

 private:
  // The session that began last.
  void join() {
    const std::span<std::byte> header = line_at(memory_, kHeader);
    const std::uint64_t session = look(header, caches_.software);
    if (session == session_ || fields_of(header) != header_fields()) return;
    session_ = session;
    number_ = 0;
    ++served_.sessions;
    publish(line_at(memory_, kJoined), own_name(), session_, caches_.software);
  }

  // A request that was not answered yet.
  std::optional<Fields> next() {
    const std::span<std::byte> line = line_at(memory_, kRequest);
    const std::uint64_t mark = look(line, caches_.software);
    const Fields request = fields_of(line);
    const bool is_new = request[kSession] == session_ && request[kNumber] > number_ &&
                        mark == mixed(session_, request[kNumber], kRequestMark);
    if (!is_new || request[kBlockBytes] > kLargestHandover) return std::nullopt;
    return request;
  }

  void answer(const Fields& request) {
    number_ = request[kNumber];
    const Rounds play{memory_, caches_, session_, request[kBlockBytes],
                      static_cast<Coherence>(request[kCoherence])};
    WrongWords wrong;
    const LostTime lost;
    const std::uint64_t end = request[kFirstRound] + request[kRounds];
    for (std::uint64_t round = request[kFirstRound]; round < end; ++round) {
      if (!play.take(kInitiator, round, patience_s_, wrong, stop_)) return;
      play.give(kResponder, round);
      ++served_.rounds;
      served_.bytes += request[kBlockBytes];
    }
    served_.wrong += wrong.count;
    Fields said{};
    said[kWrong] = wrong.count;
    said[kWrongRound] = wrong.round;
    said[kWrongWord] = wrong.word;
    said[kStale] = wrong.stale;
    said[kLost] = std::bit_cast<std::uint64_t>(lost.share());
    said[kCpu] = static_cast<std::uint64_t>(sched_getcpu());
    publish(line_at(memory_, kAnswer), said, mixed(session_, number_, kAnswerMark),
            caches_.software);
  }

  std::span<std::byte> memory_;
  HandoverCaches caches_;
  double patience_s_;
  const std::function<bool()>& stop_;
  std::uint64_t session_ = 0;
  std::uint64_t number_ = 0;  // Of the batch that was answered last.
  Served served_;
};

}  // namespace

Served serve_handovers(std::span<std::byte> memory, HandoverCaches caches, double patience_s,
                       const std::function<bool()>& stop) {
  return Responder(memory, caches, patience_s, stop).serve();
}

}  // namespace tierscope
