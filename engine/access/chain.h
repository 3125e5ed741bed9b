// Chains: sequences of reads and writes, each read at an address that the data read before decides.
//
// No address is kept in memory and none takes a division. A generator in a register gives a number
// for each new address; the sum of that number and of the word read last, times the slots there
// are, taken from the product's upper half, is the slot. Each line of a region begins with a word
// that is known from its place, and writes store it again, so that walks can be made again without
// the memory (replay).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/histogram.h"
#include "sizes.h"

namespace tierscope {

enum class ChainAccess { kRead, kWrite, kCompareAndSwap, kFetchAndAdd };

// What is done about each line. Of reads, before them: the instruction, and a full fence, so that
// the read finds what the instruction left. Of writes, after them, without a fence.
enum class CacheUse {
  kNone,
  kWriteBack,    // CLWB; DC CVAC.
  kFlush,        // CLFLUSH; DC CIVAC.
  kFlushOpt,     // CLFLUSHOPT; DC CIVAC.
  kNonTemporal,  // The accesses themselves: MOVNTDQA, MOVNTDQ, MOVNTI; LDNP, STNP.
};

// After an operation. x86: SFENCE, MFENCE; Arm: DSB ISH either way, since DSB ISHST does not wait
// for DC CVAC (Arm ARM, DSB).
enum class ChainFence { kNone, kStores, kAll };
inline constexpr std::size_t kMaxChainAccess = std::size_t{64} << 10;
inline constexpr std::size_t kMaxInterleave = 32;

struct ChainOperation {
  ChainAccess access = ChainAccess::kRead;
  std::size_t region = 0;         // Of writes: that of the operation before.
  std::size_t size = kCacheLine;  // Bytes, a power of two: 8 to kMaxChainAccess; atomics: 8.
  CacheUse cache = CacheUse::kNone;
  ChainFence fence = ChainFence::kNone;
  std::int64_t offset = 0;  // Of a write: bytes from the address of the operation before.
};

// Bytes that the region of this number needs: of the operation that takes an address there, and of
// the writes behind it, as far apart as they reach. 0 where the chain does not go there.
std::size_t chain_reach(std::span<const ChainOperation> operations, std::size_t region);

// A region of a chain.
struct ChainRegion {
  std::byte* base;
  std::size_t bytes;
};

// Where one of the interleaved walks stands.
struct ChainWalk {
  std::uint64_t random = 0;  // The generator's state.
  std::uint64_t word = 0;    // What was read last.
  std::uint64_t sum = 0;     // Of all words that were read.
  std::byte* at = nullptr;   // Where the last operation was.
  bool operator==(const ChainWalk&) const = default;
};

// An operation with its place in memory.
struct ChainStep {
  ChainOperation operation;
  bool picks = false;           // Takes an address of its own: what reads, and the first one.
  std::byte* region = nullptr;  // Where its region begins,
  std::uint64_t number = 0;     // and which one it is.
  std::byte* first = nullptr;   // Of the addresses that it may take: all are `first` plus
  std::uint64_t span = 0;       // less than so many bytes,
  std::uint64_t mask = 0;       // cut to whole slots of the access's size, a line at least.
  void (*access)(const ChainStep& step, ChainWalk& walk) = nullptr;  // Makes it at walk.at.
};

struct Chain {
  std::vector<ChainStep> steps;
  bool linked = true;          // The first address depends on what the chain before read last.
  std::size_t timed_from = 0;  // time_chains() makes the operations before it untimed.
  void (*run)(const Chain& chain, std::span<ChainWalk> walks, std::uint64_t rounds) = nullptr;

  std::size_t bytes() const;  // Of all operations, as the program asked.
  std::size_t picks() const;  // Operations that take an address.
};

// Regions of chain_reach() bytes at least; the second may be absent.
Chain lay_chain(std::span<const ChainOperation> operations, bool linked,
                std::span<const ChainRegion> regions);

// Throws Unavailable (isa) where this CPU lacks an instruction of the chain.
void require_instructions(std::span<const ChainOperation> operations);

// So many rounds: in each, all walks make their first operation, then all the second, and so on.
// With one walk its state stays in registers.
void run_chains(const Chain& chain, std::span<ChainWalk> walks, std::uint64_t rounds);

// The same; times every `every`th round by itself, from operation `timed_from` on, and records its
// ns, which hold the timer's own (write_timer_ns()). Where the chain has a full fence, the time
// lasts until that has passed. Returns the rounds that were timed and the sum of their ns.
struct TimedRounds {
  std::uint64_t rounds = 0;
  double ns = 0;
};
TimedRounds time_chains(const Chain& chain, std::span<ChainWalk> walks, std::uint64_t rounds,
                        std::uint64_t every, Histogram& ns);

// ns of making the addresses of a chain, each from the one before where the chain is linked,
// without any access.
double chain_address_ns(const Chain& chain);

// Fills `lines` lines of the region of this number from line `first` on: each with its words, all
// but the first one inverted, as long as nobody writes them.
void fill_lines(std::byte* region, std::uint64_t number, std::size_t first, std::size_t lines);

// Compares every `step`th of these lines; throws Failure (verification) where a word is neither as
// filled nor as written.
void compare_lines(const std::byte* region, std::uint64_t number, std::size_t first,
                   std::size_t lines, std::size_t step);

// Makes `rounds` again without the memory, from where the walks stood before; `walks` move on.
// Looks at what one in `step` rounds wrote and throws Failure (verification) where it is not there.
// Returns the bytes looked at.
std::uint64_t replay_chains(const Chain& chain, std::span<ChainWalk> walks, std::uint64_t rounds,
                            std::uint64_t step);

// Throws Failure (verification) where a walk is not where its replay is, or has read other words.
void compare_walks(std::span<const ChainWalk> walks, std::span<const ChainWalk> replayed);

}  // namespace tierscope
