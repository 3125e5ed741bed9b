// Two sides hand blocks over to each other in memory that both map: processes of one host, or of
// two hosts. Each side writes a block of its own only, and flags in lines of their own, so that no
// line is ever modified by both.
//
// A round: the initiator fills its block with the round's pattern and publishes its flag. The
// responder waits for that flag, compares every byte, fills its own block and publishes its own
// flag; the initiator compares that. By software coherence, what was stored is written back before
// a flag is stored, and the flag after that; flags are polled past the cache, and copies of the
// block are dropped before it is loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "handover/line_caches.h"
#include "sizes.h"

namespace tierscope {

inline constexpr std::size_t kLargestHandover = 16 * kMiB;
// Of the memory: lines that control the sides, and a block of each side.
inline constexpr std::size_t kHandoverControl = std::size_t{64} << 10;
inline constexpr std::size_t kHandoverBytes = kHandoverControl + 2 * kLargestHandover;

enum class Coherence : std::uint64_t {
  kSoftware,   // Of flags and blocks.
  kFlagsOnly,  // Blocks are left to the hardware: what breaks where it does not keep them coherent.
  kHardware,   // Of both.
};

// Of one side. What controls the sides goes by software in any case.
struct HandoverCaches {
  LineCaches& software;
  LineCaches& hardware;

  LineCaches& of_flags(Coherence how) const {
    return how == Coherence::kHardware ? hardware : software;
  }
  LineCaches& of_blocks(Coherence how) const {
    return how == Coherence::kSoftware ? software : hardware;
  }
};

// Rounds that are timed together.
struct HandoverBatch {
  std::uint64_t rounds;
  std::size_t block_bytes;  // Multiple of a cache line, up to kLargestHandover.
  Coherence coherence;
};

struct HandoverTimes {
  double start_s;
  double seconds;     // Of the rounds of the batch.
  double lost_share;  // The more of both sides: time that others took from them.
  int responder_cpu;  // Where it was at the end.
};

// Words that were not those of their round.
struct WrongWords {
  std::uint64_t count = 0;
  // Of the first:
  std::uint64_t round = 0;
  std::uint64_t word = 0;
  std::uint64_t stale = 0;  // 1: it was that of the round before.
};

// The side that measures.
class HandoverInitiator {
 public:
  // `memory` has kHandoverBytes. Begins a session in it: a random number, which stands in all that
  // both sides write, so that nothing of an earlier session is taken for one of this.
  // `patience_s`: how long a flag of the other side may take.
  HandoverInitiator(std::span<std::byte> memory, HandoverCaches caches, double patience_s);

  // Waits until a responder has joined; false where none did in that time. Throws Interrupted.
  bool meet(double seconds);
  // Who joined: "process 71 on n2".
  const std::string& partner() const { return partner_; }

  // Hands over as many times and one round more before, which is not timed. Throws Failure
  // (verification) where a byte was wrong or a flag did not come, Interrupted.
  HandoverTimes hand_over(const HandoverBatch& batch);

  std::uint64_t rounds() const { return round_; }  // So far.
  std::uint64_t verified_bytes() const { return verified_; }

 private:
  void play_rounds(const HandoverBatch& batch, std::uint64_t rounds, WrongWords& wrong);

  std::span<std::byte> memory_;
  HandoverCaches caches_;
  double patience_s_;
  std::uint64_t session_;
  std::uint64_t number_ = 0;  // Batches so far.
  std::uint64_t round_ = 0;
  std::uint64_t verified_ = 0;
  std::string partner_;
};

// What a responder did.
struct Served {
  std::uint64_t sessions = 0;
  std::uint64_t rounds = 0;
  std::uint64_t bytes = 0;  // Compared.
  std::uint64_t wrong = 0;  // Words.
};

// The other side: joins each session that begins in the memory, and answers its batches until
// `stop`. A batch whose flag does not come in `patience_s` is given up.
Served serve_handovers(std::span<std::byte> memory, HandoverCaches caches, double patience_s,
                       const std::function<bool()>& stop);

}  // namespace tierscope
