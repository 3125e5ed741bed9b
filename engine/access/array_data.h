// What the arrays of the access kernels hold before and after they are written.
#pragma once

#include <cstdint>

#include "access/kernel.h"

namespace tierscope {

// The scalar s of the kernels that write, for walks whose data is to be verified.
inline constexpr double kWrittenScalar = 3.0;

// Bytes after which what fill() leaves in the arrays repeats, so that shares of whole periods hold
// what one filling of them all would.
inline constexpr std::size_t kFillPeriod = 1024 * sizeof(double);

// Fills a thread's share of the arrays, so that what each operation writes differs from what was
// there before.
void fill(const Walk& walk);

// Compares what a thread's `accesses` wrote since fill() with what they should have written; throws
// Failure at the first wrong element. Returns the bytes of array a that were written at least once.
std::uint64_t verify_written(Operation operation, const Walk& walk, std::uint64_t accesses);

// Distinct bytes of a thread's share of an array that so many accesses from its beginning reached;
// in random order at least so many, since the generator may have come to a block twice.
std::uint64_t walked_bytes(Order order, const Walk& walk, std::uint64_t accesses);

}  // namespace tierscope
