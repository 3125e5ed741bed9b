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
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  return bytes % kMiB == 0 ? fmt::format("{}m", bytes / kMiB) : fmt::format("{}k", bytes / 1024);
}

}  // namespace

std::size_t share_grain(Pages pages, const Placement& placement, std::size_t access_size) {
  const std::size_t round = round_pages(placement);
  return round == 1 ? access_size : std::lcm(round * page_bytes(pages), access_size);
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
