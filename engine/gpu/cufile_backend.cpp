// cuFile's synchronous and stream operations.
#include "gpu/cufile_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/cufile_errors.h"
#include "gpu/cufile_pool.h"
#include "gpu/watchdog.h"
#include "sampling/clock.h"

namespace tierscope {

CufileUse::CufileUse(const ThreadIo& io)
    : library_(open_cufile(io.gpu)), on_gpu_(io.gpu), buffers_(io.buffers) {
  for (const int descriptor : io.files) {
    files_.push_back(std::make_unique<CufileFile>(library_, descriptor));
  }
}

std::int64_t CufileUse::result(ssize_t returned, int error_number, const IoRequest& operation) {
  if (returned >= 0) return returned;
  if (returned == -1) return -error_number;
  if (returned > -cufile_abi::kFirstError) return returned;
  fail_cufile(
      {.code = static_cast<int>(-returned), .cuda_error = 0},
      fmt::format("{} of {} bytes at offset {} went wrong", operation.write ? "a write" : "a read",
                  operation.bytes, operation.offset));
}

namespace {

class CufileSync : public SynchronousBackend {
 public:
  explicit CufileSync(const ThreadIo& io) : SynchronousBackend(io), use_(io) {}

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    const Cufile& library = use_.library();
    const auto offset = static_cast<off_t>(operation.offset);
    std::byte* const base = use_.base(operation);
    const WatchedCall watched(operation.write ? "cuFileWrite" : "cuFileRead");
    const ssize_t returned =
        operation.write ? library.write(use_.handle(operation), base, operation.bytes, offset, 0)
                        : library.read(use_.handle(operation), base, operation.bytes, offset, 0);
    return CufileUse::result(returned, errno, operation);
  }

  CufileUse use_;
};

// What cuFile reads and writes through pointers until an operation has ended.
struct StreamOperation {
  IoRequest operation;
  std::size_t bytes;
  off_t file_offset;
  off_t buffer_offset;
  ssize_t moved;
};

struct StreamUse {
  int gpu;
  bool aligned;  // Whether cuFile was told that all operations in it are.
  auto operator<=>(const StreamUse&) const = default;
};

// A stream that cuFile knows.
class RegisteredStream {
 public:
  RegisteredStream(const Cufile& library, const StreamUse& use)
      : library_(library), stream_(make_stream(use.gpu)) {
    const cufile_abi::Error error = library.register_stream(
        stream_.get(), cufile_abi::kFixedStream | (use.aligned ? cufile_abi::kAlignedStream : 0));
    if (error.code != 0) refuse_cufile(error, "a stream cannot be registered");
  }
  ~RegisteredStream() { library_.deregister_stream(stream_.get()); }
  RegisteredStream(const RegisteredStream&) = delete;
  RegisteredStream& operator=(const RegisteredStream&) = delete;

  CUstream get() const { return stream_.get(); }

 private:
  const Cufile& library_;
  Stream stream_;
};

// Idle streams of all threads. Streams take places of cuFile's pool as operations do: with more of
// them, submissions never return, even if each thread is within its share (1.15.1).
class IdleStreams {
 public:
  using Owned = std::unique_ptr<RegisteredStream>;

  Owned take(const Cufile& library, const StreamUse& use) {
    const std::lock_guard lock(mutex_);
    if (Owned found = taken_from(idle_[use])) return found;
    for (auto kind = idle_.begin(); made_ >= cufile_pool().places() && kind != idle_.end();
         ++kind) {
      if (taken_from(kind->second)) --made_;
    }
    Owned made = std::make_unique<RegisteredStream>(library, use);
    ++made_;
    return made;
  }

  void give_back(const StreamUse& use, Owned stream) {
    const std::lock_guard lock(mutex_);
    idle_[use].push_back(std::move(stream));
  }

  // There are some while one backend uses them.
  static std::shared_ptr<IdleStreams> of_process() {
    static std::mutex mutex;
    static std::weak_ptr<IdleStreams> kept;
    const std::lock_guard lock(mutex);
    std::shared_ptr<IdleStreams> found = kept.lock();
    if (!found) kept = found = std::make_shared<IdleStreams>();
    return found;
  }

 private:
  static Owned taken_from(std::vector<Owned>& streams) {
    if (streams.empty()) return nullptr;
    Owned last = std::move(streams.back());
    streams.pop_back();
    return last;
  }

  std::mutex mutex_;
  std::map<StreamUse, std::vector<Owned>> idle_;
  std::size_t made_ = 0;
};

// Operations that follow one another in a stream, and end together.
struct StreamGroup {
  IdleStreams::Owned stream;
  bool aligned;
  std::vector<std::unique_ptr<StreamOperation>> operations;
};

class CufileStream : public Backend {
 public:
  // `together`: the operations of one submission share a stream; else each has its own.
  CufileStream(const ThreadIo& io, bool together)
      : Backend(io), use_(io), pool_(cufile_pool()), together_(together) {
    pool_.set_places(pool_places(use_.library(), io.buffer_bytes));
  }

  ~CufileStream() override {
    for (StreamGroup& group : busy_) {
      cuda().cuStreamSynchronize(group.stream->get());
      end(group);
    }
  }

  void submit(std::span<const IoRequest> operations) override {
    waiting_.insert(waiting_.end(), operations.begin(), operations.end());
    feed();
  }

  std::size_t reap(std::span<Completion> done, std::size_t least, double timeout_s) override {
    const double begin = now_seconds();
    const WatchedCall watched("an operation in a stream");
    std::size_t count = 0;
    do {
      collect();
      feed();
      count += take_ended(done.subspan(count));
    } while (count < least && now_seconds() - begin < timeout_s);
    return count;
  }

 private:
  static bool is_aligned(const IoRequest& operation) {
    return (operation.offset | operation.bytes) % cufile_abi::kStreamAlignment == 0;
  }

  // Puts what is waiting into streams, as far as cuFile's pool reaches.
  void feed() {
    std::span<const IoRequest> left = waiting_;
    while (!left.empty()) {
      const std::size_t count = pool_.take(together_ ? left.size() : 1);
      if (count == 0) break;
      start(left.first(count));
      left = left.subspan(count);
    }
    waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(left.size()));
  }

  // Puts operations, which have their places in the pool, into a stream.
  void start(std::span<const IoRequest> operations) {
    const bool aligned = std::ranges::all_of(operations, is_aligned);
    std::size_t left = operations.size();
    try {
      busy_.push_back({.stream = idle_->take(use_.library(), {io_.gpu, aligned}),
                       .aligned = aligned,
                       .operations = {}});
      for (const IoRequest& operation : operations) {
        enqueue(operation, busy_.back());
        --left;
      }
    } catch (...) {
      pool_.give_back(left);
      throw;
    }
  }

  void end(StreamGroup& group) {
    idle_->give_back({io_.gpu, group.aligned}, std::move(group.stream));
    pool_.give_back(group.operations.size());
  }

  void enqueue(const IoRequest& operation, StreamGroup& group) {
    group.operations.push_back(std::make_unique<StreamOperation>(
        StreamOperation{.operation = operation,
                        .bytes = operation.bytes,
                        .file_offset = static_cast<off_t>(operation.offset),
                        .buffer_offset = 0,
                        .moved = 0}));
    StreamOperation& one = *group.operations.back();
    const Cufile& library = use_.library();
    const auto call = operation.write ? library.write_async : library.read_async;
    const WatchedCall watched(operation.write ? "cuFileWriteAsync" : "cuFileReadAsync");
    const cufile_abi::Error error =
        call(use_.handle(operation), use_.base(operation), &one.bytes, &one.file_offset,
             &one.buffer_offset, &one.moved, group.stream->get());
    if (error.code != 0) {
      group.operations.pop_back();
      fail_cufile(error, "an operation cannot be put into a stream");
    }
  }

  // Moves what ended out of busy_.
  void collect() {
    for (auto group = busy_.begin(); group != busy_.end();) {
      const CUresult state = cuda().cuStreamQuery(group->stream->get());
      if (state == CUDA_ERROR_NOT_READY) {
        ++group;
        continue;
      }
      check_cuda(state, "waiting for an operation in a stream");
      for (const auto& one : group->operations) {
        ended_.push_back({.slot = one->operation.slot,
                          .result = CufileUse::result(one->moved, EIO, one->operation)});
      }
      end(*group);
      group = busy_.erase(group);
    }
  }

  std::size_t take_ended(std::span<Completion> done) {
    const std::size_t count = std::min(done.size(), ended_.size());
    std::copy_n(ended_.begin(), count, done.begin());
    ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  CufileUse use_;
  CufilePool& pool_;
  bool together_;
  std::vector<IoRequest> waiting_;
  std::deque<StreamGroup> busy_;
  std::shared_ptr<IdleStreams> idle_ = IdleStreams::of_process();
  std::deque<Completion> ended_;
};

}  // namespace

std::unique_ptr<Backend> make_cufile(const ThreadIo& io) {
  return std::make_unique<CufileSync>(io);
}
std::unique_ptr<Backend> make_cufile_stream(const ThreadIo& io) {
  return std::make_unique<CufileStream>(io, false);
}
std::unique_ptr<Backend> make_cufile_batch_stream(const ThreadIo& io) {
  return std::make_unique<CufileStream>(io, true);
}

}  // namespace tierscope
