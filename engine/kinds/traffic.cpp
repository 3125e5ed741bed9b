// Bandwidth of one or more concurrent streams: reader beside writer, local beside CXL.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <utility>

#include "harness/kind.h"
#include "kinds/evidence.h"
#include "kinds/stream.h"
#include "kinds/window_sample.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

struct TrafficSpec {
  SamplingRule sampling;
  std::vector<std::pair<std::string, StreamSpec>> streams;  // By name; the first is the main one.
};

class Streams : public State {
 public:
  explicit Streams(const TrafficSpec& spec) : spec_(spec) {
    for (const auto& [name, stream] : spec_.streams) {
      streams_.emplace_back(stream);
      parts_.push_back(
          {.stream = &streams_.back(), .first = workers_.size(), .threads = stream.threads.size()});
      for (Worker& worker : streams_.back().workers()) workers_.push_back(std::move(worker));
      threads_.insert(threads_.end(), stream.threads.begin(), stream.threads.end());
    }
    threads_per_cpu_ = threads_per_cpu(threads_);
  }

  void open(Leases& leases) override {
    std::vector<RegionKey> keys;
    for (const auto& [name, stream] : spec_.streams) keys.push_back(stream.key());
    team_ = &leases.team(threads_);
    const std::vector<Lease> regions = leases.regions(
        keys, *team_, [](std::size_t, const std::any& found) { return Stream::fits(found); });
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto& [stream, first, threads] = parts_[i];
      stream->open(regions[i], *team_, static_cast<int>(first),
                   std::span(workers_).subspan(first, threads));
    }
    if (!sized_) size_chunks(*team_, workers_, window_s());
    sized_ = true;
    traffic_ = std::make_unique<TrafficCheck>(moved());
  }

  std::vector<Series> series() override {
    const bool write_allocate = streams_.front().has_write_allocate();
    std::vector<Column> columns{{.metric = "bandwidth", .part = ""}};
    if (write_allocate) columns.push_back({.metric = "bandwidth_with_write_allocate", .part = ""});
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      columns.push_back({.metric = "bandwidth", .part = spec_.streams[i].first});
    }
    if (parts_.size() > 1) columns.push_back({.metric = "total_bandwidth", .part = ""});
    return {{.name = "windows",
             .columns = std::move(columns),
             .take = [this, write_allocate] { return take(write_allocate); },
             .watched_cpus = all_cpus(threads_)}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    nlohmann::ordered_json counters = nlohmann::ordered_json::object();
    traffic_->report(moved(), counters);
    verify_streams(*team_, parts_, workers_);
    evidence = streams_.front().evidence(parts_.front().of(workers_));
    evidence.erase("notes");
    add_cpus(workers_, threads_, evidence);
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      evidence["workloads"][spec_.streams[i].first] =
          parts_[i].stream->evidence(parts_[i].of(workers_));
    }
    evidence.update(counters);
  }

 private:
  double window_s() const { return window_seconds(spec_.sampling, threads_per_cpu_); }

  Sample take(bool write_allocate) {
    Sample sample = window_sample(*team_, workers_, window_s());
    double total = 0;
    for (const StreamPart& part : parts_) {
      const double units = units_in_window(part.of(workers_));
      const double bandwidth = units * part.stream->bytes_per_unit() / window_s();
      sample.values.push_back(bandwidth);
      total += bandwidth;
      if (write_allocate && &part == &parts_.front()) {
        sample.values.push_back(bandwidth * part.stream->bus_bytes_per_byte());
      }
    }
    if (parts_.size() > 1) sample.values.push_back(total);
    return sample;
  }

  Moved moved() const {
    Moved sum{.program_bytes = 0, .bus_bytes = 0};
    for (const StreamPart& part : parts_) {
      double accesses = 0;
      for (const Worker& worker : part.of(workers_)) accesses += static_cast<double>(worker.done);
      const double bytes = accesses * part.stream->bytes_per_unit();
      sum.program_bytes += bytes;
      *sum.bus_bytes += bytes * part.stream->bus_bytes_per_byte();
    }
    return sum;
  }

  TrafficSpec spec_;
  std::deque<Stream> streams_;  // Workers and parts point to them.
  std::vector<StreamPart> parts_;
  std::vector<Worker> workers_;
  CpuSets threads_;  // Of all streams, in their order.
  std::size_t threads_per_cpu_ = 1;
  Team* team_ = nullptr;
  bool sized_ = false;
  std::unique_ptr<TrafficCheck> traffic_;
};

}  // namespace

MakeState parse_traffic(const ObjectReader& measurement) {
  TrafficSpec spec{};
  spec.sampling = read_sampling(measurement);
  spec.streams.emplace_back("main", read_stream(measurement));
  for (const ObjectReader& stream : measurement.objects("beside")) {
    spec.streams.emplace_back(stream.text("name"), read_stream(stream));
  }
  const bool may_share =
      std::ranges::all_of(spec.streams, [](const auto& stream) { return stream.second.on_sets; });
  std::set<int> cpus;
  std::set<std::string> names;
  for (const auto& [name, stream] : spec.streams) {
    measurement.check(tables::kTrafficSpecNames, names.insert(name).second);
    for (const int cpu : stream.cpus) {
      measurement.check(tables::kTrafficSpecCpus, cpus.insert(cpu).second || may_share);
    }
  }
  return [spec] { return std::make_unique<Streams>(spec); };
}

}  // namespace tierscope
