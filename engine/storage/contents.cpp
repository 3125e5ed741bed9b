#include "storage/contents.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "splitmix64.h"

namespace tierscope {
namespace {

constexpr std::size_t kPlaceBytes = offsetof(CellHeader, place);

std::uint64_t place_of(const CellHeader& header) { return XXH3_64bits(&header, kPlaceBytes); }

std::uint64_t load(const std::byte* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint64_t hash_payload(const std::byte* cell, std::uint32_t bytes) {
  std::uint64_t hash = 0;
  for (std::uint32_t at = 0; at < bytes; at += kSectorBytes) {
    const std::size_t skipped = at == 0 ? sizeof(CellHeader) : 0;
    hash = add_to_payload_hash(hash, XXH3_64bits(cell + at + skipped, kSealAt - skipped));
  }
  return hash;
}

void check_whole_cells(std::size_t bytes, std::uint32_t cell_bytes) {
  const bool known = cell_bytes == kCellBytes || cell_bytes == kSectorBytes;
  if (known && bytes % cell_bytes == 0) return;
  throw std::logic_error(fmt::format("{} bytes are no whole cells of {}", bytes, cell_bytes));
}

bool all_zeros(const std::byte* data, std::size_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte value) { return value == std::byte{0}; });
}

// A cell that was read, beside what is expected of it.
class Cell {
 public:
  Cell(const std::byte* data, std::uint32_t bytes, const Mismatch::Place& expected)
      : data_(data), bytes_(bytes), expected_(expected) {
    std::memcpy(&header_, data, sizeof header_);
  }

  // All is as it should be: what is nearly always so, quickly.
  bool right() const {
    if (!is_header() || !has_its_place() || header_.generation < expected_.generation) return false;
    return is_sealed() && has_its_payload();
  }

  // A header, and the seals of its write in all sectors.
  bool is_of_one_write() const { return is_header() && is_sealed(); }
  bool has_its_payload() const { return hash_payload(data_, bytes_) == header_.payload; }
  bool has_its_header() const { return is_header() && has_its_place(); }
  bool has_its_place() const {
    return header_.file == expected_.file && header_.offset == expected_.offset;
  }

  Mismatch mismatch() const {
    if (!is_header()) return without_header();
    if (!has_its_place()) return found(Damage::kMisdirected);
    const std::uint64_t seal = seal_of(header_);
    for (int sector = 0; sector < sectors(); ++sector) {
      if (seal_at(sector) == seal) continue;
      const bool torn = is_of_here(sector) || all_zeros(sector_at(sector), kSectorBytes);
      return found(torn ? Damage::kTorn : Damage::kCorrupt, sector);
    }
    return found(has_its_payload() ? Damage::kStale : Damage::kCorrupt);
  }

  // Whether some generation's write of this very place left that seal.
  bool is_of_here(int sector) const {
    const std::uint64_t seal = seal_at(sector);
    const std::uint64_t high_half =
        (is_header() ? header_.generation : expected_.generation) >> 32 << 32;
    CellHeader header{.magic = kCellMagic,
                      .file = expected_.file,
                      .bytes = bytes_,
                      .offset = expected_.offset,
                      .generation = high_half | (seal & 0xffffffff)};
    header.place = place_of(header);
    return seal == seal_of(header);
  }

 private:
  bool is_sealed() const {
    const std::uint64_t seal = seal_of(header_);
    for (int sector = 0; sector < sectors(); ++sector) {
      if (seal_at(sector) != seal) return false;
    }
    return true;
  }

  bool is_header() const {
    return header_.magic == kCellMagic && header_.bytes == bytes_ &&
           header_.place == place_of(header_);
  }

  // The first sector has no valid header; the others may still say what was to be here.
  Mismatch without_header() const {
    int of_here = 0;
    for (int sector = 1; sector < sectors(); ++sector) of_here += is_of_here(sector);
    if (is_of_here(0)) return found(Damage::kCorrupt, 0);
    if (of_here > 0) return found(Damage::kTorn, 0);
    return found(header_.magic == kCellMagic && header_.bytes == bytes_ ? Damage::kCorrupt
                                                                        : Damage::kForeign);
  }

  Mismatch found(Damage damage, std::optional<int> sector = {}) const {
    Mismatch mismatch{.damage = damage, .expected = expected_, .sector = sector};
    if (is_header()) mismatch.found = {header_.file, header_.offset, header_.generation};
    const std::byte* const from = sector_at(sector.value_or(0));
    mismatch.sector_starts = load(from);
    mismatch.zeros = all_zeros(from, sector ? kSectorBytes : bytes_);
    return mismatch;
  }

  int sectors() const { return static_cast<int>(bytes_ / kSectorBytes); }
  const std::byte* sector_at(int sector) const {
    return data_ + static_cast<std::size_t>(sector) * kSectorBytes;
  }
  std::uint64_t seal_at(int sector) const { return load(sector_at(sector) + kSealAt); }

  const std::byte* data_;
  std::uint32_t bytes_;
  Mismatch::Place expected_;
  CellHeader header_;
};

std::string text_of(const Mismatch::Place& place) {
  return fmt::format("generation {} of file {:08x} at offset {}", place.generation, place.file,
                     place.offset);
}

}  // namespace

std::uint32_t cell_bytes_for(std::uint64_t step) {
  if (step == 0 || step % kSectorBytes != 0) return 0;
  return step % kCellBytes == 0 ? kCellBytes : kSectorBytes;
}

namespace {

// What prepare() and repeat() have in common: a header for each cell whose payload is there.
void begin_cells(std::span<std::byte> buffer, std::uint32_t cell_bytes) {
  for (std::size_t at = 0; at < buffer.size(); at += cell_bytes) {
    std::byte* const cell = buffer.data() + at;
    const CellHeader header{
        .magic = kCellMagic, .bytes = cell_bytes, .payload = hash_payload(cell, cell_bytes)};
    std::memcpy(cell, &header, sizeof header);
  }
  if (!buffer.empty()) stamp(buffer, 0, 0, 0);
}

}  // namespace

void repeat(std::span<std::byte> buffer, std::span<const std::byte> bytes,
            std::uint32_t cell_bytes) {
  check_whole_cells(buffer.size(), cell_bytes);
  for (std::size_t at = 0; at < buffer.size(); ++at) buffer[at] = bytes[at % bytes.size()];
  begin_cells(buffer, cell_bytes);
}

void prepare(std::span<std::byte> buffer, std::uint64_t seed, int compressible,
             std::uint32_t cell_bytes) {
  check_whole_cells(buffer.size(), cell_bytes);
  std::uint64_t state = seed;
  state = splitmix64(state);  // So that seeds 1, 2, ... are not steps of one sequence.
  const std::size_t random_bytes =
      cell_bytes * static_cast<std::size_t>(100 - compressible) / 100 / sizeof state * sizeof state;
  for (std::size_t at = 0; at < buffer.size(); at += cell_bytes) {
    std::byte* const cell = buffer.data() + at;
    for (std::size_t i = 0; i < random_bytes; i += sizeof state) {
      const std::uint64_t word = splitmix64(state);
      std::memcpy(cell + i, &word, sizeof word);
    }
    std::memset(cell + random_bytes, 0, cell_bytes - random_bytes);
  }
  begin_cells(buffer, cell_bytes);
}

void stamp(std::span<std::byte> buffer, std::uint32_t file, std::uint64_t offset,
           std::uint64_t generation) {
  CellHeader header{};
  if (buffer.size() >= sizeof header) std::memcpy(&header, buffer.data(), sizeof header);
  if (header.magic != kCellMagic) throw std::logic_error("a buffer was stamped before prepare()");
  check_whole_cells(buffer.size(), header.bytes);
  header.file = file;
  header.generation = generation;
  for (std::size_t at = 0; at < buffer.size(); at += header.bytes) {
    std::byte* const cell = buffer.data() + at;
    header.offset = offset + at;
    header.place = place_of(header);
    std::memcpy(cell, &header, offsetof(CellHeader, payload));
    const std::uint64_t seal = seal_of(header);
    for (std::size_t sector = 0; sector < header.bytes; sector += kSectorBytes) {
      std::memcpy(cell + sector + kSealAt, &seal, sizeof seal);
    }
  }
}

bool is_cell(std::span<const std::byte> data) {
  CellHeader header{};
  if (data.size() < sizeof header) return false;
  std::memcpy(&header, data.data(), sizeof header);
  return header.magic == kCellMagic && header.place == place_of(header);
}

bool is_own(std::span<const std::byte> page, std::uint32_t file, std::uint64_t offset,
            Allowed allowed) {
  const bool zeros = allowed.zeros;
  const auto is_whole = [&](const Cell& cell) {
    return cell.has_its_payload() && (allowed.elsewhere || cell.has_its_place());
  };
  std::array<std::byte, kCellBytes> padded{};  // So that a page that is cut can be looked at.
  std::ranges::copy(page, padded.begin());
  const Cell here(padded.data(), kCellBytes, {file, offset, 0});
  if (page.size() == kCellBytes && here.is_of_one_write()) return is_whole(here);
  for (std::size_t at = 0; at + kSectorBytes <= page.size(); at += kSectorBytes) {
    const Cell sector(page.data() + at, kSectorBytes, {file, offset + at, 0});
    if (sector.is_of_one_write() && is_whole(sector)) continue;
    // Of the first sector nothing but its own header, which has no other witness, will do.
    if ((at > 0 || here.has_its_header()) && here.is_of_here(static_cast<int>(at / kSectorBytes))) {
      continue;
    }
    if (!zeros || !all_zeros(page.data() + at, kSectorBytes)) return false;
  }
  if (page.size() >= kSectorBytes) return true;
  // Less than a sector: the beginning of a header, or of nothing written yet.
  if (zeros && all_zeros(page.data(), page.size())) return true;
  if (page.size() >= sizeof(CellHeader)) return is_cell(page);
  return std::memcmp(page.data(), &kCellMagic, std::min(page.size(), sizeof kCellMagic)) == 0;
}

std::optional<Mismatch> verify(std::span<const std::byte> data, std::uint32_t file,
                               std::uint64_t offset, std::uint64_t min_generation,
                               std::uint32_t cell_bytes) {
  check_whole_cells(data.size(), cell_bytes);
  for (std::size_t at = 0; at < data.size(); at += cell_bytes) {
    const Cell cell(data.data() + at, cell_bytes, {file, offset + at, min_generation});
    if (!cell.right()) return cell.mismatch();
  }
  return std::nullopt;
}

std::string Mismatch::text(const std::string& path) const {
  const std::string where = fmt::format("{}, offset {}: ", path, expected.offset);
  const std::string wanted = fmt::format("expected {}", text_of(expected));
  const std::string there =
      found   ? fmt::format("found {}", text_of(*found))
      : zeros ? std::string("found zeros")
              : fmt::format("found bytes {:016x}", __builtin_bswap64(sector_starts));
  const std::string at_sector = sector ? fmt::format("sector {} of the cell ", *sector) : "";
  switch (damage) {
    case Damage::kTorn:
      return fmt::format("{}torn block: {}, {}, but {}{}", where, wanted, there, at_sector,
                         zeros ? "holds zeros" : "is of another write");
    case Damage::kStale:
      return fmt::format("{}stale block: expected generation {} or later, {}", where,
                         expected.generation, there);
    case Damage::kMisdirected:
      return fmt::format("{}misdirected block: {}, {}", where, wanted, there);
    case Damage::kCorrupt:
      return fmt::format("{}corrupt block: {}, {}, but {}does not match its checksum", where,
                         wanted, there, sector ? at_sector : "the payload ");
    case Damage::kForeign:
      break;
  }
  return fmt::format("{}not written by tierscope: {}, {}", where, wanted, there);
}

}  // namespace tierscope
