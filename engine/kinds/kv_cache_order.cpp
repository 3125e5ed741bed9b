#include "kinds/kv_cache_order.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "splitmix64.h"

namespace tierscope {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

std::uint64_t kv_word(std::uint64_t at, std::uint64_t seed) {
  return splitmix64_mixed((at / kWordBytes + 1) * kSplitMix64Step ^ splitmix64_mixed(seed));
}

std::vector<std::uint32_t> shuffled(std::size_t count, std::mt19937_64& random) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::ranges::shuffle(numbers, random);
  return numbers;
}

}  // namespace

KvOrder::KvOrder(const KvCacheSpec& spec)
    : piece_bytes_(spec.piece), pieces_(spec.pieces), stride_(spec.stride()) {
  std::mt19937_64 random(spec.seed);
  slots_ = shuffled(spec.all_pieces(), random);
  objects_ = shuffled(spec.objects, random);
}

std::uint64_t KvOrder::pool_at(std::size_t piece) const {
  return (slots_[piece] + turn_) % slots_.size() * piece_bytes_;
}

std::uint64_t KvOrder::object_at(std::size_t object) const {
  return (objects_[object] + turn_) % objects_.size() * stride_;
}

std::uint64_t KvOrder::within_object(std::size_t piece) const {
  return piece % pieces_ * piece_bytes_;
}

std::vector<PieceEnds> KvOrder::ends(bool from_each_object) const {
  std::vector<PieceEnds> found(slots_.size());
  for (std::size_t piece = 0; piece < found.size(); ++piece) {
    const std::uint64_t object = from_each_object ? 0 : object_at(piece / pieces_);
    found[piece] = {pool_at(piece), object + within_object(piece)};
  }
  return found;
}

void fill_kv_pattern(std::span<std::byte> data, std::uint64_t first, std::uint64_t seed) {
  for (std::size_t at = 0; at < data.size(); at += kWordBytes) {
    const std::uint64_t word = kv_word(first + at, seed);
    std::memcpy(data.data() + at, &word, kWordBytes);
  }
}

std::size_t kv_difference(std::span<const std::byte> data, std::uint64_t first,
                          std::uint64_t seed) {
  for (std::size_t at = 0; at < data.size(); at += kWordBytes) {
    const std::uint64_t word = kv_word(first + at, seed);
    if (std::memcmp(data.data() + at, &word, kWordBytes) != 0) return at;
  }
  return data.size();
}

}  // namespace tierscope
