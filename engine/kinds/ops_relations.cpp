// What kind `ops` has besides indexes: what a plan says of columns, relations that are joined, runs
// that are merged and LSM trees.
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

#include "access/kernel.h"
#include "database/column_scan.h"
#include "database/hash_join.h"
#include "database/lsm_tree.h"
#include "database/run_merge.h"
#include "kinds/ops_structures.h"

namespace tierscope {
namespace {

constexpr std::int64_t kMaxKeys = std::int64_t{1} << 36;
constexpr std::uint64_t kFewestKeys = 64;    // Of each thread.
constexpr std::uint64_t kFewestRows = 1024;  // Of each thread: a block of the narrowest keys.
constexpr double kMaxAlpha = 10;

template <std::size_t kCount>
using Choices = std::array<std::pair<std::string_view, bool>, kCount>;

// The one operation, and the number of keys, of which each thread has so many at least.
std::uint64_t read_keys(ObjectReader& pattern, std::string_view operation, std::uint64_t fewest) {
  pattern.choice("operation", Choices<1>{{{operation, true}}});
  const auto keys = static_cast<std::uint64_t>(pattern.integer("keys", 1, kMaxKeys));
  if (keys < fewest) {
    throw pattern.error("keys", "is fewer than are needed, " + std::to_string(fewest));
  }
  return keys;
}

void refuse_distribution(ObjectReader& pattern) {
  if (!pattern.has("distribution")) return;
  pattern.choice("distribution", Choices<1>{{{"uniform", true}}});
}

std::size_t read_interleave(ObjectReader& pattern, std::int64_t most) {
  if (!pattern.has("interleave")) return 1;
  return static_cast<std::size_t>(pattern.integer("interleave", 1, most));
}

}  // namespace

MakeStructure read_column(ObjectReader& pattern, std::size_t threads) {
  database::ColumnScanSpec spec;
  spec.keys = read_keys(pattern, "filter", threads * kFewestRows);
  refuse_distribution(pattern);
  read_interleave(pattern, 1);
  spec.key_bytes = static_cast<std::size_t>(pattern.integer("key_bytes", 4, 8));
  if (spec.key_bytes != 4 && spec.key_bytes != 8) {
    throw pattern.error("key_bytes", "is neither 4 nor 8");
  }
  if (spec.key_bytes == 4 && spec.keys > std::uint64_t{1} << 32) {
    throw pattern.error("keys", "is more than positions of 4 bytes can number, 4294967296");
  }
  spec.selectivity = pattern.not_negative("selectivity", 1);
  spec.positions = pattern.choice("found", Choices<2>{{{"positions", true}, {"count", false}}});
  spec.threads = threads;
  return [spec] {
    database::ColumnScanSpec resolved = spec;
    resolved.isa = resolve_isa("auto");
    return std::make_unique<database::ColumnScan>(resolved);
  };
}

MakeStructure read_relations(ObjectReader& pattern, std::size_t threads) {
  constexpr std::int64_t kMaxRatio = 64;
  database::HashJoinSpec spec;
  spec.build_keys = read_keys(pattern, "join", threads * kFewestKeys);
  refuse_distribution(pattern);
  spec.probe_keys =
      spec.build_keys * static_cast<std::uint64_t>(pattern.integer("probe_ratio", 1, kMaxRatio));
  spec.misses = pattern.not_negative("misses", 1);
  spec.partitions = static_cast<std::size_t>(
      pattern.integer("partitions", 1, static_cast<std::int64_t>(database::kMaxPartitions)));
  if (!std::has_single_bit(spec.partitions)) {
    throw pattern.error("partitions", "is no power of two");
  }
  spec.interleave = read_interleave(pattern, static_cast<std::int64_t>(database::kMaxInterleave));
  if (spec.interleave > 1 && spec.partitions > 1) {
    throw pattern.error("interleave",
                        "goes with one partition: tables of several are in the caches");
  }
  spec.threads = threads;
  return [spec] { return std::make_unique<database::HashJoin>(spec); };
}

MakeStructure read_runs(ObjectReader& pattern, std::size_t threads) {
  database::RunMergeSpec spec;
  spec.keys = read_keys(pattern, "merge", threads * kFewestRows);
  refuse_distribution(pattern);
  read_interleave(pattern, 1);
  spec.runs = static_cast<std::size_t>(
      pattern.integer("runs", 2, static_cast<std::int64_t>(database::kMaxRuns)));
  spec.threads = threads;
  return [spec] { return std::make_unique<database::RunMerge>(spec); };
}

MakeStructure read_lsm(ObjectReader& pattern, std::size_t threads) {
  database::LsmTreeSpec spec;
  spec.ratio = static_cast<std::uint64_t>(
      pattern.integer("ratio", 2, static_cast<std::int64_t>(database::kMaxRatio)));
  spec.keys = read_keys(pattern, "lookup",
                        std::max(database::LsmTree::cycle_of(spec.ratio), threads * kFewestKeys));
  spec.misses = pattern.not_negative("misses", 1);
  read_interleave(pattern, 1);
  constexpr Choices<2> kSkewed{{{"uniform", false}, {"zipf", true}}};
  if (pattern.has("distribution") && pattern.choice("distribution", kSkewed)) {
    spec.distribution.alpha = pattern.positive("zipf_alpha", kMaxAlpha);
  }
  spec.threads = threads;
  return [spec] { return std::make_unique<database::LsmTree>(spec); };
}

}  // namespace tierscope
