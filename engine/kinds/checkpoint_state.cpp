#include "kinds/checkpoint_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "errors.h"
#include "splitmix64.h"
#include "storage/contents.h"

namespace tierscope {
namespace {

CellHeader header_of(const std::byte* cell) {
  CellHeader header{};
  std::memcpy(&header, cell, sizeof header);
  return header;
}

// Cells that verify() calls right are of this generation or of a later one.
std::optional<std::string> later(std::span<const std::byte> data, std::uint64_t offset,
                                 std::uint64_t generation) {
  for (std::size_t at = 0; at < data.size(); at += kCellBytes) {
    const std::uint64_t found = header_of(data.data() + at).generation;
    if (found == generation) continue;
    return fmt::format("the state, offset {}: expected generation {}, found generation {}",
                       offset + at, generation, found);
  }
  return std::nullopt;
}

}  // namespace

CheckpointState::CheckpointState(std::span<std::byte> memory, std::size_t block_bytes) {
  for (std::size_t at = 0; at < memory.size(); at += block_bytes) {
    blocks_.push_back({.data = memory.data() + at,
                       .offset = at,
                       .bytes = std::min(block_bytes, memory.size() - at)});
  }
}

CheckpointState::CheckpointState(const GpuBuffersWish& wish, std::uint64_t bytes)
    : gpu_(make_gpu_buffers(wish)) {
  std::uint64_t at = 0;
  for (std::byte* const slot : gpu_->slots()) {
    blocks_.push_back(
        {.data = slot,
         .offset = at,
         .bytes = static_cast<std::size_t>(std::min<std::uint64_t>(wish.bytes, bytes - at))});
    at += wish.bytes;
  }
}

std::uint64_t CheckpointState::bytes() const {
  return blocks_.back().offset + blocks_.back().bytes;
}

void CheckpointState::fill(std::size_t block) {
  edit(block, [&](std::span<std::byte> data) {
    // prepare() writes every byte.
    prepare(data, splitmix64_mixed(block + 1), 0);
  });
}

void CheckpointState::change(std::size_t block, std::uint32_t file, std::uint64_t generation) {
  const std::uint64_t offset = blocks_[block].offset;
  edit(block, [&](std::span<std::byte> data) {
    if (header_of(data.data()).magic != kCellMagic) {
      throw Failure(
          fmt::format("the state, offset {}: what it was filled with is not there", offset),
          Cause::kVerification);
    }
    stamp(data, file, offset, generation);
  });
}

void CheckpointState::forget(std::size_t block) {
  edit(block, [](std::span<std::byte> data) {
    for (std::size_t at = 0; at < data.size(); at += kCellBytes) {
      std::memset(data.data() + at, 0, sizeof(CellHeader::magic));
    }
  });
}

std::optional<std::string> CheckpointState::wrong(std::size_t block, std::uint32_t file,
                                                  std::uint64_t generation) const {
  const Block& one = blocks_[block];
  std::vector<std::byte> copy;
  std::span<const std::byte> data(one.data, one.bytes);
  if (gpu_) {
    const ExpectedCells expected{file, one.offset, generation, kCellBytes};
    if (gpu_->are_cells(block, one.bytes, expected) == true) return std::nullopt;
    copy.resize(one.bytes);
    copy_out(block, copy.data());
    data = copy;
  }
  if (const auto found = verify(data, file, one.offset, generation)) {
    return found->text("the state");
  }
  return later(data, one.offset, generation);
}

void CheckpointState::copy_out(std::size_t block, std::byte* to) const {
  const Block& one = blocks_[block];
  if (gpu_) {
    gpu_->copy_out(block, {to, one.bytes});
  } else {
    std::memcpy(to, one.data, one.bytes);
  }
}

void CheckpointState::copy_in(std::size_t block, const std::byte* from) {
  const Block& one = blocks_[block];
  if (gpu_) {
    gpu_->copy_in(block, {from, one.bytes});
  } else {
    std::memcpy(one.data, from, one.bytes);
  }
}

void CheckpointState::edit(std::size_t block,
                           const std::function<void(std::span<std::byte>)>& work) {
  const Block& one = blocks_[block];
  if (!gpu_) return work({one.data, one.bytes});
  std::vector<std::byte> copy(one.bytes);
  copy_out(block, copy.data());
  work(copy);
  copy_in(block, copy.data());
}

}  // namespace tierscope
