// Lookups in other libraries' maps: the same keys, in the same order, in memory with huge pages.
// And other libraries' sorts of the same entries.
//
// Usage: ops_peers prints the maps and sorts that it was built with, those whose headers were
// there. ops_peers NAME KEYS reads a number of seconds from each line of stdin, looks keys up or
// sorts them for that long, and prints how many a second.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "database/keys.h"
#include "database/string_keys.h"

#if __has_include(<absl/container/btree_map.h>)
#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>
#define ABSL 1
#endif
#if __has_include(<boost/unordered/unordered_flat_map.hpp>)  // From Boost 1.81 on.
#include <boost/unordered/unordered_flat_map.hpp>
#define BOOST_FLAT 1
#endif
#if __has_include(<boost/sort/pdqsort/pdqsort.hpp>)
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <boost/sort/spreadsort/integer_sort.hpp>
#define BOOST_SORT 1
#endif
#if __has_include(<parallel_hashmap/phmap.h>)
#include <parallel_hashmap/btree.h>
#include <parallel_hashmap/phmap.h>
#define PHMAP 1
#endif
#if __has_include(<tlx/container/btree_map.hpp>)
#include <tlx/container/btree_map.hpp>
#define TLX 1
#endif

namespace {

using tierscope::database::Keys;
using tierscope::database::KeyStream;
using tierscope::database::StringKey;
using tierscope::database::value_of;

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Hands out memory from the front to the back of one large reservation with huge pages; what is
// freed is not used again, as these maps only grow.
class Arena {
 public:
  static void* take(std::size_t bytes) {
    static Arena arena;
    const std::size_t line = bytes < 64 ? 16 : 64;
    arena.next_ += (line - reinterpret_cast<std::uintptr_t>(arena.next_) % line) % line;
    void* const found = arena.next_;
    arena.next_ += (bytes + line - 1) / line * line;
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
  Huge(const Huge<U>&) {}  // NOLINT(google-explicit-constructor): as allocators are converted
  T* allocate(std::size_t count) { return static_cast<T*>(Arena::take(count * sizeof(T))); }
  void deallocate(T*, std::size_t) {}
  bool operator==(const Huge&) const = default;
};

using Entry = std::pair<const std::uint64_t, std::uint64_t>;
using Key = std::uint64_t;
struct Row {
  Key key;
  Key value;
};
using Clock = std::chrono::steady_clock;

using Text = std::basic_string<char, std::char_traits<char>, Huge<char>>;
struct HashOfText : std::hash<std::string_view> {
  using is_transparent = void;
};

// What a map's key is looked up by; strings are made for each lookup, as tierscope makes them.
template <typename Map>
auto look_up(Map& map, Key key) {
  if constexpr (std::is_same_v<typename Map::key_type, Text>) {
    std::array<char, StringKey::kBytes> text;
    StringKey(key).store(text.data());
    return map.find(std::string_view(text.data(), text.size()));
  } else {
    return map.find(key);
  }
}

template <typename Map>
void insert(Map& map, Key key) {
  if constexpr (std::is_same_v<typename Map::key_type, Text>) {
    Text text(StringKey::kBytes, ' ');
    StringKey(key).store(text.data());
    map.insert({text, value_of(key)});
  } else {
    map.insert({key, value_of(key)});
  }
}

// CPU time that others take counts on neither side.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Lookups a second of CPU time, over a row as long as tierscope's.
template <typename Map>
double rate_of_row(const Map& map, KeyStream& asked) {
  constexpr double kRow = 0.01;
  std::uint64_t done = 0;
  std::uint64_t wrong = 0;
  const double start = cpu_seconds();
  double now = start;
  for (; now - start < kRow; now = cpu_seconds()) {
    constexpr std::uint64_t kChunk = 4096;
    for (std::uint64_t i = 0; i < kChunk; ++i) {
      const Key key = asked.next();
      const auto found = look_up(map, key);
      wrong |= found == map.end() ? 1 : found->second ^ value_of(key);
    }
    done += kChunk;
  }
  if (wrong != 0) std::exit(1);
  return static_cast<double>(done) / (now - start);
}

// For each line of stdin, the median of as many rates as so many seconds allow.
template <typename Rate>
int answer(const Rate& rate) {
  std::puts("ready");
  std::fflush(stdout);
  for (double seconds = 0; std::cin >> seconds;) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    std::vector<double> rates;
    while (rates.empty() || Clock::now() < end) rates.push_back(rate());
    std::ranges::sort(rates);
    std::printf("%.1f\n", rates[rates.size() / 2]);
    std::fflush(stdout);
  }
  return 0;
}

template <typename Map>
int run(Map& map, std::uint64_t count) {
  const Keys keys(count);
  for (std::uint64_t rank = 0; rank < count; ++rank) {
    insert(map, keys.at(rank));
  }
  KeyStream asked(keys, {0, count}, {}, 0, 1);
  return answer([&] { return rate_of_row(map, asked); });
}

// Sorts the entries that tierscope sorts (engine/database/run_sort.cpp), in place; filling them is
// not timed.
template <typename Sort>
int run_sort(std::uint64_t count) {
  std::vector<Row, Huge<Row>> rows(count);
  return answer([&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      const Key key = tierscope::splitmix64_mixed(i + tierscope::kSplitMix64Step);
      rows[i] = {key, value_of(key)};
    }
    const double start = cpu_seconds();
    Sort()(rows);
    const double seconds = cpu_seconds() - start;
    if (!std::ranges::is_sorted(rows, {}, &Row::key)) std::exit(1);
    return static_cast<double>(count) / seconds;
  });
}

constexpr auto kByKey = [](const Row& a, const Row& b) { return a.key < b.key; };
struct StdSort {
  void operator()(auto& rows) const { std::sort(rows.begin(), rows.end(), kByKey); }
};
#ifdef BOOST_SORT
struct PdqSort {
  void operator()(auto& rows) const {
    boost::sort::pdqsort_branchless(rows.begin(), rows.end(), kByKey);
  }
};
struct SpreadSort {
  void operator()(auto& rows) const {
    const auto shifted = [](const Row& row, unsigned bits) { return row.key >> bits; };
    boost::sort::spreadsort::integer_sort(rows.begin(), rows.end(), shifted, kByKey);
  }
};
#endif

struct Named {
  const char* name;
  int (*run)(std::uint64_t count);
};

template <typename Map>
int run_map(std::uint64_t count) {
  Map map;
  if constexpr (requires { map.reserve(count); }) map.reserve(count);
  return run(map, count);
}

template <template <typename...> class Map, typename Hash>
using Hashed = Map<Key, Key, Hash, std::equal_to<Key>, Huge<Entry>>;
template <template <typename...> class Map>
using Ordered = Map<Key, Key, std::less<Key>, Huge<Entry>>;

using TextEntry = std::pair<const Text, Key>;
template <template <typename...> class Map>
using HashedTexts = Map<Text, Key, HashOfText, std::equal_to<>, Huge<TextEntry>>;
template <template <typename...> class Map>
using OrderedTexts = Map<Text, Key, std::less<>, Huge<TextEntry>>;

constexpr Named kNamed[] = {
    {"std-sort", run_sort<StdSort>},
#ifdef BOOST_SORT
    {"boost-pdqsort", run_sort<PdqSort>},
    {"boost-spreadsort", run_sort<SpreadSort>},
#endif
    {"std-map-string", run_map<OrderedTexts<std::map>>},
    {"std-unordered-string", run_map<HashedTexts<std::unordered_map>>},
    {"std-map", run_map<Ordered<std::map>>},
    {"std-unordered", run_map<Hashed<std::unordered_map, std::hash<Key>>>},
#ifdef ABSL
    {"absl-btree-string", run_map<OrderedTexts<absl::btree_map>>},
    {"absl-flat-string", run_map<HashedTexts<absl::flat_hash_map>>},
    {"absl-btree", run_map<Ordered<absl::btree_map>>},
    {"absl-flat", run_map<Hashed<absl::flat_hash_map, absl::Hash<Key>>>},
#endif
#ifdef BOOST_FLAT
    {"boost-flat-string", run_map<HashedTexts<boost::unordered_flat_map>>},
    {"boost-flat", run_map<Hashed<boost::unordered_flat_map, boost::hash<Key>>>},
#endif
#ifdef PHMAP
    {"phmap-btree-string", run_map<OrderedTexts<phmap::btree_map>>},
    {"phmap-flat-string", run_map<HashedTexts<phmap::flat_hash_map>>},
    {"phmap-btree", run_map<Ordered<phmap::btree_map>>},
    {"phmap-flat", run_map<Hashed<phmap::flat_hash_map, phmap::Hash<Key>>>},
#endif
#ifdef TLX
    {"tlx-btree",
     run_map<tlx::btree_map<Key, Key, std::less<Key>,
                            tlx::btree_default_traits<Key, std::pair<Key, Key>>, Huge<Entry>>>},
#endif
};

}  // namespace

int main(int argc, char** argv) {
  for (const Named& one : kNamed) {
    if (argc == 1) std::puts(one.name);
    if (argc == 3 && argv[1] == std::string(one.name)) {
      return one.run(std::strtoull(argv[2], nullptr, 10));
    }
  }
  return argc == 1 ? 0 : 2;
}
