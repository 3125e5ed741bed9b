// Stands in for everything on GPUs in a build without CUDA.
#include "errors.h"
#include "gpu/measure.h"

namespace tierscope {
namespace {

[[noreturn]] void refuse() {
  throw Unavailable("this build was made with TIERSCOPE_CUDA=0", "build without it");
}

}  // namespace

Outcome measure_gpu_copy(const GpuCopySpec&, Workspace&, const Progress&) { refuse(); }
Outcome measure_gpu_memory(const GpuMemorySpec&, Workspace&, const Progress&) { refuse(); }
Outcome measure_gpu_latency(const GpuLatencySpec&, Workspace&, const Progress&) { refuse(); }
std::string check_gpu_kernels() { refuse(); }

}  // namespace tierscope
