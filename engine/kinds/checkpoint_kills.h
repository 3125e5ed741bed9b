// A program that saves checkpoints is killed (SIGKILL) at random moments, and started again.
#pragma once

#include <cstdint>
#include <vector>

#include "kinds/checkpoint_state.h"
#include "kinds/checkpoint_target.h"

namespace tierscope {

struct KillsReport {
  int kills = 0;
  int while_saving = 0;  // Of those, kills that came while a checkpoint was being written,
  int went_on = 0;       // and of these, after which the new checkpoint was durable all the same.
};

struct KillsWish {
  int kills;
  double save_s;  // About how long a checkpoint takes; one that takes 100 times as long hangs.
  std::uint64_t seed;
  std::vector<int> cpus;  // Of the program's threads.
  std::uint32_t file;     // As of Checkpoints.
};

// Each time a child process restarts from the last good checkpoint, then computes and saves, until
// it is killed. The next one has to find the checkpoint that was durable last, or the one that was
// being written if all of it is there, every cell of it right; so has this process after the last
// kill. The processes share nothing but the target. Throws Failure where one finds something else,
// and Interrupted. The state has to be in host memory: CUDA does not outlive fork(2).
//
// The kernel keeps what a killed process has stored and written, so this proves the order of steps
// and not that they reached the medium.
KillsReport kill_writers(const KillsWish& wish, CheckpointState& state, CheckpointTarget& target,
                         std::uint64_t saved);

}  // namespace tierscope
