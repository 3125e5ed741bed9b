#include "kinds/io_verification.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "access/random_order.h"
#include "errors.h"
#include "storage/aligned_buffer.h"
#include "storage/changes.h"
#include "storage/contents.h"

namespace tierscope {
namespace {

// Blocks of each thread's sample.
constexpr std::size_t kSample = 64;

auto place_of(const IoRequest& block) { return std::tuple(block.file, block.offset, block.bytes); }

}  // namespace

void WrittenBlocks::clear() {
  known_.clear();
  writes_ = 0;
}

// A sample is of those so far (Vitter's algorithm R, ACM Transactions on Mathematical Software 11,
// 1985).
void WrittenBlocks::note(const IoRequest& block, bool all) {
  ++writes_;
  if (all || known_.size() < kSample) {
    known_.push_back(block);
    return;
  }
  random_ = random_ * kRandomMultiplier + kRandomIncrement;
  const auto at =
      static_cast<std::uint64_t>((static_cast<unsigned __int128>(random_) * writes_) >> 64);
  if (at < kSample) known_[at] = block;
}

std::span<const IoRequest> WrittenBlocks::distinct() {
  std::ranges::sort(known_, {}, place_of);
  const auto same = [](const IoRequest& one, const IoRequest& other) {
    return place_of(one) == place_of(other);
  };
  known_.erase(std::unique(known_.begin(), known_.end(), same), known_.end());
  return known_;
}

void IoVerification::begin(std::uint64_t generation) {
  generation_ = generation;
  images_.clear();
}

void IoVerification::add_image(std::span<const std::byte> block) {
  images_.push_back(XXH3_64bits(block.data(), block.size()));
}

void IoVerification::stamp(std::span<std::byte> block, const IoRequest& where) const {
  tierscope::stamp(block, number_of(where.file), where.offset, generation_);
}

std::uint32_t IoVerification::number_of(int file) const {
  // What is not ours has no number: one that tells the files of a job apart.
  return files_.number(file).value_or(static_cast<std::uint32_t>(file) + 1);
}

bool IoVerification::check_read(const IoMemory& buffers, std::size_t slot,
                                const IoRequest& where) const {
  constexpr std::uint64_t kAny = 1;  // Generation.
  const std::optional<bool> right = buffers.are_cells(slot, where.bytes,
                                                      {.file = number_of(where.file),
                                                       .offset = where.offset,
                                                       .min_generation = kAny,
                                                       .cell_bytes = cell_bytes_});
  if (right == true) return true;
  check(buffers.fetch(slot, where.bytes), where, kAny);
  if (!right) return false;
  throw Failure(
      fmt::format("the GPU found {} bytes at offset {} of {} wrong, but a copy of them is right",
                  where.bytes, where.offset, files_.names()[static_cast<std::size_t>(where.file)]),
      Cause::kVerification);
}

void IoVerification::check(std::span<const std::byte> block, const IoRequest& where,
                           std::uint64_t min_generation) const {
  const auto wrong =
      verify(block, number_of(where.file), where.offset, min_generation, cell_bytes_);
  if (!wrong) return;
  const std::string& path = files_.names()[static_cast<std::size_t>(where.file)];
  if (const std::string changes = files_.changes_by_others(where.file); !changes.empty()) {
    throw Failure(fmt::format("{} was written to while it was measured: it {}; {}", path, changes,
                              remedy_for_foreign(path)),
                  Cause::kOwnership);
  }
  throw Failure(wrong->text(path), Cause::kVerification);
}

// A block whose cells do not say where they belong has to consist of whole ones.
void IoVerification::check_cells(std::span<const std::byte> block, const IoRequest& where) const {
  constexpr Allowed kAnyPlace{.zeros = false, .elsewhere = true};
  for (std::size_t at = 0; at < block.size(); at += kCellBytes) {
    const auto page = block.subspan(at, std::min<std::size_t>(kCellBytes, block.size() - at));
    if (is_own(page, 0, where.offset + at, kAnyPlace)) continue;
    throw Failure(
        fmt::format("{} bytes at offset {} of {} are not what was written", page.size(),
                    where.offset + at, files_.names()[static_cast<std::size_t>(where.file)]),
        Cause::kVerification);
  }
}

// A block that was written without a header has to be what one of the buffers holds.
void IoVerification::check_image(std::span<const std::byte> block, const IoRequest& where) const {
  if (duplicates_) return check_cells(block, where);
  const std::uint64_t found = XXH3_64bits(block.data(), block.size());
  if (std::ranges::find(images_, found) != images_.end()) return;
  throw Failure(
      fmt::format("{} bytes at offset {} of {} are not what any buffer wrote", where.bytes,
                  where.offset, files_.names()[static_cast<std::size_t>(where.file)]),
      Cause::kVerification);
}

void IoVerification::read_back(std::span<const IoRequest> blocks, std::span<const int> files,
                               std::size_t block_bytes) const {
  const std::size_t whole = (block_bytes + kCellBytes - 1) / kCellBytes * kCellBytes;
  const AlignedBuffer memory = make_aligned(whole);
  for (const IoRequest& block : blocks) {
    const auto file = static_cast<std::size_t>(block.file);
    const ssize_t got =
        pread(files[file], memory.get(), block.bytes, static_cast<off_t>(block.offset));
    if (got != static_cast<ssize_t>(block.bytes)) {
      throw Failure(fmt::format("{} bytes at offset {} of {} cannot be read back: {}", block.bytes,
                                block.offset, files_.names()[file],
                                got < 0 ? strerror(errno) : "the file ends before"),
                    Cause::kVerification);
    }
    const std::span<const std::byte> data(memory.get(), block.bytes);
    cell_bytes_ != 0 ? check(data, block, generation_) : check_image(data, block);
  }
}

}  // namespace tierscope
