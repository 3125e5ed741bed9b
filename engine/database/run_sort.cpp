#include "database/run_sort.h"

#include <fmt/format.h>
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "database/run_merge.h"
#include "database/shares.h"
#include "database/version_lock.h"
#include "errors.h"

namespace tierscope::database {
namespace {

static_assert(sizeof(Entry) == sizeof(hwy::K64V64) &&
              offsetof(Entry, key) == offsetof(hwy::K64V64, key));

void sort(std::span<Entry> run) {
  const hwy::Sorter sorter;
  sorter(reinterpret_cast<hwy::K64V64*>(run.data()), run.size(), hwy::SortAscending());
}

// The keys are distinct: mixing has an inverse.
Entry entry_at(std::uint64_t i) {
  const std::uint64_t key = splitmix64_mixed(i + kSplitMix64Step);
  return {key, value_of(key)};
}

}  // namespace

std::vector<Part> RunSort::parts() const {
  const std::size_t bytes = in_whole_lines(spec_.keys * sizeof(Entry));
  return {{kParts[0], bytes}, {kParts[1], bytes}};
}

// The same number for each thread.
std::size_t RunSort::runs() const {
  return spec_.threads * std::max<std::size_t>(spec_.runs / spec_.threads, 1);
}

// Each sample fills the runs itself.
void RunSort::build(Memory memory, const OnThreads& /*on_threads*/) {
  runs_ = reinterpret_cast<Entry*>(memory[0].data());
  output_ = reinterpret_cast<Entry*>(memory[1].data());
  sorts_ = 0;
}

void RunSort::prepare_sample(const OnThreads& on_threads) {
  on_threads([this](std::size_t thread) {
    const Ranks own = share_of(spec_.keys, spec_.threads, thread);
    for (std::uint64_t i = own.first; i < own.first + own.count; ++i) runs_[i] = entry_at(i);
  });
}

void RunSort::work(std::size_t thread, std::uint64_t units) {
  const std::size_t each = runs() / spec_.threads;
  for (; units > 0; --units) {
    std::vector<SortedRun> all;
    for (std::size_t run = 0; run < runs(); ++run) {
      const Ranks ranks = share_of(spec_.keys, runs(), run);
      Entry* const first = runs_ + ranks.first;
      if (run / each == thread) sort({first, ranks.count});
      all.push_back({first, first + ranks.count});
    }
    wait_for_all();
    const MergeShare share(all, output_, thread, spec_.threads);
    LoserTree(share.runs).merge(share.output, share.keys);
    wait_for_all();
    if (thread == 0) ++sorts_;
  }
}

// Without sleeping, which would count as time that others took.
void RunSort::wait_for_all() {
  const std::size_t round = arrived_.fetch_add(1, std::memory_order_acq_rel) / spec_.threads;
  spin_until([this, all = (round + 1) * spec_.threads] {
    return arrived_.load(std::memory_order_acquire) >= all;
  });
}

std::string RunSort::verify(const OnThreads& on_threads) {
  if (sorts_ == 0) return "0 sorts";
  std::atomic<std::uint64_t> differs{0};
  std::atomic<bool> ascends{true};
  on_threads([&](std::size_t thread) {
    const Ranks own = share_of(spec_.keys, spec_.threads, thread);
    const std::uint64_t end = own.first + own.count;
    std::uint64_t sum = 0;
    for (std::uint64_t i = own.first; i < end; ++i) {
      sum += checksum(entry_at(i)) - checksum(output_[i]);
    }
    differs += sum;
    const std::span with_next(output_ + own.first, output_ + std::min(end + 1, spec_.keys));
    if (!std::ranges::is_sorted(with_next, {}, &Entry::key)) ascends = false;
  });
  if (!ascends || differs != 0) {
    throw Failure(fmt::format("the output {}", ascends ? "has other entries than were to be sorted"
                                                       : "does not ascend"),
                  Cause::kVerification);
  }
  return fmt::format(
      "{} sorts by {} runs; the output has all {} keys, ascending, with their values", sorts_,
      runs(), spec_.keys);
}

}  // namespace tierscope::database
