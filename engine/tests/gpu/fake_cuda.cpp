#include "gpu/fake_cuda.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/cells.h"
#include "gpu/chase_kernels.h"
#include "gpu/copy_kernels.h"
#include "gpu/cupti.h"
#include "gpu/gate.h"
#include "gpu/pattern.h"
#include "gpu/stream_kernels.h"
#include "storage/contents.h"

namespace tierscope::fake_cuda {
namespace {

constexpr int kGpus = 4;
constexpr int kMultiprocessors = 3;
constexpr int kHost = -1;
constexpr int kNoEngine = -1;

struct Work {
  std::function<void(double now)> act;
  double seconds = 0;
  int engine = kNoEngine;
  unsigned gate = 0;              // The round of the gate that it waits for.
  std::function<bool()> ready{};  // What it waits for in memory that others write to.
};

struct FakeStream {
  int gpu;
  double time = 0;
  std::deque<Work> work{};
};

struct FakeEvent {
  double time = 0;
};

struct Engine {
  double free = 0;
  const FakeStream* last = nullptr;
};

// Memory of a GPU is a file, which other processes can map.
struct Piece {
  std::size_t bytes;
  int place;
  int file = -1;
};

struct State {
  Machine machine{};
  double now = 0;
  unsigned opened = 0;
  double opened_at = 0;
  std::set<FakeStream*> streams{};
  std::map<int, std::deque<Work>> default_streams{};  // By GPU.
  std::map<int, Engine> engines{};
  std::map<const std::byte*, Piece> memory{};               // By start.
  std::map<CUmemGenericAllocationHandle, Piece> created{};  // By cuMemCreate.
  int allocations = 0;
};

State& state() {
  static State it;
  return it;
}

thread_local int current_gpu = 0;

// Threads of a measurement call CUDA at the same time. What they share is changed, and work is
// done, by one of them at a time; functions that hold this call each other.
class Lock {
 public:
  Lock() : held_(mutex()) {}

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex it;
    return it;
  }

  std::lock_guard<std::recursive_mutex> held_;
};

FakeStream& stream_of(cudaStream_t stream) { return *reinterpret_cast<FakeStream*>(stream); }
FakeEvent& event_of(cudaEvent_t event) { return *reinterpret_cast<FakeEvent*>(event); }

double start_of(const FakeStream& stream) {
  const Work& work = stream.work.front();
  double start = stream.time;
  if (work.gate > 0) start = std::max(start, state().opened_at);
  if (work.engine != kNoEngine) start = std::max(start, state().engines[work.engine].free);
  return start;
}

// Whether `one` comes before `other` although both could start now.
bool goes_first(const FakeStream& one, const FakeStream& other) {
  const int engine = one.work.front().engine;
  if (engine == kNoEngine || other.work.front().engine == kNoEngine) return engine == kNoEngine;
  const bool is_last = state().engines[engine].last == &one;
  return is_last == state().machine.stays_with_a_stream;
}

FakeStream* next() {
  FakeStream* best = nullptr;
  for (FakeStream* stream : state().streams) {
    if (stream->work.empty() || stream->work.front().gate > state().opened) continue;
    if (stream->work.front().ready && !stream->work.front().ready()) continue;
    if (best == nullptr || start_of(*stream) < start_of(*best) ||
        (start_of(*stream) == start_of(*best) && goes_first(*stream, *best))) {
      best = stream;
    }
  }
  return best;
}

void run_all() {
  const Lock lock;
  while (FakeStream* stream = next()) {
    const double end = start_of(*stream) + stream->work.front().seconds;
    const Work work = std::move(stream->work.front());
    stream->work.pop_front();
    stream->time = end;
    if (work.engine != kNoEngine) state().engines[work.engine] = {end, stream};
    state().now = std::max(state().now, end);
    if (work.act) work.act(end);
  }
}

void run_default_stream(int gpu) {
  const Lock lock;
  std::deque<Work>& works = state().default_streams[gpu];
  while (!works.empty()) {
    const Work work = std::move(works.front());
    works.pop_front();
    work.act(state().now);
  }
}

void add(cudaStream_t stream, Work work) {
  const Lock lock;
  if (stream == nullptr) {
    state().default_streams[current_gpu].push_back(std::move(work));
    return;
  }
  FakeStream& to = stream_of(stream);
  to.time = std::max(to.time, to.work.empty() ? state().now : to.time);
  to.work.push_back(std::move(work));
}

int place_of(const void* address) {
  const Lock lock;
  const auto* at = static_cast<const std::byte*>(address);
  auto found = state().memory.upper_bound(at);
  if (found == state().memory.begin()) return kHost;
  --found;
  return at < found->first + found->second.bytes ? found->second.place : kHost;
}

int engine_of(const FakeStream& stream, const void* to, const void* from) {
  enum Way { kToHost, kFromHost, kToPeers, kInside, kWays };
  const int source = place_of(from);
  const int destination = place_of(to);
  if (destination == kHost) return stream.gpu * kWays + kToHost;
  if (source == kHost) return stream.gpu * kWays + kFromHost;
  return source * kWays + (source == destination ? kInside : kToPeers);
}

void copy(void* to, const void* from, std::size_t bytes) {
  if (state().machine.copies()) std::memcpy(to, from, bytes);
}

void add_kernel(cudaStream_t stream, std::size_t bytes, std::function<void()> act) {
  const auto& rates = state().machine.kernels;
  const auto rate = rates.find(stream_of(stream).gpu);
  add(stream,
      {.act = [act = std::move(act)](double) { act(); },
       .seconds = static_cast<double>(bytes) / (rate == rates.end() ? 40e6 : rate->second)});
}

// Its number is above those that tests close to see what a closed file gives.
int new_file(std::size_t bytes) {
  constexpr int kAbove = 300;
  const int file = memfd_create("fake-gpu", MFD_CLOEXEC);
  const int moved = fcntl(file, F_DUPFD_CLOEXEC, kAbove);
  close(file);
  return ftruncate(moved, static_cast<off_t>(bytes)) == 0 ? moved : -1;
}

void* mapped(int file, std::size_t bytes, void* at = nullptr) {
  return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at == nullptr ? 0 : MAP_FIXED), file,
              0);
}

cudaError_t allocate(void** memory, std::size_t bytes, int place) {
  const Lock lock;
  const int file = new_file(bytes);
  if (file < 0) return cudaErrorMemoryAllocation;
  *memory = mapped(file, bytes);
  std::memset(*memory, 1, bytes);
  ++state().allocations;
  state().memory[static_cast<std::byte*>(*memory)] = {bytes, place, file};
  return cudaSuccess;
}

cudaError_t give_back(void* memory) {
  const Lock lock;
  run_all();
  for (int gpu = 0; gpu < kGpus; ++gpu) run_default_stream(gpu);
  const auto found = state().memory.find(static_cast<std::byte*>(memory));
  if (found == state().memory.end()) return cudaErrorInvalidValue;
  munmap(memory, found->second.bytes);
  close(found->second.file);
  state().memory.erase(found);
  return cudaSuccess;
}

CUresult granularity(std::size_t* bytes, const CUmemAllocationProp*,
                     CUmemAllocationGranularity_flags) {
  *bytes = std::size_t{2} << 20;
  return CUDA_SUCCESS;
}
CUmemGenericAllocationHandle add_created(const Piece& piece) {
  static CUmemGenericAllocationHandle next = 0;
  state().created[++next] = piece;
  return next;
}

// What handles of memory say: whose file it is.
struct FileOfProcess {
  int process;
  int file;
  int gpu;
  std::size_t bytes;
};

// As another process's memory: at no GPU of this one.
Piece open_file(const FileOfProcess& found) {
  constexpr int kElsewhere = 100;
  const std::string path =
      "/proc/" + std::to_string(found.process) + "/fd/" + std::to_string(found.file);
  return {found.bytes, kElsewhere + found.gpu, open(path.c_str(), O_RDWR | O_CLOEXEC)};
}

CUresult to_handle(void* to, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType,
                   unsigned long long) {
  const Lock lock;
  const Piece& piece = state().created.at(handle);
  const FileOfProcess said{getpid(), piece.file, piece.place, piece.bytes};
  std::memcpy(to, &said, sizeof said);
  return CUDA_SUCCESS;
}
CUresult from_handle(CUmemGenericAllocationHandle* handle, void* from, CUmemAllocationHandleType) {
  const Lock lock;
  FileOfProcess found{};
  std::memcpy(&found, from, sizeof found);
  const Piece piece = open_file(found);
  if (piece.file < 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = add_created(piece);
  return CUDA_SUCCESS;
}
CUresult attribute(int* value, CUdevice_attribute asked, CUdevice) {
  *value = asked == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED && state().machine.fabric;
  return CUDA_SUCCESS;
}
CUresult error_name(CUresult, const char** name) {
  *name = "AN_ERROR";
  return CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                const CUmemAllocationProp* properties, unsigned long long) {
  const Lock lock;
  if (bytes > state().machine.free_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const int file = new_file(bytes);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = add_created({bytes, properties->location.id, file});
  return CUDA_SUCCESS;
}
CUresult release(CUmemGenericAllocationHandle handle) {
  const Lock lock;
  close(state().created.at(handle).file);
  state().created.erase(handle);
  return CUDA_SUCCESS;
}
CUresult reserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr,
                 unsigned long long) {
  void* memory = nullptr;
  allocate(&memory, bytes, current_gpu);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
CUresult free_addresses(CUdeviceptr address, std::size_t) {
  give_back(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult map(CUdeviceptr address, std::size_t bytes, std::size_t,
             CUmemGenericAllocationHandle handle, unsigned long long) {
  const Lock lock;
  auto* const at = reinterpret_cast<std::byte*>(address);
  mapped(state().created.at(handle).file, bytes, at);
  state().memory.at(at).place = state().created.at(handle).place;
  return CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr, std::size_t) { return CUDA_SUCCESS; }
CUresult set_access(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
  return CUDA_SUCCESS;
}

const std::map<std::string, void*>& driver_functions() {
  static const std::map<std::string, void*> all{
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(granularity)},
      {"cuMemCreate", reinterpret_cast<void*>(create)},
      {"cuMemRelease", reinterpret_cast<void*>(release)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(reserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(free_addresses)},
      {"cuMemMap", reinterpret_cast<void*>(map)},
      {"cuMemUnmap", reinterpret_cast<void*>(unmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(set_access)},
      {"cuMemExportToShareableHandle", reinterpret_cast<void*>(to_handle)},
      {"cuMemImportFromShareableHandle", reinterpret_cast<void*>(from_handle)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(attribute)},
      {"cuGetErrorName", reinterpret_cast<void*>(error_name)}};
  return all;
}

}  // namespace

int pieces_of_memory() { return static_cast<int>(state().memory.size() + state().created.size()); }

void set(const Machine& machine) {
  state().machine = machine;
  state().now = 0;
  state().engines.clear();
}

int allocations() { return state().allocations; }

}  // namespace tierscope::fake_cuda

using namespace tierscope::fake_cuda;  // NOLINT: these functions are CUDA's, in no namespace.

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  *version = state().machine.driver;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = kGpus;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* gpu) {
  *gpu = current_gpu;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int gpu) {
  current_gpu = gpu;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = state().machine.peers ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char* address, int bytes, int gpu) {
  std::snprintf(address, static_cast<std::size_t>(bytes), "0000:%02x:00.0", 0x17 + gpu);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "Fake GPU");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      break;
    case cudaDevAttrConcurrentManagedAccess:
      *value = 1;
      break;
    default:
      *value = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = state().machine.free_bytes;
  return state().machine.context_is_lost ? cudaErrorIllegalAddress : cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "an error"; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, current_gpu);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return allocate(memory, bytes, kHost);
}
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned) {
  return allocate(memory, bytes, kHost);
}
// What cuMemMap maps is memory of this process.
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult*) {
  const auto found = driver_functions().find(name);
  *function = found == driver_functions().end() ? nullptr : found->second;
  return cudaSuccess;
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  const Lock lock;
  const Piece& piece = state().memory.at(static_cast<std::byte*>(memory));
  const FileOfProcess said{getpid(), piece.file, piece.place, piece.bytes};
  std::memcpy(handle, &said, sizeof said);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  const Lock lock;
  if (!state().machine.peers) return cudaErrorPeerAccessUnsupported;
  FileOfProcess found{};
  std::memcpy(&found, &handle, sizeof found);
  const Piece piece = open_file(found);
  if (piece.file < 0) return cudaErrorInvalidValue;
  *memory = mapped(piece.file, piece.bytes);
  state().memory[static_cast<std::byte*>(*memory)] = piece;
  return cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void* memory) { return give_back(memory); }
cudaError_t cudaFree(void* memory) { return memory == nullptr ? cudaSuccess : give_back(memory); }
cudaError_t cudaFreeHost(void* memory) { return give_back(memory); }
cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, cudaMemLocation) {
  return cudaSuccess;
}
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, cudaMemLocation, unsigned,
                                 cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock;
  auto* made = new FakeStream{.gpu = current_gpu};
  state().streams.insert(made);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock;
  run_all();
  state().streams.erase(&stream_of(stream));
  delete &stream_of(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  run_all();
  const auto waits = [stream] {
    const Lock lock;
    return !stream_of(stream).work.empty() && stream_of(stream).work.front().ready;
  };
  while (waits()) {
    usleep(50);
    run_all();
  }
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  run_all();
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  run_all();
  run_default_stream(current_gpu);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = reinterpret_cast<cudaEvent_t>(new FakeEvent);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &event_of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  add(stream, {.act = [event](double now) { event_of(event).time = now; }});
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Lock lock;
  *milliseconds = static_cast<float>((event_of(to).time - event_of(from).time) * 1e3);
  return cudaSuccess;
}

// To the host, bytes have arrived when it returns. To a GPU, those of the host have only been read.
// (From pinned memory CUDA waits for them to arrive; here, nothing may rely on that.)
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  const Lock lock;
  const auto* first = static_cast<const std::byte*>(from);
  if (place_of(to) == kHost) {
    run_default_stream(current_gpu);
    std::memcpy(to, from, bytes);
  } else if (place_of(from) == kHost) {
    add(nullptr, {.act = [to, read = std::vector(first, first + bytes)](double) {
          std::memcpy(to, read.data(), read.size());
        }});
  } else {
    add(nullptr, {.act = [=](double) { std::memcpy(to, from, bytes); }});
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  if (state().machine.copy_error != cudaSuccess) return state().machine.copy_error;
  add(stream, {.act = [=](double) { copy(to, from, bytes); },
               .seconds = static_cast<double>(bytes) / state().machine.copy_engine,
               .engine = engine_of(stream_of(stream), to, from)});
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t row_bytes, std::size_t samples,
                              cudaMemcpyKind, cudaStream_t stream) {
  const auto act = [=](double) {
    for (std::size_t sample = 0; sample < samples; ++sample) {
      copy(static_cast<std::byte*>(to) + sample * to_pitch,
           static_cast<const std::byte*>(from) + sample * from_pitch, row_bytes);
    }
  };
  add(stream, {.act = act,
               .seconds = static_cast<double>(row_bytes * samples) / state().machine.copy_engine,
               .engine = engine_of(stream_of(stream), to, from)});
  return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  return cudaMemsetAsync(memory, value, bytes, nullptr);
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  add(stream, {.act = [=](double) { std::memset(memory, value, bytes); }});
  return cudaSuccess;
}

}  // extern "C"

// What stands in for the kernels, on the CPU.
namespace tierscope {
namespace {

unsigned char expected_byte(std::size_t at, const Pattern& pattern) {
  const bool inside =
      at >= pattern.offset && (at - pattern.offset) % pattern.pitch < pattern.row_bytes;
  const std::uint64_t seed = inside ? pattern.seed : pattern.other;
  return static_cast<unsigned char>((at * 0x9e3779b97f4a7c15ULL + seed * 0xbf58476d1ce4e5b9ULL) >>
                                    56U);
}

std::uint32_t walk(const Chase& chase) {
  const std::byte* at = chase.start + chase.first * chase.stride;
  for (std::uint32_t i = 0; i < chase.loads; ++i) {
    std::memcpy(&at, at, sizeof at);
  }
  return static_cast<std::uint32_t>(static_cast<std::size_t>(at - chase.start) / chase.stride);
}

// Of a cycle that an L1 holds: it misses once in each slot.
void add_chase(const Chase& chase, cudaStream_t stream, std::function<void()> more) {
  const Machine& machine = state().machine;
  machine.launched(1);
  std::size_t slots = 1;
  const std::byte* at = chase.start;
  for (std::memcpy(&at, at, sizeof at); at != chase.start; ++slots) {
    std::memcpy(&at, at, sizeof at);
  }
  const std::size_t misses = std::min<std::size_t>(slots, chase.loads);
  add(stream, {.act =
                   [chase, more = std::move(more)](double) {
                     *chase.last = walk(chase);
                     more();
                   },
               .seconds = machine.launch_s + static_cast<double>(misses) * machine.miss_s +
                          static_cast<double>(chase.loads - misses) * machine.hit_s});
}

}  // namespace

HostGate::HostGate() { opened_ = new unsigned(0); }
HostGate::~HostGate() { delete opened_; }
void HostGate::hold(cudaStream_t stream) {
  const Lock lock;
  // Rounds go on from gate to gate here.
  add(stream, {.act = [](double) {}, .gate = state().opened + 1});
}
void HostGate::open() {
  const Lock lock;
  *opened_ = round_;
  ++state().opened;
  state().opened_at = state().now;
}
void hold_until(const volatile unsigned* flag, const volatile unsigned* other, unsigned round,
                cudaStream_t stream) {
  add(stream, {.act = [](double) {}, .ready = [=] { return *flag >= round || *other >= round; }});
}
void hold_and_set(const volatile unsigned* flag, volatile unsigned* const* others, int count,
                  unsigned round, cudaStream_t stream) {
  add(stream, {.act =
                   [=](double) {
                     for (int i = 0; i < count; ++i) *others[i] = round;
                   },
               .ready = [=] { return *flag >= round; }});
}
bool runs_kernels() { return state().machine.runs_kernels; }

void fill_pattern(std::byte* data, std::size_t first, std::size_t bytes, const Pattern& pattern,
                  cudaStream_t stream) {
  add(stream, {.act = [=](double) {
        for (std::size_t i = 0; i < bytes; ++i) {
          data[i] = static_cast<std::byte>(expected_byte(first + i, pattern));
        }
      }});
}
void compare_pattern(const std::byte* data, std::size_t first, std::size_t bytes,
                     const Pattern& pattern, PatternMismatch* found, cudaStream_t stream) {
  add(stream, {.act = [=](double) {
        for (std::size_t i = 0; i < bytes; ++i) {
          if (static_cast<unsigned char>(data[i]) == expected_byte(first + i, pattern)) continue;
          ++found->bytes;
          found->first = std::min<unsigned long long>(found->first, first + i);
        }
      }});
}

void check_cells(const std::byte* data, std::size_t bytes, const ExpectedCells& expected,
                 std::uint32_t* wrong, cudaStream_t stream) {
  add(stream, {.act = [=](double) {
        if (verify({data, bytes}, expected.file, expected.offset, expected.min_generation,
                   expected.cell_bytes)) {
          *wrong = 1;
        }
      }});
}

int most_copy_blocks() { return 64; }
int single_pass_copy_blocks(std::size_t) { return 1024; }
int most_exchange_blocks() { return 64; }
int most_bulk_blocks() { return 64; }
bool has_bulk_copy(int major) { return major >= 9; }
void launch_copy(std::byte* to, const std::byte* from, std::size_t bytes, int passes, int blocks,
                 cudaStream_t stream) {
  state().machine.launched(blocks);
  add_kernel(stream, bytes * static_cast<std::size_t>(passes), [=] { copy(to, from, bytes); });
}
void launch_exchange(const CopyEnds& there, const CopyEnds& back, std::size_t bytes, int passes,
                     int blocks, cudaStream_t stream) {
  state().machine.launched(blocks);
  add_kernel(stream, bytes * static_cast<std::size_t>(passes), [=] {
    copy(there.to, there.from, bytes);
    copy(back.to, back.from, bytes);
  });
}
void launch_bulk_copy(std::byte* to, const std::byte* from, std::size_t bytes, int passes,
                      int blocks, cudaStream_t stream) {
  launch_copy(to, from, bytes, passes, blocks, stream);
}

void lay_chain(std::byte* start, std::size_t stride, const std::uint32_t* next, std::uint32_t slots,
               cudaStream_t stream) {
  add(stream, {.act = [=](double) {
        for (std::uint32_t i = 0; i < slots; ++i) {
          if (next[i] >= slots) throw std::out_of_range("a link leads out of the chain");
          const std::byte* const to = start + next[i] * stride;
          std::memcpy(start + i * stride, static_cast<const void*>(&to), sizeof to);
        }
      }});
}
void launch_chase(const Chase& chase, cudaStream_t stream) {
  add_chase(chase, stream, [] {});
}
void launch_bulk_chase(const Chase& chase, cudaStream_t stream) { launch_chase(chase, stream); }
void launch_chase_on(const Chase& chase, int, int, unsigned* ran, cudaStream_t stream) {
  add_chase(chase, stream, [ran] { *ran = 1; });
}

namespace {

double b_at(std::size_t i) { return static_cast<double>(i % 1024 + 1); }
double c_at(std::size_t i) { return static_cast<double>(i % 512 + 2); }

double result_at(GpuOperation operation, double b, double c) {
  switch (operation) {
    case GpuOperation::kWrite:
      return kStreamScalar;
    case GpuOperation::kScale:
      return kStreamScalar * b;
    case GpuOperation::kAdd:
      return b + c;
    case GpuOperation::kTriad:
      return b + kStreamScalar * c;
    default:
      return b;
  }
}

// Reads are added up, one pass after the other; what writes leave is the same after each.
void work(const StreamArrays& arrays, GpuOperation operation, int passes) {
  for (std::size_t i = 0; i < arrays.count && operation != GpuOperation::kRandom; ++i) {
    if (operation == GpuOperation::kRead) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, arrays.b + i, sizeof bits);
      *arrays.sum += bits * static_cast<unsigned>(passes);
    } else {
      const double b = arrays.b == nullptr ? 0 : arrays.b[i];
      arrays.a[i] = result_at(operation, b, arrays.c == nullptr ? 0 : arrays.c[i]);
    }
  }
}

}  // namespace

void fill_stream(const StreamArrays& arrays, GpuOperation, cudaStream_t stream) {
  add(stream, {.act = [arrays](double) {
        for (std::size_t i = 0; i < arrays.count; ++i) {
          if (arrays.a != nullptr) arrays.a[i] = -1;
          if (arrays.b != nullptr) arrays.b[i] = b_at(i);
          if (arrays.c != nullptr) arrays.c[i] = c_at(i);
        }
      }});
}
int most_stream_blocks(GpuOperation) { return 64; }
int single_pass_blocks(const StreamArrays&) { return 1024; }
void launch_stream(const StreamArrays& arrays, GpuOperation operation, int passes, int blocks,
                   cudaStream_t stream) {
  state().machine.launched(blocks);
  const int touched = (arrays.a != nullptr) + (arrays.b != nullptr) + (arrays.c != nullptr);
  add_kernel(stream, arrays.count * sizeof(double) * static_cast<std::size_t>(touched * passes),
             [=] {
               if (state().machine.copies()) work(arrays, operation, passes);
             });
}
void compare_stream(const StreamArrays& arrays, GpuOperation operation, unsigned long long* wrong,
                    cudaStream_t stream) {
  add(stream, {.act = [=](double) {
        for (std::size_t i = 0; i < arrays.count; ++i) {
          if (arrays.a[i] != result_at(operation, b_at(i), c_at(i))) ++*wrong;
        }
      }});
}
unsigned long long stream_read_sum(std::size_t count) {
  unsigned long long sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double b = b_at(i);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &b, sizeof bits);
    sum += bits;
  }
  return sum;
}

// There is nothing to trace.
const Cupti& cupti() {
  static const Cupti none{.missing = "a fake CUDA has none"};
  return none;
}

}  // namespace tierscope
