#include "memory/rounds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "errors.h"
#include "memory/system_memory.h"
#include "sizes.h"

namespace tierscope {
namespace {

// "20:1", "1:1:1".
std::string weights_text(const Placement& placement) {
  std::vector<int> weights;
  const bool weighted = placement.policy == Policy::kWeighted;
  std::ranges::transform(placement.nodes, std::back_inserter(weights),
                         [&](const NodeShare& share) { return weighted ? share.weight : 1; });
  return fmt::format("{}", fmt::join(weights, ":"));
}

// "5376m", as sizes are asked for; bytes are whole pages.
std::string exact_text(std::size_t bytes) {
  return bytes % kMiB == 0 ? fmt::format("{}m", bytes / kMiB) : fmt::format("{}k", bytes / 1024);
}

}  // namespace

std::size_t share_grain(Pages pages, const Placement& placement, std::size_t access_size) {
  const std::size_t round = round_pages(placement);
  return round == 1 ? access_size : std::lcm(round * page_bytes(pages), access_size);
}

std::size_t share_grain(Pages pages, std::span<const Placement> placements,
                        std::size_t access_size) {
  std::size_t grain = access_size;
  for (const Placement& placement : placements)
    grain = std::lcm(grain, share_grain(pages, placement, access_size));
  return grain;
}

std::size_t in_whole_rounds(std::size_t bytes, Pages pages, const Placement& placement,
                            const Sharers& sharers) {
  if (round_pages(placement) == 1) return bytes;
  const std::size_t grain = share_grain(pages, placement, sharers.access_size);
  // Neither pages nor accesses have 0 bytes.
  const std::size_t grains = bytes / grain;  // NOLINT(clang-analyzer-core.DivideZero)
  if (grains >= sharers.shares) return grains * grain;

  const std::size_t page = page_bytes(pages);
  const std::size_t share = bytes / sharers.shares;
  std::string remedy =
      fmt::format("ask for a size of {} or more", exact_text(sharers.shares * grain));
  if (pages != Pages::kBase) remedy += ", or for base pages";
  if (grains > 0)
    remedy += fmt::format(", or for {} at most",
                          grains == 1 ? "one thread" : fmt::format("{} threads", grains));
  throw Unavailable(Cause::kWeights,
                    fmt::format("{} {} {} of the {} pages of {} in a round of {}", size_text(share),
                                sharers.shares == 1 ? "hold" : "for each thread hold", share / page,
                                grain / page, size_text(page), weights_text(placement)),
                    remedy);
}

std::size_t in_whole_rounds(std::size_t bytes, Pages pages, std::span<const Placement> placements,
                            const Sharers& sharers) {
  for (const Placement& placement : placements) in_whole_rounds(bytes, pages, placement, sharers);
  const std::size_t grain = share_grain(pages, placements, sharers.access_size);
  if (grain == sharers.access_size) return bytes;
  // Accesses have no 0 bytes.
  const std::size_t grains = bytes / grain;  // NOLINT(clang-analyzer-core.DivideZero)
  if (grains >= sharers.shares) return grains * grain;
  throw Unavailable(
      Cause::kWeights,
      fmt::format("the rounds of pages of the arrays come out even after {}, but {} {}",
                  exact_text(grain), size_text(bytes / sharers.shares),
                  sharers.shares == 1 ? "is the size" : "is each thread's share"),
      fmt::format("ask for a size of {} or more, or place the arrays alike",
                  exact_text(sharers.shares * grain)));
}

std::vector<ByteRange> cut_into_shares(std::size_t bytes, std::size_t grain, std::size_t shares) {
  // Neither pages nor accesses have 0 bytes.
  const std::size_t grains = bytes / grain;  // NOLINT(clang-analyzer-core.DivideZero)
  std::vector<ByteRange> found;
  std::size_t first = 0;
  for (std::size_t i = 0; i < shares; ++i) {
    const std::size_t last = first + (grains / shares + (i < grains % shares ? 1 : 0)) * grain;
    found.push_back({first, last});
    first = last;
  }
  return found;
}

}  // namespace tierscope
