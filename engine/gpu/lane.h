// One stream's share of a transfer, and the clock on it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/device.h"
#include "gpu/specs.h"

namespace tierscope {

// The opposite transfer, where one kernel makes both.
struct Opposite {
  std::size_t transfer_index;
  const Buffer* from;
  const Buffer* to;
};

struct Lane {
  const Transfer* transfer;
  std::size_t transfer_index;
  const Buffer* from;
  const Buffer* to;
  std::size_t first;      // Byte of both buffers where the lane's part begins.
  std::size_t bytes;      // Of that part.
  std::size_t row_bytes;  // 2D copies, else 0.
  std::size_t pitch;
  std::optional<Opposite> opposite{};  // Moves the same bytes in the same time.
  int blocks = 1;                      // Of a kernel.
  bool single_pass = false;            // Its grid is so large that each thread works once.
  int pieces = 1;                      // Copies that the part is cut into.
  int copies = 1;                      // Of a piece each, queued from one mark to the next.
  Stream stream;
  Event start;
  std::vector<Event> marks;

  // Queues `copies`; `done` of the lane's were queued before. The lane's GPU is current.
  void queue_copies(int done) const;
  double bytes_per_mark() const {
    return static_cast<double>(bytes) / pieces * static_cast<double>(copies);
  }
  // Seconds of start and of each mark after `reference`, an event of the same GPU.
  std::vector<double> times(const Event& reference) const;
};

}  // namespace tierscope
