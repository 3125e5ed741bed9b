// Rows copied by partition: what has the same bits in its keys' hashes lies together.
#pragma once

#include <cstdint>
#include <span>

#include "database/hash_table.h"

namespace tierscope::database {

// Of hashes these bits choose the partition: the high ones choose a group of a hash table, the
// lowest are its tags.
constexpr std::uint64_t partition_of(std::uint64_t hashed, std::uint64_t partitions) {
  return hashed >> 8 & (partitions - 1);
}

// Copies `rows` to as many at `to` (on a boundary of 64 bytes). `ends` becomes the end of each
// partition there; it has as many elements as there are partitions, a power of two. `lines` is room
// for four rows a partition, on a boundary of 64 bytes.
void copy_by_partition(std::span<const Entry> rows, Entry* to, std::span<std::uint64_t> ends,
                       Entry* lines);

}  // namespace tierscope::database
