// Column scan: which rows of a column have a key in a range; one kernel for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tierscope {

// Columns are scanned in whole blocks.
inline constexpr std::size_t kScanBlock = 4096;  // Bytes.

// A thread's slice of a column. Keys are unsigned integers of 4 or 8 bytes.
struct ScanSlice {
  const void* keys = nullptr;
  void* positions = nullptr;  // Row numbers, as wide as keys and as many; null where none are kept.
  std::uint64_t blocks = 0;   // At least 1.
  std::uint64_t first_row = 0;  // Number of the slice's first row in the column.
  std::uint64_t low = 0;        // A row is found where low <= key < high.
  std::uint64_t high = 0;       // At least low.
};

// Where a scan stands; zero-initialised at its beginning, carried from call to call.
struct ScanPosition {
  std::uint64_t block = 0;  // The next one; the slice's number of blocks at the end of a pass.
  std::uint64_t found = 0;  // Rows of this pass so far; their positions are in the slice's.
};

// Scans `blocks` blocks from `position` on and moves it. After the slice's last block a new pass
// begins, which writes positions from the beginning again.
using ScanKernel = void (*)(const ScanSlice& slice, ScanPosition& position, std::uint64_t blocks);

// The kernel for an instruction set out of supported_isas() and keys of 4 or 8 bytes, which keeps
// positions or counts only.
ScanKernel find_scan_kernel(std::string_view isa, std::size_t key_bytes, bool positions);

}  // namespace tierscope
