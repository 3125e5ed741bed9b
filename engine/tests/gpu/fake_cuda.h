// A CUDA runtime of the tests' own: GPUs whose copies really copy, on a clock that is computed.
//
// Streams hold their work until they are waited for. It then runs in the order in which it would on
// GPUs with these rates, and events get the computed times. So what is measured is known
// beforehand.
#pragma once

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
  std::map<int, double> kernels{};  // Bytes/s of a GPU's copy kernels; 40e6 where not named.
  bool runs_kernels = true;         // Whether the build has kernels for its GPUs.
  // Called before each copy; where it says no, nothing is copied.
  std::function<bool()> copies = [] { return true; };
  // Of chases, in seconds: a launch, a load that the L1 has, and one that it has not; an L1 begins
  // each launch empty.
  double launch_s = 5e-6;
  double hit_s = 20e-9;
  double miss_s = 100e-9;
};

// A new machine, with all clocks at zero; to be set before each test.
void set(const Machine& machine);

}  // namespace tierscope::fake_cuda
