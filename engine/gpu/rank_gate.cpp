#include "gpu/rank_gate.h"

#include "gpu/check.h"

namespace tierscope {

RankGate::RankGate(Ranks& ranks, int gpu, Flag own, const std::vector<Flag>& all)
    : ranks_(ranks), own_(own), count_(static_cast<int>(all.size())) {
  void* memory = nullptr;
  check_cuda(cuda().cuMemHostAlloc(&memory, 2 * sizeof(unsigned), CU_MEMHOSTALLOC_PORTABLE),
             "allocating the gate");
  host_ = static_cast<Flag>(memory);
  host_[0] = 0;
  host_[1] = 0;
  if (all.empty()) return;
  all_ = make_gpu_bytes(gpu, all.size() * sizeof(Flag));
  const void* const flags = static_cast<const void*>(all.data());
  copy_and_wait(all_.get(), flags, all.size() * sizeof(Flag), make_stream(gpu),
                "preparing the gate");
}

RankGate::~RankGate() {
  give_up();
  cuda().cuMemFreeHost(const_cast<unsigned*>(host_));  // Waits for all streams first.
}

void RankGate::close() {
  ++round_;
  holds_leader_ = false;
}

void RankGate::hold(CUstream stream) {
  if (ranks_.leads() && !holds_leader_) {
    hold_and_set(host_, reinterpret_cast<volatile unsigned* const*>(all_.get()), count_, round_,
                 stream);
    holds_leader_ = true;
  } else {
    hold_until(own_, host_ + 1, round_, stream);
  }
}

void RankGate::open() {
  ranks_.meet("held");
  if (ranks_.leads()) host_[0] = round_;
}

void RankGate::give_up() noexcept {
  host_[0] = ~0U;
  host_[1] = ~0U;
}

}  // namespace tierscope
