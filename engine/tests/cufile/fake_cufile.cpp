#include "fake_cufile.h"

#include <cufile.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace {

using tierscope::fake_cufile::State;
using tierscope::fake_cufile::Way;

struct File {
  int fd;
};

struct Batch {
  unsigned entries;
  std::deque<CUfileIOEvents_t> ended;
};

std::recursive_mutex mutex;
State state;
CUfileStatsLevel3_t statistics;
std::set<const void*> buffers;
std::set<int> files;
std::size_t in_flight = 0;
std::map<CUstream, unsigned> flags_of_streams;
std::map<CUstream, std::size_t> in_streams;
std::atomic<int> submitting{0};

CUfileError_t result(int code) { return {static_cast<CUfileOpError>(code), CUDA_SUCCESS}; }

void may_hang(const char* function) {
  while (std::strcmp(state.machine.hangs_in, function) == 0) usleep(1000);
}

// Returns with the pool's places taken; never, where nobody gives them back.
void take_places(std::size_t places) {
  while (true) {
    {
      const std::lock_guard lock(mutex);
      if (state.machine.way != Way::kPosix || in_flight + places <= state.machine.pool) {
        in_flight += places;
        state.seen.most_in_flight = std::max(state.seen.most_in_flight, in_flight);
        return;
      }
    }
    usleep(1000);
  }
}

// While it lives, a thread is in a submission.
class Submitting {
 public:
  Submitting() {
    ++submitting;
    for (int i = 0; i < 100 && submitting < state.machine.meet; ++i) usleep(1000);
    const std::lock_guard lock(mutex);
    state.seen.most_submitting = std::max(state.seen.most_submitting, submitting.load());
  }
  ~Submitting() { --submitting; }
  Submitting(const Submitting&) = delete;
  Submitting& operator=(const Submitting&) = delete;
};

void note_stream(CUstream stream, std::size_t bytes, off_t offset) {
  if (state.machine.streams_wait) take_places(1);
  constexpr std::size_t kPage = 4096;
  const bool aligned = (bytes | static_cast<std::size_t>(offset)) % kPage == 0;
  const std::lock_guard lock(mutex);
  const bool said = (flags_of_streams.at(stream) & CU_FILE_STREAM_PAGE_ALIGNED_INPUTS) != 0;
  if (state.machine.streams_wait) ++in_streams[stream];
  if (said && !aligned) ++state.seen.wrong_streams;
  if (said) ++state.seen.aligned_streams;
}

Way way_of(std::uint64_t operation) {
  return operation >= state.machine.posix_from ? Way::kPosix : state.machine.way;
}

ssize_t move(File* file, char* at, std::size_t bytes, off_t offset, bool write) {
  if (state.machine.operation_error != 0) {
    errno = EIO;
    return state.machine.operation_error;
  }
  if (write) return pwrite(file->fd, at, bytes, offset);
  return pread(file->fd, at, bytes - state.machine.missing_bytes, offset);
}

void count(bool write) {
  CUfilePerGpuStats_t& gpu =
      statistics.per_gpu_stats[1];  // Not the first: all have to be added up.
  switch (way_of(state.seen.operations++)) {
    case Way::kP2p:
      ++(write ? gpu.n_p2p_writes : gpu.n_p2p_reads);
      break;
    case Way::kNvfs:
      ++(write ? gpu.n_nvfs_writes : gpu.n_nvfs_reads);
      break;
    case Way::kPosix:
      ++(write ? gpu.n_posix_writes : gpu.n_posix_reads);
      statistics.detailed.basic.read_ops.ok += 2;  // As the real one counts: each twice.
  }
}

// As the real one: of a batch that is served by POSIX, all but one by AIO.
void count_batch(unsigned entries) {
  CUfileStatsLevel1_t& basic = statistics.detailed.basic;
  for (unsigned i = 0; i < entries; ++i) {
    switch (way_of(state.seen.operations++)) {
      case Way::kP2p:
        ++basic.batch_p2p_submit_ops.ok;
        break;
      case Way::kNvfs:
        ++basic.batch_nvfs_submit_ops.ok;
        break;
      case Way::kPosix:
        ++(i == 0 ? basic.batch_mixed_io_submit_ops : basic.batch_aio_submit_ops).ok;
    }
  }
}

ssize_t do_one(CUfileHandle_t handle, void* base, std::size_t bytes, off_t offset, off_t at,
               bool write) {
  {
    const std::lock_guard lock(mutex);
    count(write);
  }
  return move(static_cast<File*>(handle), static_cast<char*>(base) + at, bytes, offset, write);
}

}  // namespace

extern "C" {

State* fake_cufile_state() { return &state; }

void fake_cufile_end_stream(CUstream stream) {
  const std::lock_guard lock(mutex);
  in_flight -= std::exchange(in_streams[stream], 0);
}

// Functions that are newer than 1.11 are there from their own version on, as in the real ones.
CUfileError_t cuFileGetVersion(int* version) {
  *version = state.machine.version;
  return result(0);
}
CUfileError_t cuFileDriverOpen() {
  may_hang("cuFileDriverOpen");
  const char* allowed = std::getenv("CUFILE_ALLOW_COMPAT_MODE");
  if (allowed != nullptr) state.seen.allow_compat = std::strcmp(allowed, "true") == 0 ? 1 : 0;
  if (state.machine.open_error == 0) ++state.seen.driver_opens;
  return result(state.machine.open_error);
}
CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t* properties) {
  ++state.seen.property_reads;
  *properties = {};
  properties->max_batch_io_size = 128;
  return result(0);
}
#if FAKE_CUFILE_VERSION >= 1150
CUfileError_t cuFileGetParameterPosixPoolSlabArray(std::size_t* sizes, std::size_t* counts,
                                                   int length) {
  if (length != 3) return result(CU_FILE_INVALID_VALUE);
  const std::size_t all[] = {4, 1024, 16384};
  for (int i = 0; i < 3; ++i) {
    sizes[i] = all[i];
    counts[i] = state.machine.pool;
  }
  return result(0);
}
#endif

CUfileError_t cuFileHandleRegister(CUfileHandle_t* handle, CUfileDescr_t* description) {
  may_hang("cuFileHandleRegister");
  const std::lock_guard lock(mutex);
  if (state.machine.handle_error != 0) return result(state.machine.handle_error);
  if (!files.insert(description->handle.fd).second) {
    return result(CU_FILE_HANDLE_ALREADY_REGISTERED);
  }
  *handle = new File{description->handle.fd};
  ++state.seen.handles;
  return result(0);
}
void cuFileHandleDeregister(CUfileHandle_t handle) {
  const std::lock_guard lock(mutex);
  files.erase(static_cast<File*>(handle)->fd);
  state.seen.abandoned += static_cast<int>(in_flight);
  delete static_cast<File*>(handle);
  --state.seen.handles;
}
CUfileError_t cuFileBufRegister(const void* memory, std::size_t, int) {
  const std::lock_guard lock(mutex);
  if (state.machine.buffer_error != 0) return result(state.machine.buffer_error);
  if (!buffers.insert(memory).second) return result(CU_FILE_MEMORY_ALREADY_REGISTERED);
  ++state.seen.buffers;
  return result(0);
}
CUfileError_t cuFileBufDeregister(const void* memory) {
  const std::lock_guard lock(mutex);
  if (buffers.erase(memory) == 0) return result(CU_FILE_MEMORY_NOT_REGISTERED);
  --state.seen.buffers;
  return result(0);
}

ssize_t cuFileRead(CUfileHandle_t file, void* base, std::size_t bytes, off_t offset, off_t at) {
  may_hang("cuFileRead");
  return do_one(file, base, bytes, offset, at, false);
}
ssize_t cuFileWrite(CUfileHandle_t file, const void* base, std::size_t bytes, off_t offset,
                    off_t at) {
  return do_one(file, const_cast<void*>(base), bytes, offset, at, true);
}

CUfileError_t cuFileStreamRegister(CUstream stream, unsigned flags) {
  const std::lock_guard lock(mutex);
  state.seen.most_streams = std::max(state.seen.most_streams, ++state.seen.streams);
  flags_of_streams[stream] = flags;
  return result(0);
}
CUfileError_t cuFileStreamDeregister(CUstream) {
  const std::lock_guard lock(mutex);
  --state.seen.streams;
  return result(0);
}
CUfileError_t cuFileReadAsync(CUfileHandle_t file, void* base, std::size_t* bytes, off_t* offset,
                              off_t* at, ssize_t* moved, CUstream stream) {
  note_stream(stream, *bytes, *offset);
  if (state.machine.submit_error != 0) return result(state.machine.submit_error);
  *moved = do_one(file, base, *bytes, *offset, *at, false);
  return result(0);
}
CUfileError_t cuFileWriteAsync(CUfileHandle_t file, void* base, std::size_t* bytes, off_t* offset,
                               off_t* at, ssize_t* moved, CUstream stream) {
  note_stream(stream, *bytes, *offset);
  *moved = do_one(file, base, *bytes, *offset, *at, true);
  return result(0);
}

CUfileError_t cuFileBatchIOSetUp(CUfileBatchHandle_t* batch, unsigned entries) {
  const std::lock_guard lock(mutex);
  *batch = new Batch{entries, {}};
  ++state.seen.batches;
  return result(0);
}
CUfileError_t cuFileBatchIOSubmit(CUfileBatchHandle_t handle, unsigned entries,
                                  CUfileIOParams_t* operations, unsigned) {
  may_hang("cuFileBatchIOSubmit");
  const Submitting counted;
  Batch& batch = *static_cast<Batch*>(handle);
  if (state.machine.submit_error != 0) return result(state.machine.submit_error);
  if (entries > batch.entries) return result(CU_FILE_BATCH_FULL);
  if (!batch.ended.empty()) return result(CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
  take_places(entries);
  const std::lock_guard lock(mutex);
  count_batch(entries);
  state.seen.largest_submit = std::max(state.seen.largest_submit, entries);
  for (unsigned i = 0; i < entries; ++i) {
    const CUfileIOParams_t& one = operations[i];
    const ssize_t moved =
        move(static_cast<File*>(one.fh),
             static_cast<char*>(one.u.batch.devPtr_base) + one.u.batch.devPtr_offset,
             one.u.batch.size, one.u.batch.file_offset, one.opcode == CUFILE_WRITE);
    const ssize_t value = moved == -1 ? -errno : moved;
    batch.ended.push_front(
        {one.cookie, moved < 0 ? CUFILE_FAILED : CUFILE_COMPLETE, static_cast<std::size_t>(value)});
  }
  return result(0);
}
CUfileError_t cuFileBatchIOGetStatus(CUfileBatchHandle_t handle, unsigned, unsigned* entries,
                                     CUfileIOEvents_t* events, timespec*) {
  const std::lock_guard lock(mutex);
  Batch& batch = *static_cast<Batch*>(handle);
  const auto given = std::min({static_cast<std::size_t>(*entries), batch.ended.size(),
                               static_cast<std::size_t>(state.machine.events_a_poll)});
  std::copy_n(batch.ended.begin(), given, events);
  batch.ended.erase(batch.ended.begin(), batch.ended.begin() + static_cast<std::ptrdiff_t>(given));
  in_flight -= given;
  *entries = static_cast<unsigned>(given);
  return result(0);
}

#if FAKE_CUFILE_VERSION >= 1150
CUfileError_t cuFileSetStatsLevel(int) { return result(0); }
CUfileError_t cuFileStatsStart() { return result(0); }
CUfileError_t cuFileGetStatsL1(CUfileStatsLevel1_t* to) {
  const std::lock_guard lock(mutex);
  *to = statistics.detailed.basic;
  return result(0);
}
// From 1.19 on, level 1 has 112 bytes more.
CUfileError_t cuFileGetStatsL3(CUfileStatsLevel3_t* to) {
  constexpr std::size_t kGrowth = 112;
  const std::lock_guard lock(mutex);
  const std::size_t basic = sizeof statistics.detailed.basic;
  const std::size_t shift = state.machine.version >= 1190 ? kGrowth : 0;
  auto* const bytes = reinterpret_cast<char*>(to);
  std::memcpy(bytes, &statistics, basic);
  std::memset(bytes + basic, 0xee, shift);
  std::memcpy(bytes + basic + shift, reinterpret_cast<const char*>(&statistics) + basic,
              sizeof statistics - basic);
  return result(0);
}
#endif

}  // extern "C"
