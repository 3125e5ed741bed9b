// What the arrays of the access kernels hold before and after they are written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "access/kernel.h"
#include "splitmix64.h"

namespace tierscope {

// The scalar s of the kernels that write, for walks whose data is to be verified.
inline constexpr double kWrittenScalar = 3.0;

// Bytes after which what the arrays hold repeats, so that shares of whole periods hold
// what one filling of them all would.
inline constexpr std::size_t kFillPeriod = 1024 * sizeof(double);

// The blocks of a thread's share that are overwritten before a repetition and compared after it.
class ProofSample {
 public:
  static constexpr std::size_t kBlock = 4096;  // Bytes; the last one may be shorter.
  static constexpr std::size_t kMinBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMaxOneIn = 64;

  // All blocks of a share of `bytes`.
  explicit ProofSample(std::size_t bytes) : bytes_(bytes) {}
  // One in 64, at least kMinBytes on average, at random places that the seed decides.
  ProofSample(std::size_t bytes, std::uint64_t seed)
      : bytes_(bytes),
        one_in_(std::clamp(bytes / kMinBytes, std::size_t{1}, kMaxOneIn)),
        seed_(seed) {}

  bool all() const { return one_in_ == 1; }

  // Calls visit(first, last) with the range in bytes of each block, in order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t first = 0; first < bytes_; first += kBlock) {
      if (all() || mixed(first / kBlock) % one_in_ == 0) {
        visit(first, std::min(first + kBlock, bytes_));
      }
    }
  }

  // Bytes of all its blocks.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for_each([&sum](std::size_t first, std::size_t last) { sum += last - first; });
    return sum;
  }

 private:
  std::uint64_t mixed(std::uint64_t block) const {
    return splitmix64_mixed(seed_ * 0xd1342543de82ef95ULL + block * kSplitMix64Step);
  }

  std::size_t bytes_;
  std::size_t one_in_ = 1;
  std::uint64_t seed_ = 0;
};

// What overwrite() leaves in array a.
inline constexpr double kOverwritten = -1.0;

// Fills a thread's share of array b, or c, with what it always holds. `first` is the number, within
// the whole array, of the share's first element: however an array is divided, it holds the same.
void fill_b(std::span<double> share, std::size_t first);
void fill_c(std::span<double> share, std::size_t first);

// Overwrites the blocks of a thread's share of array a, so that what each operation writes differs
// from what was there before.
void overwrite(const Walk& walk, const ProofSample& sample);

// Compares what a thread's `accesses` since overwrite() wrote to these blocks with what they should
// have written; throws Failure at the first wrong element. Of rmw, the number of updates is
// compared only where the sample is all. Returns the bytes of the blocks that were written at least
// once.
std::uint64_t verify_written(Operation operation, const Walk& walk, std::size_t first,
                             std::uint64_t accesses, const ProofSample& sample);

// Distinct bytes of a thread's share of an array that so many accesses from its beginning reached;
// in random order at least so many, since the generator may have come to a block twice.
// Not for order zipf.
std::uint64_t walked_bytes(Order order, const Walk& walk, std::uint64_t accesses);

// The same of order zipf, which returns to its hot blocks all the time: the first accesses, four
// million at most, are generated again from the state `seed` and their blocks counted.
std::uint64_t zipf_bytes(const Walk& walk, std::uint64_t seed, std::uint64_t accesses);

}  // namespace tierscope
