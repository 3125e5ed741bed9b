// Stands in for everything on GPUs in a build without CUDA.
#include "errors.h"
#include "gpu/measuring.h"
#include "gpu/self_check.h"

namespace tierscope {
namespace {

[[noreturn]] void refuse() {
  throw Unavailable(Cause::kGpu, "this build was made with TIERSCOPE_CUDA=0", "build without it");
}

}  // namespace

std::unique_ptr<GpuCopies> make_gpu_copies(const GpuCopySpec&) { refuse(); }
std::unique_ptr<GpuRankCopies> make_gpu_rank_copies(const GpuRanksSpec&, Exchange) { refuse(); }
std::unique_ptr<GpuStreaming> make_gpu_streaming(const GpuMemorySpec&) { refuse(); }
std::unique_ptr<GpuChase> make_gpu_chase(const GpuLatencySpec&) { refuse(); }
std::string check_gpu_kernels() { refuse(); }

}  // namespace tierscope
