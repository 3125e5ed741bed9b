// What the kinds on GPUs measure with, free of CUDA's headers. In a build without CUDA the make_
// functions throw Unavailable (none.cpp).
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "exchange.h"
#include "gpu/piece_ends.h"
#include "gpu/specs.h"
#include "threads/team.h"

namespace tierscope {

struct GpuSample {
  double start_s;     // Seconds of now_seconds().
  double duration_s;  // Of what counts.
  std::vector<double> values;
  // Of that time, the share that others took from the calling thread; 0 where the GPU times.
  double lost_share = 0;
};

// Streams, events and what was tuned stay from repetition to repetition. Memory comes from the pool
// in buffer.h and is valid from begin() to end().
class GpuMeasuring {
 public:
  GpuMeasuring() = default;
  virtual ~GpuMeasuring() = default;
  GpuMeasuring(const GpuMeasuring&) = delete;
  GpuMeasuring& operator=(const GpuMeasuring&) = delete;

  // Begins a repetition: takes memory (new pages where `fresh`), tunes where that was not done yet,
  // and overwrites every destination. Throws Unavailable, Failure or Interrupted, and can then be
  // called again.
  virtual void begin(Team& team, bool fresh) = 0;
  // After the last sample: verifies what was moved or read and adds what was observed to
  // `evidence`. Throws Failure.
  virtual void end(nlohmann::ordered_json& evidence) = 0;
};

class GpuCopies : public GpuMeasuring {
 public:
  // Bytes/s of all transfers that are reported, then of each transfer: over the time in which all
  // are under way; of those that GPUs serve in turn, until all bytes are moved. Bytes count once
  // for a copy from one memory to another.
  virtual GpuSample sample() = 0;
  // The first copy of all transfers since begin(), where that took new memory: bytes/s of those
  // reported, by the host's clock, from the first call to the last byte. None of kernels, whose
  // grids are tuned by copies.
  virtual std::optional<GpuSample> first() const = 0;
  // Mean ns from the call of the first transfer's copy to its last byte, by the host's clock, over
  // `count` calls one after the other.
  virtual GpuSample calls(int count) = 0;
};

// Of this process's part in copies of several processes, all of which make the same calls.
class GpuRankCopies : public GpuMeasuring {
 public:
  // As of GpuCopies; the same on all of them.
  virtual GpuSample sample() = 0;
  // After a sample, where another process decides: whether that was the repetition's last one. Null
  // where this process decides: end() tells the others.
  virtual std::function<bool()> was_last() = 0;
};

class GpuStreaming : public GpuMeasuring {
 public:
  // Bytes/s, as STREAM counts them: copy of n bytes is 2n.
  virtual GpuSample sample() = 0;
};

class GpuChase : public GpuMeasuring {
 public:
  // ns a load of one multiprocessor or, where the spec says so, of the mean over all of them.
  virtual GpuSample sample() = 0;
  // ns a load on each multiprocessor in turn: the least of them, the 5th, 50th and 95th
  // percentiles, the most; NaN where the chase ran on none.
  virtual GpuSample sample_by_multiprocessor() = 0;
};

struct PieceRange {
  std::size_t first;
  std::size_t count;
};

// Between begin() and end() the thread that began it uses it alone.
class GpuPieces : public GpuMeasuring {
 public:
  // Host memory that was taken with the pool; empty where none was asked for.
  virtual std::span<std::byte> store() const = 0;

  // Between the pool and host memory, for contents and their verification; waits.
  virtual void copy_out(std::size_t at, std::span<std::byte> to) = 0;
  virtual void copy_in(std::size_t at, std::span<const std::byte> from) = 0;

  // Where pieces are from now on; send() has the GPU know it, where it has to, and waits.
  virtual void set(std::span<const PieceEnds> ends) = 0;
  virtual void send() = 0;
  // Chooses the grid of a kernel, once, by moves of these pieces.
  virtual void tune(PieceRange range, std::byte* store) = 0;

  // Begins to move pieces, whose places in the store are counted from `store` on: host memory that
  // the GPU reaches, or its own. wait() returns once all of that lane have arrived.
  virtual void move(PieceRange range, std::byte* store, std::size_t lane) = 0;
  virtual void wait(std::size_t lane) = 0;
};

std::unique_ptr<GpuCopies> make_gpu_copies(const GpuCopySpec& spec);
// `exchange` has to be there for as long as what is made.
std::unique_ptr<GpuRankCopies> make_gpu_rank_copies(const GpuRanksSpec& spec, Exchange exchange);
std::unique_ptr<GpuStreaming> make_gpu_streaming(const GpuMemorySpec& spec);
std::unique_ptr<GpuChase> make_gpu_chase(const GpuLatencySpec& spec);
std::unique_ptr<GpuPieces> make_gpu_pieces(const GpuPiecesSpec& spec);

}  // namespace tierscope
