// One stream's share of a transfer, and the clock on it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/device.h"
#include "gpu/specs.h"
#include "sampling/timelines.h"

namespace tierscope {

// The opposite transfer, where one kernel makes both.
struct Opposite {
  std::size_t transfer_index;
  const Buffer* from = nullptr;
  const Buffer* to = nullptr;
};

// Where a lane says how far it is. Each checkpoint is an event, which keeps a copy engine waiting
// for some 8 us.
struct CheckpointPlan {
  std::size_t count;  // At even distances; the last is the lane's end.
  std::size_t tail;   // Of them after what counts: until the end the other lanes are contested.
  double seconds;     // Least time between two; large copies are cut to twice that at most.
};
constexpr CheckpointPlan kAlone{.count = 1, .tail = 0, .seconds = 0};
constexpr CheckpointPlan kKernelAmongOthers{.count = 3, .tail = 1, .seconds = 0};
constexpr CheckpointPlan kCopyAmongOthers{.count = 3, .tail = 1, .seconds = 10e-3};

struct Lane {
  const Transfer* transfer;
  std::size_t transfer_index;
  const Buffer* from = nullptr;
  const Buffer* to = nullptr;
  std::size_t first;      // Byte of both buffers where the lane's part begins.
  std::size_t bytes;      // Of that part.
  std::size_t row_bytes;  // 2D copies, else 0.
  std::size_t pitch;
  bool ours;  // Another process has the GPU of the others, which have no stream here.
  std::optional<Opposite> opposite{};  // Moves the same bytes in the same time.
  int blocks = 1;                      // Of a kernel.
  bool single_pass = false;            // Its grid is so large that each thread works once.
  int pieces = 1;                      // Copies that the part is cut into.
  int copies = 1;                      // Of a piece each, queued from one checkpoint to the next.
  std::size_t done = 0;                // Pieces queued so far.
  Stream stream;
  Event start;
  CheckpointPlan checkpoint_plan;
  std::vector<Event> checkpoints;

  // Queues `copies`, each of the piece after the one before. The lane's GPU is current.
  void queue_copies();
  double bytes_per_checkpoint() const {
    return static_cast<double>(bytes) / pieces * static_cast<double>(copies);
  }
  // What it did, in seconds after `reference`, an event of the same GPU.
  Timeline timeline(const Event& reference) const;
};

}  // namespace tierscope
