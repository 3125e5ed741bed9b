// What a kind of measurement gives the harness: series of samples, and evidence.
//
// The harness (repetition.h) has the only measuring loop. It opens a measurement's state, takes
// samples for as long as the repetition lasts, and lets the state say what was observed. A kind has
// no loop over samples, no warm-up, no stopping rule and no statistics.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/histogram.h"

namespace tierscope {

class Leases;
class ObjectReader;

// A figure that every sample of a series has one value of.
struct Column {
  std::string metric;  // As in src/tierscope/model/metric.py, which has its unit.
  std::string part;    // The stream, thread or transfer that it is of; empty: of the whole.
};

// How long each operation of a sample took, where samples count them all and not only their mean.
struct Distribution {
  std::string metric;  // As in DISTRIBUTIONS of src/tierscope/model/metric.py.
  std::string part;    // As in Column.
};

// One sample: all columns over the same stretch of time. It is kept or dropped whole.
struct Sample {
  double start_s;              // Seconds of now_seconds().
  double duration_s;           // Of what is counted.
  std::vector<double> values;  // One for each column; NaN where there is none.
  double lost_share = 0;  // Of that time, the most that others took from a watched thread: 0..1.
  std::vector<BucketCounts> histograms{};  // One for each distribution, or none: nothing ended.
  double stolen_s = 0;  // That the hypervisor took from the watched CPUs; added by the harness.
};

struct Series {
  std::string name;
  std::vector<Column> columns;
  std::function<Sample()> take;  // Throws Interrupted where a signal cut the sample.
  // 0: samples until the repetition's time is over. Else so many samples, whatever the repetition's
  // time; a disturbed one is taken again, for twice as many at most.
  int samples = 0;
  // CPUs whose users are watched while a sample is taken; empty where nobody looks, and then no
  // sample is said to be undisturbed either.
  std::vector<int> watched_cpus{};
  std::vector<Distribution> distributions{};
  // Says after each sample whether it was the last one, in place of the repetition's time: where
  // another process decides. Throws Failure, or Interrupted, which leaves nothing of the
  // repetition.
  std::function<bool()> was_last{};
  // Disturbed samples are flagged and count as the others do; none is taken again. So it has to be
  // where operations start by a schedule: what others do to them is part of their tail.
  bool keep_disturbed = false;
};

// A measurement between its first repetition and its last: where walks stand, what was tuned.
class State {
 public:
  State() = default;
  virtual ~State() = default;  // Releases what is its own.
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Before the samples of every repetition, untimed: leases memory, fills what others have
  // overwritten, sizes samples where that is not known yet. Throws Unavailable, Failure or
  // Interrupted.
  virtual void open(Leases& leases) = 0;

  // The series of a repetition, in the order in which they are taken; valid until the repetition
  // ends.
  virtual std::vector<Series> series() = 0;

  // After the last sample: reads back where pages are, verifies what was written, and adds what was
  // observed to `evidence` (keys of Evidence in src/tierscope/model/event.py). Throws Failure.
  virtual void observe(nlohmann::ordered_json& evidence) = 0;
};

// Makes the state of a measurement; nothing of the machine is touched before State::open.
using MakeState = std::function<std::unique_ptr<State>()>;

struct Kind {
  std::string_view name;
  // Reads what the kind adds to a measurement's common keys; throws PlanError.
  MakeState (*parse)(const ObjectReader& measurement);
};

// All kinds that this build knows. A new kind is one more sample in kinds/registry.cpp.
std::span<const Kind> kinds();

}  // namespace tierscope
