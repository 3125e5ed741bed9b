#include "storage/duplicates.h"

#include <algorithm>

#include "splitmix64.h"
#include "storage/contents.h"

namespace tierscope {

DuplicateUnits::Unit DuplicateUnits::next() {
  const bool again = static_cast<int>(splitmix64(random_) % 100) < rule_.percent;
  if (again && rule_.working_set != 0) return of_working_set();
  if (!again || !last_) last_ = Unit{rule_.stream, own_++};
  return *last_;
}

// The working set has as many units of each stream, each stream's first ones; its own come first.
DuplicateUnits::Unit DuplicateUnits::of_working_set() {
  const std::uint64_t drawn = splitmix64(random_) % rule_.working_set;
  const std::uint64_t each = std::max<std::uint64_t>(1, rule_.working_set / rule_.streams);
  if (rule_.streams == 1) return {rule_.stream, drawn};
  const auto stream = static_cast<std::uint32_t>((rule_.stream + drawn / each) % rule_.streams);
  return {stream, drawn % each};
}

void write_units(std::span<std::byte> data, std::size_t unit_bytes, DuplicateUnits& units,
                 int compressible) {
  constexpr std::uint64_t kGeneration = 1;
  constexpr int kNumberBits = 40;
  const std::uint32_t cell_bytes = cell_bytes_for(unit_bytes);
  for (std::size_t at = 0; at < data.size(); at += unit_bytes) {
    const std::span<std::byte> unit = data.subspan(at, unit_bytes);
    const DuplicateUnits::Unit next = units.next();
    prepare(unit, (std::uint64_t{next.stream} << kNumberBits) + next.number, compressible,
            cell_bytes);
    stamp(unit, next.stream, next.number * unit_bytes, kGeneration);
  }
}

}  // namespace tierscope
