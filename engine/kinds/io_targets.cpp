#include "kinds/io_targets.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kinds/evidence.h"

namespace tierscope {

using Jobs = std::span<const std::span<IoThread* const>>;

std::int64_t start_ns(std::uint64_t number, Jobs jobs) {
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  for (const auto& threads : jobs) {
    for (IoThread* const thread : threads) {
      const Tally& tally = thread->tally(number);
      if (tally.end_ns != 0) start = std::min(start, tally.start_ns);
    }
  }
  return start;
}

IoTargets::IoTargets(const IoSpec& spec) : spec_(spec) {}

void IoTargets::restart() {
  done_.assign(spec_.jobs.size(), Done{});
  samples_ = 0;
}

void IoTargets::count(std::uint64_t number, Jobs jobs) {
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    Done& done = done_[job];
    for (IoThread* const thread : jobs[job]) {
      const Tally& tally = thread->tally(number);
      if (tally.restarted) done = {.counted_from = samples_};
      done.usage.add(tally.usage);
      done.depths.add(tally.depths);
      done.reads += tally.reads;
      done.writes += tally.writes;
      done.bytes_read += tally.bytes_read;
      done.bytes_written += tally.bytes_written;
    }
  }
  ++samples_;
}

void IoTargets::note_ends(Jobs jobs) {
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    for (const IoThread* const thread : jobs[job]) {
      done_[job].worked_s = std::max(done_[job].worked_s, thread->worked_s());
      done_[job].depth = thread->depth();
    }
  }
}

void IoTargets::note_finishers(std::uint64_t number, Jobs jobs) {
  const std::int64_t start = start_ns(number, jobs);
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const auto [first, last] =
        std::ranges::minmax(jobs[job], {}, [](IoThread* thread) { return thread->finished_ns(); });
    done_[job].first_finisher_s = static_cast<double>(first->finished_ns() - start) * 1e-9;
    done_[job].last_finisher_s = static_cast<double>(last->finished_ns() - start) * 1e-9;
  }
}

double IoTargets::last_finisher_s() const {
  return std::ranges::max(done_, {}, &Done::last_finisher_s).last_finisher_s;
}

void IoTargets::observe(nlohmann::ordered_json& io) const {
  Done all{.first_finisher_s = std::numeric_limits<double>::infinity()};
  for (const Done& done : done_) {
    all.reads += done.reads;
    all.writes += done.writes;
    all.bytes_read += done.bytes_read;
    all.bytes_written += done.bytes_written;
    all.first_finisher_s = std::min(all.first_finisher_s, done.first_finisher_s);
    all.last_finisher_s = std::max(all.last_finisher_s, done.last_finisher_s);
    all.worked_s = std::max(all.worked_s, done.worked_s);
    all.usage.add(done.usage);
    all.depths.add(done.depths);
  }
  if (done_.size() == 1) all = done_.front();
  write(all, io);
  if (spec_.jobs.size() < 2) return;
  for (std::size_t job = 0; job < done_.size(); ++job) {
    nlohmann::ordered_json target{{"name", spec_.jobs[job].name}};
    write(done_[job], target);
    io["targets"].push_back(std::move(target));
  }
}

void IoTargets::write(const Done& done, nlohmann::ordered_json& to) const {
  to["reads"] = done.reads;
  to["writes"] = done.writes;
  to["bytes_read"] = done.bytes_read;
  to["bytes_written"] = done.bytes_written;
  if (spec_.own_ends) write_threads(done, to);
  if (spec_.work.amount == 0 || spec_.own_ends) return;
  to["first_finisher_s"] = done.first_finisher_s;
  to["last_finisher_s"] = done.last_finisher_s;
}

void IoTargets::write_threads(const Done& done, nlohmann::ordered_json& to) {
  nlohmann::ordered_json& threads = to["threads"];
  threads = usage_evidence(done.usage, done.worked_s);
  threads["in_flight"] = done.depths.in_flight;
  threads["submitted"] = done.depths.submitted;
  threads["completed"] = done.depths.completed;
  threads["depth"] = done.depth;
  threads["counted_from"] = done.counted_from;
}

}  // namespace tierscope
