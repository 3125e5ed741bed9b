// What tierscope writes to storage, so that each block can prove which write it came from.
//
// A file consists of cells of 4096 bytes, or of 512 where a pattern reads or writes smaller blocks
// or at smaller steps. A cell consists of sectors of 512 bytes, the unit that drives write whole:
//
//     bytes          of each cell
//     0..47          CellHeader
//     48..503        payload
//     504..511       seal of the first sector
//     then for each further sector: 504 bytes of payload and a seal
//
// A seal is the low half of the cell's generation and the low half of CellHeader::place, 4 bytes
// each, so that a sector of another write shows. All numbers are in the machine's byte order. The
// payload's checksum does not cover header and seals: it is made once by prepare(), and stamp()
// costs the same few nanoseconds whatever the payload is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tierscope {

inline constexpr std::uint32_t kSectorBytes = 512;
inline constexpr std::uint32_t kCellBytes = 4096;
inline constexpr std::uint64_t kCellMagic = 0x31304c4c45435354;  // "TSCELL01"

struct CellHeader {
  std::uint64_t magic;
  std::uint32_t file;   // Number of the file, random: OwnedFile::number.
  std::uint32_t bytes;  // Of the cell: 512 or 4096.
  std::uint64_t offset;
  std::uint64_t generation;  // Counts the writes that the writer made; 1 is the fill.
  std::uint64_t place;       // XXH3 of the 32 bytes above.
  std::uint64_t payload;     // Hash of the payload: see hash_payload() in contents.cpp.
};
static_assert(sizeof(CellHeader) == 48);

// The cell for blocks whose sizes and offsets are all multiples of `step` bytes: 4096 or 512; 0
// where `step` is no multiple of 512, so that contents cannot be verified.
std::uint32_t cell_bytes_for(std::uint64_t step);

// Fills a write buffer and makes each cell's checksum. `compressible` percent (0..100) of each
// cell's payload are zeros, the rest is random: no two cells of a buffer and no two seeds give the
// same. The buffer's size is a multiple of `cell_bytes`, and its address one of 8 (as for verify).
void prepare(std::span<std::byte> buffer, std::uint64_t seed, int compressible,
             std::uint32_t cell_bytes = kCellBytes);

// Before each write: says in each cell where it is going to be, and of which generation it is. The
// buffer was prepared, or read and verified; its size is a multiple of its cells'.
void stamp(std::span<std::byte> buffer, std::uint32_t file, std::uint64_t offset,
           std::uint64_t generation);

// Whether a cell begins here that tierscope wrote, of any file and place.
bool is_cell(std::span<const std::byte> data);

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
