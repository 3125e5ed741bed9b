// A fake machine for tests of the measuring loop: a clock that only rows move, and disturbances and
// signals in chosen rows.
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "harness/kind.h"
#include "harness/leases.h"
#include "harness/visit.h"

namespace tierscope {

struct FakeMachine {
  double clock = 100;
  int rows = 0;               // Taken so far, of all series.
  std::set<int> stolen_in{};  // Rows in which the hypervisor takes a tick.
  int interrupt_in = -1;      // Row in which a signal comes.

  Surroundings surroundings() {
    return {.now = [this] { return clock; },
            .interrupted = [this] { return interrupt_in >= 0 && rows > interrupt_in; },
            .stolen_seconds =
                [this](std::span<const int>) {
                  double stolen = 0;
                  for (const int row : stolen_in) stolen += row < rows ? 0.01 : 0;
                  return stolen;
                }};
  }
};

constexpr double kFakeRow = 0.01;  // Seconds of a fake row.

// A state made of functions.
struct FakeState : State {
  std::function<void(Leases&)> opening = [](Leases&) {};
  std::vector<Series> given{};
  nlohmann::ordered_json observed = nlohmann::ordered_json::object();

  void open(Leases& leases) override { opening(leases); }
  std::vector<Series> series() override { return given; }
  void observe(nlohmann::ordered_json& evidence) override { evidence = observed; }
};

// A series whose rows each take kFakeRow of the machine's time; column a counts rows, column b is
// made of a in the same row.
inline Series counting(
    FakeMachine& machine, std::vector<int> watched, int rows = 0,
    const std::function<double(int row)>& lost = [](int) { return 0.0; }) {
  return {.name = "counting",
          .columns = {{.metric = "a", .part = ""}, {.metric = "b", .part = "x"}},
          .take =
              [&machine, lost] {
                const double start = machine.clock;
                const int row = machine.rows++;
                machine.clock += kFakeRow;
                return Row{.start_s = start,
                           .duration_s = kFakeRow,
                           .values = {1.0 * row, 2.0 * row},
                           .lost_share = lost(row)};
              },
          .rows = rows,
          .watched_cpus = std::move(watched)};
}

}  // namespace tierscope
