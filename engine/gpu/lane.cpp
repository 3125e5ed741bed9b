#include "gpu/lane.h"

#include <utility>

#include "gpu/check.h"
#include "gpu/copy_kernels.h"

namespace tierscope {

void Lane::queue_copies() {
  std::byte* destination = to->data() + first;
  const std::byte* source = from->data() + first;
  if (from == to) {  // Managed memory that changes sides.
    if (transfer->source.on_host()) {
      from->prefetch_to_gpu(transfer->gpu, stream.get());
    } else {
      from->prefetch_home(stream.get());
    }
    return;
  }
  switch (transfer->engine) {
    case CopyEngine::kCopyEngine:
      for (int i = 0; i < copies; ++i) {
        if (row_bytes == 0) {
          const std::size_t piece = bytes / static_cast<std::size_t>(pieces);
          const std::size_t at = piece * (done++ % static_cast<std::size_t>(pieces));
          check_cuda(cudaMemcpyAsync(destination + at, source + at, piece, cudaMemcpyDefault,
                                     stream.get()),
                     "copying");
        } else {
          check_cuda(cudaMemcpy2DAsync(destination, pitch, source, pitch, row_bytes,
                                       bytes / row_bytes, cudaMemcpyDefault, stream.get()),
                     "copying rows");
        }
      }
      return;
    case CopyEngine::kMultiprocessors:
      if (opposite) {
        return launch_exchange({destination, source},
                               {opposite->to->data() + first, opposite->from->data() + first},
                               bytes, copies, blocks, stream.get());
      }
      // A grid that does not fit the GPU at once gets a launch for each pass: see streaming.cpp.
      for (int i = 0; i < (single_pass ? copies : 1); ++i) {
        launch_copy(destination, source, bytes, single_pass ? 1 : copies, blocks, stream.get());
      }
      return;
    case CopyEngine::kBulk:
      return launch_bulk_copy(destination, source, bytes, copies, blocks, stream.get());
  }
}

Timeline Lane::timeline(const Event& reference) const {
  std::vector<double> times{seconds_between(reference, start)};
  for (const Event& checkpoint : checkpoints)
    times.push_back(seconds_between(reference, checkpoint));
  const double end = times[checkpoints.size() - checkpoint_plan.tail];
  return {.times = std::move(times),
          .bytes = std::vector<double>(checkpoints.size(), bytes_per_checkpoint()),
          .end = end};
}

}  // namespace tierscope
