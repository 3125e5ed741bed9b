// A gate for streams of several processes' GPUs.
#pragma once

#include <vector>

#include "gpu/device.h"
#include "gpu/gate.h"
#include "gpu/ranks.h"

namespace tierscope {

// Each process has a flag in its own GPU's memory, which its streams poll. A kernel of the leader
// sets all of them, so that GPUs start as close to one another as those of one process do.
class RankGate final : public Gate {
 public:
  using Flag = volatile unsigned*;

  // `own`: this process's flag, 0. `all`: on the leader every rank's, as its GPU reaches them.
  RankGate(Ranks& ranks, int gpu, Flag own, const std::vector<Flag>& all);
  ~RankGate() override;

  void close() override;
  void hold(CUstream stream) override;
  // Waits until all ranks hold their streams.
  void open() override;
  void give_up() noexcept override;

 private:
  Ranks& ranks_;
  Flag own_;
  int count_;
  GpuBytes all_;  // On the leader: the flags' addresses, for its kernel.
  // Two flags in pinned host memory: the leader's own opening, and giving up.
  Flag host_ = nullptr;
  unsigned round_ = 0;
  bool holds_leader_ = false;  // In this round, the stream that opens for all is held.
};

}  // namespace tierscope
