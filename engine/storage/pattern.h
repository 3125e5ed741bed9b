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
// Random orders other than kRandom choose some offsets more often than others.
enum class IoOrder { kSequential, kRandom, kZipf, kPareto, kNormal, kZoned };

struct BlockShare {
  std::uint32_t bytes;
  std::uint32_t weight;
};

// A share of all accesses goes to the next share of the offsets; both in percent.
struct ZoneShare {
  double accesses;
  double size;
};

// Operations go over `bytes` of a zone of `range` bytes, then leave out `skip` bytes behind it.
struct StridedZones {
  std::uint64_t bytes;
  std::uint64_t range;
  std::uint64_t skip;
};

struct IoPattern {
  IoOperation operation;
  int read_percent;  // Of kMix.
  IoOrder order;
  double skew;  // Of kZipf the exponent, of kPareto its power, of kNormal the deviation in percent.
  std::vector<ZoneShare> zones;          // Of kZoned.
  std::vector<BlockShare> blocks;        // At least one.
  std::vector<BlockShare> write_blocks;  // Of the writes of kMix; empty: `blocks`.
  std::uint64_t align;                   // Offsets are multiples of it, but for misalign.
  std::uint64_t misalign;
  std::uint64_t offset;                // Where the used range of each file begins.
  std::optional<std::uint64_t> range;  // Its bytes; up to the file's end where absent.
  std::int64_t stride = 0;             // Bytes between two operations of kSequential.
  std::uint32_t run = 1;               // Operations from each random offset on,
  bool same = false;                   // all of them at that offset.
  int random_percent = 100;            // Of random orders; the other operations go on in sequence.
  bool by_turns = false;               // Each operation is on the next file.
  std::optional<StridedZones> strided;
  std::optional<double> rate;        // Operations a second of all threads.
  std::optional<double> write_rate;  // Of it, writes of kMix, which are then timed apart.
  bool poisson;                      // Else they are spaced evenly.
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

  // The next operation; its slot is for the caller to choose, and its direction, too, where that is
  // given.
  IoRequest next(std::optional<bool> write = {});

 private:
  std::uint32_t next_block(bool write);
  bool goes_on();
  std::uint64_t random_unit();
  void place(IoRequest& operation);
  void place_on_next_file(IoRequest& operation);
  void place_in_turn(IoRequest& operation);
  void place_in_zone(IoRequest& operation);
  void move_on(std::uint32_t bytes);

  const IoPattern& pattern_;
  std::vector<FileRange> ranges_;
  std::vector<std::uint64_t> first_unit_;  // Of each range, counted over all of them.
  std::uint64_t units_;
  std::uint64_t state_;
  std::uint64_t choices_;  // State of the generator that chooses sizes and directions.
  std::optional<ZipfOrder> zipf_;
  RandomOrder random_;
  std::size_t range_ = 0;               // Of the next sequential operation,
  std::uint64_t cursor_ = 0;            // and where.
  std::uint32_t left_ = 0;              // Operations that follow a random one.
  std::uint64_t last_ = 0;              // Where the last random one was.
  std::uint64_t zone_ = 0;              // Start of a strided zone,
  std::uint64_t moved_ = 0;             // and what was moved in it.
  std::vector<std::uint64_t> cursors_;  // Of each range, where operations take files by turns.
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
