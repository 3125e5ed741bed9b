#include "storage/duplicates.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "storage/contents.h"

namespace tierscope {
namespace {

constexpr std::size_t kUnit = 4096;

std::vector<std::string> units_of(const DuplicatesRule& rule, std::size_t count,
                                  std::size_t bytes = kUnit) {
  DuplicateUnits units(rule, 7);
  std::vector<std::uint64_t> words(count * bytes / sizeof(std::uint64_t));
  const std::span data = std::as_writable_bytes(std::span(words));
  write_units(data, bytes, units, 50);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < count; ++i) {
    found.emplace_back(reinterpret_cast<const char*>(data.data()) + i * bytes, bytes);
  }
  return found;
}

std::size_t distinct(const std::vector<std::string>& units) {
  return std::set(units.begin(), units.end()).size();
}

TEST(Duplicates, AsManyUnitsAsAskedForOccurBefore) {
  EXPECT_EQ(distinct(units_of({.percent = 0, .stream = 0, .streams = 1}, 500)), 500);
  EXPECT_EQ(distinct(units_of({.percent = 100, .stream = 0, .streams = 1}, 500)), 1);
  const std::size_t half = distinct(units_of({.percent = 50, .stream = 0, .streams = 1}, 1000));
  EXPECT_GT(half, 420);
  EXPECT_LT(half, 580);
}

TEST(Duplicates, ARepeatedUnitIsTheOneBefore) {
  const auto found = units_of({.percent = 50, .stream = 0, .streams = 1}, 200);
  const std::set all(found.begin(), found.end());
  std::size_t changes = 1;
  for (std::size_t i = 1; i < found.size(); ++i) changes += found[i] != found[i - 1] ? 1 : 0;
  EXPECT_EQ(changes, all.size());
}

TEST(Duplicates, StreamsThatShareAWorkingSetHaveUnitsInCommon) {
  const auto of = [](std::uint32_t stream, std::uint32_t streams) {
    return units_of({.percent = 50, .working_set = 100, .stream = stream, .streams = streams}, 400);
  };
  const auto together = [](std::vector<std::string> one, const std::vector<std::string>& other) {
    const std::size_t apart = distinct(one) + distinct(other);
    one.insert(one.end(), other.begin(), other.end());
    return apart - distinct(one);
  };
  EXPECT_EQ(together(of(0, 1), of(1, 1)), 0);
  EXPECT_GT(together(of(0, 2), of(1, 2)), 50);
}

TEST(Duplicates, UnitsProveThatTierscopeWroteThemAndNotWhere) {
  for (const std::size_t bytes : {kUnit, std::size_t{512}, std::size_t{65536}}) {
    for (const std::string& unit : units_of({.percent = 30, .stream = 3, .streams = 1}, 8, bytes)) {
      const auto page = std::as_bytes(std::span(unit)).first(std::min(bytes, kUnit));
      EXPECT_TRUE(is_own(page, 99, 1 << 20, {.zeros = false, .elsewhere = true})) << bytes;
      EXPECT_FALSE(is_own(page, 99, 1 << 20, {.zeros = false, .elsewhere = false})) << bytes;
    }
  }
}

}  // namespace
}  // namespace tierscope
