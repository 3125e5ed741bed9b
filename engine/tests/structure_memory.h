// Memory and threads for structures of databases, which have neither of their own.
#pragma once

#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "database/hash_table.h"
#include "database/structure.h"

namespace tierscope::database {

// Each part in an allocation of just its bytes, so that the address sanitizer sees what lies beside
// it, filled with what no structure may rely on.
class StructureMemory {
 public:
  explicit StructureMemory(const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      auto* const bytes = static_cast<std::byte*>(std::aligned_alloc(64, part.bytes));
      std::memset(bytes, 0x5a, part.bytes);
      owned_.emplace_back(bytes, std::free);
      spans_.emplace_back(bytes, part.bytes);
    }
  }

  operator Memory() const { return spans_; }

  template <typename Element>
  std::span<Element> as(std::size_t part) const {
    return {reinterpret_cast<Element*>(spans_[part].data()), spans_[part].size() / sizeof(Element)};
  }

 private:
  std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> owned_;
  std::vector<std::span<std::byte>> spans_;
};

using Pair = std::pair<std::uint64_t, std::uint64_t>;

// Entries as what the standard library orders by key, then value.
inline std::vector<Pair> pairs_of(std::span<const Entry> entries) {
  std::vector<Pair> found;
  for (const Entry& entry : entries) found.emplace_back(entry.key, entry.value);
  return found;
}

// Rethrows what a thread threw, as a team does.
inline OnThreads on_threads(std::size_t count) {
  return [count](const std::function<void(std::size_t)>& work) {
    std::vector<std::future<void>> threads;
    for (std::size_t i = 0; i < count; ++i) {
      threads.push_back(std::async(std::launch::async, work, i));
    }
    for (std::future<void>& thread : threads) thread.get();
  };
}

}  // namespace tierscope::database
