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
  Verifier(const GpuCopySpec& spec, const std::vector<Buffer*>& buffers);

  void fill_sources();
  // Nothing of what was moved so far is left at the destinations.
  void poison_destinations();

  // Compares every byte of every destination, those between rows and before the offset too, on the
  // transfer's GPU. Returns what was compared; throws Failure at a difference.
  std::string verify();

 private:
  void fill(const Buffer& buffer, const Transfer& transfer, const Pattern& pattern);
  PatternMismatch compare(const Buffer& buffer, const Transfer& transfer, const Pattern& pattern);
  std::byte* scratch_on(int gpu);
  Pattern expected(std::size_t transfer) const;

  const GpuCopySpec& spec_;
  const std::vector<Buffer*>& buffers_;
  std::vector<std::pair<int, GpuBytes>> scratch_;  // By GPU.
};

}  // namespace tierscope
