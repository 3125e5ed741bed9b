// A column that threads scan for the keys of a range, each its own slice, again and again.
#pragma once

#include <array>
#include <deque>
#include <string_view>

#include "access/column_scan.h"
#include "database/structure.h"

namespace tierscope::database {

struct ColumnScanSpec {
  std::uint64_t keys = 0;     // At least a block for each thread; what fills no block is left out.
  std::size_t key_bytes = 8;  // 4 or 8.
  double selectivity = 0;     // Share of the rows that are found, 0..1: keys are uniform.
  bool positions = true;      // Their positions are kept; else they are only counted.
  std::string isa;            // Out of supported_isas().
  std::size_t threads = 1;

  std::uint64_t block_keys() const { return kScanBlock / key_bytes; }
  std::uint64_t blocks() const { return keys / block_keys(); }
};

// A unit is a block.
class ColumnScan : public Structure {
 public:
  static constexpr std::array<std::string_view, 2> kParts{"column", "positions"};

  explicit ColumnScan(ColumnScanSpec spec);

  std::vector<Part> parts() const override;
  void build(Memory memory, const OnThreads& on_threads) override;
  void work(std::size_t thread, std::uint64_t units) override {
    Thread& own = threads_[thread];
    scan_(own.slice, own.at, units);
    own.done += units;
  }
  std::uint64_t operations_per_unit() const override { return spec_.block_keys(); }
  std::size_t input_bytes() const override { return spec_.key_bytes; }
  std::string_view isa() const override { return spec_.isa; }
  std::string verify(const OnThreads& on_threads) override;

  // The key of a row.
  std::uint64_t key_at(std::uint64_t row) const;

 private:
  struct alignas(64) Thread {
    ScanSlice slice;
    ScanPosition at;
    std::uint64_t done = 0;  // Blocks.
  };

  template <typename Key>
  void fill(const Thread& thread) const;
  template <typename Key>
  void compare(const Thread& thread) const;

  ColumnScanSpec spec_;
  ScanKernel scan_;
  std::uint64_t low_;
  std::uint64_t high_;
  std::deque<Thread> threads_;
};

}  // namespace tierscope::database
