// Indexes of strings against the containers of the standard library.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "database/string_btree.h"
#include "database/string_hash.h"
#include "errors.h"
#include "structure_memory.h"

namespace tierscope::database {
namespace {

std::string text_of(const StringKey& key) {
  std::string text(StringKey::kBytes, ' ');
  key.store(text.data());
  return text;
}

TEST(StringKey, IsYcsbsWithZeroPaddingAndInTheOrderOfItsNumber) {
  EXPECT_EQ(text_of(StringKey(std::uint64_t{42})), "user00000000000000000042");
  EXPECT_EQ(text_of(StringKey(~std::uint64_t{0})), "user18446744073709551615");
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t one = random() >> random() % 64;
    const std::uint64_t other = random() >> random() % 64;
    const StringKey key(one);
    const StringKey behind(other);
    ASSERT_EQ(text_of(key), fmt::format("user{:020}", one));
    ASSERT_EQ(StringKey(text_of(key).data()), key);
    ASSERT_EQ(key <=> behind, one <=> other);
    const std::uint32_t prefix = common_prefix(key, behind);
    ASSERT_EQ(text_of(key).substr(0, prefix), text_of(behind).substr(0, prefix));
    if (one != other) {
      ASSERT_NE(text_of(key)[prefix], text_of(behind)[prefix]);
      ASSERT_EQ(key.head(prefix) < behind.head(prefix), one < other);
    }
  }
}

// Numbers of which many lie side by side, so that heads are equal, and far from others, so that
// prefixes are short.
std::vector<std::uint64_t> clustered(std::uint64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::set<std::uint64_t> found;
  while (found.size() < count) {
    const std::uint64_t begin = random() >> random() % 60;
    const std::uint64_t length = random() % 100;
    for (std::uint64_t i = 0; i <= length && found.size() < count; ++i) found.insert(begin + i);
  }
  return {found.begin(), found.end()};
}

template <typename Table>
void expect_what_a_set_holds(const BtreeOptions& options) {
  for (const std::uint64_t count : {1U, 2U, 23U, 24U, 1000U, 30000U}) {
    const std::vector<std::uint64_t> numbers = clustered(count, count);
    typename Table::Options chosen{};
    if constexpr (requires { chosen.inner_bytes; }) chosen = options;
    const StructureMemory memory(named_parts(Table::kParts, Table::bytes(count, chosen)));
    Table table({memory.as<std::byte>(0).data(), memory.as<std::byte>(1).data(),
                 memory.as<std::byte>(2).data()},
                count, chosen);
    for (std::size_t slice = 0; slice < 3; ++slice) {
      table.load(count, [&](std::uint64_t i) { return numbers[i]; }, slice, 3);
    }
    table.finish_load();
    const std::set<std::uint64_t> reference(numbers.begin(), numbers.end());
    for (const std::uint64_t number : numbers) {
      const std::uint64_t* const found = table.find(number);
      ASSERT_NE(found, nullptr) << number;
      ASSERT_EQ(*found, value_of(number));
      for (const std::uint64_t other : {number - 1, number + 1, number * 10, number / 10}) {
        ASSERT_EQ(table.find(other) != nullptr, reference.contains(other)) << other;
      }
    }
    EXPECT_EQ(table.find(0) != nullptr, reference.contains(0));
    EXPECT_EQ(table.find(~std::uint64_t{0}) != nullptr, reference.contains(~std::uint64_t{0}));
  }
}

TEST(StringBtree, HoldsWhatASetHolds) {
  expect_what_a_set_holds<StringBtree>({});
  expect_what_a_set_holds<StringBtree>({128, 128});
  expect_what_a_set_holds<StringBtree>({2048, 1024});
}

TEST(StringHashTable, HoldsWhatASetHolds) { expect_what_a_set_holds<StringHashTable>({}); }

template <typename Index>
void expect_verified() {
  for (const IndexWork work : {IndexWork::kLookup, IndexWork::kUpdate}) {
    for (const std::size_t threads : {1U, 3U}) {
      Index index({.work = work, .keys = std::make_shared<const Keys>(10007), .threads = threads},
                  {});
      const StructureMemory memory(index.parts());
      const OnThreads all = on_threads(threads);
      index.build(memory, all);
      all([&](std::size_t thread) { index.work(thread, 2000); });
      EXPECT_NE(index.verify(all).find("compared"), std::string::npos);
      memory.as<char>(2)[StringKey::kBytes * 17 + 20] ^= 1;  // A digit of a string.
      EXPECT_THROW(index.verify(all), Failure);
    }
  }
}

TEST(StringBtreeIndex, IsVerifiedAfterEveryOperation) { expect_verified<StringBtreeIndex>(); }

TEST(StringHashIndex, IsVerifiedAfterEveryOperation) { expect_verified<StringHashIndex>(); }

}  // namespace
}  // namespace tierscope::database
