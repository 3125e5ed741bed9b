// The indexes of kind `ops`: what a plan says of their keys and operations.
#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "database/aged_btree.h"
#include "database/btree.h"
#include "database/hash_index.h"
#include "database/shared_btree.h"
#include "database/shared_hash_table.h"
#include "database/shared_index.h"
#include "database/string_btree.h"
#include "database/string_hash.h"
#include "errors.h"
#include "kinds/ops_structures.h"

namespace tierscope {
namespace {

using database::IndexSpec;
using database::IndexWork;
using database::Mix;
using database::SharedIndex;

// What a plan says of the keys and the work of an index.
struct IndexPlan {
  IndexSpec spec{};
  std::uint64_t keys = 0;
  std::uint64_t fewest = 0;  // Keys that the threads need.
  std::string file;          // Of keys; empty: they are generated.
  bool shared = false;       // By threads that write.
};

// An operation: what each thread does with an index of its own, if it can have one, and what all do
// with one that they share. Those of YCSB: Cooper et al., "Benchmarking cloud serving systems with
// YCSB", SoCC 2010.
struct Operation {
  std::optional<IndexWork> alone;
  Mix shared;
};
constexpr std::array<std::pair<std::string_view, Operation>, 11> kOperations{
    {{"lookup", {IndexWork::kLookup, {}}},
     {"insert", {IndexWork::kInsert, {.inserts = 100}}},
     {"update", {IndexWork::kUpdate, {.updates = 100}}},
     {"scan", {IndexWork::kScan, {}}},
     {"churn", {{}, {.inserts = 25, .deletes = 25}}},
     {"ycsb-a", {{}, {.updates = 50}}},
     {"ycsb-b", {{}, {.updates = 5}}},
     {"ycsb-c", {{}, {}}},
     {"ycsb-d", {{}, {.inserts = 5}}},
     {"ycsb-e", {{}, {.inserts = 5, .scans = 95}}},
     {"ycsb-f", {{}, {.modifies = 50}}}}};

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

IndexPlan read_index(const ObjectReader& pattern, std::size_t threads) {
  const auto operation = pattern.choice("operation", kOperations);
  IndexPlan plan;
  plan.shared = !operation.alone || pattern.text("sharing") == "shared";
  plan.spec.work = operation.alone.value_or(IndexWork::kLookup);
  plan.spec.mix = operation.shared;
  plan.spec.threads = threads;
  plan.keys = pattern.integer<std::uint64_t>("keys");
  plan.fewest = threads * fewest_keys(pattern.text("operation"));
  if (pattern.has("zipf_alpha")) plan.spec.distribution.alpha = pattern.number("zipf_alpha");
  plan.spec.distribution.latest = pattern.text("distribution") == "latest";
  if (pattern.has("keys_file")) plan.file = pattern.text("keys_file");
  plan.spec.interleave = pattern.integer<std::size_t>("interleave");
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
  if (spec.keys->size() < plan.fewest) {
    throw Unavailable(Cause::kPath, plan.file + " has fewer distinct keys than the threads need, " +
                                        std::to_string(plan.fewest));
  }
  return spec;
}

// An index that threads share, or one each.
template <typename Own, typename Shared>
MakeStructure made(const IndexPlan& plan, const typename Own::Options& options) {
  return [plan, options]() -> std::unique_ptr<database::Structure> {
    if (plan.shared) return std::make_unique<Shared>(with_keys(plan), options);
    return std::make_unique<Own>(with_keys(plan), options);
  };
}

}  // namespace

MakeStructure read_btree(const ObjectReader& pattern, std::size_t threads) {
  IndexPlan plan = read_index(pattern, threads);
  const bool inserts = plan.spec.mix.inserts > 0;
  const database::BtreeOptions options{.inner_bytes = pattern.bytes("inner_node"),
                                       .leaf_bytes = pattern.bytes("leaf_node"),
                                       .grows = inserts};
  if (pattern.has("scan_length")) plan.spec.scan_length = pattern.bytes("scan_length");
  if (pattern.text("build") == "aged") {
    return made<database::KeyedIndex<database::AgedBtree>, SharedIndex<database::AgedSharedBtree>>(
        plan, options);
  }
  return made<database::BtreeIndex, SharedIndex<database::SharedBtree>>(plan, options);
}

MakeStructure read_string_btree(const ObjectReader& pattern, std::size_t threads) {
  const IndexPlan plan = read_index(pattern, threads);
  const database::BtreeOptions options{.inner_bytes = pattern.bytes("inner_node"),
                                       .leaf_bytes = pattern.bytes("leaf_node")};
  return [plan, options] {
    return std::make_unique<database::StringBtreeIndex>(with_keys(plan), options);
  };
}

MakeStructure read_string_hash(const ObjectReader& pattern, std::size_t threads) {
  const IndexPlan plan = read_index(pattern, threads);
  return [plan] {
    return std::make_unique<database::StringHashIndex>(with_keys(plan),
                                                       database::StringHashTable::Options{});
  };
}

MakeStructure read_hash_index(const ObjectReader& pattern, std::size_t threads) {
  return made<database::HashIndex, SharedIndex<database::SharedHashTable>>(
      read_index(pattern, threads), {});
}

}  // namespace tierscope
