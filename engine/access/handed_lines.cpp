#include "access/handed_lines.h"

#include <numeric>
#include <utility>

#include "access/flush.h"
#include "sizes.h"
#include "splitmix64.h"

namespace tierscope {
namespace {
constexpr std::size_t kSlotsOfOneOffset = 16;  // 4 KiB.
constexpr std::size_t kOffsets = kHandedSlot / kCacheLine;

std::atomic<std::uint64_t> last_stamp{0};

// Lets the other hardware thread of the core work while this one waits.
inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  asm volatile("isb" : : : "memory");  // YIELD does nothing on most cores.
#endif
}

}  // namespace

HandedLines::HandedLines(std::span<std::byte> region)
    : region_(region), order_(region.size() / kHandedSlot), random_(last_stamp) {
  std::iota(order_.begin(), order_.end(), 0U);
}

// Pages differ in which line of a slot they use, so that the lines fall into all sets of a cache;
// lines of a page stay a slot apart.
HandedLine* HandedLines::line(std::uint32_t slot) const {
  const std::size_t offset = slot / kSlotsOfOneOffset % kOffsets * kCacheLine;
  return reinterpret_cast<HandedLine*>(region_.data() + slot * kHandedSlot + offset);
}

template <typename Do>
void HandedLines::for_all(const Do& act) const {
  for (const std::uint32_t slot : order_) act(reinterpret_cast<std::byte*>(line(slot)));
}

std::uint64_t HandedLines::store() {
  // Fisher and Yates's shuffle; what is left of the modulo's bias is below 2^-32.
  for (std::size_t left = order_.size(); left > 1; --left) {
    std::swap(order_[left - 1], order_[splitmix64(random_) % left]);
  }
  const std::uint64_t stamp = ++last_stamp;
  HandedLine* before = line(order_.back());
  for (const std::uint32_t slot : order_) {
    HandedLine* const now = line(slot);
    before->next = now;
    now->stamp = stamp;
    before = now;
  }
  return stamp;
}

// CLFLUSH by any CPU, and DC CIVAC, drop a line from all caches of the coherence domain (Intel SDM
// vol. 2A, CLFLUSH; Arm ARM, data cache maintenance to the point of coherency).
void HandedLines::clean() const {
#if defined(__x86_64__)
  if (has_flush(Flush::kClflushopt)) {
    for_all([](std::byte* at) { flush_line<Flush::kClflushopt>(at); });
  } else {
    for_all([](std::byte* at) { flush_line<Flush::kClflush>(at); });
  }
#else
  for_all([](std::byte* at) { write_back<WriteBack::kDrop>(at); });
#endif
  write_back_fence();
  // SFENCE orders no loads: without this the loads that follow might come before the flushes.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for_all(
      [](const std::byte* at) { static_cast<void>(*const_cast<const volatile std::byte*>(at)); });
}

bool HandedLines::can_clean() {
#if defined(__x86_64__)
  return has_flush(Flush::kClflushopt) || has_flush(Flush::kClflush);
#else
  return true;
#endif
}

// Each line's stamp is loaded beside its link and nothing waits for it: it adds no time.
Followed follow_lines(const HandedLine* start, std::uint64_t lines) {
  Followed found{.at = start, .stamps = 0};
  for (std::uint64_t done = 0; done < lines; ++done) {
    found.stamps += found.at->stamp;
    found.at = found.at->next;
  }
  asm volatile("" : "+r"(found.at), "+r"(found.stamps));  // Nothing of it moves behind the clock.
  return found;
}

void exchange_word(std::uint64_t& word, std::uint64_t trips, bool first) {
  const std::atomic_ref<std::uint64_t> shared(word);
  const std::uint64_t behind = first ? 0 : 1;
  for (std::uint64_t trip = 0; trip < trips; ++trip) {
    std::uint64_t expected = 2 * trip + behind;
    while (!shared.compare_exchange_strong(expected, 2 * trip + behind + 1,
                                           std::memory_order_acq_rel)) {
      expected = 2 * trip + behind;
    }
  }
  while (shared.load(std::memory_order_acquire) != 2 * trips) {
  }
}

void Turn::wait_for(std::uint64_t number) const {
  while (number_.load(std::memory_order_acquire) < number) relax();
}

}  // namespace tierscope
