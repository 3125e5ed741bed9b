#include "gpu/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "errors.h"
#include "gpu/check.h"

namespace tierscope {
namespace {

// Whatever the memory's kind, its bytes go through a piece of the GPU's own memory: one way for
// all, and the comparison always runs on the GPU.
constexpr std::size_t kScratch = std::size_t{64} << 20;
constexpr std::size_t kScratchAndResult = kScratch + sizeof(PatternMismatch);
constexpr std::uint64_t kPoison = 0xdead;  // Seed of what must not be there.

}  // namespace

Verifier::Verifier(const GpuCopySpec& spec, const std::vector<Buffer*>& buffers)
    : spec_(spec), buffers_(buffers) {}

std::byte* Verifier::scratch_on(int gpu) {
  const auto known = std::find_if(scratch_.begin(), scratch_.end(),
                                  [gpu](const auto& entry) { return entry.first == gpu; });
  if (known != scratch_.end()) return known->second.get();
  scratch_.emplace_back(gpu, make_gpu_bytes(gpu, kScratchAndResult));
  return scratch_.back().second.get();
}

int Verifier::gpu_for(const Transfer& transfer, const MemoryPlace& place) const {
  return spec_.moves(transfer) ? transfer.gpu : place.gpu;
}

void Verifier::fill(const Buffer& buffer, int gpu, const Pattern& pattern) {
  const OnGpu on(gpu);
  std::byte* scratch = scratch_on(gpu);
  for (std::size_t at = 0; at < buffer.size(); at += kScratch) {
    const std::size_t bytes = std::min(kScratch, buffer.size() - at);
    fill_pattern(scratch, at, bytes, pattern, nullptr);
    check_cuda(cuda().cuMemcpy(address_of(buffer.data() + at), address_of(scratch), bytes),
               "filling a buffer");
  }
  check_cuda(cuda().cuCtxSynchronize(), "filling a buffer");
}

PatternMismatch Verifier::compare(const Buffer& buffer, int gpu, const Pattern& pattern) {
  const OnGpu on(gpu);
  std::byte* scratch = scratch_on(gpu);
  auto* found = reinterpret_cast<PatternMismatch*>(scratch + kScratch);
  PatternMismatch mismatch{};
  check_cuda(cuda().cuMemcpy(address_of(found), address_of(&mismatch), sizeof mismatch),
             "verifying");
  for (std::size_t at = 0; at < buffer.size(); at += kScratch) {
    const std::size_t bytes = std::min(kScratch, buffer.size() - at);
    check_cuda(cuda().cuMemcpy(address_of(scratch), address_of(buffer.data() + at), bytes),
               "verifying");
    compare_pattern(scratch, at, bytes, pattern, found, nullptr);
  }
  check_cuda(cuda().cuMemcpy(address_of(&mismatch), address_of(found), sizeof mismatch),
             "verifying");
  return mismatch;
}

Pattern Verifier::expected(std::size_t transfer) const {
  Pattern pattern{.seed = transfer + 1, .other = kPoison, .offset = spec_.offset};
  if (spec_.row_bytes != 0) {
    pattern.row_bytes = spec_.row_bytes;
    pattern.pitch = spec_.pitch;
  }
  return pattern;
}

void Verifier::fill_sources() {
  for (std::size_t i = 0; i < spec_.transfers.size(); ++i) {
    const Transfer& transfer = spec_.transfers[i];
    if (!spec_.holds(transfer.source)) continue;
    fill(*buffers_[2 * i], gpu_for(transfer, transfer.source), {.seed = i + 1});
  }
}

void Verifier::poison_destinations() {
  for (std::size_t i = 0; i < spec_.transfers.size(); ++i) {
    const Transfer& transfer = spec_.transfers[i];
    if (buffers_[2 * i] == buffers_[2 * i + 1] || !spec_.holds(transfer.destination)) continue;
    fill(*buffers_[2 * i + 1], gpu_for(transfer, transfer.destination), {.seed = kPoison});
  }
}

Verifier::Verified Verifier::verify() {
  Verified verified;
  for (std::size_t i = 0; i < spec_.transfers.size(); ++i) {
    const Transfer& transfer = spec_.transfers[i];
    if (!spec_.holds(transfer.destination)) continue;
    const Buffer& destination = *buffers_[2 * i + 1];
    const PatternMismatch mismatch =
        compare(destination, gpu_for(transfer, transfer.destination), expected(i));
    if (mismatch.bytes != 0) {
      throw Failure(
          fmt::format("{} of {} bytes at the destination of {} are wrong, the first at byte {}",
                      mismatch.bytes, destination.size(), transfer.name, mismatch.first),
          Cause::kVerification);
    }
    verified.bytes += destination.size();
    ++verified.destinations;
  }
  return verified;
}

std::string describe(const Verifier::Verified& verified) {
  return fmt::format("{} bytes at {} destinations, compared with the source's pattern on the GPU",
                     verified.bytes, verified.destinations);
}

}  // namespace tierscope
