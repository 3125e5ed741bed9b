// tierscope-engine: measures. A plan comes in on stdin, events go out on stdout.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

#include "benches/workspace.h"
#include "errors.h"
#include "gpu/measure.h"
#include "interrupt.h"
#include "protocol/capabilities.h"
#include "protocol/events.h"
#include "protocol/object_reader.h"
#include "protocol/plan.h"
#include "sampling/clock.h"
#include "topology/hwloc_xml.h"

namespace tierscope {
namespace {

constexpr int kDone = 0;
constexpr int kWrong = 2;
constexpr int kSpoilt = 70;  // EX_SOFTWARE of sysexits.h: start another process for the rest.
constexpr int kInterrupted = 130;

constexpr const char* kInterruptedEarly = "interrupted before its first sample";

constexpr std::string_view kUsage =
    "usage: tierscope-engine run           measure the plan on stdin, write events to stdout\n"
    "       tierscope-engine check         say whether the plan on stdin is a valid one\n"
    "       tierscope-engine capabilities  what can be measured on this machine, as JSON\n"
    "       tierscope-engine topology      this machine as hwloc XML\n"
    "       tierscope-engine check-gpu     compare the GPU kernels' results with the CPU's\n";

std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

void measure(const Measurement& measurement, Workspace& workspace) {
  constexpr double kSecondsBetweenProgress = 0.5;  // Whoever draws it uses a CPU, too.
  double next_progress = now_seconds() + kSecondsBetweenProgress;
  const auto progress = [&](double elapsed_s, const std::vector<double>& samples) {
    if (now_seconds() < next_progress) return;
    next_progress = now_seconds() + kSecondsBetweenProgress;
    events::progress(measurement.id, elapsed_s, samples.size(), estimate_median(samples).median);
  };
  events::started(measurement.id);
  try {
    const Outcome outcome = measurement.job(workspace, progress);
    if (outcome.sampled.samples.empty()) {
      events::skipped(measurement.id, kInterruptedEarly, "");
    } else {
      events::result(measurement.id, outcome);
    }
  } catch (const Interrupted&) {
    events::skipped(measurement.id, kInterruptedEarly, "");
  } catch (const Unavailable& unavailable) {
    events::skipped(measurement.id, unavailable.what(), unavailable.remedy());
  } catch (const ProcessSpoilt& error) {
    events::failed(measurement.id, error.what());
    // No destructor may touch what is spoilt, and what it holds would go with the process anyway.
    std::_Exit(kSpoilt);
  } catch (const std::bad_alloc&) {
    events::failed(measurement.id, "the engine's own memory ran out");
  } catch (const std::exception& error) {
    events::failed(measurement.id, error.what());
  }
}

int run() {
  const std::vector<Measurement> plan = parse_plan(read_stdin());
  watch_signals();
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // Nobody would read what an orphan measures.
  Workspace workspace;
  for (const Measurement& measurement : plan) {
    if (interrupted()) break;
    measure(measurement, workspace);
  }
  events::finished(interrupted());
  return interrupted() ? kInterrupted : kDone;
}

int command(std::string_view name) {
  if (name == "run") return run();
  if (name == "check") {
    parse_plan(read_stdin());
    return kDone;
  }
  if (name == "capabilities") {
    std::cout << capabilities().dump(2) << '\n';
    return kDone;
  }
  if (name == "topology") {
    std::cout << hwloc_xml();
    return kDone;
  }
  if (name == "check-gpu") {
    std::cout << check_gpu_kernels();
    return kDone;
  }
  std::cerr << kUsage;
  return kWrong;
}

}  // namespace
}  // namespace tierscope

int main(int argc, char** argv) {
  try {
    return tierscope::command(argc == 2 ? argv[1] : "");
  } catch (const tierscope::PlanError& error) {
    std::cerr << "tierscope-engine: the plan is wrong: " << error.what() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "tierscope-engine: " << error.what() << '\n';
  }
  return tierscope::kWrong;
}
