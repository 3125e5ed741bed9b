#include "kinds/ops_structures.h"

#include "database/btree.h"
#include "database/column_scan.h"
#include "database/hash_index.h"
#include "database/hash_join.h"
#include "database/lsm_tree.h"
#include "database/run_merge.h"
#include "database/string_btree.h"
#include "database/string_hash.h"
#include "protocol/constants.h"

namespace tierscope {

MakeStructure read_btree(const ObjectReader& pattern, std::size_t threads);
MakeStructure read_hash_index(const ObjectReader& pattern, std::size_t threads);
MakeStructure read_string_btree(const ObjectReader& pattern, std::size_t threads);
MakeStructure read_string_hash(const ObjectReader& pattern, std::size_t threads);
MakeStructure read_column(const ObjectReader& pattern, std::size_t threads);
MakeStructure read_relations(const ObjectReader& pattern, std::size_t threads);
MakeStructure read_runs(const ObjectReader& pattern, std::size_t threads);
MakeStructure read_lsm(const ObjectReader& pattern, std::size_t threads);

std::uint64_t fewest_keys(std::string_view operation) {
  if (operation == "insert") return tables::kOpsFewestToInsert;
  if (operation == "filter" || operation == "merge" || operation == "sort") {
    return tables::kOpsFewestRows;
  }
  return tables::kOpsFewestKeys;
}

std::span<const StructureKind> structures() {
  static constexpr StructureKind kStructures[] = {
      {"btree", database::Btree::kParts, read_btree},
      {"hash", database::HashIndexTable::kParts, read_hash_index},
      {"string-btree", database::StringBtree::kParts, read_string_btree},
      {"string-hash", database::StringHashTable::kParts, read_string_hash},
      {"column", database::ColumnScan::kParts, read_column},
      {"relations", database::HashJoin::kParts, read_relations},
      {"runs", database::RunMerge::kParts, read_runs},
      {"lsm", database::LsmTree::kParts, read_lsm},
  };
  return kStructures;
}

}  // namespace tierscope
