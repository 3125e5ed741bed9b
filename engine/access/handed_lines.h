// Cache lines that one CPU leaves in its caches and another one then loads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tierscope {

// In each slot of so many bytes lies one line, so that no prefetcher of neighbours brings another.
inline constexpr std::size_t kHandedSlot = 256;

// What is in one line.
struct HandedLine {
  const HandedLine* next;  // The line that is loaded after it.
  std::uint64_t stamp;     // Of the round in which it was stored.
};

// Where a chase came to, and the sum of the stamps that it met.
struct Followed {
  const HandedLine* at;
  std::uint64_t stamps;
};

// The lines of a region. The writer stores them in every round, in a new order, so that no
// prefetcher learns it, and with a new stamp, by which the reader knows what it loaded.
class HandedLines {
 public:
  // `region` has whole slots, at least one.
  explicit HandedLines(std::span<std::byte> region);

  std::uint64_t count() const { return order_.size(); }

  // Links all lines into one cycle, in a random order, stores the next stamp in each and returns
  // that stamp. Afterwards the CPU that called has them in its caches, modified, as far as they
  // fit.
  std::uint64_t store();

  // After store(): writes all lines back, which drops them from every cache of the machine, and
  // loads each of them once. Afterwards the CPU that called has them in its caches, clean.
  // Needs can_clean().
  void clean() const;
  static bool can_clean();

  // Where the cycle of the last round begins.
  const HandedLine* start() const { return line(order_.front()); }

  // Whether a chase through the whole cycle met every line as store() left it in the round of that
  // stamp. No stamp is ever used again in this process, and all earlier ones are smaller: a single
  // line of an earlier round makes the sum smaller.
  bool are_of(std::uint64_t stamp, const Followed& found) const {
    return found.at == start() && found.stamps == stamp * count();
  }

 private:
  HandedLine* line(std::uint32_t slot) const;
  template <typename Do>
  void for_all(const Do& act) const;  // With the first byte of each line.

  std::span<std::byte> region_;
  std::vector<std::uint32_t> order_;  // Slots as they follow each other.
  std::uint64_t random_;
};

// Loads so many lines, each one's address out of the line before it.
Followed follow_lines(const HandedLine* start, std::uint64_t lines);

// Two CPUs update one word in turn, each by compare-and-swap until it succeeds: the first makes odd
// numbers of even ones, the second even ones of odd ones. Each calls it with its `first`; the word
// has to be 0 before. Returns once the caller has made `trips` updates and the first one has seen
// the last answer, when the word is 2 * trips. No update can be lost: each waits for one number.
// The method of public core-to-core tools (nviennot/core-to-core-latency).
void exchange_word(std::uint64_t& word, std::uint64_t trips, bool first);

// Tells another CPU how far this one is. It has cache lines of its own, two, which Intel's CPUs
// fetch together.
class alignas(128) Turn {
 public:
  // What was loaded or stored before is done before another CPU sees the number.
  void reach(std::uint64_t number) { number_.store(number, std::memory_order_release); }
  // Spins until the other CPU has come so far.
  void wait_for(std::uint64_t number) const;

 private:
  std::atomic<std::uint64_t> number_{0};
};

}  // namespace tierscope
