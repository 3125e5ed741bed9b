// Operations of libpmemobj that persist blocks of a pool: transactions, atomic allocations, and the
// library's own flush.
#pragma once

#include "access/block_writes.h"
#include "memory/pmemobj.h"

namespace tierscope {

// Stores, then pmemobj_persist of the block.
BlockWriter pool_persist_writer(PmemPool* pool);

// A transaction for each operation, over the walk's next `ranges` blocks: the old contents of each
// go to the undo log (pmemobj_tx_add_range_direct) before it is stored to; the commit flushes.
// Failures return, and nothing is longjmped; throws Failure.
BlockWriter transaction_writer(PmemPool* pool, std::uint64_t ranges);

// An object of the block's size is allocated atomically, its id published in the block's first
// bytes (pmemobj_alloc), and freed again. Blocks are zero between operations. Throws Failure.
BlockWriter allocation_writer(PmemPool* pool);

// Looks whether the ids of every `step`th block are gone; returns the blocks' bytes. Throws
// Failure.
std::uint64_t compare_freed(const BlockWalk& walk, std::uint64_t step);

}  // namespace tierscope
