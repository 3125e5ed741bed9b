#include "kinds/persist_spec.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "errors.h"
#include "protocol/constants.h"
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

PersistSpec read_persist_spec(const ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kOrders{
      {{"sequential", false}, {"random", true}}};
  PersistSpec spec{};
  spec.cpus = measurement.integers("cpus");
  spec.placement = read_placement(measurement, "placement");
  spec.sampling = read_sampling(measurement);
  const ObjectReader pattern = measurement.object("pattern");
  spec.method = pattern.choice("method", kMethods);
  spec.random = pattern.choice("order", kOrders);
  spec.block_size = pattern.bytes("block_size");
  spec.size = pattern.bytes("size");
  spec.pages = read_pages(pattern);
  spec.ranges = pattern.has("ranges") ? pattern.integer<std::uint64_t>("ranges") : 1;
  measurement.check(tables::kPersistSpecPatternSize,
                    spec.size / spec.block_size >= spec.cpus.size());
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
