#include "access/array_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "access/library.h"
#include "access/random_order.h"
#include "access/zipf_order.h"
#include "errors.h"

namespace tierscope {
namespace {

// Small whole numbers, so that every operation's result is exact.
double b_at(std::size_t i) { return static_cast<double>(i % 1024 + 1); }
// A double of bytes that memset sets.
constexpr double kSet = std::bit_cast<double>(0x0101010101010101ULL * kSetByte);
double c_at(std::size_t i) { return static_cast<double>(i % 512 + 2); }

// Every update added the scalar once, so the sum tells how many there were.
std::uint64_t verify_updates(const Walk& walk, std::uint64_t accesses, const ProofSample& sample) {
  double updates = 0;
  std::size_t written = 0;
  sample.for_each([&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin / sizeof(double); i < end / sizeof(double); ++i) {
      const double here = (walk.a[i] - kOverwritten) / kWrittenScalar;
      if (here < 0 || here != std::floor(here)) {
        throw Failure(fmt::format("rmw left {}, {} bytes into a thread's share, which no number of "
                                  "updates makes of {}",
                                  walk.a[i], i * sizeof(double), kOverwritten),
                      Cause::kVerification);
      }
      updates += here;
      written += here != 0 ? 1U : 0U;
    }
  });
  const std::size_t elements = walk.access_size / sizeof(double);
  const auto expected = static_cast<double>(accesses * elements);
  if (sample.all() && updates != expected) {
    throw Failure(fmt::format("rmw updated elements {} times, but the array shows {} updates",
                              expected, updates),
                  Cause::kVerification);
  }
  return written * sizeof(double);
}

}  // namespace

void fill_b(std::span<double> share, std::size_t first) {
  for (std::size_t i = 0; i < share.size(); ++i) share[i] = b_at(first + i);
}

void fill_c(std::span<double> share, std::size_t first) {
  for (std::size_t i = 0; i < share.size(); ++i) share[i] = c_at(first + i);
}

void overwrite(const Walk& walk, const ProofSample& sample) {
  sample.for_each([&walk](std::size_t begin, std::size_t end) {
    std::fill(walk.a + begin / sizeof(double), walk.a + end / sizeof(double), kOverwritten);
  });
}

std::uint64_t verify_written(Operation operation, const Walk& walk, std::size_t first,
                             std::uint64_t accesses, const ProofSample& sample) {
  const auto count = [&](auto expected) {
    std::size_t written = 0;
    sample.for_each([&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin / sizeof(double); i < end / sizeof(double); ++i) {
        if (walk.a[i] == expected(first + i)) {
          ++written;
        } else if (walk.a[i] != kOverwritten) {
          throw Failure(fmt::format("{} left {} where {} belongs, {} bytes into a thread's share",
                                    traits_of(operation).name, walk.a[i], expected(first + i),
                                    i * sizeof(double)),
                        Cause::kVerification);
        }
      }
    });
    return written * sizeof(double);
  };
  switch (operation) {
    case Operation::kRead:
      return 0;
    case Operation::kWrite:
    case Operation::kWriteNt:
      return count([](std::size_t) { return kWrittenScalar; });
    case Operation::kMemset:
      return count([](std::size_t) { return kSet; });
    case Operation::kCopy:
    case Operation::kCopyNt:
    case Operation::kMemcpy:
      return count(b_at);
    case Operation::kScale:
    case Operation::kScaleNt:
      return count([](std::size_t i) { return kWrittenScalar * b_at(i); });
    case Operation::kAdd:
    case Operation::kAddNt:
      return count([](std::size_t i) { return b_at(i) + c_at(i); });
    case Operation::kTriad:
    case Operation::kTriadNt:
      return count([](std::size_t i) { return b_at(i) + kWrittenScalar * c_at(i); });
    case Operation::kRmw:
      break;
  }
  return verify_updates(walk, accesses, sample);
}

namespace {

// Accesses of order strided until it begins again. A pass begins at each access size below the
// stride, and the passes behind the last whole stride have one access less.
std::uint64_t strided_accesses(const Walk& walk) {
  const std::uint64_t passes = std::min(walk.stride, walk.bytes) / walk.access_size;
  const std::uint64_t last = walk.bytes - walk.access_size;
  const std::uint64_t full_passes = std::min(passes, last % walk.stride / walk.access_size + 1);
  return passes * (last / walk.stride) + full_passes;
}

}  // namespace

std::uint64_t walked_bytes(Order order, const Walk& walk, std::uint64_t accesses) {
  const std::uint64_t blocks = order == Order::kStrided ? strided_accesses(walk) : walk.accesses();
  std::uint64_t reached = std::min(accesses, blocks);
  if (order == Order::kRandom) {
    const std::uint64_t period = RandomOrder(blocks).period();
    // Until the period is over, two states may have led to one block.
    if (period != blocks && accesses < period) reached = std::min(reached, accesses / 2);
  }
  return reached * walk.access_size;
}

std::uint64_t zipf_bytes(const Walk& walk, std::uint64_t seed, std::uint64_t accesses) {
  constexpr std::uint64_t kMaxCounted = 1U << 22;
  std::vector<bool> seen(walk.accesses());
  std::uint64_t distinct = 0;
  for (std::uint64_t i = 0; i < std::min(accesses, kMaxCounted); ++i) {
    const std::uint64_t block = walk.zipf->next(seed);
    distinct += seen[block] ? 0 : 1;
    seen[block] = true;
  }
  return distinct * walk.access_size;
}

}  // namespace tierscope
