#include "database/run_merge.h"

#include <fmt/format.h>

#include <algorithm>

#include "database/shares.h"
#include "errors.h"

namespace tierscope::database {

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
  on_threads([this](std::size_t thread) { assign(thread); });
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

// The keys of a thread's range lie side by side in each run. Keys are spread evenly over all
// numbers, so that even ranges of numbers hold as many keys.
void RunMerge::assign(std::size_t number) {
  Thread& thread = threads_[number];
  thread = {};
  thread.output = output_;
  const std::uint64_t width = ~std::uint64_t{0} / spec_.threads;
  const auto before = [](const Entry& entry, std::uint64_t key) { return entry.key < key; };
  for (std::size_t run = 0; run < spec_.runs; ++run) {
    const Ranks all = share_of(spec_.keys, spec_.runs, run);
    const Entry* const begin = runs_ + all.first;
    const Entry* const end = begin + all.count;
    const Entry* const first = std::lower_bound(begin, end, width * number, before);
    const Entry* const last = number + 1 == spec_.threads
                                  ? end
                                  : std::lower_bound(begin, end, width * (number + 1), before);
    thread.runs[run] = {first, last};
    thread.keys += static_cast<std::uint64_t>(last - first);
    thread.output += first - begin;
  }
  thread.merged = thread.keys;
}

void RunMerge::work(std::size_t number, std::uint64_t units) {
  merge(threads_[number], units * kUnitKeys);
  threads_[number].done += units;
}

// After the last key of the range a new pass begins.
void RunMerge::merge(Thread& thread, std::uint64_t keys) const {
  while (keys > 0) {
    if (thread.merged == thread.keys) {
      thread.tree = LoserTree(std::span(thread.runs).first(spec_.runs));
      thread.merged = 0;
    }
    const std::uint64_t now = std::min(keys, thread.keys - thread.merged);
    thread.tree.merge(thread.output + thread.merged, now);
    thread.merged += now;
    keys -= now;
  }
}

std::string RunMerge::verify(const OnThreads& on_threads) {
  on_threads([this](std::size_t number) {
    Thread& thread = threads_[number];
    merge(thread, thread.keys - thread.merged);  // Ends the pass.
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
    for (const Entry* at = thread.runs[run].next; at != thread.runs[run].end; ++at) {
      const std::uint64_t key = key_at(run, static_cast<std::uint64_t>(at - begin));
      expected += checksum({key, value_of(key)});
    }
  }
  const std::span output(thread.output, thread.keys);
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
