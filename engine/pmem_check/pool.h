// A writer of a libpmemobj pool: each generation changes a root object of several lines, puts a new
// object at the head of a list and, once the list is long enough, frees the one at its end.
#pragma once

#include <string>

#include "memory/pmemobj.h"
#include "pmem_check/durable_memory.h"

namespace tierscope {

class PoolWriter {
 public:
  // Makes a pool of a file of zeros of at least kPmemMinPool bytes. Without transactions each
  // change is persisted by itself, so that a crash between two of them shows. Throws Unavailable,
  // Failure.
  PoolWriter(const std::string& path, bool transactions);
  ~PoolWriter();
  PoolWriter(const PoolWriter&) = delete;
  PoolWriter& operator=(const PoolWriter&) = delete;

  // Writes a generation, from 1 in steps of 1; it is durable when this returns. Throws Failure.
  void write(std::uint64_t generation);

 private:
  void change_root(std::uint64_t generation);
  void change_list(std::uint64_t generation);
  void drop_last();
  PmemId allocate();
  void release(PmemId id);
  void changing(const void* at, std::size_t bytes);
  void changed(const void* at, std::size_t bytes);

  const Pmemobj& pmem_;
  bool transactions_;
  PmemPool* pool_ = nullptr;
  void* root_ = nullptr;
};

// Opens the pool, by which libpmemobj recovers it, and looks for: a root of one generation, a list
// of the generations up to that one, no objects beside those of the list, and a heap that
// libpmemobj takes for consistent. A pool that cannot be opened is a problem, too. Throws
// Unavailable where there is no libpmemobj.
Survivor read_pool(const std::string& path);

}  // namespace tierscope
