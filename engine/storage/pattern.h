// Which operation a thread makes next: where, how large, in which direction, and when it is due.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "access/random_order.h"
#include "access/zipf_order.h"
#include "storage/backend.h"

namespace tierscope {

enum class IoOperation { kRead, kWrite, kMix };
enum class IoOrder { kSequential, kRandom, kZipf };

struct BlockShare {
  std::uint32_t bytes;
  std::uint32_t weight;
};

struct IoPattern {
  IoOperation operation;
  int read_percent;  // Of kMix.
  IoOrder order;
  double zipf;                     // Exponent of kZipf.
  std::vector<BlockShare> blocks;  // At least one.
  std::uint64_t align;             // Offsets are multiples of it, but for misalign.
  std::uint64_t misalign;
  std::uint64_t offset;                // Where the used range of each file begins.
  std::optional<std::uint64_t> range;  // Its bytes; up to the file's end where absent.
  std::optional<double> rate;          // Operations a second of all threads.
  bool poisson;                        // Else they are spaced evenly.
  std::uint64_t seed;

  std::uint32_t largest_block() const;
  std::uint32_t smallest_block() const;
  bool reads() const { return operation != IoOperation::kWrite; }
  bool writes() const { return operation != IoOperation::kRead; }
};

// Bytes [first, last) of one of a thread's files, both multiples of the pattern's `align`.
struct FileRange {
  int file;
  std::uint64_t first;
  std::uint64_t last;
};

// What thread `thread` of `threads` goes over of files of these sizes. Where they are `shared`, all
// of every file. Else its own file if there is one for each thread, or its share of the only one.
// Throws Unavailable where that does not hold the largest block.
std::vector<FileRange> ranges_of_thread(const IoPattern& pattern,
                                        std::span<const std::uint64_t> sizes, std::size_t thread,
                                        std::size_t threads, bool shared);

// The operations of one thread, in order. Random offsets come in a full period over all ranges.
class RequestStream {
 public:
  // `share` is where in its ranges a sequential thread begins: 0..1. The ranges are of one thread,
  // at least one; `thread` sets the random numbers apart from those of others.
  RequestStream(const IoPattern& pattern, std::vector<FileRange> ranges, std::size_t thread,
                double share);

  // The next operation; its slot is for the caller to choose.
  IoRequest next();

 private:
  std::uint32_t next_block();
  void place(IoRequest& operation);
  void place_in_turn(IoRequest& operation);

  const IoPattern& pattern_;
  std::vector<FileRange> ranges_;
  std::vector<std::uint64_t> first_unit_;  // Of each range, counted over all of them.
  std::uint64_t units_;
  std::uint64_t state_;
  std::uint64_t choices_;  // State of the generator that chooses sizes and directions.
  std::optional<ZipfOrder> zipf_;
  RandomOrder random_;
  std::uint64_t weights_ = 0;
  std::size_t range_ = 0;     // Of the next sequential operation,
  std::uint64_t cursor_ = 0;  // and where.
};

// When the operations of one thread of an open loop are due, in ns from a start.
class Arrivals {
 public:
  // `rate` is this thread's, in operations a second.
  Arrivals(double rate, bool poisson, std::uint64_t seed);
  double next_ns();

 private:
  double mean_ns_;
  bool poisson_;
  std::uint64_t state_;
  double due_ns_ = 0;
};

}  // namespace tierscope
