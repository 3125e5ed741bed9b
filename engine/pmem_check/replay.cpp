#include "pmem_check/replay.h"

#include <algorithm>
#include <limits>

#include "splitmix64.h"

namespace tierscope {
namespace {

struct Line {
  std::vector<MemoryEvent> pending;  // Stores that are not durable for certain, in order.
  std::size_t flushed = 0;           // As many of them are durable after the next fence.
};

class Replay {
 public:
  Replay(std::size_t words, const ReplayLimits& limits, const VisitState& visit)
      : limits_(limits),
        visit_(visit),
        random_(limits.seed),
        durable_(words),
        state_(words),
        lines_(words / kLineWords) {}

  void take(const MemoryEvent& event) {
    Line& line = lines_[event.word / kLineWords];
    switch (event.kind) {
      case MemoryEvent::Kind::kStore:
        line.pending.push_back(event);
        break;
      case MemoryEvent::Kind::kFlush:
        line.flushed = line.pending.size();
        break;
      case MemoryEvent::Kind::kFence:
        crash();
        for (Line& each : lines_) make_durable(each);
        break;
      case MemoryEvent::Kind::kAcknowledge:
        acknowledged_ = event.value;
        break;
    }
  }

  void crash() {
    ++result_.crash_points;
    std::vector<std::size_t> open;
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      if (!lines_[line].pending.empty()) open.push_back(line);
    }
    state_ = durable_;
    if (number_of_states(open) <= limits_.states) {
      visit_all(open);
    } else {
      ++result_.sampled;
      visit_sample(open);
    }
  }

  const Replayed& result() const { return result_; }

 private:
  void make_durable(Line& line) {
    const auto end = line.pending.begin() + static_cast<std::ptrdiff_t>(line.flushed);
    std::for_each(line.pending.begin(), end,
                  [this](const MemoryEvent& store) { durable_[store.word] = store.value; });
    line.pending.erase(line.pending.begin(), end);
    line.flushed = 0;
  }

  std::uint64_t number_of_states(const std::vector<std::size_t>& open) const {
    std::uint64_t product = 1;
    for (const std::size_t line : open) {
      const std::uint64_t ways = lines_[line].pending.size() + 1;
      if (product > std::numeric_limits<std::uint64_t>::max() / ways) {
        return std::numeric_limits<std::uint64_t>::max();
      }
      product *= ways;
    }
    return product;
  }

  // Counts through the numbers of stores that reached memory, a digit a line.
  void visit_all(const std::vector<std::size_t>& open) {
    std::vector<std::size_t> reached(open.size());
    for (;;) {
      visit();
      std::size_t digit = 0;
      while (digit < open.size() && reached[digit] == lines_[open[digit]].pending.size()) {
        reached[digit] = 0;
        set(open[digit], 0);
        ++digit;
      }
      if (digit == open.size()) return;
      const MemoryEvent& store = lines_[open[digit]].pending[reached[digit]++];
      state_[store.word] = store.value;
    }
  }

  void visit_sample(const std::vector<std::size_t>& open) {
    std::uint64_t left = limits_.states;
    const auto each = [&](const std::function<std::size_t(std::size_t line)>& reached) {
      if (left == 0) return;
      --left;
      for (const std::size_t line : open) set(line, reached(line));
      visit();
    };
    const auto all = [this](std::size_t line) { return lines_[line].pending.size(); };
    each([](std::size_t) { return 0; });
    each(all);
    for (const std::size_t one : open) {
      each([&](std::size_t line) { return line == one ? 0 : all(line); });
      each([&](std::size_t line) { return line == one ? all(line) : 0; });
    }
    while (left > 0) {
      each([&](std::size_t line) { return splitmix64(random_) % (all(line) + 1); });
    }
  }

  // So many of the line's pending stores reached memory.
  void set(std::size_t line, std::size_t reached) {
    const auto first = static_cast<std::ptrdiff_t>(line * kLineWords);
    std::copy_n(durable_.begin() + first, kLineWords, state_.begin() + first);
    for (std::size_t i = 0; i < reached; ++i) {
      const MemoryEvent& store = lines_[line].pending[i];
      state_[store.word] = store.value;
    }
  }

  void visit() {
    ++result_.states;
    visit_(state_, acknowledged_);
  }

  const ReplayLimits& limits_;
  const VisitState& visit_;
  std::uint64_t random_;
  std::vector<std::uint64_t> durable_;
  std::vector<std::uint64_t> state_;
  std::vector<Line> lines_;
  std::uint64_t acknowledged_ = 0;
  Replayed result_;
};

}  // namespace

void Recorder::store(std::size_t word, std::uint64_t value) {
  trace_.push_back({MemoryEvent::Kind::kStore, word, value});
}

void Recorder::flush(std::size_t word, std::size_t words) {
  const std::size_t last = (word + words - 1) / kLineWords;
  for (std::size_t line = word / kLineWords; line <= last; ++line) {
    trace_.push_back({MemoryEvent::Kind::kFlush, line * kLineWords});
  }
}

void Recorder::fence() { trace_.push_back({MemoryEvent::Kind::kFence}); }

void Recorder::acknowledge(std::uint64_t generation) {
  trace_.push_back({MemoryEvent::Kind::kAcknowledge, 0, generation});
}

Replayed replay(const MemoryTrace& trace, std::size_t words, const ReplayLimits& limits,
                const VisitState& visit) {
  Replay state(words, limits, visit);
  for (const MemoryEvent& event : trace) state.take(event);
  state.crash();
  return state.result();
}

}  // namespace tierscope
