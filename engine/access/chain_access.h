// The accesses of chains: each in one way of using the caches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "access/chain.h"
#include "access/flush.h"
#include "access/random_order.h"
#include "sizes.h"
#include "splitmix64.h"

namespace tierscope {

inline constexpr std::size_t kChainWord = sizeof(std::uint64_t);

// The first word of a line; its further words hold the following numbers once they are written, and
// those inverted before.
inline std::uint64_t line_word(std::uint64_t number, std::size_t line) {
  return (line + 1 + (number << 56)) * kSplitMix64Step;
}

inline void full_fence() {
#if defined(__x86_64__)
  _mm_mfence();
#else
  asm volatile("dsb ish" : : : "memory");
#endif
}

// The word of the line that an address of a step lies in.
inline std::uint64_t word_at(const ChainStep& step, const std::byte* at) {
  return line_word(step.number, static_cast<std::size_t>(at - step.region) / kCacheLine);
}

inline std::byte* next_address(const ChainStep& step, ChainWalk& walk) {
  walk.random = walk.random * kRandomMultiplier + kRandomIncrement;
  const auto product = static_cast<unsigned __int128>(walk.word + walk.random) * step.span;
  return step.first + (static_cast<std::uint64_t>(product >> 64) & step.mask);
}

inline void locate(const ChainStep& step, ChainWalk& walk) {
  walk.at = step.picks ? next_address(step, walk) : walk.at + step.operation.offset;
}

template <CacheUse kCache>
inline void treat_lines(std::byte* at, std::size_t size) {
  for (std::size_t line = 0; line < size; line += kCacheLine) {
#if defined(__x86_64__)
    if constexpr (kCache == CacheUse::kWriteBack) flush_line<Flush::kClwb>(at + line);
    if constexpr (kCache == CacheUse::kFlush) flush_line<Flush::kClflush>(at + line);
    if constexpr (kCache == CacheUse::kFlushOpt) flush_line<Flush::kClflushopt>(at + line);
#else
    if constexpr (kCache == CacheUse::kWriteBack) write_back<WriteBack::kKeep>(at + line);
    if constexpr (kCache == CacheUse::kFlush || kCache == CacheUse::kFlushOpt) {
      write_back<WriteBack::kDrop>(at + line);
    }
#endif
  }
}

// 16 bytes by a non-temporal load; returns the first word.
inline std::uint64_t stream_load(const std::byte* at) {
#if defined(__x86_64__)
  Words words;
  asm volatile("movntdqa %1, %0" : "=x"(words) : "m"(*reinterpret_cast<const Words*>(at)));
  return words[0];
#else
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  asm volatile("ldnp %0, %1, [%2]" : "=r"(first), "=r"(second) : "r"(at) : "memory");
  return first;
#endif
}

// Loads all bytes; returns the first word.
template <CacheUse kCache>
inline std::uint64_t read_bytes(std::byte* at, std::size_t size) {
  constexpr std::size_t kVector = sizeof(Words);
  if constexpr (kCache == CacheUse::kNonTemporal) {
    const std::uint64_t first = stream_load(at);
    for (std::size_t i = kVector; i < size; i += kVector) stream_load(at + i);
    return first;
  } else {
    if constexpr (kCache != CacheUse::kNone) {
      treat_lines<kCache>(at, size);
      full_fence();
    }
    const std::uint64_t first = *reinterpret_cast<const volatile std::uint64_t*>(at);
    const auto load = [at](std::size_t i) {
      static_cast<void>(*reinterpret_cast<const volatile Words*>(at + i));
    };
    if (size < kCacheLine) {
      if (size > kChainWord) load(0);
      if (size > kVector) load(kVector);
      return first;
    }
    for (std::size_t i = 0; i < size; i += kCacheLine) {
      load(i);
      load(i + kVector);
      load(i + 2 * kVector);
      load(i + 3 * kVector);
    }
    return first;
  }
}

inline void stream_word(std::uint64_t* at, std::uint64_t word) {
#if defined(__x86_64__)
  _mm_stream_si64(reinterpret_cast<long long*>(at), static_cast<long long>(word));
#else
  const auto low = static_cast<std::uint32_t>(word);
  const auto high = static_cast<std::uint32_t>(word >> 32);
  asm volatile("stnp %w0, %w1, [%2]" : : "r"(low), "r"(high), "r"(at) : "memory");
#endif
}

// Stores the words of the lines from `at` on, the first of which begins with `word`.
template <CacheUse kCache>
inline void write_bytes(std::byte* at, std::size_t size, std::uint64_t word) {
  constexpr bool kStream = kCache == CacheUse::kNonTemporal;
  auto* words = reinterpret_cast<std::uint64_t*>(at);
  if (size < 2 * sizeof(Words)) {  // One word or two.
    for (std::size_t i = 0; i < size / kChainWord; ++i) {
      if constexpr (kStream) {
        stream_word(words + i, word + i);
      } else {
        words[i] = word + i;
      }
    }
  } else {
    constexpr Words kTwo{2, 2};
    const std::size_t in_line = size < kCacheLine ? size : kCacheLine;
    for (std::size_t line = 0; line < size; line += kCacheLine) {
      Words two{word, word + 1};
      for (std::size_t i = 0; i < in_line; i += 2 * sizeof(Words)) {
        auto* const pair = reinterpret_cast<Words*>(at + line + i);
        if constexpr (kStream) {
          stream_words(pair, two, two + kTwo);
        } else {
          pair[0] = two;
          pair[1] = two + kTwo;
        }
        two += kTwo + kTwo;
      }
      word += kSplitMix64Step;
    }
  }
  asm volatile("" : : : "memory");  // The stores are made here, before whatever follows.
  if constexpr (!kStream && kCache != CacheUse::kNone) treat_lines<kCache>(at, size);
}

// Puts the word that is there in its place again; returns what was found.
inline std::uint64_t swap_word(std::byte* at, std::uint64_t word) {
  return __sync_val_compare_and_swap(reinterpret_cast<std::uint64_t*>(at), word, word);
}

inline std::uint64_t add_nothing(std::byte* at) {
  std::uint64_t zero = 0;
  asm("" : "+r"(zero));  // Else compilers may make an ordinary load of it.
  return __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(at), zero, __ATOMIC_ACQ_REL);
}

}  // namespace tierscope
