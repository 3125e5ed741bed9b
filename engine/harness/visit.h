// One visit of a measurement: the only measuring loop of the engine.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/kind.h"

namespace tierscope {

// A row counts as disturbed if a watched thread lost more than this share of it to others (a
// context switch alone does not: the kernel's housekeeping takes microseconds), or if the
// hypervisor's count of time stolen from the watched CPUs rose, which it does in ticks of 10 ms.
inline constexpr double kDisturbedShare = 0.01;

// A series with a fixed number of rows takes disturbed ones again, up to so many rows for each.
inline constexpr int kMaxRowsForEach = 2;

// Rows of a timed series, however short the visit: the first one of a visit is taken by cold
// caches.
inline constexpr std::size_t kMinRows = 2;

// What the harness asks of its surroundings; tests give it a fake clock.
struct Surroundings {
  std::function<double()> now;                                      // Seconds.
  std::function<bool()> interrupted;                                // A signal came.
  std::function<double(std::span<const int> cpus)> stolen_seconds;  // By the hypervisor, ever.
};
Surroundings real_surroundings();

// Told after each row: seconds since the first row began, rows so far, the row's first column.
using Progress = std::function<void(double elapsed_s, std::size_t rows, double latest)>;

// The rows of one series. A series that has none is left out of a visit.
struct SeriesRows {
  std::string name;
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::optional<std::vector<std::size_t>> disturbed;  // Numbers of rows; empty: nobody looked.
  std::vector<Distribution> distributions{};
  bool keep_disturbed = false;
};

struct Visit {
  double seconds = 0;  // From the beginning of the first row to the end of the last.
  bool interrupted = false;
  std::vector<SeriesRows> series;
  nlohmann::ordered_json evidence;
};

// Opens the state, takes rows of each of its series, and observes. Series whose number of rows is
// not fixed share `seconds` evenly; each gets kMinRows at least. Series of a fixed number come
// whatever the time. All rows are kept, warm-up included, but for one that a signal cut; a signal
// ends the visit. Throws Interrupted where that left no row, and what the state throws.
Visit visit(State& state, Leases& leases, double seconds, const Surroundings& surroundings,
            const Progress& progress);

}  // namespace tierscope
