#include "kinds/chain_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "protocol/constants.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

constexpr std::array<std::pair<std::string_view, ChainAccess>, 4> kAccesses{
    {{"read", ChainAccess::kRead},
     {"write", ChainAccess::kWrite},
     {"compare-and-swap", ChainAccess::kCompareAndSwap},
     {"fetch-and-add", ChainAccess::kFetchAndAdd}}};
constexpr std::array<std::pair<std::string_view, CacheUse>, 5> kCacheUses{
    {{"none", CacheUse::kNone},
     {"write-back", CacheUse::kWriteBack},
     {"flush", CacheUse::kFlush},
     {"flush-opt", CacheUse::kFlushOpt},
     {"non-temporal", CacheUse::kNonTemporal}}};
constexpr std::array<std::pair<std::string_view, ChainFence>, 3> kFences{
    {{"none", ChainFence::kNone}, {"stores", ChainFence::kStores}, {"all", ChainFence::kAll}}};

ChainOperation read_chain_operation(const ObjectReader& reader) {
  return {.access = reader.choice("access", kAccesses),
          .region = reader.bytes("region"),
          .size = reader.bytes("size"),
          .cache = reader.choice("cache", kCacheUses),
          .fence = reader.choice("fence", kFences),
          .offset = reader.integer("offset")};
}

bool reads(const ChainOperation& operation) { return operation.access != ChainAccess::kWrite; }

void read_operations(const ObjectReader& pattern, ChainSpec& spec) {
  for (const ObjectReader& operation : pattern.objects("operations")) {
    spec.operations.push_back(read_chain_operation(operation));
  }
  pattern.check(tables::kChainPatternOperations, spec.operations.front().offset == 0);
  const bool waits = std::ranges::any_of(spec.operations, reads) || spec.has_full_fence();
  pattern.check(tables::kChainPatternLinked, !spec.linked || waits);
}

void read_regions(const ObjectReader& measurement, const ObjectReader& pattern, ChainSpec& spec) {
  static constexpr const char* kSecond = "placement_second";
  const std::size_t least = chain_reach(spec.operations, 0);
  const std::size_t second_least = chain_reach(spec.operations, 1);
  const bool apart = pattern.has("size_second");
  spec.sizes = {pattern.bytes("size")};
  pattern.check(tables::kChainPatternSize, spec.sizes.front() >= least, least);
  if (second_least > 0) {
    spec.sizes.push_back(pattern.bytes(apart ? "size_second" : "size"));
    pattern.check(tables::kChainPatternSizeSecond, spec.sizes.back() >= second_least, second_least);
  }
  pattern.check(tables::kChainPatternOnlySecond, !apart || second_least > 0);
  spec.placements = {read_placement(measurement, "placement")};
  const bool given = measurement.has(kSecond);
  measurement.check(tables::kChainSpecPlacementSecond, given == (second_least > 0));
  if (given) spec.placements.push_back(read_placement(measurement, kSecond));
}

}  // namespace

bool ChainSpec::writes() const { return !std::ranges::all_of(operations, reads); }

bool ChainSpec::has_full_fence() const {
  return std::ranges::any_of(operations, [](const ChainOperation& operation) {
    return operation.fence == ChainFence::kAll;
  });
}

ChainSpec read_chain_spec(const ObjectReader& measurement) {
  ChainSpec spec{};
  spec.threads = read_threads(measurement);
  spec.cpus = all_cpus(spec.threads);
  spec.sampling = read_sampling(measurement);
  const ObjectReader pattern = measurement.object("pattern");
  spec.linked = pattern.boolean("linked");
  read_operations(pattern, spec);
  spec.interleave = pattern.integer<std::size_t>("interleave");
  spec.sample_every = pattern.integer<std::uint64_t>("sample_every");
  const auto timed_from = pattern.integer<std::size_t>("timed_from");
  pattern.check(tables::kChainPatternTimedFrom, timed_from <= spec.operations.size(),
                spec.operations.size());
  spec.timed_from = timed_from - 1;
  spec.pages = read_pages(pattern);
  read_regions(measurement, pattern, spec);
  return spec;
}

}  // namespace tierscope
