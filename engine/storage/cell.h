// The unit of what tierscope writes to storage.
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
  std::uint64_t payload;     // See add_to_payload_hash().
};
static_assert(sizeof(CellHeader) == 48);

// From the start of a sector to its seal.
inline constexpr std::size_t kSealAt = kSectorBytes - sizeof(std::uint64_t);

inline std::uint64_t seal_of(const CellHeader& header) {
  return (header.generation & 0xffffffff) | (header.place << 32);
}

// The payload's hash joins XXH3 of each sector's payload, starting with 0, so that their order
// counts.
inline std::uint64_t add_to_payload_hash(std::uint64_t hash, std::uint64_t sector) {
  return (hash ^ sector) * 0x9e3779b97f4a7c15;
}

// What the cells from `offset` of a file on have to be.
struct ExpectedCells {
  std::uint32_t file;
  std::uint64_t offset;
  std::uint64_t min_generation;
  std::uint32_t cell_bytes;
};

}  // namespace tierscope
