#include "kinds/ops_structures.h"

#include "database/btree.h"
#include "database/column_scan.h"
#include "database/hash_index.h"
#include "database/hash_join.h"
#include "database/lsm_tree.h"
#include "database/run_merge.h"

namespace tierscope {

MakeStructure read_btree(ObjectReader& pattern, std::size_t threads);
MakeStructure read_hash_index(ObjectReader& pattern, std::size_t threads);
MakeStructure read_column(ObjectReader& pattern, std::size_t threads);
MakeStructure read_relations(ObjectReader& pattern, std::size_t threads);
MakeStructure read_runs(ObjectReader& pattern, std::size_t threads);
MakeStructure read_lsm(ObjectReader& pattern, std::size_t threads);

std::span<const StructureKind> structures() {
  static constexpr StructureKind kStructures[] = {
      {"btree", database::Btree::kParts, read_btree},
      {"hash", database::HashIndexTable::kParts, read_hash_index},
      {"column", database::ColumnScan::kParts, read_column},
      {"relations", database::HashJoin::kParts, read_relations},
      {"runs", database::RunMerge::kParts, read_runs},
      {"lsm", database::LsmTree::kParts, read_lsm},
  };
  return kStructures;
}

}  // namespace tierscope
