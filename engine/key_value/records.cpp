#include "key_value/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "splitmix64.h"

namespace tierscope::key_value {
namespace {

constexpr unsigned kPlaceBits = 16;

// One-to-one, so that records differ.
std::uint64_t mark_of(std::uint64_t record) { return splitmix64_mixed(record + kSplitMix64Step); }

std::array<char, 8> bytes_of(std::uint64_t mark) {
  return std::bit_cast<std::array<char, 8>>(mark);
}

std::size_t place_of(std::uint64_t mark) { return mark >> (64 - kPlaceBits); }

}  // namespace

std::string key_of(std::uint64_t record) { return fmt::format("user{}", record); }

Records::Records(std::uint64_t count, std::size_t value_bytes)
    : count_(count), value_bytes_(value_bytes) {
  std::uint64_t state = 1;
  while (random_.size() < (std::size_t{1} << kPlaceBits) + value_bytes) {
    const std::array<char, 8> word = bytes_of(splitmix64(state));
    random_.append(word.data(), word.size());
  }
}

std::string Records::value_of(std::uint64_t record) const {
  const std::uint64_t mark = mark_of(record);
  const std::array<char, 8> head = bytes_of(mark);
  std::string value = random_.substr(place_of(mark), value_bytes_);
  std::copy_n(head.begin(), std::min(head.size(), value.size()), value.begin());
  return value;
}

bool Records::is_value_of(std::uint64_t record, std::string_view found) const {
  if (found.size() != value_bytes_) return false;
  const std::uint64_t mark = mark_of(record);
  const std::array<char, 8> head = bytes_of(mark);
  const std::size_t marked = std::min(head.size(), found.size());
  return std::memcmp(found.data(), head.data(), marked) == 0 &&
         std::memcmp(found.data() + marked, random_.data() + place_of(mark) + marked,
                     found.size() - marked) == 0;
}

Choices::Choices(std::uint64_t records, double skew, double writes, std::uint64_t seed)
    : records_(records),
      writes_(writes),
      order_(splitmix64_mixed(2 * seed)),
      kinds_(splitmix64_mixed(2 * seed + 1)) {
  if (skew > 0) zipf_.emplace(records, skew);
}

Request Choices::next() {
  const auto share = [](std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; };
  const std::uint64_t record =
      zipf_ ? zipf_->next(order_)
            : static_cast<std::uint64_t>(
                  (static_cast<unsigned __int128>(splitmix64(order_)) * records_) >> 64);
  return {.record = record, .write = writes_ > 0 && share(splitmix64(kinds_)) < writes_};
}

}  // namespace tierscope::key_value
