#include "gpu/fake_cuda.h"

#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/cells.h"
#include "gpu/chase_kernels.h"
#include "gpu/copy_kernels.h"
#include "gpu/cupti.h"
#include "gpu/driver.h"
#include "gpu/gate.h"
#include "gpu/kernel.h"
#include "gpu/pattern.h"
#include "gpu/piece_kernels.h"
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

thread_local CUcontext current_context = nullptr;

// A GPU's context is its number, counted from 1 on.
CUcontext context_of_gpu(int gpu) {
  return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(gpu) + 1);
}

int current_gpu() {
  if (current_context == nullptr) throw std::logic_error("this thread has no context");
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(current_context)) - 1;
}

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

FakeStream& stream_of(CUstream stream) { return *reinterpret_cast<FakeStream*>(stream); }
FakeEvent& event_of(CUevent event) { return *reinterpret_cast<FakeEvent*>(event); }

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

void add(CUstream stream, Work work) {
  const Lock lock;
  if (stream == nullptr) {
    state().default_streams[current_gpu()].push_back(std::move(work));
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

void add_kernel(CUstream stream, std::size_t bytes, std::function<void()> act) {
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

CUresult allocate(void** memory, std::size_t bytes, int place) {
  const Lock lock;
  const int file = new_file(bytes);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = mapped(file, bytes);
  std::memset(*memory, 1, bytes);
  ++state().allocations;
  state().memory[static_cast<std::byte*>(*memory)] = {bytes, place, file};
  return CUDA_SUCCESS;
}

CUresult allocate_at(CUdeviceptr* memory, std::size_t bytes, int place) {
  void* made = nullptr;
  const CUresult result = allocate(&made, bytes, place);
  *memory = address_of(made);
  return result;
}

std::byte* pointer_to(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }

CUresult give_back(void* memory) {
  const Lock lock;
  run_all();
  for (int gpu = 0; gpu < kGpus; ++gpu) run_default_stream(gpu);
  const auto found = state().memory.find(static_cast<std::byte*>(memory));
  if (found == state().memory.end()) return CUDA_ERROR_INVALID_VALUE;
  munmap(memory, found->second.bytes);
  close(found->second.file);
  state().memory.erase(found);
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

}  // namespace

int pieces_of_memory() { return static_cast<int>(state().memory.size() + state().created.size()); }

int allocations() { return state().allocations; }

}  // namespace tierscope::fake_cuda

// The driver's functions. cuda.h gives some names a suffix, here as where they are called.
namespace tierscope::fake_cuda::functions {
namespace {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "AN_ERROR";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "an error";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = kGpus;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake GPU");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* address, int bytes, CUdevice gpu) {
  std::snprintf(address, static_cast<std::size_t>(bytes), "0000:%02x:00.0", 0x17 + gpu);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = kMultiprocessors;
      break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
      *value = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
      // Of CUDA 12.3; older drivers do not know it.
      if (state().machine.driver < kCudaOfFabricHandles) return CUDA_ERROR_INVALID_VALUE;
      *value = state().machine.fabric ? 1 : 0;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) {
  *can = state().machine.peers ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice gpu) {
  *context = context_of_gpu(gpu);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current_context;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  current_context = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* gpu) {
  *gpu = current_gpu();
  return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_SUCCESS; }
CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = state().machine.free_bytes;
  return state().machine.context_is_lost ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

// Kernels are replaced as a whole: see below.
CUresult cuModuleLoadData(CUmodule*, const void*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int*, CUfunction, int, std::size_t) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void**, void**) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemAlloc(CUdeviceptr* memory, std::size_t bytes) {
  return allocate_at(memory, bytes, current_gpu());
}
CUresult cuMemAllocManaged(CUdeviceptr* memory, std::size_t bytes, unsigned) {
  return allocate_at(memory, bytes, kHost);
}
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = std::size_t{2} << 20;
  return CUDA_SUCCESS;
}
CUresult cuMemExportToShareableHandle(void* to, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType, unsigned long long) {
  const Lock lock;
  const Piece& piece = state().created.at(handle);
  const FileOfProcess said{getpid(), piece.file, piece.place, piece.bytes};
  std::memcpy(to, &said, sizeof said);
  return CUDA_SUCCESS;
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* from,
                                        CUmemAllocationHandleType) {
  const Lock lock;
  FileOfProcess found{};
  std::memcpy(&found, from, sizeof found);
  const Piece piece = open_file(found);
  if (piece.file < 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = add_created(piece);
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long) {
  const Lock lock;
  if (bytes > state().machine.free_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const int file = new_file(bytes);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = add_created({bytes, properties->location.id, file});
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const Lock lock;
  close(state().created.at(handle).file);
  state().created.erase(handle);
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long) {
  void* memory = nullptr;
  allocate(&memory, bytes, current_gpu());
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t) {
  give_back(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  const Lock lock;
  auto* const at = reinterpret_cast<std::byte*>(address);
  mapped(state().created.at(handle).file, bytes, at);
  state().memory.at(at).place = state().created.at(handle).place;
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr, std::size_t) { return CUDA_SUCCESS; }
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return allocate(memory, bytes, kHost);
}
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr memory) {
  const Lock lock;
  const Piece& piece = state().memory.at(pointer_to(memory));
  const FileOfProcess said{getpid(), piece.file, piece.place, piece.bytes};
  std::memcpy(handle, &said, sizeof said);
  return CUDA_SUCCESS;
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* memory, CUipcMemHandle handle, unsigned) {
  const Lock lock;
  if (!state().machine.peers) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  FileOfProcess found{};
  std::memcpy(&found, &handle, sizeof found);
  const Piece piece = open_file(found);
  if (piece.file < 0) return CUDA_ERROR_INVALID_VALUE;
  void* const at = mapped(piece.file, piece.bytes);
  state().memory[static_cast<std::byte*>(at)] = piece;
  *memory = address_of(at);
  return CUDA_SUCCESS;
}
CUresult cuIpcCloseMemHandle(CUdeviceptr memory) { return give_back(pointer_to(memory)); }
CUresult cuMemFree(CUdeviceptr memory) {
  current_gpu();
  return give_back(pointer_to(memory));
}
CUresult cuMemFreeHost(void* memory) { return give_back(memory); }
CUresult cuMemHostRegister(void*, std::size_t, unsigned) { return CUDA_SUCCESS; }
CUresult cuMemHostUnregister(void*) { return CUDA_SUCCESS; }
CUresult cuMemAdvise(CUdeviceptr, std::size_t, CUmem_advise, CUmemLocation) { return CUDA_SUCCESS; }
CUresult cuMemPrefetchAsync(CUdeviceptr, std::size_t, CUmemLocation, unsigned, CUstream) {
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  const Lock lock;
  auto* made = new FakeStream{.gpu = current_gpu()};
  state().streams.insert(made);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  const Lock lock;
  run_all();
  state().streams.erase(&stream_of(stream));
  delete &stream_of(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  run_all();
  const auto waits = [stream] {
    const Lock lock;
    return !stream_of(stream).work.empty() && stream_of(stream).work.front().ready;
  };
  while (waits()) {
    usleep(50);
    run_all();
  }
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
  run_all();
  state().machine.found_empty(stream);
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  run_all();
  run_default_stream(current_gpu());
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(new FakeEvent);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete &event_of(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  add(stream, {.act = [event](double now) { event_of(event).time = now; }});
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  const Lock lock;
  *milliseconds = static_cast<float>((event_of(to).time - event_of(from).time) * 1e3);
  return CUDA_SUCCESS;
}

// To the host, bytes have arrived when it returns. To a GPU, those of the host have only been read.
// (From pinned memory CUDA waits for them to arrive; here, nothing may rely on that.)
CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes) {
  const Lock lock;
  std::byte* const to = pointer_to(destination);
  const std::byte* const from = pointer_to(source);
  if (place_of(to) == kHost) {
    run_default_stream(current_gpu());
    std::memcpy(to, from, bytes);
  } else if (place_of(from) == kHost) {
    add(nullptr, {.act = [to, read = std::vector(from, from + bytes)](double) {
          std::memcpy(to, read.data(), read.size());
        }});
  } else {
    add(nullptr, {.act = [=](double) { std::memcpy(to, from, bytes); }});
  }
  return CUDA_SUCCESS;
}
CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes,
                       CUstream stream) {
  if (state().machine.copy_error != CUDA_SUCCESS) return state().machine.copy_error;
  std::byte* const to = pointer_to(destination);
  const std::byte* const from = pointer_to(source);
  add(stream, {.act = [=](double) { copy(to, from, bytes); },
               .seconds = static_cast<double>(bytes) / state().machine.copy_engine,
               .engine = engine_of(stream_of(stream), to, from)});
  return CUDA_SUCCESS;
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* rows, CUstream stream) {
  std::byte* const to = pointer_to(rows->dstDevice);
  const std::byte* const from = pointer_to(rows->srcDevice);
  const auto act = [=, rows = *rows](double) {
    for (std::size_t row = 0; row < rows.Height; ++row) {
      copy(to + row * rows.dstPitch, from + row * rows.srcPitch, rows.WidthInBytes);
    }
  };
  add(stream, {.act = act,
               .seconds = static_cast<double>(rows->WidthInBytes * rows->Height) /
                          state().machine.copy_engine,
               .engine = engine_of(stream_of(stream), to, from)});
  return CUDA_SUCCESS;
}
CUresult cuMemcpyBatchAsync(CUdeviceptr* destinations, CUdeviceptr* sources, std::size_t* sizes,
                            std::size_t count, CUmemcpyAttributes*, std::size_t*, std::size_t,
                            std::size_t*, CUstream stream) {
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult error = functions::cuMemcpyAsync(destinations[i], sources[i], sizes[i], stream);
    if (error != CUDA_SUCCESS) return error;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, std::size_t bytes,
                         CUstream stream) {
  add(stream, {.act = [=](double) { std::memset(pointer_to(memory), value, bytes); }});
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8(CUdeviceptr memory, unsigned char value, std::size_t bytes) {
  return cuMemsetD8Async(memory, value, bytes, nullptr);
}

}  // namespace
}  // namespace tierscope::fake_cuda::functions

// What this driver exports: of the functions in use those that cuda.h of its CUDA has.
namespace tierscope {

using namespace fake_cuda;  // NOLINT: it is in this file.

namespace {

struct Exported {
  std::string_view name;
  int since;
  void* function;
};

#define FAKE_EXPORT(name, since) \
  {#name, since,                 \
   reinterpret_cast<void*>(static_cast<PFN_##name##_v##since>(fake_cuda::functions::name))},
const Exported exported[] = {TIERSCOPE_CUDA_FUNCTIONS(FAKE_EXPORT)};
#undef FAKE_EXPORT

CUresult driver_version(int* version) {
  *version = state().machine.driver;
  return CUDA_SUCCESS;
}

CUresult get_proc_address(const char* name, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* result) {
  *function = nullptr;
  *result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const Exported& one : exported) {
    if (one.name != name || one.since > state().machine.driver) continue;
    *result = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (one.since > version) continue;
    *function = one.function;
    *result = CU_GET_PROC_ADDRESS_SUCCESS;
  }
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

void* export_of(std::string_view name) {
  const int driver = state().machine.driver;
  if (name == "cuDriverGetVersion" && driver > 0) return reinterpret_cast<void*>(driver_version);
  // Of this interface CUDA 12.0 is the first.
  const bool has = name == "cuGetProcAddress_v2" && driver >= 12000;
  return has ? reinterpret_cast<void*>(get_proc_address) : nullptr;
}

Driver& found_driver() {
  static Driver driver = find_functions(export_of);
  return driver;
}

}  // namespace

const Driver& loaded_driver() { return found_driver(); }

void fake_cuda::set(const Machine& machine) {
  state().machine = machine;
  state().now = 0;
  state().engines.clear();
  found_driver() = find_functions(export_of);
}

}  // namespace tierscope

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
void add_chase(const Chase& chase, CUstream stream, std::function<void()> more) {
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
void HostGate::hold(CUstream stream) {
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
                CUstream stream) {
  add(stream, {.act = [](double) {}, .ready = [=] { return *flag >= round || *other >= round; }});
}
void hold_and_set(const volatile unsigned* flag, volatile unsigned* const* others, int count,
                  unsigned round, CUstream stream) {
  add(stream, {.act =
                   [=](double) {
                     for (int i = 0; i < count; ++i) *others[i] = round;
                   },
               .ready = [=] { return *flag >= round; }});
}
bool runs_kernels() { return state().machine.runs_kernels; }

void fill_pattern(std::byte* data, std::size_t first, std::size_t bytes, const Pattern& pattern,
                  CUstream stream) {
  add(stream, {.act = [=](double) {
        for (std::size_t i = 0; i < bytes; ++i) {
          data[i] = static_cast<std::byte>(expected_byte(first + i, pattern));
        }
      }});
}
void compare_pattern(const std::byte* data, std::size_t first, std::size_t bytes,
                     const Pattern& pattern, PatternMismatch* found, CUstream stream) {
  add(stream, {.act = [=](double) {
        for (std::size_t i = 0; i < bytes; ++i) {
          if (static_cast<unsigned char>(data[i]) == expected_byte(first + i, pattern)) continue;
          ++found->bytes;
          found->first = std::min<unsigned long long>(found->first, first + i);
        }
      }});
}

void check_cells(const std::byte* data, std::size_t bytes, const ExpectedCells& expected,
                 std::uint32_t* wrong, CUstream stream) {
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
                 CUstream stream) {
  state().machine.launched(blocks);
  add_kernel(stream, bytes * static_cast<std::size_t>(passes), [=] { copy(to, from, bytes); });
}
void launch_exchange(const CopyEnds& there, const CopyEnds& back, std::size_t bytes, int passes,
                     int blocks, CUstream stream) {
  state().machine.launched(blocks);
  add_kernel(stream, bytes * static_cast<std::size_t>(passes), [=] {
    copy(there.to, there.from, bytes);
    copy(back.to, back.from, bytes);
  });
}
void launch_bulk_copy(std::byte* to, const std::byte* from, std::size_t bytes, int passes,
                      int blocks, CUstream stream) {
  launch_copy(to, from, bytes, passes, blocks, stream);
}

void launch_pieces(const PieceMove& move, int blocks, CUstream stream) {
  state().machine.launched(blocks);
  add_kernel(stream, move.count * move.bytes, [move] {
    for (std::size_t i = 0; i < move.count; ++i) {
      std::byte* const pooled = move.pool + move.ends[i].pool;
      std::byte* const stored = move.store + move.ends[i].store;
      const std::byte* const from = move.to_pool ? stored : pooled;
      copy(move.to_pool ? pooled : stored, from, move.bytes);
    }
  });
}

void lay_chain(std::byte* start, std::size_t stride, const std::uint32_t* next, std::uint32_t slots,
               CUstream stream) {
  add(stream, {.act = [=](double) {
        for (std::uint32_t i = 0; i < slots; ++i) {
          if (next[i] >= slots) throw std::out_of_range("a link leads out of the chain");
          const std::byte* const to = start + next[i] * stride;
          std::memcpy(start + i * stride, static_cast<const void*>(&to), sizeof to);
        }
      }});
}
void launch_chase(const Chase& chase, CUstream stream) {
  add_chase(chase, stream, [] {});
}
void launch_bulk_chase(const Chase& chase, CUstream stream) { launch_chase(chase, stream); }
void launch_chase_on(const Chase& chase, int, int, unsigned* ran, CUstream stream) {
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

void fill_stream(const StreamArrays& arrays, GpuOperation, CUstream stream) {
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
                   CUstream stream) {
  state().machine.launched(blocks);
  const int touched = (arrays.a != nullptr) + (arrays.b != nullptr) + (arrays.c != nullptr);
  add_kernel(stream, arrays.count * sizeof(double) * static_cast<std::size_t>(touched * passes),
             [=] {
               if (state().machine.copies()) work(arrays, operation, passes);
             });
}
void compare_stream(const StreamArrays& arrays, GpuOperation operation, unsigned long long* wrong,
                    CUstream stream) {
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
