#include "storage/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "errors.h"
#include "splitmix64.h"

namespace tierscope {
namespace {

std::uint64_t below(std::uint64_t& state, std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(splitmix64(state)) * bound) >>
                                    64);
}

// In (0, 1], so that it has a logarithm.
double uniform(std::uint64_t& state) {
  return static_cast<double>((splitmix64(state) >> 11) + 1) * 0x1p-53;
}

// A number with a standard normal distribution (Box and Muller, 1958).
double normal(std::uint64_t& state) {
  const double radius = std::sqrt(-2 * std::log(uniform(state)));
  return radius * std::cos(2 * std::numbers::pi * uniform(state));
}

std::uint64_t seed_of(const IoPattern& pattern, std::size_t thread, std::uint64_t purpose) {
  std::uint64_t state = pattern.seed ^ (thread * kSplitMix64Step) ^ (purpose << 56);
  return splitmix64(state);
}

}  // namespace

std::uint32_t IoPattern::largest_block() const {
  std::uint32_t found = std::ranges::max_element(blocks, {}, &BlockShare::bytes)->bytes;
  for (const BlockShare& block : write_blocks) found = std::max(found, block.bytes);
  return found;
}

std::uint32_t IoPattern::smallest_block() const {
  std::uint32_t found = std::ranges::min_element(blocks, {}, &BlockShare::bytes)->bytes;
  for (const BlockShare& block : write_blocks) found = std::min(found, block.bytes);
  return found;
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
  if (pattern.order == IoOrder::kZipf) zipf_.emplace(units_, pattern.skew);
  const auto begin = static_cast<std::uint64_t>(share * static_cast<double>(units_));
  while (range_ + 1 < ranges_.size() && first_unit_[range_ + 1] <= begin) ++range_;
  cursor_ = ranges_[range_].first + (begin - first_unit_[range_]) * pattern.align;
  if (pattern.stride < 0) {
    range_ = ranges_.size() - 1;
    cursor_ = ranges_[range_].last - largest / pattern.align * pattern.align;
  }
  for (const FileRange& range : ranges_) cursors_.push_back(range.first);
  zone_ = ranges_.front().first;
}

IoRequest RequestStream::next(std::optional<bool> write) {
  IoRequest operation{};
  if (pattern_.write_blocks.empty()) operation.bytes = next_block(false);
  switch (pattern_.operation) {
    case IoOperation::kRead:
      operation.write = false;
      break;
    case IoOperation::kWrite:
      operation.write = true;
      break;
    case IoOperation::kMix:
      operation.write =
          write ? *write
                : below(choices_, 100) >= static_cast<std::uint64_t>(pattern_.read_percent);
      break;
  }
  if (!pattern_.write_blocks.empty()) operation.bytes = next_block(operation.write);
  if (pattern_.strided) {
    place_in_zone(operation);
  } else if (pattern_.by_turns) {
    place_on_next_file(operation);
  } else if (pattern_.order == IoOrder::kSequential || goes_on()) {
    place_in_turn(operation);
  } else {
    place(operation);
  }
  operation.offset += pattern_.misalign;
  return operation;
}

std::uint32_t RequestStream::next_block(bool write) {
  const auto& blocks =
      write && !pattern_.write_blocks.empty() ? pattern_.write_blocks : pattern_.blocks;
  if (blocks.size() == 1) return blocks.front().bytes;
  std::uint64_t weights = 0;
  for (const BlockShare& block : blocks) weights += block.weight;
  std::uint64_t at = below(choices_, weights);
  for (const BlockShare& block : blocks) {
    if (at < block.weight) return block.bytes;
    at -= block.weight;
  }
  return blocks.back().bytes;
}

// Whether the next operation of a random order goes on from the one before.
bool RequestStream::goes_on() {
  if (left_ > 0 && !pattern_.same) {
    --left_;
    return true;
  }
  return pattern_.random_percent < 100 &&
         below(choices_, 100) >= static_cast<std::uint64_t>(pattern_.random_percent);
}

std::uint64_t RequestStream::random_unit() {
  if (left_ > 0) {
    --left_;
    return last_;
  }
  left_ = pattern_.run - 1;
  if (zipf_) return zipf_->next(state_);
  const auto units = static_cast<double>(units_);
  switch (pattern_.order) {
    case IoOrder::kPareto: {
      const double power = std::log(pattern_.skew) / std::log(1 - pattern_.skew);
      auto rank = static_cast<std::uint64_t>((units - 1) * std::pow(uniform(choices_), power));
      return random_.next(rank);
    }
    case IoOrder::kNormal: {
      const double at = units / 2 + normal(choices_) * units * pattern_.skew / 100;
      auto rank = static_cast<std::uint64_t>(std::clamp(at, 0.0, units - 1));
      return random_.next(rank);
    }
    case IoOrder::kZoned: {
      double share = uniform(choices_) * 100;
      double first = 0;
      for (const ZoneShare& zone : pattern_.zones) {
        if (share <= zone.accesses || &zone == &pattern_.zones.back()) {
          const auto begin = static_cast<std::uint64_t>(units * first / 100);
          const auto end = static_cast<std::uint64_t>(units * (first + zone.size) / 100);
          return std::min(begin + below(choices_, std::max<std::uint64_t>(end - begin, 1)),
                          units_ - 1);
        }
        share -= zone.accesses;
        first += zone.size;
      }
      [[fallthrough]];
    }
    default:
      return random_.next(state_);
  }
}

void RequestStream::place(IoRequest& operation) {
  const std::uint64_t unit = last_ = random_unit();
  std::size_t range = 0;
  if (ranges_.size() > 1) {
    const auto after = std::ranges::upper_bound(first_unit_, unit);
    range = static_cast<std::size_t>(after - first_unit_.begin()) - 1;
  }
  operation.file = ranges_[range].file;
  operation.offset = ranges_[range].first + (unit - first_unit_[range]) * pattern_.align;
  range_ = range;
  cursor_ = operation.offset;
  move_on(operation.bytes);
}

void RequestStream::move_on(std::uint32_t bytes) {
  cursor_ += (bytes + pattern_.align - 1) / pattern_.align * pattern_.align;
}

void RequestStream::place_in_turn(IoRequest& operation) {
  if (cursor_ + operation.bytes > ranges_[range_].last) {
    range_ = (range_ + 1) % ranges_.size();
    cursor_ = ranges_[range_].first;
  }
  operation.file = ranges_[range_].file;
  operation.offset = cursor_;
  move_on(operation.bytes);
  if (pattern_.stride == 0) return;
  const auto back = static_cast<std::uint64_t>(-pattern_.stride);
  if (pattern_.stride > 0 || cursor_ >= ranges_[range_].first + back) {
    cursor_ += static_cast<std::uint64_t>(pattern_.stride);
    return;
  }
  range_ = (range_ + ranges_.size() - 1) % ranges_.size();
  cursor_ = ranges_[range_].last - operation.bytes / pattern_.align * pattern_.align;
}

void RequestStream::place_on_next_file(IoRequest& operation) {
  const FileRange& range = ranges_[range_];
  std::uint64_t& cursor = cursors_[range_];
  if (pattern_.order != IoOrder::kSequential) {
    const std::uint64_t last = (range.last - range.first - operation.bytes) / pattern_.align;
    cursor = range.first + below(choices_, last + 1) * pattern_.align;
  } else if (cursor + operation.bytes > range.last) {
    cursor = range.first;
  }
  operation.file = range.file;
  operation.offset = cursor;
  cursor += (operation.bytes + pattern_.align - 1) / pattern_.align * pattern_.align;
  range_ = (range_ + 1) % ranges_.size();
}

void RequestStream::place_in_zone(IoRequest& operation) {
  if (!pattern_.strided) return;
  const StridedZones& zones = *pattern_.strided;
  if (moved_ + operation.bytes > zones.bytes) {
    moved_ = 0;
    zone_ += zones.range + zones.skip;
  }
  if (zone_ + zones.range > ranges_[range_].last) {
    range_ = (range_ + 1) % ranges_.size();
    zone_ = ranges_[range_].first;
  }
  operation.file = ranges_[range_].file;
  const std::uint64_t places = (zones.range - operation.bytes) / pattern_.align + 1;
  const bool in_order = pattern_.order == IoOrder::kSequential;
  operation.offset = zone_ + (in_order ? moved_ : below(choices_, places) * pattern_.align);
  moved_ += (operation.bytes + pattern_.align - 1) / pattern_.align * pattern_.align;
}

Arrivals::Arrivals(double rate, bool poisson, std::uint64_t seed)
    : mean_ns_(1e9 / rate), poisson_(poisson), state_(seed) {}

double Arrivals::next_ns() {
  if (!poisson_) return due_ns_ += mean_ns_;
  return due_ns_ += -std::log(uniform(state_)) * mean_ns_;
}

}  // namespace tierscope
