#include "harness/repetition.h"

#include <algorithm>
#include <utility>

#include "errors.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "protocol/constants.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

// Time that the hypervisor took from the watched CPUs, and the time that they were watched.
struct Steal {
  double stolen_s = 0;
  double watched_s = 0;  // Of all CPUs together.
};

class Watch {
 public:
  Watch(const std::vector<int>& cpus, const Surroundings& surroundings)
      : cpus_(cpus), surroundings_(surroundings) {
    if (looks()) last_ = stolen();
  }

  bool looks() const { return !cpus_.empty(); }

  // Adds what the hypervisor took to the sample, which ended just now.
  void look(Sample& sample, Steal& steal) {
    if (!looks()) return;
    const double now = stolen();
    sample.stolen_s = now - std::exchange(last_, now);
    steal.stolen_s += sample.stolen_s;
    steal.watched_s += sample.duration_s * static_cast<double>(cpus_.size());
  }

 private:
  double stolen() const { return surroundings_.stolen_seconds(cpus_); }

  const std::vector<int>& cpus_;
  const Surroundings& surroundings_;
  double last_ = 0;
};

class Loop {
 public:
  Loop(const Surroundings& surroundings, const Progress& progress)
      : surroundings_(surroundings), progress_(progress), start_(surroundings.now()) {}

  double start() const { return start_; }

  // Takes samples until `end` where their number is not fixed; false once a signal came.
  bool take(const Series& series, double end, SeriesSamples& taken, Steal& steal) {
    Watch watch(series.watched_cpus, surroundings_);
    taken.watched = watch.looks();
    while (true) {
      std::optional<Sample> sample = take_sample(series);
      if (!sample) return false;
      watch.look(*sample, steal);
      taken.samples.push_back(std::move(*sample));
      ++samples_;
      const double now = surroundings_.now();
      progress_(now - start_, samples_, taken.samples.back().values.front());
      if (was_last(series, taken, now >= end)) return true;
    }
  }

 private:
  std::optional<Sample> take_sample(const Series& series) {
    if (surroundings_.interrupted()) return std::nullopt;
    try {
      Sample sample = series.take();
      if (surroundings_.interrupted()) return std::nullopt;
      return sample;
    } catch (const Interrupted&) {
      return std::nullopt;
    }
  }

  static bool was_last(const Series& series, const SeriesSamples& taken, bool late) {
    if (series.was_last) return series.was_last();
    return series.samples == 0 ? late && taken.samples.size() >= kMinSamples
                               : is_complete(series, taken);
  }

  static bool is_complete(const Series& series, const SeriesSamples& taken) {
    const auto wanted = static_cast<std::size_t>(series.samples);
    const bool again = taken.watched && !series.keep_disturbed;
    const auto disturbed = again ? std::ranges::count_if(taken.samples, is_disturbed) : 0;
    return taken.samples.size() - static_cast<std::size_t>(disturbed) >= wanted ||
           taken.samples.size() >= kMaxSamplesForEach * wanted;
  }

  const Surroundings& surroundings_;
  const Progress& progress_;
  double start_;
  std::size_t samples_ = 0;
};

// Evidence that is the same for every kind, where the state has not observed it itself.
void add_common_evidence(Repetition& repetition, const Steal& steal) {
  if (!repetition.evidence.contains("clock")) repetition.evidence["clock"] = describe_clock();
  if (steal.watched_s > 0) repetition.evidence["steal_share"] = steal.stolen_s / steal.watched_s;
}

void open(State& state, Leases& leases) {
  try {
    state.open(leases);
  } catch (const Unavailable& error) {
    const bool memory = error.cause() == Cause::kMemory || error.cause() == Cause::kPages;
    if (!memory || !leases.drop_idle_regions()) throw;
    state.open(leases);
  }
}

}  // namespace

bool is_disturbed(const Sample& sample) {
  return sample.lost_share > tables::kDisturbedShare || sample.stolen_s > 0;
}

Surroundings real_surroundings() {
  return {.now = now_seconds, .interrupted = interrupted, .stolen_seconds = stolen_seconds};
}

Repetition repetition(State& state, Leases& leases, double seconds,
                      const Surroundings& surroundings, const Progress& progress) {
  open(state, leases);
  const std::vector<Series> all = state.series();
  const auto timed = static_cast<double>(std::ranges::count(all, 0, &Series::samples));
  Repetition result;
  Steal steal;
  Loop loop(surroundings, progress);
  double end = loop.start();
  for (const Series& series : all) {
    if (series.samples == 0) end = std::max(end, surroundings.now()) + seconds / timed;
    SeriesSamples taken{.name = series.name,
                        .columns = series.columns,
                        .samples = {},
                        .distributions = series.distributions,
                        .keep_disturbed = series.keep_disturbed};
    result.interrupted = !loop.take(series, end, taken, steal);
    if (!taken.samples.empty()) result.series.push_back(std::move(taken));
    if (result.interrupted) break;
  }
  if (result.series.empty()) throw Interrupted();
  result.seconds = surroundings.now() - loop.start();
  state.observe(result.evidence);
  add_common_evidence(result, steal);
  return result;
}

}  // namespace tierscope
