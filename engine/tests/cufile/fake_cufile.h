// A libcufile.so.0 for tests: it moves data between files and host memory that stands for a GPU's,
// by the way that a test chooses, with the errors that it chooses. Built on NVIDIA's own header, so
// that it also checks what engine/gpu/cufile_abi.h declares.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef FAKE_CUFILE_VERSION
#define FAKE_CUFILE_VERSION 1150
#endif

struct CUstream_st;

namespace tierscope::fake_cufile {

enum class Way { kP2p, kNvfs, kPosix };

struct Machine {
  Way way = Way::kPosix;
  std::uint64_t posix_from = ~std::uint64_t{0};  // Operations from this one on go by kPosix.
  int version = FAKE_CUFILE_VERSION;
  int open_error = 0;  // CUfileOpError of cuFileDriverOpen; likewise the next ones.
  int handle_error = 0;
  int buffer_error = 0;
  int submit_error = 0;
  int operation_error = 0;        // What operations return instead of bytes: -1 (EIO), -5030.
  std::size_t missing_bytes = 0;  // Reads are this much too short.
  const char* hangs_in = "";      // The function that never returns.
  std::size_t pool = 64;          // Operations of batches in flight by kPosix, beyond which
                                  // cuFileBatchIOSubmit never returns; where streams_wait,
  bool streams_wait = false;      // of streams, too, until fake_cufile_end_stream().
  unsigned events_a_poll = 3;     // Most that cuFileBatchIOGetStatus gives, the latest first.
  int meet = 0;                   // Submissions wait a while until so many threads are in one.
};

// What the library saw.
struct Seen {
  int driver_opens = 0;
  int property_reads = 0;
  int allow_compat = -1;
  int handles = 0;          // Registered now.
  int buffers = 0;          // Registered now.
  int streams = 0;          // Registered now.
  int most_streams = 0;     // Registered at once.
  int batches = 0;          // Set up.
  int aligned_streams = 0;  // Operations in streams that were said to be aligned.
  int wrong_streams = 0;    // Of them, those that are not.
  int most_submitting = 0;  // Threads that were in a submission at once.
  int abandoned = 0;        // Operations that were under way when their file was deregistered.
  unsigned largest_submit = 0;
  std::size_t most_in_flight = 0;  // That the pool had to hold.
  std::uint64_t operations = 0;
};

struct State {
  Machine machine;
  Seen seen;
};

}  // namespace tierscope::fake_cufile

// Exported by the library under this name.
extern "C" tierscope::fake_cufile::State* fake_cufile_state();
extern "C" void fake_cufile_end_stream(CUstream_st* stream);
