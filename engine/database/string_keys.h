// Keys that are strings, as YCSB makes them with zero padding: "user" and 20 digits. A string is
// that of a number, in whose order strings are, so that they are made and compared without an array
// of them.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tierscope::database {

// In words whose most significant byte is a character that comes before the others: they are made
// in registers, since words that are read where bytes were just written wait for these (Intel,
// "Optimization Reference Manual", store forwarding), and for all lookups before them.
class StringKey {
 public:
  static constexpr std::size_t kBytes = 24;

  constexpr explicit StringKey(std::uint64_t number)
      : words_{kUser << 32 | (digits(number / kEightDigits / kEightDigits) & 0xffffffff),
               digits(number / kEightDigits % kEightDigits), digits(number % kEightDigits), 0} {}

  // What store() wrote.
  explicit StringKey(const char* stored) : words_{} {
    std::memcpy(words_.data(), stored, kBytes);
    for (std::uint64_t& word : words_) word = in_order(word);
  }

  void store(char* to) const {
    for (std::size_t i = 0; i < kBytes / 8; ++i) {
      const std::uint64_t word = in_order(words_[i]);
      std::memcpy(to + 8 * i, &word, sizeof word);
    }
  }

  // Eight bytes from a place on; zeros follow the last.
  std::uint64_t head(std::size_t place) const {
    const std::size_t word = place / 8;
    const std::size_t bits = place % 8 * 8;
    return bits == 0 ? words_[word] : words_[word] << bits | words_[word + 1] >> (64 - bits);
  }

  // The number of bytes with which both begin.
  friend std::uint32_t common_prefix(const StringKey& one, const StringKey& other) {
    for (std::size_t i = 0; i < kBytes / 8; ++i) {
      const std::uint64_t differs = one.words_[i] ^ other.words_[i];
      if (differs != 0) {
        return static_cast<std::uint32_t>(8 * i) +
               static_cast<std::uint32_t>(std::countl_zero(differs)) / 8;
      }
    }
    return kBytes;
  }

  auto operator<=>(const StringKey&) const = default;

 private:
  static constexpr std::uint64_t kUser = 0x75736572;  // "user"
  static constexpr std::uint64_t kEightDigits = 100000000;

  // The eight digits of a number. Halves, then quarters, then eighths of a word are divided at
  // once: Khuong, "How to print integers really fast", 2017.
  static constexpr std::uint64_t digits(std::uint64_t number) {
    const std::uint64_t fours = number / 10000 << 32 | number % 10000;
    const std::uint64_t hundreds = fours * 10486 >> 20 & 0x0000007f0000007f;
    const std::uint64_t twos = hundreds << 16 | (fours - 100 * hundreds);
    const std::uint64_t tens = twos * 103 >> 10 & 0x000f000f000f000f;
    return (tens << 8 | (twos - 10 * tens)) + 0x3030303030303030;
  }

  static std::uint64_t in_order(std::uint64_t word) {
    return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
  }

  std::array<std::uint64_t, kBytes / 8 + 1> words_;
};

}  // namespace tierscope::database
