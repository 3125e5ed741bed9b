// What libcufile.so.0 takes and gives: names and values of its interface that this program uses.
//
// Declared here because headers differ from toolkit to toolkit while the library is opened at run
// time. Statistics grew between versions without new symbols: see the offsets at the end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace tierscope::cufile_abi {

struct Error {
  int code;        // 0: success; 5001 and up: cuFile's own.
  int cuda_error;  // CUresult, where code is kCudaDriverError.
};

inline constexpr int kFirstError = 5000;
inline constexpr int kDriverNotInitialized = 5001;
inline constexpr int kCudaDriverError = 5011;
inline constexpr int kHandleNotRegistered = 5027;

using Handle = void*;
using BatchHandle = void*;
using CudaStream = void*;

inline constexpr int kTypeOfDescriptor = 1;
struct FileDescription {
  int type;
  union {
    int descriptor;
    void* other;
  } handle;
  const void* operations;  // Of file systems in user space; null.
};

struct DriverProperties {
  struct {
    unsigned major_version;
    unsigned minor_version;
    std::size_t poll_threshold;
    std::size_t max_direct_io;
    unsigned status;
    unsigned control;
  } nvfs;
  unsigned features;
  unsigned max_device_cache;
  unsigned per_buffer_cache;
  unsigned max_pinned;
  unsigned max_batch;
  unsigned max_batch_timeout_ms;
};

inline constexpr int kRead = 0;
inline constexpr int kWrite = 1;
inline constexpr int kBatchMode = 1;
struct BatchOperation {
  int mode;
  struct {
    void* base;
    off_t file_offset;
    off_t buffer_offset;
    std::size_t bytes;
  } where;
  Handle file;
  int opcode;
  void* cookie;
};

enum Status : int {
  kInvalid = 0x4,
  kCanceled = 0x8,
  kComplete = 0x10,
  kTimeout = 0x20,
  kFailed = 0x40,
};
struct BatchEvent {
  void* cookie;
  int status;
  std::size_t result;  // Bytes, or a negative error.
};

// Offsets, sizes and buffer offsets of a stream's operations are known when they are submitted.
inline constexpr unsigned kFixedStream = 1 | 2 | 4;
// All of them are multiples of 4 KiB.
inline constexpr unsigned kAlignedStream = 8;
inline constexpr std::uint64_t kStreamAlignment = 4096;

struct Counter {
  std::uint64_t ok;
  std::uint64_t failed;
};
struct Level1 {  // As far as it is used; the first part is the same in all versions.
  Counter reads, writes, handle_registers, handle_deregisters, buffer_registers, buffer_deregisters;
  std::uint64_t rates[10];
  Counter batch[9];
  Counter batch_nvfs, batch_p2p, batch_aio, batch_io_uring, batch_mixed;
};
struct PerGpu {
  char uuid[16];
  std::uint64_t read_rates[4];
  std::uint64_t reads, p2p_reads, nvfs_reads, posix_reads, unaligned_reads;
  std::uint64_t read_rest[4];
  std::uint64_t write_rates[4];
  std::uint64_t writes, p2p_writes, nvfs_writes, posix_writes, unaligned_writes;
  std::uint64_t write_rest[2];
  std::uint64_t registrations[5];
};
inline constexpr std::size_t kMaxGpus = 16;
inline constexpr int kFirstVersionWithVectors = 1190;  // 1.19 has counters of vectored operations.

// Bytes from the start of level 3's statistics to those of the first GPU.
constexpr std::size_t offset_of_gpus(int version) {
  constexpr std::size_t kSizeHistograms = std::size_t{2} * 32 * sizeof(std::uint64_t);
  const std::size_t level1 = version < kFirstVersionWithVectors ? 512 : 624;
  return level1 + kSizeHistograms + sizeof(std::uint64_t);  // The last one: how many GPUs.
}
// What a version to come may write; statistics are read into this many bytes.
inline constexpr std::size_t kStatisticsBytes = std::size_t{64} << 10;

}  // namespace tierscope::cufile_abi
