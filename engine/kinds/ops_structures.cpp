#include "kinds/ops_structures.h"

#include "database/btree.h"
#include "database/hash_index.h"

namespace tierscope {

MakeStructure read_btree(ObjectReader& pattern, std::size_t threads);
MakeStructure read_hash_index(ObjectReader& pattern, std::size_t threads);

std::span<const StructureKind> structures() {
  static constexpr StructureKind kStructures[] = {
      {"btree", database::Btree::kParts, read_btree},
      {"hash", database::HashIndexTable::kParts, read_hash_index},
  };
  return kStructures;
}

}  // namespace tierscope
