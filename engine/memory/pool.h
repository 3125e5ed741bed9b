// A libpmemobj pool whose objects are arrays, in a file without a name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "memory/placement.h"
#include "memory/pmemobj.h"
#include "storage/descriptor.h"

namespace tierscope {

// A part of an array: `id` leads to its first byte, which begins a page.
struct PoolPiece {
  PmemId id;
  std::byte* data;
  std::size_t bytes;
};

// Arrays larger than an object, or than what is left of a zone of the pool, have several pieces.
using PoolArray = std::vector<PoolPiece>;

struct PoolWanted {
  std::size_t bytes;                        // Of an array: a multiple of unit_bytes.
  std::size_t count;                        // Arrays.
  std::size_t unit_bytes;                   // Pieces are multiples of it and aligned to it.
  std::size_t max_object = kPmemMaxObject;  // Less, for tests.
  std::size_t spare = 0;  // Bytes of the heap beyond arrays, for undo logs and objects.
};

class Pool {
 public:
  // Makes a pool with these arrays below placement.persistent's path; of a `bound` one every page
  // is on its node. Stores to tmpfs are taken for those to persistent memory (they are flushed, not
  // written by msync) where no pool of another kind was opened before in this process, as
  // libpmemobj decides that once. Throws Unavailable where libpmemobj is not installed, the
  // directory cannot be written or has no room.
  Pool(const PoolWanted& wanted, const Placement& placement);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // As at a program's end and at the next one's begin: the file stays, and arrays get other
  // addresses. Neither does anything the second time. open throws Unavailable.
  void close();
  void open();

  PmemPool* get() const { return pool_; }
  const Descriptor& file() const { return file_; }

  // The next array that nobody has taken; at most `count` times.
  const PoolArray& take() { return arrays_.at(taken_++); }
  const PoolArray& array(std::size_t index) const { return arrays_.at(index); }

  // Whether libpmemobj makes the pool durable by flushing lines, not by msync: where it is mapped
  // by MAP_SYNC, or libpmem takes the memory for persistent.
  bool is_pmem() const;

 private:
  void allocate(const PoolWanted& wanted, const std::vector<std::vector<std::size_t>>& pieces);

  Descriptor file_;
  PmemPool* pool_ = nullptr;
  std::vector<PoolArray> arrays_;
  std::size_t taken_ = 0;
};

// Bytes of the pieces of each array, so that objects fill zones of the pool one after the other.
// Pure.
std::vector<std::vector<std::size_t>> cut_into_pieces(const PoolWanted& wanted);

}  // namespace tierscope
