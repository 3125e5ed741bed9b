// The indexes of kind `ops`: what a plan says of their keys and operations.
#include <array>
#include <fstream>
#include <string>
#include <utility>

#include "database/btree.h"
#include "database/hash_index.h"
#include "errors.h"
#include "kinds/ops_structures.h"

namespace tierscope {
namespace {

using database::IndexSpec;
using database::IndexWork;

constexpr std::int64_t kMaxKeys = std::int64_t{1} << 36;
// Of each thread; of insertion so many that the eighth which is held back lasts for a row.
constexpr std::uint64_t kFewestKeys = 64;
constexpr std::uint64_t kFewestToInsert = 1U << 15;
constexpr std::int64_t kMaxScan = 1 << 20;
constexpr double kMaxAlpha = 10;

enum class Asked { kUniform, kZipf, kFile };

// What a plan says of the keys and the work of an index.
struct IndexPlan {
  IndexSpec spec{};
  std::uint64_t keys = 0;
  std::string file;  // Of keys; empty: they are generated.
};

std::uint64_t fewest_keys(const IndexSpec& spec) {
  return spec.threads * (spec.work == IndexWork::kInsert ? kFewestToInsert : kFewestKeys);
}

// The words of a file of 64-bit numbers, little-endian.
std::vector<std::uint64_t> read_keys(const std::string& path, std::uint64_t expected) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint64_t> words(expected);
  const auto bytes = static_cast<std::streamsize>(expected * sizeof(std::uint64_t));
  file.read(reinterpret_cast<char*>(words.data()), bytes);
  if (!file || file.gcount() != bytes || file.peek() != std::ifstream::traits_type::eof()) {
    throw Unavailable(Cause::kPath, path + " does not hold the keys that the plan counted in it",
                      "leave the file as it is while it is measured");
  }
  return words;
}

using Works = std::span<const std::pair<std::string_view, IndexWork>>;

IndexPlan read_index(ObjectReader& pattern, Works works, std::size_t threads) {
  static constexpr std::array<std::pair<std::string_view, Asked>, 3> kDistributions{
      {{"uniform", Asked::kUniform}, {"zipf", Asked::kZipf}, {"file", Asked::kFile}}};
  IndexPlan plan;
  plan.spec.work = pattern.choice("operation", works);
  plan.spec.threads = threads;
  plan.keys = static_cast<std::uint64_t>(pattern.integer("keys", 1, kMaxKeys));
  if (plan.keys < fewest_keys(plan.spec)) {
    throw pattern.error(
        "keys", "is fewer than the threads need, " + std::to_string(fewest_keys(plan.spec)));
  }
  const Asked asked = pattern.has("distribution") ? pattern.choice("distribution", kDistributions)
                                                  : Asked::kUniform;
  if (asked == Asked::kZipf) {
    plan.spec.distribution.alpha = pattern.positive("zipf_alpha", kMaxAlpha);
  }
  if (asked == Asked::kFile) plan.file = pattern.text("keys_file");
  if (pattern.has("interleave")) {
    plan.spec.interleave = static_cast<std::size_t>(
        pattern.integer("interleave", 1, static_cast<std::int64_t>(database::kMaxInterleave)));
    if (plan.spec.interleave > 1 && plan.spec.work != IndexWork::kLookup) {
      throw pattern.error("interleave", "goes with operation lookup");
    }
  }
  return plan;
}

// Keys of a file are those that the index holds, and the order in which they are looked up.
IndexSpec with_keys(const IndexPlan& plan) {
  IndexSpec spec = plan.spec;
  if (plan.file.empty()) {
    spec.keys = std::make_shared<const database::Keys>(plan.keys);
    return spec;
  }
  const auto words =
      std::make_shared<const std::vector<std::uint64_t>>(read_keys(plan.file, plan.keys));
  spec.distribution.words = words;
  spec.keys = std::make_shared<const database::Keys>(*words);
  if (spec.keys->size() < fewest_keys(spec)) {
    throw Unavailable(Cause::kPath, plan.file + " has fewer distinct keys than the threads need, " +
                                        std::to_string(fewest_keys(spec)));
  }
  return spec;
}

std::size_t node_bytes(ObjectReader& pattern, const char* key) {
  const std::size_t bytes = pattern.bytes(key);
  if (bytes < database::Btree::kMinNode || bytes > database::Btree::kMaxNode) {
    throw pattern.error(key, "is not from 128 to 65536");
  }
  return bytes;
}

}  // namespace

MakeStructure read_btree(ObjectReader& pattern, std::size_t threads) {
  static constexpr std::array<std::pair<std::string_view, IndexWork>, 4> kWorks{
      {{"lookup", IndexWork::kLookup},
       {"insert", IndexWork::kInsert},
       {"update", IndexWork::kUpdate},
       {"scan", IndexWork::kScan}}};
  IndexPlan plan = read_index(pattern, kWorks, threads);
  const database::BtreeOptions options{.inner_bytes = node_bytes(pattern, "inner_node"),
                                       .leaf_bytes = node_bytes(pattern, "leaf_node"),
                                       .grows = plan.spec.work == IndexWork::kInsert};
  if (plan.spec.work == IndexWork::kScan) {
    plan.spec.scan_length = static_cast<std::size_t>(pattern.integer("scan_length", 1, kMaxScan));
  }
  return
      [plan, options] { return std::make_unique<database::BtreeIndex>(with_keys(plan), options); };
}

MakeStructure read_hash_index(ObjectReader& pattern, std::size_t threads) {
  static constexpr std::array<std::pair<std::string_view, IndexWork>, 3> kWorks{
      {{"lookup", IndexWork::kLookup},
       {"insert", IndexWork::kInsert},
       {"update", IndexWork::kUpdate}}};
  return [plan = read_index(pattern, kWorks, threads)] {
    return std::make_unique<database::HashIndex>(with_keys(plan),
                                                 database::HashIndexTable::Options{});
  };
}

}  // namespace tierscope
