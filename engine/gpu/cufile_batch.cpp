// cuFile's batches.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>

#include "errors.h"
#include "gpu/cufile_backend.h"
#include "gpu/cufile_errors.h"
#include "gpu/cufile_pool.h"
#include "gpu/watchdog.h"
#include "sampling/clock.h"
#include "storage/gpu_io.h"

namespace tierscope {
namespace {

// Batches of the process that no thread uses now. None is destroyed, which takes cuFile 0.1 s
// (1.15.1), before its driver closes. Any thread and GPU can use each.
class IdleBatches {
 public:
  cufile_abi::BatchHandle take(const Cufile& library, unsigned entries) {
    const std::lock_guard lock(mutex_);
    cufile_abi::BatchHandle batch = nullptr;
    if (handles_.empty()) {
      const cufile_abi::Error error = library.set_up_batch(&batch, entries);
      if (error.code != 0) refuse_cufile(error, "a batch cannot be set up");
    } else {
      batch = handles_.back();
      handles_.pop_back();
    }
    return batch;
  }
  void give_back(cufile_abi::BatchHandle batch) {
    const std::lock_guard lock(mutex_);
    handles_.push_back(batch);
  }

 private:
  std::mutex mutex_;
  std::vector<cufile_abi::BatchHandle> handles_;
};

IdleBatches& idle_batches() {
  static auto& it = *new IdleBatches;  // Never destroyed: threads may outlive main().
  return it;
}

// A batch takes a new submission once all operations of its last one have ended.
struct Batch {
  cufile_abi::BatchHandle handle = nullptr;
  unsigned left = 0;  // Operations that have not ended.
};

class CufileBatch : public Backend {
 public:
  explicit CufileBatch(const ThreadIo& io) : Backend(io), use_(io), pool_(cufile_pool()) {
    pool_.set_places(pool_places(use_.library(), io.buffer_bytes));
  }

  // Waits for operations that are under way, as after an error, before their buffers and files go.
  // cuFile cannot cancel them: it would only not say any more when they end (1.11 to 1.15).
  ~CufileBatch() override {
    const WatchedCall watched("an operation of a batch");
    for (Batch& batch : batches_) {
      while (batch.left > 0 && ask(batch, entries_).code == 0) sched_yield();
      if (batch.left == 0) idle_batches().give_back(batch.handle);
      pool_.give_back(batch.left);
    }
  }

  void submit(std::span<const IoRequest> operations) override {
    waiting_.insert(waiting_.end(), operations.begin(), operations.end());
    feed();
  }

  std::size_t reap(std::span<Completion> done, std::size_t least, double timeout_s) override {
    const double begin = now_seconds();
    const WatchedCall watched("an operation of a batch");
    std::size_t count = 0;
    while (true) {
      for (Batch& batch : batches_) {
        if (batch.left > 0 && count < done.size()) count += poll(batch, done.subspan(count));
      }
      if (!waiting_.empty()) feed();
      if (count >= least || now_seconds() - begin >= timeout_s) return count;
      if (count == 0) sched_yield();
    }
  }

 private:
  // Submits what is waiting, as far as cuFile's pool reaches.
  void feed() {
    while (!waiting_.empty()) {
      const auto wanted = std::min<std::size_t>(waiting_.size(), entries_);
      const auto count = static_cast<unsigned>(pool_.take(wanted));
      if (count == 0) return;
      submit_batch(count);
    }
  }

  void submit_batch(unsigned count) {
    std::vector<cufile_abi::BatchOperation>& operations = operations_;
    operations.clear();
    for (unsigned i = 0; i < count; ++i) {
      const IoRequest& operation = waiting_[i];
      operations.push_back({.mode = cufile_abi::kBatchMode,
                            .where = {.base = use_.base(operation),
                                      .file_offset = static_cast<off_t>(operation.offset),
                                      .buffer_offset = 0,
                                      .bytes = operation.bytes},
                            .file = use_.handle(operation),
                            .opcode = operation.write ? cufile_abi::kWrite : cufile_abi::kRead,
                            .cookie = &of_slot_[operation.slot]});
      of_slot_[operation.slot] = operation;
    }
    Batch& batch = free_batch();
    const WatchedCall watched("cuFileBatchIOSubmit");
    const cufile_abi::Error error =
        use_.library().submit_batch(batch.handle, count, operations.data(), 0);
    if (error.code != 0) {
      pool_.give_back(count);
      fail_cufile(error, fmt::format("a batch of {} operations was refused", count));
    }
    batch.left = count;
    waiting_.erase(waiting_.begin(), waiting_.begin() + count);
  }

  Batch& free_batch() {
    for (Batch& batch : batches_) {
      if (batch.left == 0) return batch;
    }
    batches_.push_back({.handle = idle_batches().take(use_.library(), entries_)});
    return batches_.back();
  }

  // Asks a batch for at most so many events; events_ are those of operations that ended.
  cufile_abi::Error ask(Batch& batch, std::size_t most) {
    events_.resize(entries_);
    auto count = static_cast<unsigned>(
        std::min({events_.size(), most, static_cast<std::size_t>(batch.left)}));
    const cufile_abi::Error error =
        use_.library().batch_status(batch.handle, 0, &count, events_.data(), nullptr);
    events_.resize(error.code == 0 ? count : 0);
    std::erase_if(events_, [](const cufile_abi::BatchEvent& event) {
      return (event.status & kEnded) == 0;  // Under way still.
    });
    batch.left -= static_cast<unsigned>(events_.size());
    pool_.give_back(events_.size());
    return error;
  }

  std::size_t poll(Batch& batch, std::span<Completion> done) {
    const cufile_abi::Error error = ask(batch, done.size());
    if (error.code != 0) fail_cufile(error, "a batch's status cannot be read");
    std::size_t ended = 0;
    for (const cufile_abi::BatchEvent& event : events_) {
      const auto& operation = *static_cast<const IoRequest*>(event.cookie);
      done[ended++] = {.slot = operation.slot, .result = result_of(event, operation)};
    }
    return ended;
  }

  static std::int64_t result_of(const cufile_abi::BatchEvent& event, const IoRequest& operation) {
    const auto returned = static_cast<ssize_t>(event.result);
    if (event.status == cufile_abi::kComplete || returned < 0) {
      return CufileUse::result(returned, EIO, operation);
    }
    if (event.status == cufile_abi::kTimeout) return -ETIMEDOUT;
    return event.status == cufile_abi::kInvalid ? -EINVAL : -EIO;
  }

  static constexpr int kEnded = cufile_abi::kInvalid | cufile_abi::kCanceled |
                                cufile_abi::kComplete | cufile_abi::kTimeout | cufile_abi::kFailed;

  CufileUse use_;
  CufilePool& pool_;
  unsigned entries_ = cufile_settings().batch_entries;
  std::deque<Batch> batches_;  // References stay valid.
  std::deque<IoRequest> waiting_;
  std::vector<cufile_abi::BatchOperation> operations_;
  std::vector<cufile_abi::BatchEvent> events_;
  std::vector<IoRequest> of_slot_ = std::vector<IoRequest>(io_.buffers.size());
};

}  // namespace

std::unique_ptr<Backend> make_cufile_batch(const ThreadIo& io) {
  return std::make_unique<CufileBatch>(io);
}

}  // namespace tierscope
