// Entries in random order that are sorted, as external sorts do it: in runs, which are then merged.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "database/hash_table.h"
#include "database/structure.h"

namespace tierscope::database {

struct RunSortSpec {
  std::uint64_t keys = 0;  // 16 bytes each with its value.
  std::size_t runs = 2;    // At least one for each thread is made.
  std::size_t threads = 1;
  std::string isa;  // That the sort of a run uses, as evidence names it.
};

// Each thread sorts runs of its own in place, by Highway's vqsort. When all have, each merges the
// keys of its own range out of all runs. A unit is a whole sort, before which the runs are filled
// anew.
class RunSort : public Structure {
 public:
  static constexpr std::array<std::string_view, 2> kParts{"runs", "output"};

  explicit RunSort(RunSortSpec spec) : spec_(std::move(spec)) {}

  std::vector<Part> parts() const override;
  void build(Memory memory, const OnThreads& on_threads) override;
  void work(std::size_t thread, std::uint64_t units) override;
  std::uint64_t operations_per_unit() const override { return spec_.keys / spec_.threads; }
  std::size_t input_bytes() const override { return sizeof(Entry); }
  std::uint64_t units_per_sample() const override { return 1; }
  bool timed() const override { return false; }
  void prepare_sample(const OnThreads& on_threads) override;
  std::string_view isa() const override { return spec_.isa; }
  std::string verify(const OnThreads& on_threads) override;

 private:
  std::size_t runs() const;
  void wait_for_all();

  RunSortSpec spec_;
  Entry* runs_ = nullptr;
  Entry* output_ = nullptr;
  std::uint64_t sorts_ = 0;
  std::atomic<std::size_t> arrived_{0};  // Threads that sorted their runs, of all sorts.
};

}  // namespace tierscope::database
