#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "access/kernel.h"
#include "database/column_scan.h"
#include "errors.h"
#include "structure_memory.h"

namespace tierscope::database {
namespace {

ColumnScanSpec spec_of(std::size_t key_bytes, double selectivity) {
  return {.keys = 20 * kScanBlock / key_bytes + 7,
          .key_bytes = key_bytes,
          .selectivity = selectivity,
          .isa = std::string(supported_isas().front()),
          .threads = 3};
}

// How many rows are found is what was asked for; which, the kernel's own tests compare.
TEST(ColumnScan, FindsTheShareThatWasAskedFor) {
  for (const std::size_t key_bytes : {4U, 8U}) {
    for (const double selectivity : {0.0, 0.01, 0.5, 1.0}) {
      for (const bool positions : {true, false}) {
        ColumnScanSpec spec = spec_of(key_bytes, selectivity);
        spec.positions = positions;
        ColumnScan scan(spec);
        const StructureMemory memory(scan.parts());
        const OnThreads threads = on_threads(spec.threads);
        scan.build(memory, threads);
        threads([&](std::size_t thread) { scan.work(thread, 10); });
        const std::string verified = scan.verify(threads);
        const auto rows = static_cast<double>(20 * scan.operations_per_unit());
        const std::size_t at = verified.find("; ") + 2;
        EXPECT_NEAR(std::stod(verified.substr(at)), selectivity * rows,
                    selectivity > 0 && selectivity < 1 ? rows / 50 : 0)
            << verified;
      }
    }
  }
}

TEST(ColumnScan, RefusesAPositionThatIsWrong) {
  // Positions are compared as they lie there, so that a kernel which stores elsewhere is seen.
  ColumnScanSpec spec = spec_of(8, 1);
  spec.threads = 1;
  ColumnScan scan(spec);
  const StructureMemory memory(scan.parts());
  scan.build(memory, on_threads(1));
  scan.work(0, 20);
  memory.as<std::uint64_t>(1)[5] = 6;
  EXPECT_THROW(scan.verify(on_threads(1)), Failure);
}

TEST(ColumnScan, RefusesAColumnThatWasChanged) {
  ColumnScanSpec spec = spec_of(4, 0.5);
  ColumnScan scan(spec);
  const StructureMemory memory(scan.parts());
  scan.build(memory, on_threads(spec.threads));
  std::uint32_t& key = memory.as<std::uint32_t>(0)[123];
  key = key < (1U << 30) || key > (3U << 30) ? 1U << 31 : 0;
  scan.work(0, 1);
  EXPECT_THROW(scan.verify(on_threads(spec.threads)), Failure);
}

}  // namespace
}  // namespace tierscope::database
