// A cache of values, least recently used first out: its index lies in fast memory, its values in a
// slow arena whose capacity is the cache's size.
//
//   c++ -std=c++17 -O2 value_cache.cpp $(tierscope alloc flags) -o value_cache
//   ./value_cache [FAST_NODES [SLOW_NODES [MIB]]]          e.g. ./value_cache 0 2 64
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <list>
#include <memory_resource>
#include <string>
#include <tierscope_alloc.hpp>
#include <unordered_map>

class Cache {
 public:
  Cache(const tierscope::arena& fast, const tierscope::arena& slow)
      : fast_(fast), slow_(slow), index_(&fast_), entries_(&slow_) {}

  const std::pmr::string* get(std::uint64_t key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }

  // Evicts values until this one has room.
  void put(std::uint64_t key, const std::string& value) {
    for (;;) {
      try {
        entries_.emplace_front(key, std::pmr::string(value, &slow_));
        index_[key] = entries_.begin();
        return;
      } catch (const std::bad_alloc&) {
        if (entries_.empty()) throw;
        index_.erase(entries_.back().key);
        entries_.pop_back();
        ++evicted_;
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t evicted() const { return evicted_; }

 private:
  struct Entry {
    Entry(std::uint64_t its_key, std::pmr::string&& its_value)
        : key(its_key), value(std::move(its_value)) {}
    std::uint64_t key;
    std::pmr::string value;
  };
  using Entries = std::pmr::list<Entry>;

  tierscope::memory_resource fast_;
  tierscope::memory_resource slow_;
  std::pmr::unordered_map<std::uint64_t, Entries::iterator> index_;
  Entries entries_;  // Most recently used first.
  std::size_t evicted_ = 0;
};

int main(int count, char** words) try {
  const char* const fast_nodes = count > 1 ? words[1] : "0";
  const char* const slow_nodes = count > 2 ? words[2] : "0";
  const std::size_t capacity = (count > 3 ? std::strtoull(words[3], nullptr, 10) : 16) << 20;
  const tierscope::arena fast("index", fast_nodes, 0, TS_SPILL);
  const tierscope::arena slow("values", slow_nodes, capacity, TS_FAIL);
  Cache cache(fast, slow);

  const std::size_t value_bytes = 4000;
  const std::uint64_t values = 2 * capacity / value_bytes;  // Half of them have room.
  for (std::uint64_t key = 0; key < values; ++key) {
    cache.put(key, std::string(value_bytes, static_cast<char>('a' + key % 26)));
  }
  const std::pmr::string* const last = cache.get(values - 1);
  if (last == nullptr || last->size() != value_bytes || cache.get(0) != nullptr) return 1;
  std::cout << cache.size() << " values kept, " << cache.evicted() << " evicted\n"
            << "last value on node " << ts_tier_of(last->data()) << std::endl;
  return ts_print_statistics(1, TS_TEXT) == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "value_cache: " << error.what() << '\n';
  return 1;
}
