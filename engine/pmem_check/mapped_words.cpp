#include "pmem_check/mapped_words.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "access/write_back.h"
#include "errors.h"
#include "protocol/events.h"

namespace tierscope {
namespace {

// Of Arm's instructions none that is used here promises to reach the point of persistence, as msync
// does.
#if defined(__x86_64__)
bool can_flush() { return has_write_back(WriteBack::kKeep); }
#else
bool can_flush() { return false; }
#endif

void* map(int file, std::size_t bytes, int how) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, how, file, 0);
}

}  // namespace

MappedWords::MappedWords(const std::string& path, std::size_t words)
    : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)), words_(words) {
  struct stat found{};
  const std::size_t bytes = words * sizeof(std::uint64_t);
  if (!file_ || fstat(file_.get(), &found) != 0) {
    throw Unavailable(Cause::kStorage, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  if (static_cast<std::size_t>(found.st_size) < bytes) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("{} has {} bytes, not {}", path, found.st_size, bytes));
  }
  void* mapped = MAP_FAILED;
  if (can_flush()) {
    mapped = map(file_.get(), bytes, MAP_SHARED_VALIDATE | MAP_SYNC);
    direct_ = mapped != MAP_FAILED;
  }
  if (!direct_) mapped = map(file_.get(), bytes, MAP_SHARED);
  if (mapped == MAP_FAILED) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("{} cannot be mapped: {}", path, std::strerror(errno)));
  }
  data_ = static_cast<std::uint64_t*>(mapped);
}

MappedWords::~MappedWords() { munmap(data_, words_ * sizeof(std::uint64_t)); }

// Neither merged with others nor moved by the compiler.
void MappedWords::store(std::size_t word, std::uint64_t value) {
  std::atomic_ref(data_[word]).store(value, std::memory_order_release);
}

void MappedWords::flush(std::size_t word, std::size_t words) {
  if (direct_) {
    for (std::size_t line = word / kLineWords; line <= (word + words - 1) / kLineWords; ++line) {
      write_back<WriteBack::kKeep>(data_ + line * kLineWords);
    }
  } else if (msync(data_, words_ * sizeof(std::uint64_t), MS_SYNC) != 0) {
    throw Failure(fmt::format("msync: {}", std::strerror(errno)), Cause::kStorage);
  }
}

void MappedWords::fence() {
  if (direct_) write_back_fence();
}

void MappedWords::acknowledge(std::uint64_t generation) { write_acknowledgement(generation); }

void write_acknowledgement(std::uint64_t generation) {
  const std::string line = fmt::format("{}\n", generation);
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw OutputError("stdout cannot be written");
  }
}

}  // namespace tierscope
