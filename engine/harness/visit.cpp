#include "harness/visit.h"

#include <algorithm>
#include <utility>

#include "errors.h"
#include "harness/leases.h"
#include "interrupt.h"
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

  // Whether the row, which ended just now, was disturbed.
  bool disturbed(const Row& row, Steal& steal) {
    if (!looks()) return false;
    const double now = stolen();
    const double taken = now - std::exchange(last_, now);
    steal.stolen_s += taken;
    steal.watched_s += row.duration_s * static_cast<double>(cpus_.size());
    return row.lost_share > kDisturbedShare || taken > 0;
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

  // Takes rows until `end` where their number is not fixed; false once a signal came.
  bool take(const Series& series, double end, SeriesRows& taken, Steal& steal) {
    Watch watch(series.watched_cpus, surroundings_);
    if (watch.looks()) taken.disturbed.emplace();
    while (true) {
      std::optional<Row> row = take_row(series);
      if (!row) return false;
      const bool disturbed = watch.disturbed(*row, steal);
      if (disturbed && taken.disturbed) taken.disturbed->push_back(taken.rows.size());
      taken.rows.push_back(std::move(*row));
      ++rows_;
      const double now = surroundings_.now();
      progress_(now - start_, rows_, taken.rows.back().values.front());
      if (was_last(series, taken, now >= end)) return true;
    }
  }

 private:
  std::optional<Row> take_row(const Series& series) {
    if (surroundings_.interrupted()) return std::nullopt;
    try {
      Row row = series.take();
      if (surroundings_.interrupted()) return std::nullopt;
      return row;
    } catch (const Interrupted&) {
      return std::nullopt;
    }
  }

  static bool was_last(const Series& series, const SeriesRows& taken, bool late) {
    if (series.was_last) return series.was_last();
    return series.rows == 0 ? late && taken.rows.size() >= kMinRows : is_complete(series, taken);
  }

  static bool is_complete(const Series& series, const SeriesRows& taken) {
    const auto wanted = static_cast<std::size_t>(series.rows);
    const bool again = taken.disturbed && !series.keep_disturbed;
    const std::size_t disturbed = again ? taken.disturbed->size() : 0;
    return taken.rows.size() - disturbed >= wanted || taken.rows.size() >= kMaxRowsForEach * wanted;
  }

  const Surroundings& surroundings_;
  const Progress& progress_;
  double start_;
  std::size_t rows_ = 0;
};

// Evidence that is the same for every kind, where the state has not observed it itself.
void add_common_evidence(Visit& visit, const Steal& steal) {
  if (!visit.evidence.contains("clock")) visit.evidence["clock"] = describe_clock();
  if (steal.watched_s > 0) visit.evidence["steal_share"] = steal.stolen_s / steal.watched_s;
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

Surroundings real_surroundings() {
  return {.now = now_seconds, .interrupted = interrupted, .stolen_seconds = stolen_seconds};
}

Visit visit(State& state, Leases& leases, double seconds, const Surroundings& surroundings,
            const Progress& progress) {
  open(state, leases);
  const std::vector<Series> all = state.series();
  const auto timed = static_cast<double>(std::ranges::count(all, 0, &Series::rows));
  Visit result;
  Steal steal;
  Loop loop(surroundings, progress);
  double end = loop.start();
  for (const Series& series : all) {
    if (series.rows == 0) end = std::max(end, surroundings.now()) + seconds / timed;
    SeriesRows taken{.name = series.name,
                     .columns = series.columns,
                     .rows = {},
                     .disturbed = {},
                     .distributions = series.distributions,
                     .keep_disturbed = series.keep_disturbed};
    result.interrupted = !loop.take(series, end, taken, steal);
    if (!taken.rows.empty()) result.series.push_back(std::move(taken));
    if (result.interrupted) break;
  }
  if (result.series.empty()) throw Interrupted();
  result.seconds = surroundings.now() - loop.start();
  state.observe(result.evidence);
  add_common_evidence(result, steal);
  return result;
}

}  // namespace tierscope
