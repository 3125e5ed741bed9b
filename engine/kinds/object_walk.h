// STREAM's loops over objects of a pool whose ids are translated for each element, as programs do
// that use the macros D_RW and D_RO of libpmemobj.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "access/kernel.h"
#include "memory/pool.h"

namespace tierscope {

// The arrays a, b and c, as far as the operation has them.
using ObjectArrays = std::vector<const PoolArray*>;

// As a Kernel does in sequential order; copy, scale, add and triad only. walk's arrays begin at
// byte `first` of the objects'. Each element's ids are looked up in what this thread found out last
// about a pool (libpmemobj's _pobj_cached_pool), so the loop cannot be made one of vectors.
void walk_objects(Operation operation, const ObjectArrays& arrays, std::size_t first,
                  const Walk& walk, Position& position, std::uint64_t count);

}  // namespace tierscope
