#include "gpu/cufile_pool.h"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>

namespace tierscope {
namespace {

// cuFile's pool consists of slabs of a few sizes. These are its defaults, 1 MiB being the one that
// most blocks go through.
constexpr std::size_t kSlabs = 3;
constexpr std::array<std::size_t, kSlabs> kDefaultKib{4, 1024, 16384};
constexpr std::array<std::size_t, kSlabs> kDefaultCounts{64, 64, 32};

}  // namespace

std::size_t CufilePool::take(std::size_t wanted) {
  std::size_t taken = taken_.load();
  while (true) {
    const std::size_t places = places_;
    const std::size_t free = places > taken ? places - taken : 0;
    const std::size_t mine = std::min(wanted, free);
    if (mine < wanted) was_short_ = true;
    if (mine == 0) return 0;
    if (taken_.compare_exchange_weak(taken, taken + mine)) return mine;
  }
}

void CufilePool::give_back(std::size_t places) { taken_ -= places; }

std::size_t pool_places(const Cufile& library, std::size_t block_bytes) {
  if (!cufile_settings().allow_compat_mode) return std::numeric_limits<std::size_t>::max();
  // cuFile's functions that read settings are for one thread at a time.
  static std::mutex reading;
  const std::lock_guard lock(reading);
  std::array<std::size_t, kSlabs> kib{};
  std::array<std::size_t, kSlabs> counts{};
  if (library.get_pool == nullptr ||
      library.get_pool(kib.data(), counts.data(), static_cast<int>(kSlabs)).code != 0 ||
      kib.back() == 0) {
    kib = kDefaultKib;
    counts = kDefaultCounts;
  }
  for (std::size_t i = 0; i < kSlabs; ++i) {
    if (block_bytes <= kib[i] << 10) return std::max<std::size_t>(counts[i], 1);
  }
  const std::size_t slabs_a_block = (block_bytes + (kib.back() << 10) - 1) / (kib.back() << 10);
  return std::max<std::size_t>(counts.back() / slabs_a_block, 1);
}

CufilePool& cufile_pool() {
  static CufilePool pool;
  return pool;
}

}  // namespace tierscope
