// What tierscope writes to storage, so that each block can prove which write it came from.
// storage/cell.h has the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "storage/cell.h"

namespace tierscope {

// The cell for blocks whose sizes and offsets are all multiples of `step` bytes: 4096 or 512; 0
// where `step` is not a multiple of 512, so that contents cannot be verified.
std::uint32_t cell_bytes_for(std::uint64_t step);

// Fills a write buffer and makes each cell's checksum. `compressible` percent (0..100) of each
// cell's payload are zeros, the rest is random: no two cells of a buffer and no two seeds give the
// same. The buffer's size is a multiple of `cell_bytes`, and its address one of 8 (as for verify).
void prepare(std::span<std::byte> buffer, std::uint64_t seed, int compressible,
             std::uint32_t cell_bytes = kCellBytes);

// The same with a payload that repeats these bytes, of which there is at least one.
void repeat(std::span<std::byte> buffer, std::span<const std::byte> bytes,
            std::uint32_t cell_bytes = kCellBytes);

// Before each write: says in each cell where it is going to be, and of which generation it is. The
// buffer was prepared, or read and verified; its size is a multiple of its cells'.
void stamp(std::span<std::byte> buffer, std::uint32_t file, std::uint64_t offset,
           std::uint64_t generation);

// Whether a cell begins here that tierscope wrote, of any file and place.
bool is_cell(std::span<const std::byte> data);

// What a file may hold beside whole cells of its own places.
struct Allowed {
  bool zeros;      // Sectors that nobody has written yet.
  bool elsewhere;  // Cells of other files and places, as where blocks have had other cells.
};

// Whether tierscope wrote all of up to 4096 bytes at a multiple of 4096 of a file: whole cells, or
// sectors of cells of which others were written later. Of less than a sector only a header at the
// page's beginning is looked at.
bool is_own(std::span<const std::byte> page, std::uint32_t file, std::uint64_t offset,
            Allowed allowed);

enum class Damage {
  kTorn,         // Some sectors are of another write than the cell's first one.
  kStale,        // Of an older generation: a write was lost.
  kMisdirected,  // Of another file, or of another place in this one.
  kCorrupt,      // Of this place, but header, payload or seals were changed.
  kForeign,      // Not written by tierscope in cells of this size; or only zeros.
};

// The first cell that is not what it should be.
struct Mismatch {
  struct Place {
    std::uint32_t file;
    std::uint64_t offset;
    std::uint64_t generation;
  };

  Damage damage;
  Place expected;               // generation: the oldest one allowed.
  std::optional<Place> found;   // As its header says; absent where there is no valid header.
  std::optional<int> sector;    // Of the cell, where one shows the damage: 0..7.
  std::uint64_t sector_starts;  // The first 8 bytes of that sector, or of the cell.
  bool zeros;                   // Of that sector, or of the cell: nothing else in it.

  // One line: what was expected and found where. `path` names the file.
  std::string text(const std::string& path) const;
};

// Checks what was read at `offset` of a file. Cells of generation `min_generation` and younger
// ones are right. Nothing where all are; otherwise the first that is not.
std::optional<Mismatch> verify(std::span<const std::byte> data, std::uint32_t file,
                               std::uint64_t offset, std::uint64_t min_generation,
                               std::uint32_t cell_bytes = kCellBytes);

}  // namespace tierscope
