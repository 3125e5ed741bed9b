// Files mapped into memory: copies by the CPU, through the page cache or, with DAX, past it.
// Backend pmem stores as programs for persistent memory do: each line is written back, or bypasses
// the caches.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "access/flush.h"
#include "errors.h"
#include "memory/persistent.h"
#include "sizes.h"
#include "storage/backend.h"

namespace tierscope {
namespace {

constexpr std::size_t kMapped = 4096;  // Of a file whose mapping is only looked at.

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

using Copy = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

void copy_plainly(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

template <Flush kHow>
void copy_and_flush(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  for_each_line(to, bytes, flush_line<kHow>);
}

// With the first of these instructions that this CPU has.
Copy flushing_copy() {
  if (has_flush(Flush::kClwb)) return copy_and_flush<Flush::kClwb>;
  if (has_flush(Flush::kClflushopt)) return copy_and_flush<Flush::kClflushopt>;
  if (has_flush(Flush::kClflush)) return copy_and_flush<Flush::kClflush>;
  if (has_flush(Flush::kCvap)) return copy_and_flush<Flush::kCvap>;
  return copy_and_flush<Flush::kCvac>;
}

// What is not whole pairs of words is written back.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kPair = 2 * sizeof(Words);
  const bool aligned = (reinterpret_cast<std::uintptr_t>(to) | bytes) % kPair == 0;
  if (!aligned) return flushing_copy()(to, from, bytes);
  for (std::size_t at = 0; at < bytes; at += kPair) {
    const auto* const words = reinterpret_cast<const Words*>(from + at);
    stream_words(reinterpret_cast<Words*>(to + at), words[0], words[1]);
  }
}

void drain_stores() { has_flush(Flush::kCvap) ? drain<Flush::kCvap>() : drain<Flush::kNone>(); }

// False where a page could not be had. No object with a destructor may live in here.
bool copy_mapped(std::byte* to, const std::byte* from, std::size_t bytes, Copy copy) {
  sigjmp_buf back;
  if (sigsetjmp(back, 0) != 0) {
    fault_return = nullptr;
    return false;
  }
  fault_return = &back;
  copy(to, from, bytes);
  fault_return = nullptr;
  return true;
}

// By MAP_SYNC where the file is of DAX, so that stores that left the CPU persist. Null where it
// cannot be mapped.
std::byte* map_shared(int file, std::size_t bytes, int access) {
  void* at = mmap(nullptr, bytes, access, MAP_SHARED_VALIDATE | MAP_SYNC, file, 0);
  if (at == MAP_FAILED && (errno == EOPNOTSUPP || errno == EINVAL)) {
    at = mmap(nullptr, bytes, access, MAP_SHARED, file, 0);
  }
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

class Mapped : public SynchronousBackend {
 public:
  explicit Mapped(const ThreadIo& io) : SynchronousBackend(io) {
    catch_bus_errors();
    for (std::size_t file = 0; file < io.files.size(); ++file) {
      const int access = io.writes ? PROT_READ | PROT_WRITE : PROT_READ;
      std::byte* const at = map_shared(io.files[file], io.sizes[file], access);
      if (at == nullptr) {
        const int error = errno;
        unmap();
        throw Unavailable(Cause::kStorage, fmt::format("{} bytes cannot be mapped: {}",
                                                       io.sizes[file], strerror(error)));
      }
      maps_.push_back(at);
    }
  }
  ~Mapped() override { unmap(); }

  void sync(int file, bool) override {
    const auto index = static_cast<std::size_t>(file);
    if (msync(maps_[index], io_.sizes[index], MS_SYNC) != 0) {
      throw Failure(fmt::format("msync failed: {}", strerror(errno)), Cause::kStorage);
    }
  }

 protected:
  const std::byte* map_of(int file) const { return maps_[static_cast<std::size_t>(file)]; }
  std::int64_t move(const IoRequest& operation, Copy write) {
    std::byte* const mapped = maps_[static_cast<std::size_t>(operation.file)] + operation.offset;
    std::byte* const buffer = io_.buffers[operation.slot];
    const bool done = operation.write ? copy_mapped(mapped, buffer, operation.bytes, write)
                                      : copy_mapped(buffer, mapped, operation.bytes, copy_plainly);
    return done ? std::int64_t{operation.bytes} : -EFAULT;
  }

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    return move(operation, copy_plainly);
  }

  void unmap() {
    for (std::size_t i = 0; i < maps_.size(); ++i) munmap(maps_[i], io_.sizes[i]);
  }

  std::vector<std::byte*> maps_;
};

class PersistentMapped : public Mapped {
 public:
  explicit PersistentMapped(const ThreadIo& io)
      : Mapped(io), write_(io.non_temporal ? copy_past_caches : flushing_copy()) {
    for (std::size_t file = 0; file < io.files.size(); ++file) {
      synchronous_.push_back(is_synchronous(map_of(static_cast<int>(file))));
    }
  }

  // Through the page cache it is the kernel that makes stores durable.
  void sync(int file, bool data_only) override {
    drain_stores();
    if (!synchronous_[static_cast<std::size_t>(file)]) Mapped::sync(file, data_only);
  }

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    const std::int64_t moved = move(operation, write_);
    if (operation.write && io_.drain) drain_stores();
    return moved;
  }

  Copy write_;
  std::vector<bool> synchronous_;
};

}  // namespace

bool maps_synchronously(int file) {
  const std::byte* const at = map_shared(file, kMapped, PROT_READ);
  if (at == nullptr) return false;
  const bool synchronous = is_synchronous(at);
  munmap(const_cast<std::byte*>(at), kMapped);
  return synchronous;
}

std::unique_ptr<Backend> make_pmem(const ThreadIo& io) {
  return std::make_unique<PersistentMapped>(io);
}
std::unique_ptr<Backend> make_mmap(const ThreadIo& io) { return std::make_unique<Mapped>(io); }

}  // namespace tierscope
