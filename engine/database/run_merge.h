// Sorted runs that are merged into one, as LSM trees are compacted and as external sorts end.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "database/hash_table.h"
#include "database/loser_tree.h"
#include "database/simd.h"
#include "database/structure.h"

namespace tierscope::database {

struct RunMergeSpec {
  std::uint64_t keys = 0;  // Of all runs, 16 bytes each with its value; at least one for each run.
  std::size_t runs = 2;    // 2..kMaxRuns, of even length.
  std::size_t threads = 1;
};

// What one of several threads merges: the keys of its own range out of all runs, which lie side by
// side in each. Keys are spread evenly over all numbers, so that even ranges of numbers hold as
// many keys.
struct MergeShare {
  MergeShare() = default;
  // `output` is that of all threads.
  MergeShare(std::span<const SortedRun> all, Entry* output, std::size_t thread,
             std::size_t threads);

  std::vector<SortedRun> runs;
  Entry* output = nullptr;
  std::uint64_t keys = 0;
};

// Each thread merges its share again and again. A unit is kUnitKeys keys.
class RunMerge : public Structure {
 public:
  static constexpr std::array<std::string_view, 2> kParts{"runs", "output"};
  static constexpr std::uint64_t kUnitKeys = 1024;

  explicit RunMerge(const RunMergeSpec& spec) : spec_(spec), threads_(spec.threads) {}

  std::vector<Part> parts() const override;
  void build(Memory memory, const OnThreads& on_threads) override;
  void work(std::size_t thread, std::uint64_t units) override;
  std::uint64_t operations_per_unit() const override { return kUnitKeys; }
  std::size_t input_bytes() const override { return sizeof(Entry); }
  std::string_view isa() const override { return name_of(Simd::kBaseline); }
  std::string verify(const OnThreads& on_threads) override;

  // Key number i of a run: ascending.
  std::uint64_t key_at(std::size_t run, std::uint64_t i) const;

 private:
  struct alignas(64) Thread {
    MergeShare share;
    LoserTree tree;
    std::uint64_t merged = 0;  // Of this pass.
    std::uint64_t done = 0;    // Units.
  };

  void fill(std::size_t thread) const;
  void merge(Thread& thread, std::uint64_t keys) const;
  void compare(const Thread& thread) const;

  RunMergeSpec spec_;
  Entry* runs_ = nullptr;
  Entry* output_ = nullptr;
  std::deque<Thread> threads_;
};

}  // namespace tierscope::database
