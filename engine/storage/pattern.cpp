#include "storage/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "errors.h"
#include "splitmix64.h"

namespace tierscope {
namespace {

std::uint64_t below(std::uint64_t& state, std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(splitmix64(state)) * bound) >>
                                    64);
}

std::uint64_t seed_of(const IoPattern& pattern, std::size_t thread, std::uint64_t purpose) {
  std::uint64_t state = pattern.seed ^ (thread * kSplitMix64Step) ^ (purpose << 56);
  return splitmix64(state);
}

}  // namespace

std::uint32_t IoPattern::largest_block() const {
  return std::ranges::max_element(blocks, {}, &BlockShare::bytes)->bytes;
}

std::uint32_t IoPattern::smallest_block() const {
  return std::ranges::min_element(blocks, {}, &BlockShare::bytes)->bytes;
}

std::vector<FileRange> ranges_of_thread(const IoPattern& pattern,
                                        std::span<const std::uint64_t> sizes, std::size_t thread,
                                        std::size_t threads, bool shared) {
  const auto used = [&](std::size_t file) {
    std::uint64_t last = sizes[file] - std::min(pattern.misalign, sizes[file]);
    if (pattern.range) last = std::min(last, pattern.offset + *pattern.range);
    const std::uint64_t first = pattern.offset / pattern.align * pattern.align;
    return FileRange{.file = static_cast<int>(file),
                     .first = first,
                     .last = std::max(first, last / pattern.align * pattern.align)};
  };
  std::vector<FileRange> ranges;
  if (shared) {
    for (std::size_t file = 0; file < sizes.size(); ++file) ranges.push_back(used(file));
  } else if (sizes.size() == threads) {
    ranges.push_back(used(thread));
  } else {
    const FileRange whole = used(0);
    const std::uint64_t units = (whole.last - whole.first) / pattern.align;
    ranges.push_back({.file = 0,
                      .first = whole.first + units * thread / threads * pattern.align,
                      .last = whole.first + units * (thread + 1) / threads * pattern.align});
  }
  for (const FileRange& range : ranges) {
    if (range.last - range.first < pattern.largest_block()) {
      throw Unavailable(
          Cause::kStorage,
          fmt::format("a thread has {} bytes of file {} to go over, less than a block of {}",
                      range.last - range.first, range.file, pattern.largest_block()),
          "ask for larger files, fewer threads or smaller blocks");
    }
  }
  return ranges;
}

RequestStream::RequestStream(const IoPattern& pattern, std::vector<FileRange> ranges,
                             std::size_t thread, double share)
    : pattern_(pattern),
      ranges_(std::move(ranges)),
      units_(0),
      state_(seed_of(pattern, thread, 1)),
      choices_(seed_of(pattern, thread, 2)),
      random_(1) {
  const std::uint64_t largest = pattern.largest_block();
  for (const FileRange& range : ranges_) {
    first_unit_.push_back(units_);
    // Every unit of a range can begin its largest block.
    units_ += (range.last - range.first - largest) / pattern.align + 1;
  }
  random_ = RandomOrder(units_);
  if (pattern.order == IoOrder::kZipf) zipf_.emplace(units_, pattern.zipf);
  for (const BlockShare& block : pattern.blocks) weights_ += block.weight;
  const auto begin = static_cast<std::uint64_t>(share * static_cast<double>(units_));
  while (range_ + 1 < ranges_.size() && first_unit_[range_ + 1] <= begin) ++range_;
  cursor_ = ranges_[range_].first + (begin - first_unit_[range_]) * pattern.align;
}

IoRequest RequestStream::next() {
  IoRequest operation{};
  operation.bytes = next_block();
  switch (pattern_.operation) {
    case IoOperation::kRead:
      operation.write = false;
      break;
    case IoOperation::kWrite:
      operation.write = true;
      break;
    case IoOperation::kMix:
      operation.write = below(choices_, 100) >= static_cast<std::uint64_t>(pattern_.read_percent);
      break;
  }
  if (pattern_.order == IoOrder::kSequential) {
    place_in_turn(operation);
  } else {
    place(operation);
  }
  operation.offset += pattern_.misalign;
  return operation;
}

std::uint32_t RequestStream::next_block() {
  if (pattern_.blocks.size() == 1) return pattern_.blocks.front().bytes;
  std::uint64_t at = below(choices_, weights_);
  for (const BlockShare& block : pattern_.blocks) {
    if (at < block.weight) return block.bytes;
    at -= block.weight;
  }
  return pattern_.blocks.back().bytes;
}

void RequestStream::place(IoRequest& operation) {
  const std::uint64_t unit = zipf_ ? zipf_->next(state_) : random_.next(state_);
  std::size_t range = 0;
  if (ranges_.size() > 1) {
    const auto after = std::ranges::upper_bound(first_unit_, unit);
    range = static_cast<std::size_t>(after - first_unit_.begin()) - 1;
  }
  operation.file = ranges_[range].file;
  operation.offset = ranges_[range].first + (unit - first_unit_[range]) * pattern_.align;
}

void RequestStream::place_in_turn(IoRequest& operation) {
  if (cursor_ + operation.bytes > ranges_[range_].last) {
    range_ = (range_ + 1) % ranges_.size();
    cursor_ = ranges_[range_].first;
  }
  operation.file = ranges_[range_].file;
  operation.offset = cursor_;
  cursor_ += (operation.bytes + pattern_.align - 1) / pattern_.align * pattern_.align;
}

Arrivals::Arrivals(double rate, bool poisson, std::uint64_t seed)
    : mean_ns_(1e9 / rate), poisson_(poisson), state_(seed) {}

double Arrivals::next_ns() {
  if (!poisson_) return due_ns_ += mean_ns_;
  // Uniform in (0, 1], so that the logarithm exists.
  const double uniform = static_cast<double>((splitmix64(state_) >> 11) + 1) * 0x1p-53;
  return due_ns_ += -std::log(uniform) * mean_ns_;
}

}  // namespace tierscope
