// Operations on an index that all threads read and change at once: who asks for which keys, and how
// answers are checked. A Table (shared_btree.h, shared_hash_table.h) stores the keys.
//
// Every eighth key is inserted and deleted, each by one thread only, so that it is known at the end
// which of them are in the table; all others have to be found whatever happens meanwhile. Keys are
// finitely many, which bounds the table.
//
// A Table has what one of keyed_index.h has, but these, which several threads may call at once:
//   std::optional<std::uint64_t> find(key) const
//   bool insert(key, value)      Whether the key is new.
//   bool add(key, amount)        To its value; whether the key is there.
//   bool erase(key)              Whether the key was there.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/zipf_order.h"
#include "database/index_spec.h"
#include "database/keys.h"
#include "database/simd.h"
#include "database/structure.h"
#include "errors.h"

namespace tierscope::database {

template <typename Table>
class SharedIndex : public Structure {
 public:
  using Options = typename Table::Options;  // NOLINT(readability-redundant-typename): clang 14
  static constexpr std::size_t kParts = Table::kParts.size();

  SharedIndex(IndexSpec spec, const Options& options)
      : spec_(std::move(spec)),
        options_(options),
        own_(held_back(spec_.keys->size()) / spec_.threads),
        order_(std::max<std::uint64_t>(own_, 1)),
        ages_(loaded()) {
    const Distribution& asked = spec_.distribution;
    if (asked.latest && asked.alpha) recency_.emplace(loaded(), *asked.alpha);
  }

  std::vector<Part> parts() const override {
    return named_parts(Table::kParts, Table::bytes(spec_.keys->size(), options_));
  }

  void build(Memory memory, const OnThreads& on_threads) override {
    for (std::size_t part = 0; part < kParts; ++part) memory_[part] = memory[part].data();
    Distribution asked = spec_.distribution;
    if (asked.latest) asked.alpha.reset();
    threads_.clear();
    for (std::size_t thread = 0; thread < spec_.threads; ++thread) {
      threads_.emplace_back(
          KeyStream(*spec_.keys, {0, spec_.keys->size()}, asked, thread, spec_.threads), thread);
    }
    load(on_threads);
  }

  void work(std::size_t thread, std::uint64_t units) override {
    Thread& own = threads_[thread];
    for (std::uint64_t unit = 0; unit < units; ++unit) do_one(own);
    own.done += units;
  }

  std::string_view isa() const override { return name_of(Simd::kBaseline); }

  // So many that the keys which are inserted do not run out, unless others are deleted.
  std::uint64_t units_per_sample() const override {
    return inserts_per_sample() * 100 / std::max(spec_.mix.inserts, 1U);
  }

  void prepare_sample(const OnThreads& on_threads) override {
    constexpr std::uint64_t kSpare = 64;  // Operations are drawn: some rows insert more.
    const auto runs_out = [this](const Thread& thread) {
      return own_ - thread.inserted < 2 * inserts_per_sample() + kSpare;
    };
    if (std::ranges::any_of(threads_, runs_out)) load(on_threads);
  }

  std::string verify(const OnThreads& on_threads) override {
    std::uint64_t done = 0;
    for (const Thread& thread : threads_) {
      done += thread.done;
      if (thread.wrong != 0) {
        throw Failure(fmt::format("{} keys were not found, found where they were not inserted, or "
                                  "had another key's value",
                                  thread.wrong),
                      Cause::kVerification);
      }
    }
    const std::uint64_t compared = compare(on_threads);
    std::string said = fmt::format("{} operations; {} of {} keys compared with the keys in order",
                                   done, compared, spec_.keys->size());
    if constexpr (Table::kOrdered) {
      compare_order();
      said += fmt::format("; leaves {:.0f}% full", 100 * table_->fill());
    }
    return said;
  }

 private:
  struct alignas(64) Thread {
    Thread(KeyStream asked, std::size_t thread)
        : stream(std::move(asked)), number(thread), luck(thread * kSplitMix64Step) {}

    KeyStream stream;
    std::size_t number;
    std::uint64_t luck;          // A generator's state.
    std::uint64_t inserted = 0;  // Of its own keys, in their order, again and again...
    std::uint64_t deleted = 0;   // ... and the first of those.
    std::uint64_t updates = 0;   // Since the table was loaded.
    std::uint64_t done = 0;
    std::uint64_t wrong = 0;  // Answers that differ from what they have to be.
    std::uint64_t sum = 0;    // Of scans, so that none is left out.
  };
  struct Asked {
    std::uint64_t key;
    bool may_lack;
  };

  // An update adds one to a value, of which so many bits have room for all.
  static constexpr unsigned kUpdateBits = 40;

  bool grows() const { return spec_.mix.inserts > 0; }
  bool shrinks() const { return spec_.mix.deletes > 0; }
  bool writes_values() const { return spec_.mix.updates + spec_.mix.modifies > 0; }

  // Keys that are in the table from the beginning.
  std::uint64_t loaded() const {
    const std::uint64_t count = spec_.keys->size();
    return grows() ? count - held_back(count) : count;
  }
  std::uint64_t rank_of_loaded(std::uint64_t i) const { return grows() ? loaded_rank(i) : i; }

  // The key that a thread inserts as number i.
  std::uint64_t own_rank(const Thread& own, std::uint64_t i) const {
    return held_back_rank(order_.at(i % own_) * spec_.threads + own.number);
  }

  std::uint64_t inserts_per_sample() const {
    constexpr std::uint64_t kMaxRow = 1U << 15;
    if (!grows() || shrinks()) return 0;
    return std::clamp<std::uint64_t>(own_ / 4, 1, kMaxRow * spec_.mix.inserts / 100);
  }

  void load(const OnThreads& on_threads) {
    table_ = std::make_unique<Table>(memory_, spec_.keys->size(), options_);
    const auto key_at = [this](std::uint64_t i) { return spec_.keys->at(rank_of_loaded(i)); };
    on_threads([&](std::size_t thread) { table_->load(loaded(), key_at, thread, spec_.threads); });
    if constexpr (requires { Table::kAged; }) {
      on_threads([&](std::size_t thread) { table_->age(loaded(), key_at, thread, spec_.threads); });
    }
    table_->finish_load();
    on_threads([this](std::size_t thread) {
      Thread& own = threads_[thread];
      own.inserted = own.deleted = own.updates = 0;
      if (!shrinks()) return;
      while (own.inserted < own_ / 2) insert(own);
    });
  }

  void do_one(Thread& own) {
    const Mix& mix = spec_.mix;
    const std::uint64_t drawn = scaled(splitmix64(own.luck), 100);
    const unsigned inserts = mix.updates + mix.inserts;
    const unsigned deletes = inserts + mix.deletes;
    const unsigned scans = deletes + mix.scans;
    if (drawn < mix.updates) return update(own, ask(own));
    if (drawn < inserts) return insert(own);
    if (drawn < deletes) return erase(own);
    if (drawn < scans) return scan(own, ask(own));
    const Asked asked = ask(own);
    look_up(own, asked);
    if (drawn < scans + mix.modifies) update(own, asked);
  }

  Asked ask(Thread& own) {
    if (recency_) return ask_for_latest(own, *recency_);
    if (spec_.distribution.words) return {own.stream.next(), false};
    const std::uint64_t rank = own.stream.next_rank();
    return {spec_.keys->at(rank), grows() && rank % kHeldBack == kHeldBack - 1};
  }

  // The last that the thread inserted, or those that were loaded, which have an order of their own.
  Asked ask_for_latest(Thread& own, const ZipfOrder& recency) {
    const std::uint64_t age = recency.next_rank(own.luck);
    const std::uint64_t rank = age < own.inserted ? own_rank(own, own.inserted - 1 - age)
                                                  : rank_of_loaded(ages_.at(age - own.inserted));
    return {spec_.keys->at(rank), false};
  }

  void look_up(Thread& own, Asked asked) {
    const std::optional<std::uint64_t> found = table_->find(asked.key);
    const bool right = found ? (*found - value_of(asked.key)) >> kUpdateBits == 0 : asked.may_lack;
    own.wrong += right ? 0 : 1;
  }

  void update(Thread& own, Asked asked) {
    const bool found = table_->add(asked.key, 1);
    own.updates += found ? 1 : 0;
    own.wrong += found ? 0 : 1;
  }

  // The next of its keys; all are in: what comes next in their stead.
  void insert(Thread& own) {
    if (own.inserted - own.deleted == own_) return shrinks() ? erase(own) : look_up(own, ask(own));
    const std::uint64_t key = spec_.keys->at(own_rank(own, own.inserted++));
    own.wrong += table_->insert(key, value_of(key)) ? 0 : 1;
  }

  // The one of its keys that has been in for the longest time.
  void erase(Thread& own) {
    if (own.inserted == own.deleted) return insert(own);
    own.wrong += table_->erase(spec_.keys->at(own_rank(own, own.deleted++))) ? 0 : 1;
  }

  void scan(Thread& own, Asked asked) {
    if constexpr (Table::kOrdered) {
      const std::uint64_t length = 1 + scaled(splitmix64(own.luck), spec_.scan_length);
      const Scanned found = table_->scan(asked.key, length);
      own.wrong += found.entries == 0 && !asked.may_lack ? 1 : 0;
      own.sum += found.sum;
    }
  }

  // Which ranks are in the table by now; empty: all.
  std::vector<bool> held_ranks() const {
    if (!grows()) return {};
    std::vector<bool> in(spec_.keys->size(), true);
    for (std::uint64_t i = 0; i < held_back(spec_.keys->size()); ++i) in[held_back_rank(i)] = false;
    for (const Thread& thread : threads_) {
      for (std::uint64_t i = thread.deleted; i < thread.inserted; ++i) {
        in[own_rank(thread, i)] = true;
      }
    }
    return in;
  }

  // Looks up keys in order, all of them or one of so many, and numbers that are no keys; where
  // values were updated, all. Returns how many keys were looked up.
  std::uint64_t compare(const OnThreads& on_threads) {
    constexpr std::uint64_t kMaxCompared = 1U << 21;
    const std::uint64_t count = spec_.keys->size();
    const std::uint64_t step =
        writes_values() ? 1 : std::max<std::uint64_t>(count / kMaxCompared, 1);
    const std::vector<bool> in = held_ranks();
    std::atomic<std::uint64_t> added{0};
    on_threads([&](std::size_t thread) {
      std::uint64_t sum = 0;
      for (std::uint64_t rank = thread * step; rank < count; rank += spec_.threads * step) {
        sum += compare_one(rank, in.empty() || in[rank]);
      }
      added += sum;
    });
    std::uint64_t updates = 0;
    for (const Thread& thread : threads_) updates += thread.updates;
    if (added != updates) {
      throw Failure(
          fmt::format("the values hold {} updates where {} were made", added.load(), updates),
          Cause::kVerification);
    }
    return (count + step - 1) / step;
  }

  // Returns what updates added to the key's value.
  std::uint64_t compare_one(std::uint64_t rank, bool held) const {
    const std::uint64_t key = spec_.keys->at(rank);
    const std::optional<std::uint64_t> found = table_->find(key);
    if (found.has_value() != held) {
      throw Failure(fmt::format("key {} is {} the index", key, held ? "not in" : "in"),
                    Cause::kVerification);
    }
    const bool last = rank + 1 == spec_.keys->size();
    const bool follows = !last && spec_.keys->at(rank + 1) == key + 1;
    if (!follows && key + 1 != 0 && table_->find(key + 1)) {
      throw Failure(fmt::format("key {} was found, which is not in the index", key + 1),
                    Cause::kVerification);
    }
    return held ? *found - value_of(key) : 0;
  }

  // All keys that are in the table come in one scan of it.
  void compare_order() const {
    std::uint64_t expected = loaded();
    for (const Thread& thread : threads_) expected += thread.inserted - thread.deleted;
    const std::uint64_t found = table_->scan(0, spec_.keys->size() + 1).entries;
    if (found != expected) {
      throw Failure(fmt::format("a scan has {} keys where {} are in the index", found, expected),
                    Cause::kVerification);
    }
  }

  IndexSpec spec_;
  Options options_;
  std::uint64_t own_;                 // Keys that each thread inserts and deletes...
  Permutation order_;                 // ... and their order.
  Permutation ages_;                  // Of the keys that are loaded, newest first.
  std::optional<ZipfOrder> recency_;  // Of keys, where the latest are asked for most.
  std::array<std::byte*, kParts> memory_{};
  std::unique_ptr<Table> table_;
  std::deque<Thread> threads_;
};

}  // namespace tierscope::database
