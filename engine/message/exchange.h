// Messages between two ranks of an MPI program, timed: a shared library with a door of plain C.
//
// It is built without an MPI. Its caller hands it MPI's functions, handles and sizes, as those of
// the MPI library that is loaded: handles are pointers in Open MPI and ints in MPICH, and both are
// passed as machine words.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Of MPI as it is loaded. Functions return 0 where they succeed (MPI_SUCCESS).
struct TsMessageMpi {
  int (*isend)(const void* data, int count, std::uintptr_t type, int to, int tag,
               std::uintptr_t comm, void* request);
  int (*irecv)(void* data, int count, std::uintptr_t type, int from, int tag, std::uintptr_t comm,
               void* request);
  int (*testall)(int count, void* requests, int* done, void* statuses);
  std::uintptr_t byte;         // MPI_BYTE
  std::uintptr_t comm;         // Its error handler returns errors.
  std::uint64_t request_size;  // sizeof(MPI_Request)
  std::uint64_t status_size;   // sizeof(MPI_Status)
};

enum TsMessageOperation : std::int32_t {
  // Half the round trip of a message and an answer of the same size, in ns.
  kTsLatency = 0,
  // bytes/s of messages from the source, `window` of them at once, which the destination answers
  // with one byte.
  kTsBandwidth = 1,
  // bytes/s of both ranks' messages together, `window` of each at once.
  kTsBothWays = 2,
};

struct TsMessageExchange {
  TsMessageMpi mpi;
  std::int32_t operation;
  std::int32_t source;   // 1: this rank sends first, takes the times and has the samples.
  std::int32_t partner;  // The other rank.
  std::int32_t tag;      // This and the next one belong to this exchange alone.
  std::int32_t size;     // Bytes of a message, from 1 on.
  std::int32_t window;
  void* send;  // `size` bytes each, of host memory unless `copy` is given.
  void* receive;
  // Copies bytes between buffers and host memory, whichever way, and returns 0 once they are there.
  // Null: std::memcpy.
  int (*copy)(void* to, const void* from, std::uint64_t bytes);
  double seconds;         // That samples are taken for; at least one is.
  double sample_seconds;  // That a sample lasts, or as long as one window takes.
  // A partner is given up that does not answer for so long; what was posted for it may still write
  // to the buffers.
  double patience_s;
  std::uint64_t seed;  // Of the contents, the same on both ranks.
};

// Samples of the source: seconds since the first one began, and what the operation says.
struct TsMessageSamples {
  double* starts;
  double* durations;
  double* values;
  std::uint64_t capacity;  // Samples that fit; no more are taken.
  std::uint64_t count;
  std::uint64_t messages;  // That this rank sent inside of samples.
  char error[256];         // One line; empty where all went well.
};

enum TsMessageResult : std::int32_t {
  kTsDone = 0,
  kTsSilent = 1,         // The partner did not answer in time.
  kTsMpiFailed = 2,      // An MPI function returned an error.
  kTsWrongContents = 3,  // A message had other contents than were sent.
};

// Exchanges messages with the partner, which calls this, too. Contents differ from sample to
// sample, and of each sample the last message in each direction is compared with what was sent.
__attribute__((visibility("default"))) std::int32_t ts_message_exchange(
    const TsMessageExchange* exchange, TsMessageSamples* samples);
}
