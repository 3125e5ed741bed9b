// Transactions and allocations in a pool that has no room left, by libpmemobj itself.
#include "kinds/persist_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "errors.h"
#include "memory/pool.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr std::size_t kPoolBlock = std::size_t{1} << 20;
constexpr std::size_t kArray = 4 * kPoolBlock;

Placement in_shared_memory() {
  return {.policy = Policy::kBind,
          .nodes = {{.node = nodes_with_memory().front()}},
          .persistent = Persistent{.backing = Backing::kPool, .path = "/dev/shm"}};
}

class FullPool : public testing::Test {
 protected:
  FullPool()
      : pool_({.bytes = kArray, .count = 1, .unit_bytes = 4096}, in_shared_memory()),
        data_(pool_.take().front().data) {
    for (const std::size_t bytes : {kPoolBlock, std::size_t{64} << 10, std::size_t{1} << 10}) {
      for (PmemId id; library_.alloc(pool_.get(), &id, bytes, 1, nullptr, nullptr) == 0;) {
        filling_.push_back(id);
      }
    }
  }

  BlockWalk blocks(std::size_t bytes) const { return {data_, 0, bytes, kArray / bytes, false, 1}; }

  void make_room() {
    for (PmemId& id : filling_) library_.free(&id);
    filling_.clear();
  }

  // What it says, after frames with destructors were left in the ordinary way.
  std::string failure_of(const BlockWriter& writer, std::size_t block) {
    int left = 0;
    struct Leaves {
      int& count;
      ~Leaves() { ++count; }
    };
    Histogram ns;
    std::string said;
    for (const bool timed : {false, true}) {
      BlockWalk walk = blocks(block);
      try {
        const Leaves frame{left};
        timed ? writer.time(walk, 1, ns) : writer.write(walk, 1);
      } catch (const Failure& failure) {
        said = failure.what();
      }
    }
    EXPECT_EQ(left, 2);
    EXPECT_EQ(library_.tx_stage(), kPmemNone);
    return said;
  }

  bool is_zero() const {
    return std::all_of(data_, data_ + kArray,
                       [](std::byte found) { return found == std::byte{0}; });
  }

  const Pmemobj& library_ = pmemobj();
  Pool pool_;
  std::byte* data_;
  std::vector<PmemId> filling_;
};

TEST_F(FullPool, ATransactionFailsInOneLineAndChangesNothing) {
  const std::string said = failure_of(transaction_writer(pool_.get(), 1), kPoolBlock);
  EXPECT_TRUE(said.starts_with("pmemobj_tx_add_range_direct failed: ")) << said;
  EXPECT_EQ(said.find('\n'), std::string::npos);
  EXPECT_TRUE(is_zero());
}

// The first ranges were stored to before one did not fit: the undo log takes that back.
TEST_F(FullPool, RangesBeforeTheOneThatDidNotFitAreRolledBack) {
  constexpr std::size_t kRange = 512;  // The log of a few takes no room of the heap.
  const std::string said = failure_of(transaction_writer(pool_.get(), kArray / kRange), kRange);
  EXPECT_TRUE(said.starts_with("pmemobj_tx_add_range_direct failed: ")) << said;
  EXPECT_TRUE(is_zero());
}

TEST_F(FullPool, AnAllocationFailsInOneLine) {
  const std::string said = failure_of(allocation_writer(pool_.get()), kPoolBlock);
  EXPECT_TRUE(said.starts_with("pmemobj_alloc failed: ")) << said;
  EXPECT_TRUE(is_zero());
}

TEST_F(FullPool, TheSameThreadGoesOnOnceThereIsRoom) {
  failure_of(transaction_writer(pool_.get(), 1), kPoolBlock);
  make_room();
  BlockWalk walk = blocks(kPoolBlock);
  transaction_writer(pool_.get(), 1).write(walk, kArray / kPoolBlock);
  EXPECT_EQ(walk.compare(1), kArray);
}

}  // namespace
}  // namespace tierscope
