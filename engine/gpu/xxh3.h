// XXH3 with 64 bits for host and GPU: xxHash has no version for GPUs. Only what storage/contents.h
// hashes: 32 bytes, and 248 to 1024 bytes; all at multiples of 8 bytes. After the specification of
// XXH3 (Yann Collet, xxHash 0.8, doc/xxhash_spec.md); tests compare it with the library's.
#pragma once

#include <cstdint>

namespace tierscope {

// The default secret: XXH3_generateSecret_fromSeed() gives it for seed 0.
class Xxh3 {
 public:
  static constexpr int kSecretBytes = 192;
  std::uint64_t secret[kSecretBytes / 8];

  std::uint64_t of_32_bytes(const std::uint64_t* data) const {
    std::uint64_t hash = 32 * kPrime64[0];
    hash += folded(data[0] ^ secret[0], data[1] ^ secret[1]);
    hash += folded(data[2] ^ secret[2], data[3] ^ secret[3]);
    return avalanche(hash);
  }

  // Of `words` words of 8 bytes, 31 to 128.
  std::uint64_t of_words(const std::uint64_t* data, int words) const {
    std::uint64_t lanes[kLanes] = {kPrime32[2], kPrime64[0], kPrime64[1], kPrime64[2],
                                   kPrime64[3], kPrime32[1], kPrime64[4], kPrime32[0]};
    const int stripes = (words - 1) / kLanes;
    for (int stripe = 0; stripe < stripes; ++stripe) {
      add_stripe(lanes, data + static_cast<std::uint64_t>(stripe) * kLanes, stripe * 8);
    }
    add_stripe(lanes, data + words - kLanes, kSecretBytes - 64 - 7);
    std::uint64_t hash = static_cast<std::uint64_t>(words) * 8 * kPrime64[0];
    for (int lane = 0; lane < kLanes; lane += 2) {
      hash += folded(lanes[lane] ^ secret_at(11 + 8 * lane),
                     lanes[lane + 1] ^ secret_at(11 + 8 * (lane + 1)));
    }
    return avalanche(hash);
  }

 private:
  static constexpr int kLanes = 8;
  static constexpr std::uint64_t kPrime32[] = {0x9e3779b1, 0x85ebca77, 0xc2b2ae3d};
  static constexpr std::uint64_t kPrime64[] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f,
                                               0x165667b19e3779f9, 0x85ebca77c2b2ae63,
                                               0x27d4eb2f165667c5};

  static std::uint64_t folded(std::uint64_t one, std::uint64_t other) {
    const auto product = static_cast<unsigned __int128>(one) * other;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  static std::uint64_t avalanche(std::uint64_t hash) {
    hash = (hash ^ (hash >> 37)) * 0x165667919e3779f9;
    return hash ^ (hash >> 32);
  }

  std::uint64_t secret_at(int byte) const {
    const int bits = 8 * (byte % 8);
    const std::uint64_t low = secret[byte / 8];
    return bits == 0 ? low : low >> bits | secret[byte / 8 + 1] << (64 - bits);
  }

  void add_stripe(std::uint64_t* lanes, const std::uint64_t* data, int secret_byte) const {
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t word = data[lane];
      const std::uint64_t key = word ^ secret_at(secret_byte + 8 * lane);
      lanes[lane ^ 1] += word;
      lanes[lane] += (key & 0xffffffff) * (key >> 32);
    }
  }
};

}  // namespace tierscope
