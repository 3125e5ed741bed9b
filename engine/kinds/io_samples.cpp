#include "kinds/io_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tierscope {
namespace {

// From this block size on the headline is bandwidth.
constexpr std::uint32_t kBandwidthFrom = 512U << 10;

// One part's times, from the tallies of the threads that it has.
struct Times {
  OperationTimes of_operations;
  Histogram sync;

  void add(const OperationTimes& other) {
    of_operations.latency.add(other.latency);
    of_operations.submission.add(other.submission);
    of_operations.completion.add(other.completion);
  }
};

}  // namespace

IoSamples::IoSamples(const IoSpec& spec) : own_ends_(spec.own_ends) {
  const auto any = [&](const auto& holds) { return std::ranges::any_of(spec.jobs, holds); };
  by_iops_ =
      !any([](const IoJobSpec& job) { return job.work.pattern.largest_block() >= kBandwidthFrom; });
  asynchronous_ = any([](const IoJobSpec& job) { return !job.work.backend->synchronous; });
  syncs_ = any([](const IoJobSpec& job) { return job.work.fsync != 0 || job.work.fdatasync != 0; });
  const bool reads = any([](const IoJobSpec& job) { return job.work.pattern.reads(); });
  const bool writes = any([](const IoJobSpec& job) { return job.work.pattern.writes(); });
  add_parts("", std::nullopt, reads && writes);
  for (std::size_t job = 0; job < spec.jobs.size(); ++job) add_priorities(spec, job);
  if (spec.jobs.size() == 1) return;
  for (std::size_t job = 0; job < spec.jobs.size(); ++job) {
    const bool mixed = spec.jobs[job].work.pattern.operation == IoOperation::kMix;
    add_parts(spec.jobs[job].name, job, mixed);
  }
}

void IoSamples::add_parts(const std::string& name, std::optional<std::size_t> job, bool both) {
  parts_.push_back({.name = name, .job = job, .reads = true, .writes = true});
  if (!both) return;
  const std::string before = name.empty() ? "" : name + " ";
  parts_.push_back({.name = before + "read", .job = job, .reads = true, .writes = false});
  parts_.push_back({.name = before + "write", .job = job, .reads = false, .writes = true});
}

void IoSamples::add_priorities(const IoSpec& spec, std::size_t job) {
  const IoWork& work = spec.jobs[job].work;
  const std::string before = spec.jobs.size() == 1 ? "" : spec.jobs[job].name + " ";
  const IoRule rule{.priority = work.priority, .command_priorities = work.command_priorities};
  const std::vector<IoPriority> found = rule.priorities();
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const bool writes : {false, true}) {
      if (!(writes ? work.pattern.writes() : work.pattern.reads())) continue;
      priorities_.push_back(
          {.name = fmt::format("{}{} {}", before, writes ? "write" : "read", text_of(found[i])),
           .job = job,
           .number = i,
           .writes = writes});
    }
  }
}

std::vector<Column> IoSamples::columns() const {
  std::vector<Column> found;
  for (const Part& part : parts_) {
    found.push_back({.metric = by_iops_ ? "iops" : "bandwidth", .part = part.name});
    found.push_back({.metric = by_iops_ ? "bandwidth" : "iops", .part = part.name});
    if (found.size() == 2) found.push_back({.metric = "cpu_per_operation", .part = ""});
  }
  return found;
}

std::vector<Distribution> IoSamples::distributions() const {
  std::vector<Distribution> distributions;
  for (const Part& part : parts_) {
    distributions.push_back({.metric = "io_latency", .part = part.name});
    if (asynchronous_) {
      distributions.push_back({.metric = "submission_latency", .part = part.name});
      distributions.push_back({.metric = "completion_latency", .part = part.name});
    }
    if (syncs_ && part.reads && part.writes) {
      distributions.push_back({.metric = "sync_latency", .part = part.name});
    }
  }
  for (const PriorityPart& part : priorities_) {
    distributions.push_back({.metric = "completion_latency", .part = part.name});
  }
  return distributions;
}

void IoSamples::fill(Sample& sample, std::span<const ThreadSample> threads, double cpu_s) const {
  for (const Part& part : parts_) {
    fill_rates(sample, part, threads);
    fill_times(sample, part, threads);
    if (sample.values.size() != 2) continue;
    std::uint64_t operations = 0;
    for (const ThreadSample& one : threads) operations += one.tally->reads + one.tally->writes;
    sample.values.push_back(operations > 0 ? cpu_s * 1e9 / static_cast<double>(operations)
                                           : std::numeric_limits<double>::quiet_NaN());
  }
  fill_priorities(sample, threads);
}

void IoSamples::fill_priorities(Sample& sample, std::span<const ThreadSample> threads) const {
  for (const PriorityPart& part : priorities_) {
    Histogram times{};
    for (const ThreadSample& thread : threads) {
      if (thread.job != part.job || thread.tally->by_priority.empty()) continue;
      const PriorityTimes& found = thread.tally->by_priority[part.number];
      times.add(part.writes ? found.writes : found.reads);
    }
    sample.histograms.push_back(times.counts());
  }
}

void IoSamples::fill_rates(Sample& sample, const Part& part,
                           std::span<const ThreadSample> threads) const {
  double operations = 0;
  double bytes = 0;
  for (const ThreadSample& thread : threads) {
    if (!part.has(thread) || thread.seconds <= 0) continue;
    const Tally& tally = *thread.tally;
    const std::uint64_t count = (part.reads ? tally.reads : 0) + (part.writes ? tally.writes : 0);
    const std::uint64_t moved =
        (part.reads ? tally.bytes_read : 0) + (part.writes ? tally.bytes_written : 0);
    operations += static_cast<double>(count) / thread.seconds;
    bytes += static_cast<double>(moved) / thread.seconds;
  }
  if (own_ends_ && operations == 0) operations = bytes = std::numeric_limits<double>::quiet_NaN();
  sample.values.push_back(by_iops_ ? operations : bytes);
  sample.values.push_back(by_iops_ ? bytes : operations);
}

void IoSamples::fill_times(Sample& sample, const Part& part,
                           std::span<const ThreadSample> threads) const {
  Times times{};
  for (const ThreadSample& thread : threads) {
    if (!part.has(thread)) continue;
    if (part.reads && thread.tally->of_reads.used) times.add(thread.tally->of_reads);
    if (part.writes && thread.tally->of_writes.used) times.add(thread.tally->of_writes);
    if (syncs_) times.sync.add(thread.tally->sync);
  }
  sample.histograms.push_back(times.of_operations.latency.counts());
  if (asynchronous_) {
    sample.histograms.push_back(times.of_operations.submission.counts());
    sample.histograms.push_back(times.of_operations.completion.counts());
  }
  if (syncs_ && part.reads && part.writes) sample.histograms.push_back(times.sync.counts());
}

}  // namespace tierscope
