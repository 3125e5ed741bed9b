// Data of which a share occurs several times, as it does where drives look for duplicates.
//
// Written data consists of units. Equal units are equal byte by byte: their cells (cell.h) name
// a stream and a number in it, in place of a file and an offset. So they prove that tierscope wrote
// them, but not where they belong.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tierscope {

struct DuplicatesRule {
  int percent;                // Of the units that are written.
  std::uint64_t working_set;  // Units that duplicates are drawn from; 0: each is the one before it.
  std::uint32_t stream;       // Of this thread's own units.
  std::uint32_t streams;      // Whose first units make the working set, from stream 0 on; 1: only
                              // this thread's.
};

// Which unit comes next in the data of one thread.
class DuplicateUnits {
 public:
  struct Unit {
    std::uint32_t stream;
    std::uint64_t number;

    bool operator==(const Unit&) const = default;
  };

  DuplicateUnits(const DuplicatesRule& rule, std::uint64_t seed) : rule_(rule), random_(seed) {}

  Unit next();

 private:
  Unit of_working_set();

  DuplicatesRule rule_;
  std::uint64_t random_;
  std::uint64_t own_ = 0;  // Units of its own so far.
  std::optional<Unit> last_;
};

// Fills whole units of `unit_bytes` with what comes next; `compressible` as of prepare().
void write_units(std::span<std::byte> data, std::size_t unit_bytes, DuplicateUnits& units,
                 int compressible);

}  // namespace tierscope
