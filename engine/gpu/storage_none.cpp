// Stands in for storage to GPUs in a build without CUDA.
#include "errors.h"
#include "storage/gpu_io.h"

namespace tierscope {
namespace {

[[noreturn]] void refuse() {
  throw Unavailable(Cause::kGpu, "this build was made with TIERSCOPE_CUDA=0", "build without it");
}

}  // namespace

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
