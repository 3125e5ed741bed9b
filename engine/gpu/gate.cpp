#include "gpu/gate.h"

#include "gpu/check.h"
#include "gpu/driver.h"
#include "gpu/kernel.h"

namespace tierscope {
namespace {

constexpr const char* kHolding = "holding a stream at the gate";

using Flag = const volatile unsigned*;

Kernel<Flag, unsigned> wait_for("wait_for");
Kernel<Flag, Flag, unsigned> wait_for_either("wait_for_either");
Kernel<Flag, volatile unsigned* const*, int, unsigned> wait_and_set("wait_and_set");

}  // namespace

HostGate::HostGate() {
  void* memory = nullptr;
  check_cuda(cuda().cuMemHostAlloc(&memory, sizeof(unsigned),
                                   CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
             "allocating the gate");
  opened_ = static_cast<volatile unsigned*>(memory);
  *opened_ = 0;
}

HostGate::~HostGate() {
  *opened_ = ~0U;
  cuda().cuMemFreeHost(const_cast<unsigned*>(opened_));  // Waits for all streams first.
}

void HostGate::hold(CUstream stream) { wait_for.launch({1, 1}, stream, kHolding, opened_, round_); }

void HostGate::open() { *opened_ = round_; }

void hold_until(const volatile unsigned* flag, const volatile unsigned* other, unsigned round,
                CUstream stream) {
  wait_for_either.launch({1, 1}, stream, kHolding, flag, other, round);
}

void hold_and_set(const volatile unsigned* flag, volatile unsigned* const* others, int count,
                  unsigned round, CUstream stream) {
  constexpr unsigned kThreads = 128;
  wait_and_set.launch({1, kThreads}, stream, kHolding, flag, others, count, round);
}

}  // namespace tierscope
