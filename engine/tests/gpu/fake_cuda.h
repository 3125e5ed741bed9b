// A fake CUDA driver: GPUs whose copies really copy, on a clock that is computed.
//
// Streams hold their work until they are waited for. It then runs in the order in which it would on
// GPUs with these rates, and events get the computed times. So what is measured is known
// beforehand.
//
// All streams that are made are non-blocking. They and a GPU's default stream do not wait for each
// other, so the default stream's work is done as late as CUDA allows: when a call waits for it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

namespace tierscope::fake_cuda {

struct Machine {
  // Bytes/s of a copy engine; each GPU has one to the host, one from it, one for what other GPUs
  // get from it, whoever moves that, and one for copies inside.
  double copy_engine = 50e6;
  // With work in several streams an engine stays with one until that is empty; else it changes to
  // another after each copy.
  bool stays_with_a_stream = false;
  std::map<int, double> kernels{};  // Bytes/s of a GPU's kernels; 40e6 where not named.
  int driver = 13000;               // Its CUDA version, whose functions it has; 0: none.
  bool runs_kernels = true;         // Whether the build has kernels for its GPUs.
  bool peers = true;                // Whether GPUs reach each other's memory.
  bool fabric = false;              // Whether they have fabric handles.
  std::size_t free_bytes = std::size_t{16} << 30;
  CUresult copy_error = CUDA_SUCCESS;  // What cuMemcpyAsync returns.
  bool context_is_lost = false;        // An error that stays.
  // Called before each copy; where it says no, nothing is copied.
  std::function<bool()> copies = [] { return true; };
  // Called with a stream that is empty, when it is asked for.
  std::function<void(CUstream)> found_empty = [](CUstream) {};
  // Called with the grid of each kernel that is launched to copy, to stream or to chase.
  std::function<void(int blocks)> launched = [](int) {};
  // Of chases, in seconds: a launch, a load that the L1 has, and one that it has not; an L1 begins
  // each launch empty.
  double launch_s = 5e-6;
  double hit_s = 20e-9;
  double miss_s = 100e-9;
};

// A new machine, with all clocks at zero; to be set before each test.
void set(const Machine& machine);

// Buffers allocated so far on GPUs and, pinned or managed, on the host.
int allocations();

// What is allocated now.
int pieces_of_memory();

}  // namespace tierscope::fake_cuda
