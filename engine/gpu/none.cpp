// Stands in for all that needs CUDA in a build without it.
#include "errors.h"
#include "gpu/devices.h"
#include "gpu/measuring.h"
#include "gpu/self_check.h"
#include "storage/gpu_io.h"

namespace tierscope {
namespace {

constexpr const char* kError = "this build was made with TIERSCOPE_CUDA=0";
constexpr const char* kRemedy = "build without TIERSCOPE_CUDA=0";

[[noreturn]] void refuse() { throw Unavailable(Cause::kGpu, kError, kRemedy); }

}  // namespace

GpuRuntime gpu_runtime() {
  return {.built = false, .cuda = 0, .driver = 0, .devices = 0, .error = kError, .remedy = kRemedy};
}

std::unique_ptr<GpuCopies> make_gpu_copies(const GpuCopySpec&) { refuse(); }
std::unique_ptr<GpuRankCopies> make_gpu_rank_copies(const GpuRanksSpec&, Exchange) { refuse(); }
std::unique_ptr<GpuStreaming> make_gpu_streaming(const GpuMemorySpec&) { refuse(); }
std::unique_ptr<GpuChase> make_gpu_chase(const GpuLatencySpec&) { refuse(); }
std::unique_ptr<GpuPieces> make_gpu_pieces(const GpuPiecesSpec&) { refuse(); }
std::string check_gpu_kernels() { refuse(); }

std::unique_ptr<Backend> make_cufile(const ThreadIo&) { refuse(); }
std::unique_ptr<Backend> make_cufile_stream(const ThreadIo&) { refuse(); }
std::unique_ptr<Backend> make_cufile_batch(const ThreadIo&) { refuse(); }
std::unique_ptr<Backend> make_cufile_batch_stream(const ThreadIo&) { refuse(); }
std::unique_ptr<Backend> make_staged(const ThreadIo&) { refuse(); }
std::unique_ptr<Backend> make_staged_async(const ThreadIo&) { refuse(); }
std::unique_ptr<Backend> make_staged_managed(const ThreadIo&) { refuse(); }
std::unique_ptr<GpuBuffers> make_gpu_buffers(const GpuBuffersWish&) { refuse(); }
std::unique_ptr<GpuIoWatch> watch_gpu_io(const std::vector<int>&, std::string_view, int) {
  refuse();
}

}  // namespace tierscope
