#include "kinds/chain_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

constexpr std::size_t kMaxOperations = 64;
constexpr std::int64_t kMaxOffset = std::int64_t{1} << 30;
constexpr std::int64_t kMaxSampleEvery = 1'000'000;
constexpr std::size_t kWord = 8;

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

void check_operation(ObjectReader& reader, const ChainOperation& operation) {
  const bool write = operation.access == ChainAccess::kWrite;
  const bool atomic = !write && operation.access != ChainAccess::kRead;
  if (!std::has_single_bit(operation.size)) throw reader.error("size", "is no power of two");
  if (atomic && operation.size != kWord) throw reader.error("size", "is not 8, as atomics have it");
  if (atomic && operation.cache != CacheUse::kNone) {
    throw reader.error("cache", "is not none, the only one of atomics");
  }
  const bool narrow = operation.size < 2 * kWord;
  if (operation.access == ChainAccess::kRead && narrow &&
      operation.cache == CacheUse::kNonTemporal) {
    throw reader.error("size", "is 8, and non-temporal loads have 16 bytes at least");
  }
  if (operation.offset % static_cast<std::int64_t>(kChainLine) != 0) {
    throw reader.error("offset", "is no multiple of 64");
  }
  if (!write && operation.offset != 0) {
    throw reader.error("offset", "goes with writes: what reads takes an address of its own");
  }
  if (write && operation.region != 0) {
    throw reader.error("region", "goes with what reads: writes go where the operation before went");
  }
}

ChainOperation read_operation(const nlohmann::json& value, const std::string& where) {
  ObjectReader reader(value, where);
  ChainOperation operation{.access = reader.choice("access", kAccesses)};
  operation.size = static_cast<std::size_t>(
      reader.integer("size", kWord, static_cast<std::int64_t>(kMaxChainAccess)));
  if (reader.has("region")) {
    operation.region = static_cast<std::size_t>(reader.integer("region", 0, 1));
  }
  if (reader.has("cache")) operation.cache = reader.choice("cache", kCacheUses);
  if (reader.has("fence")) operation.fence = reader.choice("fence", kFences);
  if (reader.has("offset")) operation.offset = reader.integer("offset", -kMaxOffset, kMaxOffset);
  reader.finish();
  check_operation(reader, operation);
  return operation;
}

bool reads(const ChainOperation& operation) { return operation.access != ChainAccess::kWrite; }

void read_operations(ObjectReader& pattern, ChainSpec& spec) {
  for (const auto& value : pattern.array("operations", kMaxOperations)) {
    spec.operations.push_back(read_operation(
        value, fmt::format("{}.operations[{}]", pattern.where(), spec.operations.size())));
  }
  if (spec.operations.front().offset != 0) {
    throw pattern.error("operations", "begin with an offset, and nothing is before it");
  }
  const bool waits = std::ranges::any_of(spec.operations, reads) || spec.has_full_fence();
  if (spec.linked && !waits) {
    throw pattern.error("linked", "is true, but no operation reads or has fence all");
  }
}

void read_regions(ObjectReader& measurement, ObjectReader& pattern, ChainSpec& spec) {
  static constexpr const char* kSecond = "placement_second";
  const bool wanted = chain_reach(spec.operations, 1) > 0;
  const bool given = measurement.has(kSecond) && !measurement.any(kSecond).is_null();
  spec.placements = {read_placement(measurement, TakesPersistent::kArrays)};
  if (given) {
    spec.placements.push_back(read_placement(measurement, TakesPersistent::kArrays, kSecond));
  }
  if (given != wanted) {
    throw measurement.error(kSecond, "goes with operations of region 1, and only with them");
  }
  if (!wanted && spec.sizes.size() > 1) {
    throw pattern.error("size_second", "goes with operations of region 1, and only with them");
  }
  if (wanted && spec.sizes.size() == 1) spec.sizes.push_back(spec.sizes.front());
  for (std::size_t region = 0; region < spec.sizes.size(); ++region) {
    const std::size_t least = chain_reach(spec.operations, region);
    if (spec.sizes[region] >= least) continue;
    throw pattern.error(region == 0 ? "size" : "size_second",
                        fmt::format("is less than the {} bytes that operations reach over", least));
  }
}

}  // namespace

bool ChainSpec::writes() const { return !std::ranges::all_of(operations, reads); }

bool ChainSpec::has_full_fence() const {
  return std::ranges::any_of(operations, [](const ChainOperation& operation) {
    return operation.fence == ChainFence::kAll;
  });
}

ChainSpec read_chain_spec(ObjectReader& measurement) {
  ChainSpec spec{};
  spec.threads = read_threads(measurement);
  spec.cpus = all_cpus(spec.threads);
  spec.sampling = read_sampling(measurement);
  ObjectReader pattern = measurement.object("pattern");
  spec.linked = !pattern.has("linked") || pattern.truth("linked");
  read_operations(pattern, spec);
  spec.interleave = 1;
  if (pattern.has("interleave")) {
    spec.interleave = static_cast<std::size_t>(
        pattern.integer("interleave", 1, static_cast<std::int64_t>(kMaxInterleave)));
  }
  spec.sample_every = 1;
  if (pattern.has("sample_every")) {
    spec.sample_every =
        static_cast<std::uint64_t>(pattern.integer("sample_every", 1, kMaxSampleEvery));
  }
  spec.sizes = {pattern.bytes("size")};
  const bool apart = pattern.has("size_second") && !pattern.any("size_second").is_null();
  if (apart) spec.sizes.push_back(pattern.bytes("size_second"));
  spec.pages = read_pages(pattern);
  pattern.finish();
  read_regions(measurement, pattern, spec);
  return spec;
}

}  // namespace tierscope
