// Fills what is to be copied, overwrites where it is to go, and compares afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/pattern.h"
#include "gpu/specs.h"

namespace tierscope {

class Verifier {
 public:
  // `buffers`: source and destination of each transfer in turn, one and the same for prefetches.
  // Of memory of several processes, each fills, overwrites and compares its own.
  Verifier(const GpuCopySpec& spec, const std::vector<Buffer*>& buffers);

  void fill_sources();
  // Nothing of what was moved so far is left at the destinations.
  void poison_destinations();

  struct Verified {
    std::size_t bytes = 0;
    std::size_t destinations = 0;
  };
  // Compares every byte of every destination, those between rows and before the offset too, on the
  // transfer's GPU; of several processes, on the GPU that has it. Throws Failure at a difference.
  Verified verify();

 private:
  void fill(const Buffer& buffer, int gpu, const Pattern& pattern);
  PatternMismatch compare(const Buffer& buffer, int gpu, const Pattern& pattern);
  int gpu_for(const Transfer& transfer, const MemoryPlace& place) const;
  std::byte* scratch_on(int gpu);
  Pattern expected(std::size_t transfer) const;

  const GpuCopySpec& spec_;
  const std::vector<Buffer*>& buffers_;
  std::vector<std::pair<int, GpuBytes>> scratch_;  // By GPU.
};

// What evidence says of it.
std::string describe(const Verifier::Verified& verified);

}  // namespace tierscope
