// Two slots for checkpoints of one state: what is saved, in which order, and how a program that was
// killed finds the last good one.
//
// Each slot is a header of kCellBytes and the state behind it. Generation g goes into slot g % 2,
// so that the last good checkpoint stays untouched while the next one is written. The header comes
// last: once it is durable the new checkpoint is the last good one, and before that the older one
// is. A header has a checksum (XXH3), and so has every cell of the state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kinds/checkpoint_state.h"
#include "kinds/checkpoint_target.h"
#include "threads/disturbance.h"
#include "threads/team.h"

namespace tierscope {

struct Restart {
  std::uint64_t generation;  // Of the state now; 0: there is no good checkpoint.
  double seconds;            // Opened, read back and verified.
  std::string rejected;      // What was wrong with a newer one, whose header was there already.
};

class Checkpoints {
 public:
  // Of `file`, the number that the state's cells carry. Everything outlives this object.
  Checkpoints(Team& team, CheckpointState& state, CheckpointTarget& target, std::uint32_t file);

  // Bytes of both slots, for a state of so many bytes.
  static std::uint64_t target_bytes(std::uint64_t state_bytes);

  // Opens the target, and makes both slots empty.
  void erase();

  // What a program computes between two checkpoints: the state's next generation.
  void change();
  std::uint64_t generation() const { return generation_; }

  // Saves the state; seconds until it was durable.
  double save();

  // Seconds that others took from the CPUs of the threads during the last save() or restart(), from
  // the thread that lost most.
  double lost_s() const;

  // The two halves of save(), which tests kill in between: the state without its header is no
  // checkpoint.
  void save_state();
  void save_header();

  // Opens the target anew and reads the last good checkpoint into the state, whose contents were
  // forgotten before. Throws Failure.
  Restart restart();

 private:
  std::uint64_t slot_at(std::uint64_t generation) const;
  // On each thread. What it loses counts from the end of the last untimed work on.
  void run_timed(const std::function<void(int thread)>& work);
  void on_each_block(const std::function<void(std::size_t block)>& work);
  std::optional<std::string> read_back(std::uint64_t generation);

  Team& team_;
  CheckpointState& state_;
  CheckpointTarget& target_;
  std::uint32_t file_;
  std::uint64_t generation_ = 0;
  std::vector<std::optional<RunQueueDelay>> queues_;  // One for each thread; so has the next.
  std::vector<double> lost_s_;
};

}  // namespace tierscope
