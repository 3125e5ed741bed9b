// Bandwidth of one or more different streams at once: reader beside writer, local beside CXL.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "benches/evidence.h"
#include "benches/kinds.h"
#include "benches/memory_spec.h"
#include "benches/stream.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

struct StreamsSpec {
  SamplingRule sampling;
  std::vector<std::pair<std::string, StreamSpec>> streams;  // By name; the first is the main one.
};

// A stream, its place among all workers, and its rate in each sample.
struct Part {
  std::string name;
  Stream stream;
  std::size_t first;
  std::size_t threads;
  std::vector<double> rates{};

  std::span<const Worker> of(const std::vector<Worker>& workers) const {
    return std::span(workers).subspan(first, threads);
  }
};

Figure figure_of(const std::string& metric, const std::vector<double>& rates, double factor) {
  const Estimate estimate = estimate_median(rates);
  return {.metric = metric,
          .unit = "B/s",
          .estimate = estimate.median * factor,
          .low = estimate.low * factor,
          .high = estimate.high * factor};
}

void add_figures(Outcome& outcome, const std::deque<Part>& parts) {
  const double on_bus = parts.front().stream.bus_bytes_per_byte();
  if (on_bus != 1 && parts.front().stream.passes_caches()) {
    outcome.figures.push_back(
        figure_of("bandwidth_with_write_allocate", parts.front().rates, on_bus));
  }
  if (parts.size() == 1) return;
  std::vector<double> total(parts.front().rates.size());
  for (const Part& part : parts) {
    if (&part != &parts.front()) {
      outcome.figures.push_back(figure_of(part.name + ".bandwidth", part.rates, 1));
    }
    std::ranges::transform(total, part.rates, total.begin(), std::plus<>());
  }
  outcome.figures.push_back(figure_of("total_bandwidth", total, 1));
}

Outcome measure(const StreamsSpec& spec, Workspace& workspace, const Progress& progress) {
  std::vector<int> cpus;
  std::vector<RegionKind> kinds;
  for (const auto& [name, stream] : spec.streams) {
    cpus.insert(cpus.end(), stream.cpus.begin(), stream.cpus.end());
    kinds.push_back(stream.region());
  }
  Team& team = workspace.team(cpus);
  const std::vector<Lent> lent = workspace.lend(kinds, team);
  std::deque<Part> parts;  // Workers point into their streams.
  std::vector<Worker> workers;
  for (std::size_t i = 0; i < spec.streams.size(); ++i) {
    lent[i].contents->reset();
    const auto& [name, stream] = spec.streams[i];
    const std::size_t first = workers.size();
    parts.push_back({.name = name,
                     .stream = Stream(stream, *lent[i].region, team, static_cast<int>(first)),
                     .first = first,
                     .threads = stream.cpus.size()});
    for (Worker& worker : parts.back().stream.workers()) workers.push_back(std::move(worker));
  }
  const double window_s = std::max(spec.sampling.sample_s, shortest_sample());
  size_chunks(team, workers, window_s);

  const auto moved = [&] {
    Moved sum{};
    for (const Part& part : parts) {
      double accesses = 0;
      for (const Worker& worker : part.of(workers)) accesses += static_cast<double>(worker.done);
      sum.program_bytes += accesses * part.stream.bytes_per_unit();
      sum.bus_bytes += accesses * part.stream.bytes_per_unit() * part.stream.bus_bytes_per_byte();
    }
    return sum;
  };
  DisturbanceWatch watch(cpus);
  const auto sample = [&] {
    work_for(team, workers, window_s);
    watch.note(most_lost(workers));
    for (Part& part : parts) {
      double units = 0;
      for (const Worker& worker : part.of(workers)) units += worker.units_in_window;
      part.rates.push_back(units * part.stream.bytes_per_unit() / window_s);
    }
    return parts.front().rates.back();
  };
  const TrafficCheck traffic(moved());
  Outcome outcome{
      .metric = "bandwidth",
      .unit = "B/s",
      .sampled = take_samples(spec.sampling, sample, real_surroundings(progress, &watch)),
      .figures = {},
      .evidence = {}};
  const nlohmann::ordered_json counted = traffic.counted(moved());
  if (outcome.sampled.samples.empty()) return outcome;
  for (Part& part : parts) {
    part.rates.erase(part.rates.begin(), part.rates.begin() + outcome.sampled.warm_up);
  }
  add_figures(outcome, parts);
  outcome.evidence = parts.front().stream.evidence(parts.front().of(workers));
  std::vector<int> seen;
  for (const Worker& worker : workers) seen.push_back(worker.last_cpu);
  outcome.evidence["cpus"] = seen;
  if (parts.size() > 1) {
    outcome.evidence["workloads"] = nlohmann::ordered_json::object();
    for (const Part& part : parts) {
      if (&part == &parts.front()) continue;
      outcome.evidence["workloads"][part.name] = part.stream.evidence(part.of(workers));
    }
  }
  outcome.evidence["sample_ns"] = window_s * 1e9;
  if (!counted.empty()) outcome.evidence["counters"] = counted;
  add_sampling_evidence(outcome.evidence, outcome.sampled, watch);
  return outcome;
}

bool is_name(std::string_view name) {
  constexpr std::size_t kLongest = 24;
  return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

}  // namespace

Job parse_streams(ObjectReader& measurement) {
  constexpr std::size_t kMostBeside = 15;
  StreamsSpec spec{};
  spec.sampling = read_sampling(measurement);
  spec.streams.emplace_back("main", read_stream(measurement));
  if (measurement.has("beside") && !measurement.any("beside").is_array()) {
    throw measurement.error("beside", "is not an array");
  }
  if (measurement.has("beside") && !measurement.any("beside").empty()) {
    for (const auto& value : measurement.array("beside", kMostBeside)) {
      ObjectReader stream(
          value, fmt::format("{}.beside[{}]", measurement.where(), spec.streams.size() - 1));
      const std::string name = stream.text("name");
      if (!is_name(name)) {
        throw stream.error("name", "is not 1 to 24 letters, digits, '_' and '-'");
      }
      stream.text("initiator");
      stream.text("target");
      spec.streams.emplace_back(name, read_stream(stream));
      stream.finish();
    }
  }
  std::set<int> cpus;
  std::set<std::string> names;
  for (const auto& [name, stream] : spec.streams) {
    if (!names.insert(name).second) {
      throw measurement.error("beside", fmt::format("names two streams '{}'", name));
    }
    for (const int cpu : stream.cpus) {
      if (!cpus.insert(cpu).second) {
        throw measurement.error("beside", fmt::format("two streams have a thread on CPU {}", cpu));
      }
    }
  }
  return [spec](Workspace& workspace, const Progress& progress) {
    return measure(spec, workspace, progress);
  };
}

}  // namespace tierscope
