// Where the pieces of a cache are, turn after turn, and what proves that they came there.
//
// The side that pieces are moved from holds a pattern of which each word depends on its place
// there. So a piece that arrives says from where it came. Each turn has other places, so that what
// an earlier turn left is right in the next one by chance only, at one place or two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gpu/piece_ends.h"
#include "kinds/kv_cache_spec.h"

namespace tierscope {

class KvOrder {
 public:
  explicit KvOrder(const KvCacheSpec& spec);

  void next() { ++turn_; }

  // Where an object begins, among all of them.
  std::uint64_t object_at(std::size_t object) const;
  // Where a piece is, of all objects one after the other; in the pool, and of its object.
  std::uint64_t pool_at(std::size_t piece) const;
  std::uint64_t within_object(std::size_t piece) const;

  // The ends of all pieces: where the store is counted from the first object on, or from each.
  std::vector<PieceEnds> ends(bool from_each_object) const;

 private:
  std::size_t piece_bytes_;
  std::size_t pieces_;  // Of one object.
  std::size_t stride_;
  std::vector<std::uint32_t> slots_;    // Of the pool, by piece, in the first turn.
  std::vector<std::uint32_t> objects_;  // Places of objects in the first turn.
  std::size_t turn_ = 0;
};

// The pattern of bytes [first, first + data.size()) of the side that pieces come from; multiples of
// 8. `seed` tells the contents of one repetition from those of others.
void fill_kv_pattern(std::span<std::byte> data, std::uint64_t first, std::uint64_t seed);
// The byte of `data` that differs first; data.size() where none does.
std::size_t kv_difference(std::span<const std::byte> data, std::uint64_t first, std::uint64_t seed);

}  // namespace tierscope
