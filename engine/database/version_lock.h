// Optimistic locks: readers do not take them. They note a version, read, and see whether it is
// still the same; if it is not, they read again. Leis, Haubenschild, Neumann, "Optimistic lock
// coupling: a scalable and efficient general-purpose synchronization method", IEEE Data Engineering
// Bulletin 42(1), 2019.
//
// What is read so may be written meanwhile, so that both go by atomic words, in no order of their
// own. That of the versions follows Boehm, "Can seqlocks get along with programming language memory
// models?", MSPC 2012.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tierscope::database {

// A word that others may write meanwhile.
template <typename Word>
Word peek(const Word& word) {
  return std::atomic_ref<Word>(const_cast<Word&>(word)).load(std::memory_order_relaxed);
}

// A word that others may read meanwhile.
template <typename Word>
void put(Word& word, Word value) {
  std::atomic_ref<Word>(word).store(value, std::memory_order_relaxed);
}

inline void pause() {
#if defined(__SSE2__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until it is so.
template <typename Done>
void spin_until(const Done& done) {
  constexpr unsigned kSpins = 128;  // A thread that is waited for and does not run needs the CPU.
  for (unsigned spins = 1; !done(); ++spins) {
    if (spins % kSpins == 0) {
      sched_yield();
    } else {
      pause();
    }
  }
}

// Puts one more among `count` words; those from its place on move up.
template <typename Word>
void put_among(Word* words, std::size_t count, std::size_t place, Word value) {
  for (std::size_t i = count; i > place; --i) put(words[i], words[i - 1]);
  put(words[place], value);
}

// Takes one of `count` words out; those behind it move down.
template <typename Word>
void take_out(Word* words, std::size_t count, std::size_t place) {
  for (std::size_t i = place; i + 1 < count; ++i) put(words[i], words[i + 1]);
}

// The lock of what a word belongs to; 0 at first, odd while it is locked.
class VersionLock {
 public:
  explicit VersionLock(std::uint32_t& word) : word_(word) {}

  // Waits until nobody holds the lock.
  std::uint32_t version() const {
    std::uint32_t found = 0;
    spin_until([&] { return !is_locked(found = now()); });
    return found;
  }

  std::uint32_t now() const { return word_.load(std::memory_order_acquire); }
  static bool is_locked(std::uint32_t version) { return version % 2 != 0; }

  // Whether what was read since the version was noted is as it was then.
  bool is_still(std::uint32_t version) const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return word_.load(std::memory_order_relaxed) == version;
  }

  // Locks if the version, an even one, is still the same.
  bool lock(std::uint32_t version) const {
    const bool locked =
        word_.compare_exchange_strong(version, version + 1, std::memory_order_acquire);
    std::atomic_thread_fence(std::memory_order_release);
    return locked;
  }

  void unlock() const {
    word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  std::atomic_ref<std::uint32_t> word_;
};

}  // namespace tierscope::database
