// The column scan. Included once for each instruction set by kernel_simd.cpp, so it has no include
// guard.
#include "access/targets.h"
// Keep this order: targets.h configures Highway's headers.
#include <hwy/highway.h>

#include <array>
#include <bit>

#include "access/column_scan.h"

HWY_BEFORE_NAMESPACE();
namespace tierscope::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Row m: the numbers of the bits that are set in m, ascending.
using LanesOfMask = std::array<std::array<std::uint8_t, 8>, 256>;
constexpr LanesOfMask kLanesOfMask = [] {
  LanesOfMask rows{};
  for (std::size_t mask = 0; mask < rows.size(); ++mask) {
    std::size_t found = 0;
    for (std::uint8_t lane = 0; lane < 8; ++lane) {
      if ((mask >> lane & 1) != 0) rows[mask][found++] = lane;
    }
  }
  return rows;
}();

template <typename Key>
using KeyTag = hn::CappedTag<Key, 64 / sizeof(Key)>;
template <typename Key>
using DistanceTag = hn::RebindToSigned<KeyTag<Key>>;

// Of keys, those with low <= key < high, by one subtraction and one signed comparison, which all
// instruction sets have: key - low < high - low holds for unsigned integers, and flipping the top
// bit of both sides keeps the order and makes them signed. `origin` is low and `width` high - low,
// with that bit flipped.
template <typename Key>
HWY_INLINE hn::Mask<KeyTag<Key>> in_range(const Key* keys, hn::Vec<KeyTag<Key>> origin,
                                          hn::Vec<DistanceTag<Key>> width) {
  const auto distance = hn::Sub(hn::LoadU(KeyTag<Key>(), keys), origin);
  return hn::RebindMask(KeyTag<Key>(), hn::Lt(hn::BitCast(DistanceTag<Key>(), distance), width));
}

// Stores the numbers of the lanes that a mask names, plus `first`, from `to` on: a whole vector, of
// which the caller overwrites what is not a position. Returns how many there are.
//
// Up to eight lanes by a table of lane numbers, of which Highway's own Compress (1.0.3) makes gcc
// copy 2 KiB for each vector; more by the CPU's instruction.
template <class Tag, typename Key>
HWY_INLINE std::size_t store_positions(Tag tag, hn::Mask<Tag> mask, Key first, Key* to) {
#if HWY_HAVE_SCALABLE
  constexpr bool kByTable = false;
#else
  constexpr bool kByTable = hn::MaxLanes(Tag()) <= 8;
#endif
  const auto base = hn::Set(tag, first);
  if constexpr (kByTable) {
    std::uint8_t bits = 0;
    hn::StoreMaskBits(tag, mask, &bits);
    const hn::Rebind<std::uint8_t, Tag> bytes;
    const hn::Rebind<std::uint32_t, Tag> words;
    const auto lanes = hn::PromoteTo(words, hn::LoadU(bytes, kLanesOfMask[bits].data()));
    if constexpr (sizeof(Key) == sizeof(std::uint64_t)) {
      hn::StoreU(hn::Add(base, hn::PromoteTo(tag, lanes)), tag, to);
    } else {
      hn::StoreU(hn::Add(base, lanes), tag, to);
    }
    return static_cast<std::size_t>(std::popcount(bits));
  } else {
    // CompressStore, which writes through the mask, takes 20 times as long on Zen 4.
    hn::StoreU(hn::Add(base, hn::Compress(hn::Iota(tag, 0), mask)), tag, to);
    return hn::CountTrue(tag, mask);
  }
}

template <typename Key, bool kPositions>
void scan_column(const ScanSlice& shared, ScanPosition& position, std::uint64_t blocks) {
  const ScanSlice slice = shared;  // A copy, which no store to the positions can alias.
  const KeyTag<Key> tag;
  constexpr Key kTop = Key{1} << (8 * sizeof(Key) - 1);
  const auto origin = hn::Set(tag, static_cast<Key>(slice.low + kTop));
  const auto width = hn::BitCast(DistanceTag<Key>(),
                                 hn::Set(tag, static_cast<Key>((slice.high - slice.low) ^ kTop)));
  const std::size_t lanes = hn::Lanes(tag);
  constexpr std::size_t kBlockKeys = kScanBlock / sizeof(Key);
  ScanPosition at = position;
  for (; blocks > 0; --blocks) {
    if (at.block == slice.blocks) at = {};
    const std::size_t first = at.block * kBlockKeys;
    const Key* const keys = static_cast<const Key*>(slice.keys) + first;
    for (std::size_t i = 0; i < kBlockKeys; i += lanes) {
      const auto found = in_range(keys + i, origin, width);
      if constexpr (kPositions) {
        // What is stored ends within the slice's positions: no more rows are found than were looked
        // at.
        at.found += store_positions(tag, found, static_cast<Key>(slice.first_row + first + i),
                                    static_cast<Key*>(slice.positions) + at.found);
      } else {
        at.found += hn::CountTrue(tag, found);
      }
    }
    ++at.block;
  }
  position = at;
}

}  // namespace
}  // namespace tierscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
