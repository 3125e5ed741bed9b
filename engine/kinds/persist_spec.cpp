#include "kinds/persist_spec.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "errors.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

constexpr PersistMethod flushed(Flush flush) { return {.write = {.flush = flush, .fence = true}}; }

constexpr std::array<std::pair<std::string_view, PersistMethod>, 13> kMethods{
    {{"stores", {}},
     {"nt-stores", {.write = {.non_temporal = true}}},
     {"clwb", flushed(Flush::kClwb)},
     {"clflushopt", flushed(Flush::kClflushopt)},
     {"clflush", flushed(Flush::kClflush)},
     {"dc-cvap", flushed(Flush::kCvap)},
     {"dc-cvac", flushed(Flush::kCvac)},
     {"nt-drain", {.write = {.non_temporal = true, .fence = true}}},
     {"msync", {.by = PersistBy::kMsync}},
     {"fdatasync", {.by = PersistBy::kFdatasync}},
     {"pool-persist", {.by = PersistBy::kPoolPersist}},
     {"transaction", {.by = PersistBy::kTransaction}},
     {"allocation", {.by = PersistBy::kAllocation}}}};

void read_ranges(ObjectReader& pattern, PersistSpec& spec) {
  constexpr std::int64_t kMostRanges = 4096;
  spec.ranges = 1;
  if (!pattern.has("ranges") || pattern.any("ranges").is_null()) return;
  spec.ranges = static_cast<std::uint64_t>(pattern.integer("ranges", 1, kMostRanges));
  if (spec.method.by != PersistBy::kTransaction) {
    throw pattern.error("ranges", "goes with method transaction");
  }
}

}  // namespace

std::string PersistMethod::text() const {
  switch (by) {
    case PersistBy::kInstructions:
      return write.text();
    case PersistBy::kMsync:
      return "16-byte stores, msync of the block's pages";
    case PersistBy::kFdatasync:
      return "16-byte stores, fdatasync of the file";
    case PersistBy::kPoolPersist:
      return "16-byte stores, pmemobj_persist of the block";
    case PersistBy::kTransaction:
      return "a transaction: an undo log of each range, 16-byte stores, commit";
    case PersistBy::kAllocation:
      return "pmemobj_alloc and pmemobj_free of an object of the block's size";
  }
  return "";
}

PersistSpec read_persist_spec(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kOrders{
      {{"sequential", false}, {"random", true}}};
  PersistSpec spec{};
  spec.cpus = measurement.distinct_integers("cpus", 0, kMaxCpu, kMaxThreads);
  spec.placement = read_placement(measurement, TakesPersistent::kArrays);
  spec.sampling = read_sampling(measurement);
  ObjectReader pattern = measurement.object("pattern");
  spec.method = pattern.choice("method", kMethods);
  spec.random = pattern.has("order") && pattern.choice("order", kOrders);
  spec.block_size = pattern.bytes("block_size");
  spec.size = pattern.bytes("size");
  spec.pages = read_pages(pattern);
  read_ranges(pattern, spec);
  pattern.finish();
  if (spec.size / spec.block_size < spec.cpus.size()) {
    throw pattern.error("size", "has fewer blocks than there are threads");
  }
  return spec;
}

void require_fit(const PersistSpec& spec) {
  constexpr std::size_t kSmallestRange = 64;
  const std::optional<Persistent>& persistent = spec.placement.persistent;
  const bool on_file = persistent && persistent->backing == Backing::kFile;
  const bool on_pool = persistent && persistent->backing == Backing::kPool;
  const bool misplaced =
      (spec.method.needs_file() && !on_file) || (spec.method.needs_pool() && !on_pool);
  if (misplaced) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("this method needs a {}, which the target is not",
                                  spec.method.needs_file() ? "mapped file" : "pool in a file"),
                      "name a target pmem:DIR");
  }
  if (spec.block_size % (spec.ranges * kSmallestRange) != 0) {
    throw Unavailable(
        Cause::kOther,
        fmt::format("{} ranges do not cut a block of {} bytes into multiples of {} bytes",
                    spec.ranges, spec.block_size, kSmallestRange),
        "ask for fewer --ranges or a larger --block-size");
  }
}

}  // namespace tierscope
