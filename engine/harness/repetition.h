// One repetition of a measurement: the only measuring loop of the engine.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "harness/kind.h"

namespace tierscope {

// A series with a fixed number of samples takes disturbed ones again, up to so many samples for
// each.
inline constexpr int kMaxSamplesForEach = 2;

// Samples of a timed series, however short the repetition: the first one of a repetition is taken
// by cold caches.
inline constexpr std::size_t kMinSamples = 2;

// What the harness asks of its surroundings; tests give it a fake clock.
struct Surroundings {
  std::function<double()> now;                                      // Seconds.
  std::function<bool()> interrupted;                                // A signal came.
  std::function<double(std::span<const int> cpus)> stolen_seconds;  // By the hypervisor, ever.
};
Surroundings real_surroundings();

// Told after each sample: seconds since the first sample began, samples so far, the sample's first
// column.
using Progress = std::function<void(double elapsed_s, std::size_t samples, double latest)>;

// The samples of one series. A series that has none is left out of a repetition.
struct SeriesSamples {
  std::string name;
  std::vector<Column> columns;
  std::vector<Sample> samples;
  bool watched = false;  // Somebody looked what others took.
  std::vector<Distribution> distributions{};
  bool keep_disturbed = false;
};

// Whether a watched thread lost more than tables::kDisturbedShare of a sample to others (a context
// switch alone does not: the kernel's housekeeping takes microseconds), or the hypervisor took
// time, which it counts in ticks of 10 ms.
bool is_disturbed(const Sample& sample);

struct Repetition {
  double seconds = 0;  // From the beginning of the first sample to the end of the last.
  bool interrupted = false;
  std::vector<SeriesSamples> series;
  nlohmann::ordered_json evidence;
};

// Opens the state, takes samples of each of its series, and observes. Series whose number of
// samples is not fixed share `seconds` evenly; each gets kMinSamples at least. Series of a fixed
// number come whatever the time. All samples are kept, warm-up included, but for one that a signal
// cut; a signal ends the repetition. Throws Interrupted where that left no sample, and what the
// state throws.
Repetition repetition(State& state, Leases& leases, double seconds,
                      const Surroundings& surroundings, const Progress& progress);

}  // namespace tierscope
