// What the operations of all indexes have in common: who asks for which keys, and how answers are
// checked. A Table (hash_index.h, btree_index.h) stores the keys.
//
// Threads that look up or scan share one table of all keys. Threads that write have a table of
// their own each, with their share of the keys (shared nothing), so that no lock and no atomic
// instruction is part of what is measured.
//
// A Table has, for `count` keys and its Options:
//   static constexpr std::array<std::string_view, N> kParts
//   static std::array<std::size_t, N> bytes(count, options)     Of each part; multiples of 64.
//   Table(std::array<std::byte*, N> memory, count, options)     Empty.
//   void load(count, key_at, slice, slices)   One of `slices` shares of loading it; key_at(i) is
//                                             the ith key, ascending.
//   void finish_load()                        After all shares.
//   std::uint64_t* find(key) const            Null where there is none.
//   void find_group(keys, found) const        The same of several keys, whose misses overlap.
//   void insert(key, value)                   Both of tables that offer these operations.
//   Scanned scan(key, length) const           Of ordered tables,
//   double fill() const                       whose leaves are so full.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>

#include "database/index_spec.h"
#include "database/keys.h"
#include "database/simd.h"
#include "database/structure.h"
#include "errors.h"

namespace tierscope::database {

template <typename Table>
class KeyedIndex : public Structure {
 public:
  using Options = typename Table::Options;  // NOLINT(readability-redundant-typename): clang 14
  static constexpr std::size_t kParts = Table::kParts.size();

  KeyedIndex(IndexSpec spec, const Options& options) : spec_(std::move(spec)), options_(options) {
    const std::uint64_t tables = spec_.writes() ? spec_.threads : 1;
    const std::uint64_t count = spec_.keys->size();
    for (std::uint64_t i = 0; i < tables; ++i) {
      const std::uint64_t first = count / tables * i;
      ranks_.push_back({first, (i + 1 == tables ? count : count / tables * (i + 1)) - first});
    }
  }

  std::vector<Part> parts() const override {
    std::array<std::size_t, kParts> sums{};
    for (const Ranks& ranks : ranks_) {
      const auto bytes = Table::bytes(ranks.count, options_);
      for (std::size_t part = 0; part < kParts; ++part) sums[part] += bytes[part];
    }
    return named_parts(Table::kParts, sums);
  }

  void build(Memory memory, const OnThreads& on_threads) override {
    memory_.assign(memory.begin(), memory.end());
    load(on_threads);
    threads_.clear();
    for (std::size_t thread = 0; thread < spec_.threads; ++thread) {
      const Ranks& ranks = ranks_[table_of(thread)];
      threads_.emplace_back(
          KeyStream(*spec_.keys, ranks, spec_.distribution, thread, spec_.threads),
          Permutation(std::max<std::uint64_t>(held_back(ranks.count), 1)));
    }
  }

  void work(std::size_t thread, std::uint64_t units) override {
    with_simd(simd_, [&] { do_work(thread, units); });
    threads_[thread].done += units;
  }

  std::string_view isa() const override { return name_of(simd_); }

  std::uint64_t operations_per_unit() const override {
    return spec_.work == IndexWork::kLookup ? spec_.interleave : 1;
  }

  std::uint64_t units_per_sample() const override {
    constexpr std::uint64_t kMaxRow = 1U << 15;
    return spec_.work == IndexWork::kInsert ? std::min(held_back(ranks_.front().count), kMaxRow)
                                            : 0;
  }

  void prepare_sample(const OnThreads& on_threads) override {
    const std::uint64_t left = held_back(ranks_.front().count) - threads_.front().inserted;
    if (left >= units_per_sample()) return;
    load(on_threads);
    for (Thread& thread : threads_) thread.inserted = 0;
  }

  std::string verify(const OnThreads& on_threads) override {
    std::uint64_t done = 0;
    for (const Thread& thread : threads_) {
      done += thread.done * operations_per_unit();
      if (thread.wrong != 0 || thread.missing != 0) {
        throw Failure(fmt::format("{} keys were not found, or had another key's value",
                                  std::max<std::uint64_t>(thread.missing, 1)),
                      Cause::kVerification);
      }
    }
    const std::uint64_t compared = compare(on_threads, done);
    const char* const found = spec_.work == IndexWork::kLookup ? ", each with its key's value" : "";
    std::string said = fmt::format("{} operations{}; {} of {} keys compared with the keys in order",
                                   done, found, compared, spec_.keys->size());
    if constexpr (Table::kOrdered) {
      double fill = 0;
      for (const Table& table : tables_) fill += table.fill() / static_cast<double>(tables_.size());
      said += fmt::format("; leaves {:.0f}% full", 100 * fill);
    }
    return said;
  }

 private:
  struct alignas(64) Thread {
    Thread(KeyStream asked, Permutation permutation)
        : stream(std::move(asked)), order(permutation) {}

    KeyStream stream;
    Permutation order;           // Of the keys that were held back.
    std::uint64_t inserted = 0;  // Of those.
    std::uint64_t done = 0;      // Units.
    std::uint64_t missing = 0;   // Keys that were not found.
    std::uint64_t wrong = 0;     // Bits in which values differed from what they have to be.
    std::uint64_t sum = 0;       // Of scans, so that none is left out.
  };
  struct alignas(64) Padded : Table {
    using Table::Table;
  };

  std::size_t table_of(std::size_t thread) const { return ranks_.size() == 1 ? 0 : thread; }
  bool inserts() const { return spec_.work == IndexWork::kInsert; }

  void load(const OnThreads& on_threads) {
    tables_.clear();
    std::array<std::size_t, kParts> used{};
    for (const Ranks& ranks : ranks_) {
      std::array<std::byte*, kParts> at{};
      const auto bytes = Table::bytes(ranks.count, options_);
      for (std::size_t part = 0; part < kParts; ++part) {
        at[part] = memory_[part].data() + used[part];
        used[part] += bytes[part];
      }
      tables_.emplace_back(at, ranks.count, options_);
    }
    const auto load_slices = [&](auto load_slice) {
      on_threads([&](std::size_t thread) {
        const std::size_t table = table_of(thread);
        const Ranks& ranks = ranks_[table];
        const bool shared = ranks_.size() == 1;
        const std::uint64_t count = inserts() ? ranks.count - held_back(ranks.count) : ranks.count;
        const auto key_at = [&](std::uint64_t i) {
          return spec_.keys->at(ranks.first + (inserts() ? loaded_rank(i) : i));
        };
        load_slice(tables_[table], count, key_at, shared ? thread : 0, shared ? spec_.threads : 1);
      });
    };
    load_slices([](Table& table, const auto&... slice) { table.load(slice...); });
    if constexpr (requires { Table::kAged; }) {
      load_slices([](Table& table, const auto&... slice) { table.age(slice...); });
    }
    for (Padded& table : tables_) table.finish_load();
  }

  void do_work(std::size_t thread, std::uint64_t units) {
    Thread& own = threads_[thread];
    switch (spec_.work) {
      case IndexWork::kLookup:
        if constexpr (requires { &Table::find_group; }) {
          if (spec_.interleave > 1) return look_up_groups(own, units);
        }
        look_up(own, units);
        break;
      case IndexWork::kInsert:
        if constexpr (requires { &Table::insert; }) {
          insert(own, tables_[thread], ranks_[thread], units);
        }
        break;
      case IndexWork::kUpdate:
        update(own, tables_[thread], units);
        break;
      case IndexWork::kScan:
        scan(own, units);
        break;
    }
  }

  void look_up(Thread& own, std::uint64_t units) {
    const Table& table = tables_.front();
    std::uint64_t wrong = 0;
    for (; units > 0; --units) {
      const std::uint64_t key = own.stream.next();
      const std::uint64_t* const found = table.find(key);
      if (found == nullptr) [[unlikely]] {
        ++own.missing;
      } else {
        wrong |= *found ^ value_of(key);
      }
    }
    own.wrong |= wrong;
  }

  void look_up_groups(Thread& own, std::uint64_t units) {
    const Table& table = tables_.front();
    std::array<std::uint64_t, kMaxInterleave> keys;    // NOLINT: filled below
    std::array<std::uint64_t*, kMaxInterleave> found;  // NOLINT: filled below
    const std::span group(keys.data(), spec_.interleave);
    for (; units > 0; --units) {
      for (std::uint64_t& key : group) key = own.stream.next();
      table.find_group(group, found.data());
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (found[i] == nullptr) [[unlikely]] {
          ++own.missing;
        } else {
          own.wrong |= *found[i] ^ value_of(group[i]);
        }
      }
    }
  }

  void insert(Thread& own, Table& table, const Ranks& ranks, std::uint64_t units) {
    for (; units > 0; --units, ++own.inserted) {
      const std::uint64_t key =
          spec_.keys->at(ranks.first + held_back_rank(own.order.at(own.inserted)));
      table.insert(key, value_of(key));
    }
  }

  // Adds one to the value.
  void update(Thread& own, Table& table, std::uint64_t units) {
    for (; units > 0; --units) {
      std::uint64_t* const found = table.find(own.stream.next());
      if (found == nullptr) [[unlikely]] {
        ++own.missing;
      } else {
        ++*found;
      }
    }
  }

  void scan(Thread& own, std::uint64_t units) {
    if constexpr (Table::kOrdered) {
      const Table& table = tables_.front();
      for (; units > 0; --units) {
        const Scanned found = table.scan(own.stream.next(), spec_.scan_length);
        own.missing += found.entries == 0 ? 1 : 0;
        own.sum += found.sum;
      }
    }
  }

  // Looks up keys in order, all of them or one of so many, and keys that are not there; of updates
  // all. Returns how many were looked up.
  std::uint64_t compare(const OnThreads& on_threads, std::uint64_t done) {
    constexpr std::uint64_t kMaxCompared = 1U << 21;
    const bool all = spec_.work == IndexWork::kUpdate;
    const std::uint64_t step =
        all ? 1 : std::max<std::uint64_t>(spec_.keys->size() / kMaxCompared, 1);
    std::atomic<std::uint64_t> compared{0};
    std::atomic<std::uint64_t> added{0};
    on_threads([&](std::size_t thread) {
      const bool shared = ranks_.size() == 1;
      const Ranks ranks = ranks_[table_of(thread)];
      const std::vector<bool> in = held_ranks(thread, ranks);
      std::uint64_t sum = 0;
      std::uint64_t looked_up = 0;
      const std::uint64_t first = shared ? thread * step : 0;
      const std::uint64_t stride = shared ? spec_.threads * step : step;
      for (std::uint64_t i = first; i < ranks.count; i += stride, ++looked_up) {
        sum += compare_one(tables_[table_of(thread)], ranks.first + i, in.empty() || in[i]);
      }
      compared += looked_up;
      added += sum;
    });
    if (all && added != done) {
      throw Failure(
          fmt::format("the values hold {} updates where {} were made", added.load(), done),
          Cause::kVerification);
    }
    return compared;
  }

  // Which ranks of a table are in it by now; empty: all of them.
  std::vector<bool> held_ranks(std::size_t thread, const Ranks& ranks) const {
    if (!inserts()) return {};
    std::vector<bool> in(ranks.count, true);
    const std::uint64_t held = held_back(ranks.count);
    for (std::uint64_t i = 0; i < held; ++i) in[held_back_rank(i)] = false;
    for (std::uint64_t i = 0; i < threads_[thread].inserted; ++i) {
      in[held_back_rank(threads_[thread].order.at(i))] = true;
    }
    return in;
  }

  // Compares the table with the key of a rank, and with the number after it, which is not a key.
  // Returns what updates added to its value.
  std::uint64_t compare_one(const Table& table, std::uint64_t rank, bool held) const {
    const std::uint64_t key = spec_.keys->at(rank);
    const std::uint64_t* const found = table.find(key);
    if ((found != nullptr) != held) {
      throw Failure(fmt::format("key {} is {} the index", key, held ? "not in" : "in"),
                    Cause::kVerification);
    }
    const bool last = rank + 1 == spec_.keys->size();
    const bool follows = !last && spec_.keys->at(rank + 1) == key + 1;
    if (!follows && key + 1 != 0 && table.find(key + 1) != nullptr) {
      throw Failure(fmt::format("key {} was found, which is not in the index", key + 1),
                    Cause::kVerification);
    }
    if (!held) return 0;
    const std::uint64_t added = *found - value_of(key);
    if (spec_.work != IndexWork::kUpdate && added != 0) {
      throw Failure(fmt::format("key {} has the value {}, not {}", key, *found, value_of(key)),
                    Cause::kVerification);
    }
    if constexpr (Table::kOrdered) compare_scan(table, rank);
    return added;
  }

  void compare_scan(const Table& table, std::uint64_t rank) const
    requires(Table::kOrdered)
  {
    if (spec_.work != IndexWork::kScan) return;
    Scanned expected;
    const std::uint64_t end = std::min(rank + spec_.scan_length, spec_.keys->size());
    for (std::uint64_t i = rank; i < end; ++i) {
      const std::uint64_t key = spec_.keys->at(i);
      expected.entries += 1;
      expected.sum += key + value_of(key);
    }
    if (table.scan(spec_.keys->at(rank), spec_.scan_length) != expected) {
      throw Failure(
          fmt::format("a scan from key {} on differs from the keys in order", spec_.keys->at(rank)),
          Cause::kVerification);
    }
  }

  IndexSpec spec_;
  Options options_;
  std::vector<Ranks> ranks_;  // Of each table.
  std::vector<std::span<std::byte>> memory_;
  std::deque<Padded> tables_;
  std::deque<Thread> threads_;
  Simd simd_ = best_simd();
};

}  // namespace tierscope::database
