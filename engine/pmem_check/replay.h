// Which contents of memory a crash could leave of recorded stores, flushes and fences.
//
// The model is that of pmreorder (PMDK) with x86's rules: a line may be written back at any time,
// lines in any order, the stores to one line in program order (Raad et al., "Persistency semantics
// of the Intel-x86 architecture", POPL 2020). What was stored before a flush of its line is durable
// after the next fence. So a crash leaves, of each line, what is durable and any number of the
// stores that follow.
//
// States of a moment between two fences are among those of the moment before the second one, where
// most stores are pending and most was acknowledged. These moments and the end are the crash
// points.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "pmem_check/durable_memory.h"

namespace tierscope {

struct MemoryEvent {
  enum class Kind { kStore, kFlush, kFence, kAcknowledge } kind;
  std::size_t word = 0;     // Of a flush: any of the line.
  std::uint64_t value = 0;  // Of an acknowledgement: the generation.
};

using MemoryTrace = std::vector<MemoryEvent>;

class Recorder : public DurableMemory {
 public:
  void store(std::size_t word, std::uint64_t value) override;
  void flush(std::size_t word, std::size_t words) override;
  void fence() override;
  void acknowledge(std::uint64_t generation) override;

  const MemoryTrace& trace() const { return trace_; }

 private:
  MemoryTrace trace_;
};

struct ReplayLimits {
  // States of a crash point. One that has more gets this many: none and all of the pending stores,
  // each line alone missing or alone there, the others at random.
  std::uint64_t states = 10'000;
  std::uint64_t seed = 0;
};

struct Replayed {
  std::uint64_t crash_points = 0;
  std::uint64_t sampled = 0;  // Crash points that had more states than the limit.
  std::uint64_t states = 0;   // Visited.
};

// A state: the words of memory, and the last generation that was acknowledged before the crash.
using VisitState =
    std::function<void(std::span<const std::uint64_t> words, std::uint64_t acknowledged)>;

// Calls `visit` for each state that a crash could leave of memory that was zero and durable;
// `words` is its size, a multiple of kLineWords.
Replayed replay(const MemoryTrace& trace, std::size_t words, const ReplayLimits& limits,
                const VisitState& visit);

}  // namespace tierscope
