#include "database/hash_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "database/radix_partition.h"
#include "errors.h"

namespace tierscope::database {
namespace {

// Rows that a partition of so many on average may have: eight standard deviations more.
std::uint64_t max_rows(std::uint64_t rows, std::size_t partitions) {
  const double mean = static_cast<double>(rows) / static_cast<double>(partitions);
  return partitions == 1 ? rows : static_cast<std::uint64_t>(mean + 8 * std::sqrt(mean)) + 8;
}

// A probe relation's value for a row.
constexpr std::uint64_t probe_value(std::uint64_t row) { return row * 0xc2b2ae3d27d4eb4fULL; }

}  // namespace

// Every second key of these is in the build relation; those between are the probe's misses.
HashJoin::HashJoin(const HashJoinSpec& spec)
    : spec_(spec), keys_(2 * spec.build_keys), threads_(spec.threads) {}

std::uint64_t HashJoin::max_build() const {
  return share_of(spec_.build_keys, spec_.threads, spec_.threads - 1).count;
}
std::uint64_t HashJoin::max_probe() const {
  return share_of(spec_.probe_keys, spec_.threads, spec_.threads - 1).count;
}

// An even number of cache lines of tags.
std::uint64_t HashJoin::table_groups() const {
  return (HashTable::groups_for(max_rows(max_build(), spec_.partitions)) + 3) / 4 * 4;
}
std::size_t HashJoin::table_bytes() const {
  return HashTable::tag_bytes(table_groups()) + HashTable::entry_bytes(table_groups());
}

// Of a thread: copies of its rows, a line and two ends for each partition.
std::size_t HashJoin::partition_bytes() const {
  if (!partitioned()) return kUnusedPart;
  return in_whole_lines(max_build() * sizeof(Entry)) + in_whole_lines(max_probe() * sizeof(Entry)) +
         spec_.partitions * 64 + 2 * in_whole_lines(spec_.partitions * sizeof(std::uint64_t));
}

std::vector<Part> HashJoin::parts() const {
  const std::size_t probe = in_whole_lines(spec_.probe_keys * sizeof(Entry));
  return {{kParts[0], in_whole_lines(spec_.build_keys * sizeof(Entry))},
          {kParts[1], probe},
          {kParts[2], spec_.threads * table_bytes()},
          {kParts[3], spec_.threads * partition_bytes()},
          {kParts[4], probe}};
}

std::uint64_t HashJoin::operations_per_unit() const {
  return (spec_.build_keys + spec_.probe_keys) / spec_.threads;
}

void HashJoin::assign(Memory memory, std::size_t number) {
  const Ranks build = share_of(spec_.build_keys, spec_.threads, number);
  const Ranks probe = share_of(spec_.probe_keys, spec_.threads, number);
  Thread& thread = threads_[number];
  thread = {};
  thread.ranks = build;
  thread.build = {reinterpret_cast<Entry*>(memory[0].data()) + build.first, build.count};
  thread.probe = {reinterpret_cast<Entry*>(memory[1].data()) + probe.first, probe.count};
  thread.table = memory[2].data() + number * table_bytes();
  thread.output = reinterpret_cast<Entry*>(memory[4].data()) + probe.first;
  if (!partitioned()) return;
  std::byte* at = memory[3].data() + number * partition_bytes();
  const auto take = [&at](std::size_t bytes) {
    return std::exchange(at, at + in_whole_lines(bytes));
  };
  thread.parted_build = {reinterpret_cast<Entry*>(take(build.count * sizeof(Entry))), build.count};
  thread.parted_probe = {reinterpret_cast<Entry*>(take(probe.count * sizeof(Entry))), probe.count};
  thread.lines = reinterpret_cast<Entry*>(take(spec_.partitions * 64));
  const std::size_t ends = spec_.partitions * sizeof(std::uint64_t);
  thread.build_ends = reinterpret_cast<std::uint64_t*>(take(ends));
  thread.probe_ends = reinterpret_cast<std::uint64_t*>(take(ends));
}

void HashJoin::build(Memory memory, const OnThreads& on_threads) {
  on_threads([&](std::size_t number) {
    assign(memory, number);
    fill(threads_[number]);
  });
}

// Build rows come in random order.
void HashJoin::fill(Thread& thread) const {
  const Permutation order(thread.build.size());
  for (std::uint64_t row = 0; row < thread.build.size(); ++row) {
    const std::uint64_t key = keys_.at(2 * (thread.ranks.first + order.at(row)));
    thread.build[row] = {key, value_of(key)};
  }
  for (std::uint64_t row = 0; row < thread.probe.size(); ++row) {
    thread.probe[row] = probe_row(thread, row).row;
  }
}

// A row's key is one of the thread's build relation, or the one behind it.
HashJoin::ProbeRow HashJoin::probe_row(const Thread& thread, std::uint64_t row) const {
  const std::uint64_t seed = (2 * thread.ranks.first + row + 1) * kSplitMix64Step;
  const std::uint64_t rank =
      thread.ranks.first + scaled(splitmix64_mixed(seed), thread.ranks.count);
  const double luck = std::ldexp(static_cast<double>(splitmix64_mixed(~seed) >> 11), -53);
  const bool matches = luck >= spec_.misses;
  return {{keys_.at(2 * rank + (matches ? 0 : 1)), probe_value(row)}, matches};
}

void HashJoin::work(std::size_t number, std::uint64_t units) {
  Thread& thread = threads_[number];
  for (; units > 0; --units) {
    if (partitioned()) {
      join_partitions(thread);
    } else {
      thread.matches = join(thread, thread.build, thread.probe, thread.output);
    }
    ++thread.done;
  }
}

void HashJoin::join_partitions(Thread& thread) const {
  const std::span build_ends(thread.build_ends, spec_.partitions);
  const std::span probe_ends(thread.probe_ends, spec_.partitions);
  copy_by_partition(thread.build, thread.parted_build.data(), build_ends, thread.lines);
  copy_by_partition(thread.probe, thread.parted_probe.data(), probe_ends, thread.lines);
  std::uint64_t build = 0;
  std::uint64_t probe = 0;
  thread.matches = 0;
  for (std::size_t partition = 0; partition < spec_.partitions; ++partition) {
    const std::uint64_t build_rows = build_ends[partition] - build;
    const std::uint64_t probe_rows = probe_ends[partition] - probe;
    thread.matches +=
        join(thread, thread.parted_build.subspan(build, build_rows),
             thread.parted_probe.subspan(probe, probe_rows), thread.output + thread.matches);
    build = build_ends[partition];
    probe = probe_ends[partition];
  }
}

std::uint64_t HashJoin::join(const Thread& thread, std::span<const Entry> build,
                             std::span<const Entry> probe, Entry* output) const {
  const std::uint64_t groups = HashTable::groups_for(build.size());
  if (groups > table_groups()) {
    throw Failure(fmt::format("a partition has {} rows, more than its table holds", build.size()));
  }
  HashTable table(thread.table, thread.table + HashTable::tag_bytes(table_groups()), groups);
  constexpr std::size_t kAhead = 32;
  for (; !build.empty(); build = build.subspan(std::min(kAhead, build.size()))) {
    const auto now = build.first(std::min(kAhead, build.size()));
    if (!partitioned()) {
      for (const Entry& row : now) table.prefetch_tags(HashTable::hash(row.key));
    }
    for (const Entry& row : now) table.insert(row.key, row.value);
  }
  Entry* end = output;
  std::array<std::uint64_t, kMaxInterleave> hashes;  // NOLINT: filled below
  for (; !probe.empty(); probe = probe.subspan(std::min(spec_.interleave, probe.size()))) {
    const auto now = probe.first(std::min(spec_.interleave, probe.size()));
    for (std::size_t i = 0; i < now.size(); ++i) hashes[i] = HashTable::hash(now[i].key);
    if (now.size() > 1) {
      for (std::size_t i = 0; i < now.size(); ++i) table.prefetch_tags(hashes[i]);
      for (std::size_t i = 0; i < now.size(); ++i) table.prefetch_entry(hashes[i]);
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::uint64_t* const found = table.find(now[i].key, hashes[i]);
      if (found != nullptr) *end++ = {*found, now[i].value};
    }
  }
  return static_cast<std::uint64_t>(end - output);
}

std::string HashJoin::verify(const OnThreads& on_threads) {
  on_threads([this](std::size_t number) {
    if (threads_[number].done > 0) compare(threads_[number]);
  });
  std::uint64_t joins = 0;
  std::uint64_t matches = 0;
  for (const Thread& thread : threads_) {
    joins += thread.done;
    matches += thread.matches;
  }
  return fmt::format(
      "{} joins; {} matches of {} rows with {}, and their sum, as the keys have them",
      joins / spec_.threads, matches, spec_.probe_keys, spec_.build_keys);
}

// The matches are those of rows that are made anew.
void HashJoin::compare(const Thread& thread) const {
  std::uint64_t expected = 0;
  std::uint64_t matches = 0;
  for (std::uint64_t row = 0; row < thread.probe.size(); ++row) {
    const ProbeRow probe = probe_row(thread, row);
    if (!probe.matches) continue;
    expected += checksum({value_of(probe.row.key), probe.row.value});
    ++matches;
  }
  std::uint64_t found = 0;
  for (const Entry& row : std::span(thread.output, thread.matches)) found += checksum(row);
  if (matches != thread.matches || found != expected) {
    throw Failure(
        fmt::format("the join has {} matches where the keys have {}, {} sum", thread.matches,
                    matches, found == expected ? "of the same" : "of another"),
        Cause::kVerification);
  }
}

}  // namespace tierscope::database
