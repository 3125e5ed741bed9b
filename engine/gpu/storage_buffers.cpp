// Memory that storage is read into and written from beside a GPU.
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "errors.h"
#include "gpu/buffer.h"
#include "gpu/cells.h"
#include "gpu/check.h"
#include "gpu/cufile.h"
#include "gpu/cufile_errors.h"
#include "gpu/device.h"
#include "gpu/gpu_pages.h"
#include "gpu/watchdog.h"
#include "storage/gpu_io.h"

namespace tierscope {
namespace {

// Slots begin at a multiple: of 4 KiB, as O_DIRECT wants it; registered ones of 64 KiB, the pages
// of GPUs that cuFile pins, so that no two share one.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kGpuPage = 65536;

// One piece of memory for all slots.
class Memory {
 public:
  Memory() = default;
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual std::byte* data() const = 0;
};

class Device : public Memory {
 public:
  Device(int gpu, std::size_t bytes) : bytes_(make_gpu_bytes(gpu, bytes)) {}
  std::byte* data() const override { return bytes_.get(); }

 private:
  GpuBytes bytes_;
};

class Virtual : public Memory {
 public:
  Virtual(int gpu, std::size_t bytes) : pages_(gpu, bytes, GpuPages::For::kDrives) {}
  std::byte* data() const override { return pages_.data(); }

 private:
  GpuPages pages_;
};

class Pinned : public Memory {
 public:
  explicit Pinned(std::size_t bytes) {
    void* memory = nullptr;
    check_cuda(cuda().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE),
               "allocating pinned host memory");
    data_ = static_cast<std::byte*>(memory);
  }
  ~Pinned() override { cuda().cuMemFreeHost(data_); }
  std::byte* data() const override { return data_; }

 private:
  std::byte* data_ = nullptr;
};

class Plain : public Memory {
 public:
  explicit Plain(std::size_t bytes)
      : data_(static_cast<std::byte*>(std::aligned_alloc(kPage, bytes))) {
    if (data_ == nullptr) {
      throw Unavailable(Cause::kMemory, fmt::format("{} bytes of host memory cannot be had", bytes),
                        "use smaller blocks, or a smaller depth");
    }
  }
  ~Plain() override { std::free(data_); }
  std::byte* data() const override { return data_; }

 private:
  std::byte* data_;
};

class Managed : public Memory {
 public:
  Managed(int gpu, std::size_t bytes) : data_(make_managed(bytes, gpu)) {}
  ~Managed() override { cuda().cuMemFree(address_of(data_)); }
  std::byte* data() const override { return data_; }

 private:
  std::byte* data_;
};

std::unique_ptr<Memory> make_memory(int gpu, const std::string& kind, std::size_t bytes) {
  if (kind == "device") return std::make_unique<Device>(gpu, bytes);
  if (kind == "vmm") return std::make_unique<Virtual>(gpu, bytes);
  if (kind == "pinned") return std::make_unique<Pinned>(bytes);
  if (kind == "plain") return std::make_unique<Plain>(bytes);
  if (kind == "managed") return std::make_unique<Managed>(gpu, bytes);
  throw Unavailable(Cause::kOther, fmt::format("memory '{}' is no memory beside a GPU", kind),
                    "choose device, vmm, pinned, plain or managed");
}

// Memory that cuFile has registered, while it lives.
class Registration {
 public:
  Registration(int gpu, const std::byte* data, std::size_t bytes)
      : library_(open_cufile(gpu)), data_(data) {
    const RegistrationTime timed;
    const WatchedCall watched("cuFileBufRegister");
    const cufile_abi::Error error = library_.register_buffer(data, bytes, 0);
    if (error.code != 0) refuse_cufile(error, fmt::format("{} bytes cannot be registered", bytes));
  }
  ~Registration() { library_.deregister_buffer(data_); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  const Cufile& library_;
  const std::byte* data_;
};

class Slots : public GpuBuffers {
 public:
  explicit Slots(const GpuBuffersWish& wish) : gpu_(wish.gpu) {
    require_gpu(gpu_);
    const OnGpu on(gpu_);
    const std::size_t step = wish.registered ? kGpuPage : kPage;
    const std::size_t stride = (wish.bytes + step - 1) / step * step;
    const std::size_t bytes = stride * wish.count;
    memory_ = make_memory(gpu_, wish.memory, bytes);
    for (std::size_t i = 0; i < wish.count; ++i) slots_.push_back(memory_->data() + i * stride);
    // Each by itself: of one registration for all, reads that ran at once in several streams ended
    // up in each other's slots (cuFile 1.15.1, compatibility mode).
    for (std::size_t i = 0; wish.registered && i < wish.count; ++i) {
      registrations_.push_back(std::make_unique<Registration>(gpu_, slots_[i], stride));
    }
    stream_ = make_stream(gpu_);
    if (wish.memory != "pinned" && wish.memory != "plain") {
      wrong_.emplace(sizeof(std::uint32_t));
    }
  }

  void copy_out(std::size_t slot, std::span<std::byte> to) const override {
    copy(to.data(), slots_[slot], to.size());
  }
  void copy_in(std::size_t slot, std::span<const std::byte> from) override {
    copy(slots_[slot], from.data(), from.size());
  }

  std::optional<bool> are_cells(std::size_t slot, std::size_t bytes,
                                const ExpectedCells& expected) const override {
    if (!wrong_) return std::nullopt;
    const OnGpu on(gpu_);
    auto* const wrong = reinterpret_cast<std::uint32_t*>(wrong_->data());
    *wrong = 0;
    check_cells(slots_[slot], bytes, expected, wrong, stream_.get());
    check_cuda(cuda().cuStreamSynchronize(stream_.get()), "verifying a block");
    return *wrong == 0;
  }

 private:
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    const OnGpu on(gpu_);
    copy_and_wait(to, from, bytes, stream_, "copying a block");
  }

  int gpu_;
  std::unique_ptr<Memory> memory_;
  std::vector<std::unique_ptr<Registration>> registrations_;  // End before the memory does.
  Stream stream_;
  std::optional<Pinned> wrong_;  // What check_cells() sets; for slots in the GPU's memory.
};

}  // namespace

std::unique_ptr<GpuBuffers> make_gpu_buffers(const GpuBuffersWish& wish) {
  return std::make_unique<Slots>(wish);
}

}  // namespace tierscope
