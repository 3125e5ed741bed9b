// How operations on files and devices are made: a small table of functions for each way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "storage/io_priority.h"

namespace tierscope {

// One read or write that is to be made.
struct IoRequest {
  std::uint64_t offset;
  std::uint32_t bytes;
  std::uint32_t slot;  // Number of the buffer that it uses, 0..depth-1; one operation each.
  int file;            // Number of the file.
  bool write;
  IoPriority priority = 0;  // Of this operation; 0: the thread's.
};

struct Completion {
  std::uint32_t slot;
  std::int64_t result;  // Bytes that were moved, or -errno.
};

// What one thread works with; all of it outlives the backend.
struct ThreadIo {
  std::span<const int> files;            // Open descriptors.
  std::span<const std::uint64_t> sizes;  // Bytes of each file.
  std::span<std::byte* const> buffers;   // One for each slot.
  std::size_t buffer_bytes = 0;          // Of each of them.
  bool writes = false;                   // Some operations write.
  bool direct = false;                   // Files were opened with O_DIRECT.
  bool registered_buffers = false;
  bool registered_files = false;
  bool sqpoll = false;
  bool iopoll = false;
  bool non_temporal = false;  // Of backend pmem: stores bypass the caches.
  bool drain = false;         // Of backend pmem: each write waits until its stores left the CPU.
  int gpu = -1;               // That the buffers belong to; -1: host memory.
};

// One a thread, made and used by it alone.
class Backend {
 public:
  explicit Backend(const ThreadIo& io) : io_(io) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Hands operations over, at most as many as slots are free; synchronous backends carry them out.
  // Throws Failure where the system refuses them as a whole.
  virtual void submit(std::span<const IoRequest> operations) = 0;

  // Returns how many operations ended, at most done.size(). Waits until `least` did, or for
  // `timeout_s` seconds (infinite: for as long as it takes); throws Failure.
  virtual std::size_t reap(std::span<Completion> done, std::size_t least, double timeout_s) = 0;

  // fsync of a file, fdatasync where data_only; throws Failure.
  virtual void sync(int file, bool data_only);

 protected:
  ThreadIo io_;
};

// A backend that carries each operation out while it is submitted.
class SynchronousBackend : public Backend {
 public:
  using Backend::Backend;
  void submit(std::span<const IoRequest> operations) override;
  std::size_t reap(std::span<Completion> done, std::size_t least, double timeout_s) override;

 protected:
  // Bytes that were moved, or -errno.
  virtual std::int64_t carry_out(const IoRequest& operation) = 0;

 private:
  std::vector<Completion> ended_;
};

struct BackendKind {
  std::string_view name;
  bool synchronous;  // submit() returns when the operations have ended.
  bool gpu;          // Its buffers belong to a GPU.
  // Throws Unavailable with the remedy where this system cannot do it.
  std::unique_ptr<Backend> (*make)(const ThreadIo& io);
  bool moves = true;  // Data: else nothing can be verified.
  bool cuts = false;  // Files, so that what they held is gone: only tierscope's own.
  bool maps = false;  // Files into memory.
};

std::unique_ptr<Backend> make_posix(const ThreadIo& io);
std::unique_ptr<Backend> make_sync(const ThreadIo& io);
std::unique_ptr<Backend> make_pvsync(const ThreadIo& io);
std::unique_ptr<Backend> make_pvsync2(const ThreadIo& io);
std::unique_ptr<Backend> make_splice(const ThreadIo& io);
std::unique_ptr<Backend> make_posixaio(const ThreadIo& io);
std::unique_ptr<Backend> make_null(const ThreadIo& io);
std::unique_ptr<Backend> make_ftruncate(const ThreadIo& io);
std::unique_ptr<Backend> make_fallocate(const ThreadIo& io);
std::unique_ptr<Backend> make_fallocate_keep(const ThreadIo& io);
std::unique_ptr<Backend> make_punch_hole(const ThreadIo& io);
std::unique_ptr<Backend> make_mmap(const ThreadIo& io);
std::unique_ptr<Backend> make_pmem(const ThreadIo& io);
std::unique_ptr<Backend> make_libaio(const ThreadIo& io);
std::unique_ptr<Backend> make_io_uring(const ThreadIo& io);

// Whether the file is mapped by MAP_SYNC, as DAX allows it: past the page cache.
bool maps_synchronously(int file);

// All ways that this build knows.
std::span<const BackendKind> backend_kinds();

}  // namespace tierscope
