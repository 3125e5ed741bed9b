// Pieces of a cache: where they are, what proves that they came there, and whole repetitions.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "errors.h"
#include "gpu/gpu_kinds.h"
#include "kinds/kv_cache_order.h"
#include "scratch_directory.h"

namespace tierscope {
namespace {

using nlohmann::json;

KvCacheSpec small() {
  KvCacheSpec spec{};
  spec.piece = 4080;  // Not a whole number of pages.
  spec.pieces = 7;
  spec.objects = 5;
  spec.seed = 3;
  return spec;
}

TEST(KvOrder, EveryPieceHasAPlaceOfItsOwn) {
  const KvCacheSpec spec = small();
  const KvOrder order(spec);
  std::set<std::uint64_t> pool;
  std::set<std::uint64_t> store;
  for (const PieceEnds& ends : order.ends(false)) {
    pool.insert(ends.pool);
    store.insert(ends.store);
  }
  EXPECT_EQ(pool.size(), spec.all_pieces());
  EXPECT_EQ(store.size(), spec.all_pieces());
  EXPECT_EQ(*pool.rbegin(), spec.all_bytes() - spec.piece);
  EXPECT_LE(*store.rbegin() + spec.piece, spec.stride() * spec.objects);
  EXPECT_EQ(spec.stride() % 4096, 0);
}

TEST(KvOrder, NoPieceStaysWhereItWas) {
  KvOrder order(small());
  const std::vector<PieceEnds> before = order.ends(false);
  order.next();
  const std::vector<PieceEnds> after = order.ends(false);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NE(before[i].pool, after[i].pool);
    EXPECT_NE(before[i].store, after[i].store);
  }
}

TEST(KvOrder, ObjectsByThemselvesBeginAtZero) {
  const KvCacheSpec spec = small();
  const KvOrder order(spec);
  const std::vector<PieceEnds> ends = order.ends(true);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(ends[i].store, i % spec.pieces * spec.piece);
  }
}

TEST(KvPattern, DiffersByPlaceAndSeed) {
  std::vector<std::byte> data(256);
  fill_kv_pattern(data, 64, 1);
  EXPECT_EQ(kv_difference(data, 64, 1), data.size());
  EXPECT_EQ(kv_difference(data, 72, 1), 0);
  EXPECT_EQ(kv_difference(data, 64, 2), 0);
  data[100] ^= std::byte{1};
  EXPECT_EQ(kv_difference(data, 64, 1), 96);
}

class KvCacheOnHost : public testing::TestWithParam<const char*> {
 protected:
  static json node() { return {{"policy", "bind"}, {"nodes", json::array({{{"node", 0}}})}}; }
  static json plan() {
    return {
        {"cpus", {0}},
        {"sampling", {{"budget_s", 0.02}}},
        {"pool", {{"placement", node()}}},
        {"placement", node()},
        {"pattern", {{"operation", GetParam()}, {"piece", 4080}, {"pieces", 7}, {"objects", 5}}}};
  }

  ScratchDirectory folder_;
};

TEST_P(KvCacheOnHost, MemoryHoldsObjects) {
  tierscope::Repeated measurement("kv-cache", plan());
  for (int i = 0; i < 2; ++i) {
    const Repetition repetition = measurement.repetition(false, 3);
    ASSERT_EQ(repetition.series.size(), 1);
    const json& seen = repetition.evidence["kv_cache"];
    EXPECT_GE(seen["transfers"], 2);
    EXPECT_EQ(seen["bytes"], seen["transfers"].get<int>() * 4080 * 35);
    EXPECT_EQ(repetition.evidence["verified"].get<std::string>().substr(0, 10), "35 pieces ");
  }
}

TEST_P(KvCacheOnHost, AFileHoldsObjects) {
  for (const char* backend : {"posix", "libaio", "io_uring"}) {
    SCOPED_TRACE(backend);
    json one = plan();
    one["directory"] = folder_.path();
    one["pattern"]["backend"] = backend;
    one["pattern"]["direct"] = false;
    if (std::string_view(backend) != "posix") one["pattern"]["depth"] = 3;
    tierscope::Repeated measurement("kv-cache", one);
    for (int i = 0; i < 2; ++i) {
      const Repetition repetition = measurement.repetition(false, 3);
      EXPECT_GE(repetition.evidence["kv_cache"]["transfers"], 2);
      // Whole pages, 7 pieces of 4080 bytes in each object.
      const json& asked = repetition.evidence["storage_io"];
      const int objects = 5 * repetition.evidence["kv_cache"]["transfers"].get<int>();
      const bool fetches = GetParam() == std::string_view("fetch");
      EXPECT_EQ(asked["reads"], fetches ? objects : 0);
      EXPECT_EQ(asked["bytes_read"], fetches ? objects * 28672 : 0);
      EXPECT_EQ(asked["bytes_written"], fetches ? 0 : objects * 28672);
      EXPECT_TRUE(asked.contains("cached_bytes"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, KvCacheOnHost, testing::Values("fetch", "store"));

}  // namespace
}  // namespace tierscope
