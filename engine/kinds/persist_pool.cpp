#include "kinds/persist_pool.h"

#include <fmt/format.h>

#include "errors.h"

namespace tierscope {
namespace {

[[noreturn]] void fail_pmemobj(const char* what) {
  throw Failure(fmt::format("{} failed: {}", what, pmemobj().error()), Cause::kOther);
}

void transact(PmemPool* pool, BlockWalk& walk, std::uint64_t ranges) {
  const Pmemobj& library = pmemobj();
  if (library.begin_transaction(pool) != 0) fail_pmemobj("pmemobj_tx_begin");
  for (std::uint64_t range = 0; range < ranges; ++range) {
    std::byte* const block = walk.next();
    const int error = library.tx_add_range_direct(block, walk.block_bytes());
    if (error != 0) {
      library.tx_abort(error);
      library.tx_end();
      fail_pmemobj("pmemobj_tx_add_range_direct");
    }
    store_block(walk, block);
  }
  library.tx_commit();
  if (library.tx_end() != 0) fail_pmemobj("pmemobj_tx_commit");
}

void allocate_and_free(PmemPool* pool, BlockWalk& walk) {
  constexpr std::uint64_t kType = 1;
  const Pmemobj& library = pmemobj();
  auto* const id = reinterpret_cast<PmemId*>(walk.next());
  if (library.alloc(pool, id, walk.block_bytes(), kType, nullptr, nullptr) != 0) {
    fail_pmemobj("pmemobj_alloc");
  }
  library.free(id);
}

}  // namespace

BlockWriter pool_persist_writer(PmemPool* pool) {
  return block_writer([pool](BlockWalk& walk) {
    std::byte* const block = walk.next();
    store_block(walk, block);
    pmemobj().persist(pool, block, walk.block_bytes());
  });
}

BlockWriter transaction_writer(PmemPool* pool, std::uint64_t ranges) {
  return block_writer([pool, ranges](BlockWalk& walk) { transact(pool, walk, ranges); });
}

BlockWriter allocation_writer(PmemPool* pool) {
  return block_writer([pool](BlockWalk& walk) { allocate_and_free(pool, walk); });
}

std::uint64_t compare_freed(const BlockWalk& walk, std::uint64_t step) {
  const auto check = [](const std::byte* block) {
    const auto* const id = reinterpret_cast<const PmemId*>(block);
    if (id->offset != 0) {
      throw Failure("the id of an object that was freed is still there", Cause::kVerification);
    }
  };
  return walk.revisit(step, check) * walk.block_bytes();
}

}  // namespace tierscope
