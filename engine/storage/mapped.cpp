// Files mapped into memory: copies by the CPU, through the page cache or, with DAX, past it.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "errors.h"
#include "storage/backend.h"

namespace tierscope {
namespace {

// Where a thread goes on that touched a page which the file does not have any more, or which the
// drive could not deliver (SIGBUS). Volatile, as only the handler reads it: compilers leave out
// stores around a memcpy that nothing else sees.
thread_local sigjmp_buf* volatile fault_return = nullptr;

void on_bus_error(int signal) {
  if (fault_return != nullptr) siglongjmp(*fault_return, 1);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void catch_bus_errors() {
  static const bool caught = [] {
    struct sigaction action{};
    action.sa_handler = on_bus_error;
    action.sa_flags = SA_NODEFER;
    return sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  if (!caught) throw Failure("no handler of SIGBUS can be set", Cause::kStorage);
}

// False where a page could not be had. No object with a destructor may live in here.
bool copy_mapped(std::byte* to, const std::byte* from, std::size_t bytes) {
  sigjmp_buf back;
  if (sigsetjmp(back, 0) != 0) {
    fault_return = nullptr;
    return false;
  }
  fault_return = &back;
  std::memcpy(to, from, bytes);
  fault_return = nullptr;
  return true;
}

class Mapped : public SynchronousBackend {
 public:
  explicit Mapped(const ThreadIo& io) : SynchronousBackend(io) {
    catch_bus_errors();
    for (std::size_t file = 0; file < io.files.size(); ++file) {
      const int access = io.writes ? PROT_READ | PROT_WRITE : PROT_READ;
      void* const at = mmap(nullptr, io.sizes[file], access, MAP_SHARED, io.files[file], 0);
      if (at == MAP_FAILED) {
        const int error = errno;
        unmap();
        throw Unavailable(Cause::kStorage, fmt::format("{} bytes cannot be mapped: {}",
                                                       io.sizes[file], strerror(error)));
      }
      maps_.push_back(static_cast<std::byte*>(at));
    }
  }
  ~Mapped() override { unmap(); }

  void sync(int file, bool) override {
    const auto index = static_cast<std::size_t>(file);
    if (msync(maps_[index], io_.sizes[index], MS_SYNC) != 0) {
      throw Failure(fmt::format("msync failed: {}", strerror(errno)), Cause::kStorage);
    }
  }

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    std::byte* const mapped = maps_[static_cast<std::size_t>(operation.file)] + operation.offset;
    std::byte* const buffer = io_.buffers[operation.slot];
    const bool done = operation.write ? copy_mapped(mapped, buffer, operation.bytes)
                                      : copy_mapped(buffer, mapped, operation.bytes);
    return done ? std::int64_t{operation.bytes} : -EFAULT;
  }

  void unmap() {
    for (std::size_t i = 0; i < maps_.size(); ++i) munmap(maps_[i], io_.sizes[i]);
  }

  std::vector<std::byte*> maps_;
};

}  // namespace

std::unique_ptr<Backend> make_mmap(const ThreadIo& io) { return std::make_unique<Mapped>(io); }

}  // namespace tierscope
