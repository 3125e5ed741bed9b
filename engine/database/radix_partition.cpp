#include "database/radix_partition.h"

#include <algorithm>
#include <utility>

#include "access/flush.h"

namespace tierscope::database {
namespace {

constexpr std::uint64_t kLineRows = 64 / sizeof(Entry);

// Writes a line by non-temporal stores: its contents are needed only after all have been written,
// and ordinary stores would read it first.
void stream_line(const Entry* line, Entry* to) {
  const auto* const from = reinterpret_cast<const Words*>(line);
  auto* const words = reinterpret_cast<Words*>(to);
  stream_words(words, from[0], from[1]);
  stream_words(words + 2, from[2], from[3]);
}

}  // namespace

void copy_by_partition(std::span<const Entry> rows, Entry* to, std::span<std::uint64_t> ends,
                       Entry* lines) {
  const std::uint64_t partitions = ends.size();
  std::ranges::fill(ends, 0);
  for (const Entry& row : rows) ++ends[partition_of(HashTable::hash(row.key), partitions)];
  std::uint64_t begin = 0;
  for (std::uint64_t& end : ends) begin += std::exchange(end, begin);  // Now the beginnings.
  for (const Entry& row : rows) {
    const std::uint64_t partition = partition_of(HashTable::hash(row.key), partitions);
    Entry* const line = lines + partition * kLineRows;
    const std::uint64_t at = ends[partition]++;
    line[at % kLineRows] = row;
    if (at % kLineRows == kLineRows - 1) stream_line(line, to + at - at % kLineRows);
  }
  // A partition's first line, written as a whole, had something else where the one before it ends:
  // so ends come last.
  write_back_fence();
  for (std::uint64_t partition = 0, first = 0; partition < partitions; ++partition) {
    const std::uint64_t end = ends[partition];
    for (std::uint64_t at = std::max(first, end - end % kLineRows); at < end; ++at) {
      to[at] = lines[partition * kLineRows + at % kLineRows];
    }
    first = end;
  }
}

}  // namespace tierscope::database
