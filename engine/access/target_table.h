// What one instruction set's compilation of kernel_simd.cpp offers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "access/column_scan.h"
#include "access/kernel.h"

namespace tierscope {

struct KernelRow {
  Kernel sequential;
  Kernel reverse;
  Kernel strided;
  Kernel random;
  Kernel zipf;
};

struct TargetTable {
  std::int64_t target;                                  // Highway's bit for it (HWY_AVX2, ...).
  std::array<KernelRow, kKernelOperations> operations;  // In the order of kOperations.
  KernelRow addresses;  // The same loops without the accesses; none of order sequential.
  std::array<std::array<MixedKernel, 3>, 4> mixed;  // By stores, then sequential, random, zipf.
  std::array<std::array<ScanKernel, 2>, 2> scans;   // Keys of 4 and 8 bytes; counts, positions.
};

}  // namespace tierscope
