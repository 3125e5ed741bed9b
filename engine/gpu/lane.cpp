#include "gpu/lane.h"

#include <utility>

#include "gpu/check.h"
#include "gpu/copy_kernels.h"

namespace tierscope {

namespace {

CUresult copy_rows(std::byte* destination, const std::byte* source, std::size_t pitch,
                   std::size_t row_bytes, std::size_t rows, const Stream& stream) {
  const CUDA_MEMCPY2D copy{.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = address_of(source),
                           .srcPitch = pitch,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = address_of(destination),
                           .dstPitch = pitch,
                           .WidthInBytes = row_bytes,
                           .Height = rows};
  return cuda().cuMemcpy2DAsync(&copy, stream.get());
}

}  // namespace

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
          check_cuda(cuda().cuMemcpyAsync(address_of(destination + at), address_of(source + at),
                                          piece, stream.get()),
                     "copying");
        } else {
          check_cuda(copy_rows(destination, source, pitch, row_bytes, bytes / row_bytes, stream),
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
