#include "database/run_merge.h"

#include <fmt/format.h>

#include <algorithm>

#include "database/shares.h"
#include "errors.h"

namespace tierscope::database {

MergeShare::MergeShare(std::span<const SortedRun> all, Entry* whole_output, std::size_t thread,
                       std::size_t threads)
    : output(whole_output) {
  const std::uint64_t width = ~std::uint64_t{0} / threads;
  const auto before = [](const Entry& entry, std::uint64_t key) { return entry.key < key; };
  for (const SortedRun& run : all) {
    const Entry* const first = std::lower_bound(run.next, run.end, width * thread, before);
    const Entry* const last = thread + 1 == threads
                                  ? run.end
                                  : std::lower_bound(first, run.end, width * (thread + 1), before);
    runs.push_back({first, last});
    keys += static_cast<std::uint64_t>(last - first);
    output += first - run.next;
  }
}

std::vector<Part> RunMerge::parts() const {
  const std::size_t bytes = in_whole_lines(spec_.keys * sizeof(Entry));
  return {{kParts[0], bytes}, {kParts[1], bytes}};
}

// One at a random place of each of as many equal stretches of all numbers as the run has keys.
std::uint64_t RunMerge::key_at(std::size_t run, std::uint64_t i) const {
  const std::uint64_t step =
      ~std::uint64_t{0} / share_of(spec_.keys, spec_.runs, spec_.runs - 1).count;
  return i * step + scaled(splitmix64_mixed(i * kMaxRuns + run + kSplitMix64Step), step);
}

void RunMerge::build(Memory memory, const OnThreads& on_threads) {
  runs_ = reinterpret_cast<Entry*>(memory[0].data());
  output_ = reinterpret_cast<Entry*>(memory[1].data());
  on_threads([this](std::size_t thread) { fill(thread); });
  std::vector<SortedRun> all;
  for (std::size_t run = 0; run < spec_.runs; ++run) {
    const Ranks ranks = share_of(spec_.keys, spec_.runs, run);
    all.push_back({runs_ + ranks.first, runs_ + ranks.first + ranks.count});
  }
  on_threads([&](std::size_t number) {
    threads_[number] = {.share = MergeShare(all, output_, number, spec_.threads)};
    threads_[number].merged = threads_[number].share.keys;
  });
}

void RunMerge::fill(std::size_t thread) const {
  for (std::size_t run = 0; run < spec_.runs; ++run) {
    const Ranks all = share_of(spec_.keys, spec_.runs, run);
    const Ranks own = share_of(all.count, spec_.threads, thread);
    for (std::uint64_t i = own.first; i < own.first + own.count; ++i) {
      const std::uint64_t key = key_at(run, i);
      runs_[all.first + i] = {key, value_of(key)};
    }
  }
}

void RunMerge::work(std::size_t number, std::uint64_t units) {
  merge(threads_[number], units * kUnitKeys);
  threads_[number].done += units;
}

// After the last key of the range a new pass begins.
void RunMerge::merge(Thread& thread, std::uint64_t keys) const {
  while (keys > 0) {
    if (thread.merged == thread.share.keys) {
      thread.tree = LoserTree(thread.share.runs);
      thread.merged = 0;
    }
    const std::uint64_t now = std::min(keys, thread.share.keys - thread.merged);
    thread.tree.merge(thread.share.output + thread.merged, now);
    thread.merged += now;
    keys -= now;
  }
}

std::string RunMerge::verify(const OnThreads& on_threads) {
  on_threads([this](std::size_t number) {
    Thread& thread = threads_[number];
    merge(thread, thread.share.keys - thread.merged);  // Ends the pass.
    if (thread.done > 0) compare(thread);
  });
  std::uint64_t done = 0;
  for (const Thread& thread : threads_) done += thread.done;
  return fmt::format(
      "{} keys merged; the output has all {} of {} runs, ascending, with their values",
      done * kUnitKeys, spec_.keys, spec_.runs);
}

// The output ascends and has the entries that its range of the runs has, which are made anew.
void RunMerge::compare(const Thread& thread) const {
  std::uint64_t expected = 0;
  for (std::size_t run = 0; run < spec_.runs; ++run) {
    const Entry* const begin = runs_ + share_of(spec_.keys, spec_.runs, run).first;
    for (const Entry* at = thread.share.runs[run].next; at != thread.share.runs[run].end; ++at) {
      const std::uint64_t key = key_at(run, static_cast<std::uint64_t>(at - begin));
      expected += checksum({key, value_of(key)});
    }
  }
  const std::span output(thread.share.output, thread.share.keys);
  std::uint64_t found = 0;
  for (const Entry& entry : output) found += checksum(entry);
  const bool ascending = std::ranges::is_sorted(output, {}, &Entry::key);
  if (!ascending || found != expected) {
    throw Failure(fmt::format("the output from key {} on {}", output.front().key,
                              ascending ? "has other entries than the runs" : "does not ascend"),
                  Cause::kVerification);
  }
}

}  // namespace tierscope::database
