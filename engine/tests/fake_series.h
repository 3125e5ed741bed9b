// A fake machine for tests of the measuring loop: a clock that only samples move, and disturbances
// and signals in chosen samples.
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "harness/kind.h"
#include "harness/leases.h"
#include "harness/repetition.h"

namespace tierscope {

struct FakeMachine {
  double clock = 100;
  int samples = 0;            // Taken so far, of all series.
  std::set<int> stolen_in{};  // Samples in which the hypervisor takes a tick.
  int interrupt_in = -1;      // Sample in which a signal comes.

  Surroundings surroundings() {
    return {.now = [this] { return clock; },
            .interrupted = [this] { return interrupt_in >= 0 && samples > interrupt_in; },
            .stolen_seconds =
                [this](std::span<const int>) {
                  double stolen = 0;
                  for (const int sample : stolen_in) stolen += sample < samples ? 0.01 : 0;
                  return stolen;
                }};
  }
};

constexpr double kFakeSample = 0.01;  // Seconds of a fake sample.

// A state made of functions.
struct FakeState : State {
  std::function<void(Leases&)> opening = [](Leases&) {};
  std::vector<Series> given{};
  nlohmann::ordered_json observed = nlohmann::ordered_json::object();

  void open(Leases& leases) override { opening(leases); }
  std::vector<Series> series() override { return given; }
  void observe(nlohmann::ordered_json& evidence) override { evidence = observed; }
};

// A series whose samples each take kFakeSample of the machine's time; column a counts samples,
// column b is made of a in the same sample.
inline Series counting(
    FakeMachine& machine, std::vector<int> watched, int samples = 0,
    const std::function<double(int sample)>& lost = [](int) { return 0.0; }) {
  return {.name = "counting",
          .columns = {{.metric = "a", .part = ""}, {.metric = "b", .part = "x"}},
          .take =
              [&machine, lost] {
                const double start = machine.clock;
                const int sample = machine.samples++;
                machine.clock += kFakeSample;
                return Sample{.start_s = start,
                              .duration_s = kFakeSample,
                              .values = {1.0 * sample, 2.0 * sample},
                              .lost_share = lost(sample)};
              },
          .samples = samples,
          .watched_cpus = std::move(watched)};
}

}  // namespace tierscope
