// Lookups in other libraries' maps: the same keys, in the same order, in memory with huge pages.
//
// Usage: ops_peers MAP KEYS, where MAP is absl-btree, absl-flat or boost-flat. Reads a
// number of seconds from each line of stdin, looks keys up for that long, and prints how many a
// second.
#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>
#include <sys/mman.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "database/keys.h"

namespace {

using tierscope::database::Keys;
using tierscope::database::KeyStream;
using tierscope::database::value_of;

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Hands out memory from the front to the back of one large reservation with huge pages; what is
// freed is not used again, as these maps only grow.
class Arena {
 public:
  static void* take(std::size_t bytes) {
    static Arena arena;
    void* const found = arena.next_;
    arena.next_ += (bytes + 63) / 64 * 64;
    if (arena.next_ > arena.end_) {
      std::fputs("the reservation is too small\n", stderr);
      std::exit(1);
    }
    return found;
  }

 private:
  static constexpr std::size_t kReserved = std::size_t{1} << 40;

  Arena() {
    void* const at = mmap(nullptr, kReserved, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) std::exit(1);
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    next_ = static_cast<std::byte*>(at) + (kHugePage - address % kHugePage) % kHugePage;
    end_ = static_cast<std::byte*>(at) + kReserved;
    madvise(next_, kReserved - kHugePage, MADV_HUGEPAGE);
  }

  std::byte* next_;
  std::byte* end_;
};

template <typename T>
struct Huge {
  using value_type = T;
  Huge() = default;
  template <typename U>
  explicit Huge(const Huge<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(Arena::take(count * sizeof(T))); }
  void deallocate(T*, std::size_t) {}
  bool operator==(const Huge&) const = default;
};

using Entry = std::pair<const std::uint64_t, std::uint64_t>;
using Key = std::uint64_t;
using Btree = absl::btree_map<Key, Key, std::less<>, Huge<Entry>>;
using AbslFlat = absl::flat_hash_map<Key, Key, absl::Hash<Key>, std::equal_to<Key>, Huge<Entry>>;
using BoostFlat =
    boost::unordered_flat_map<Key, Key, boost::hash<Key>, std::equal_to<Key>, Huge<Entry>>;

using Clock = std::chrono::steady_clock;

// Lookups a second over a row as long as tierscope's.
template <typename Map>
double rate_of_row(const Map& map, KeyStream& asked) {
  constexpr std::chrono::duration<double> kRow{0.01};
  std::uint64_t done = 0;
  std::uint64_t wrong = 0;
  const auto start = Clock::now();
  auto now = start;
  for (; now - start < kRow; now = Clock::now()) {
    constexpr std::uint64_t kChunk = 4096;
    for (std::uint64_t i = 0; i < kChunk; ++i) {
      const Key key = asked.next();
      const auto found = map.find(key);
      wrong |= found == map.end() ? 1 : found->second ^ value_of(key);
    }
    done += kChunk;
  }
  if (wrong != 0) std::exit(1);
  return static_cast<double>(done) / std::chrono::duration<double>(now - start).count();
}

template <typename Map>
int run(Map& map, std::uint64_t count) {
  const Keys keys(count);
  for (std::uint64_t rank = 0; rank < count; ++rank) {
    const Key key = keys.at(rank);
    map.emplace(key, value_of(key));
  }
  KeyStream asked(keys, {0, count}, {}, 0, 1);
  std::puts("ready");
  std::fflush(stdout);
  for (double seconds = 0; std::cin >> seconds;) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    std::vector<double> rates;
    while (Clock::now() < end) rates.push_back(rate_of_row(map, asked));
    std::ranges::sort(rates);
    std::printf("%.1f\n", rates[rates.size() / 2]);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string name = argv[1];
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  if (name == "absl-btree") {
    Btree map;
    return run(map, count);
  }
  if (name == "absl-flat") {
    AbslFlat map;
    map.reserve(count);
    return run(map, count);
  }
  if (name == "boost-flat") {
    BoostFlat map;
    map.reserve(count);
    return run(map, count);
  }
  return 2;
}
