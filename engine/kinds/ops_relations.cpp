// What kind `ops` has besides indexes: what a plan says of columns, relations that are joined, runs
// that are sorted or merged and LSM trees.
#include "access/kernel.h"
#include "database/column_scan.h"
#include "database/hash_join.h"
#include "database/lsm_tree.h"
#include "database/run_merge.h"
#include "database/run_sort.h"
#include "kinds/ops_structures.h"
#include "protocol/constants.h"

namespace tierscope {
namespace {

MakeStructure read_sort(const ObjectReader& pattern, std::size_t threads) {
  database::RunSortSpec spec;
  spec.keys = pattern.integer<std::uint64_t>("keys");
  spec.runs = pattern.integer<std::size_t>("runs");
  spec.threads = threads;
  return [spec] {
    database::RunSortSpec resolved = spec;
    resolved.isa = resolve_isa("auto");
    return std::make_unique<database::RunSort>(resolved);
  };
}

}  // namespace

MakeStructure read_column(const ObjectReader& pattern, std::size_t threads) {
  database::ColumnScanSpec spec;
  spec.keys = pattern.integer<std::uint64_t>("keys");
  spec.key_bytes = pattern.bytes("key_bytes");
  spec.selectivity = pattern.number("selectivity");
  spec.positions = pattern.text("found") == "positions";
  spec.threads = threads;
  return [spec] {
    database::ColumnScanSpec resolved = spec;
    resolved.isa = resolve_isa("auto");
    return std::make_unique<database::ColumnScan>(resolved);
  };
}

MakeStructure read_relations(const ObjectReader& pattern, std::size_t threads) {
  database::HashJoinSpec spec;
  spec.build_keys = pattern.integer<std::uint64_t>("keys");
  spec.probe_keys = spec.build_keys * pattern.integer<std::uint64_t>("probe_ratio");
  spec.misses = pattern.number("misses");
  spec.partitions = pattern.integer<std::size_t>("partitions");
  spec.interleave = pattern.integer<std::size_t>("interleave");
  spec.threads = threads;
  return [spec] { return std::make_unique<database::HashJoin>(spec); };
}

MakeStructure read_runs(const ObjectReader& pattern, std::size_t threads) {
  if (pattern.text("operation") == "sort") return read_sort(pattern, threads);
  database::RunMergeSpec spec;
  spec.keys = pattern.integer<std::uint64_t>("keys");
  spec.runs = pattern.integer<std::size_t>("runs");
  spec.threads = threads;
  return [spec] { return std::make_unique<database::RunMerge>(spec); };
}

MakeStructure read_lsm(const ObjectReader& pattern, std::size_t threads) {
  database::LsmTreeSpec spec;
  spec.ratio = pattern.integer<std::uint64_t>("ratio");
  spec.keys = pattern.integer<std::uint64_t>("keys");
  const std::uint64_t cycle = database::LsmTree::cycle_of(spec.ratio);
  pattern.check(tables::kOpsPatternKeys, spec.keys >= cycle, cycle, spec.ratio);
  spec.misses = pattern.number("misses");
  if (pattern.has("zipf_alpha")) spec.distribution.alpha = pattern.number("zipf_alpha");
  spec.threads = threads;
  return [spec] { return std::make_unique<database::LsmTree>(spec); };
}

}  // namespace tierscope
