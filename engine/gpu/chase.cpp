// Latency of dependent loads by one thread of a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "errors.h"
#include "gpu/buffer.h"
#include "gpu/chase_kernels.h"
#include "gpu/chase_links.h"
#include "gpu/check.h"
#include "gpu/gate.h"
#include "gpu/measuring.h"
#include "gpu/observation.h"
#include "gpu/reach.h"
#include "interrupt.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

constexpr std::uint32_t kMaxLoads = 1U << 26;
// Of each multiprocessor where each is shown; an event's step is 2% of them at most.
constexpr std::uint32_t kLoadsShown = 2048;
// Of each multiprocessor in a sample of all of them: about a quarter of a millisecond over a link.
constexpr std::uint32_t kLoadsOfRound = 256;
// A working set that an L1 may hold, and how many times more loads go over it: they are short.
constexpr std::size_t kMayFitL1 = std::size_t{256} << 10;
constexpr std::uint32_t kTimesMoreInL1 = 8;
// Links of more slots are made again at each repetition: they take 64 MiB of the host's memory.
constexpr std::size_t kMaxLinksKept = std::size_t{1} << 24;

std::uint32_t read_back(const std::uint32_t* from) {
  std::uint32_t value = 0;
  check_cuda(cuda().cuMemcpy(address_of(&value), address_of(from), sizeof value),
             "reading the chase's end");
  return value;
}

void require_end(std::uint32_t last, std::uint32_t expected) {
  if (last != expected) {
    throw Failure(fmt::format("the chase ended at slot {}, not at {}", last, expected),
                  Cause::kVerification);
  }
}

class ChaseOnGpu final : public GpuChase {
 public:
  explicit ChaseOnGpu(const GpuLatencySpec& spec) : spec_(spec) {
    require_gpu(spec.gpu);
    if (spec.bulk) require_bulk_copies(spec.gpu);
    require_reach(spec.gpu, spec.memory, false);
  }

  void begin(Team& team, bool fresh) override;
  void end(nlohmann::ordered_json& evidence) override;
  GpuSample sample() override {
    return spec_.every_multiprocessor ? sample_everywhere() : sample_one();
  }
  GpuSample sample_by_multiprocessor() override;

 private:
  // ns a load, ascending, and the multiprocessor.
  using ByMultiprocessor = std::vector<std::pair<double, int>>;

  void lay_by_cpu();
  void lay_by_gpu();
  void size_chase(double sample_s);
  GpuSample sample_one();
  GpuSample sample_everywhere();
  double round(std::uint32_t loads);
  void time_overhead();
  template <typename Launch>
  double seconds_of(const Launch& launch);
  std::optional<double> seconds_on(int multiprocessor, std::uint32_t loads);
  std::uint32_t cold_loads() const;
  std::uint32_t times_more() const { return cold_loads() > 0 ? kTimesMoreInL1 : 1; }
  std::uint32_t follow(std::uint32_t at, std::uint32_t loads) const {
    return follow_links(next_, at, loads);
  }
  // On the GPU, of each multiprocessor: where its chase ended, then whether it ran.
  std::uint32_t* last(int multiprocessor) const {
    return reinterpret_cast<std::uint32_t*>(results_.get()) + multiprocessor;
  }
  std::uint32_t* has_run(int multiprocessor) const {
    return last(multiprocessors_) + multiprocessor;
  }

  const GpuLatencySpec spec_;
  std::unique_ptr<HostGate> gate_;
  int multiprocessors_ = 0;
  GpuBytes results_;
  Stream stream_;
  Event start_;
  Event end_;
  bool sized_ = false;
  // The walk goes on where the repetition before ended.
  Chase chase_{.start = nullptr, .stride = 0, .first = 0, .loads = 256, .last = nullptr};
  std::vector<std::uint32_t> next_;
  // Of this repetition.
  std::unique_ptr<Observation> observation_;
  std::vector<Buffer*> buffers_;
  std::uint64_t loads_ = 0;
  double overhead_s_ = 0;  // What a round takes for launches and cold loads.
  int ran_ = 0;            // Multiprocessors that took part in the last round.
  int rounds_shown_ = 0;
  ByMultiprocessor shown_;  // In the last of them.
};

void ChaseOnGpu::begin(Team& team, bool fresh) {
  observation_
      .reset();  // Of a repetition that memory did not allow: its end would undo what follows.
  observation_ =
      std::make_unique<Observation>(fmt::format("gpu:{} latency {} bytes", spec_.gpu, spec_.size),
                                    std::vector<int>{spec_.gpu}, spec_.gpu, spec_.common);
  buffers_ = take_buffers({{spec_.memory, spec_.size, spec_.gpu}}, team, fresh);
  if (!gate_) {
    gate_ = std::make_unique<HostGate>();
    multiprocessors_ = attribute_of(spec_.gpu, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    stream_ = make_stream(spec_.gpu);
    start_ = make_event(spec_.gpu);
    end_ = make_event(spec_.gpu);
  }
  if (!results_) {
    results_ = make_gpu_bytes(
        spec_.gpu, static_cast<std::size_t>(2 * multiprocessors_) * sizeof(std::uint32_t));
  }
  if (next_.empty()) {
    next_ = chase_links(static_cast<std::uint32_t>(spec_.size / spec_.stride), spec_.linear);
  }
  spec_.linear&& spec_.memory.on_host() ? lay_by_cpu() : lay_by_gpu();
  chase_.start = buffers_.front()->data();
  chase_.stride = spec_.stride;
  chase_.last = last(0);
  if (spec_.every_multiprocessor) {
    // Each time, since it follows the GPU's clocks; the size of a round is fixed.
    time_overhead();
  } else if (!sized_) {
    size_chase(std::max(spec_.common.sample_s, shortest_sample()));
  }
  sized_ = true;
  loads_ = 0;
  rounds_shown_ = 0;
  shown_.clear();
  observation_->restart();
}

// As a program on the CPU would, so that lines of host memory may still be in its caches.
void ChaseOnGpu::lay_by_cpu() {
  std::byte* const data = buffers_.front()->data();
  for (std::size_t i = 0; i < next_.size(); ++i) {
    const std::byte* const to = data + next_[i] * spec_.stride;
    std::memcpy(data + i * spec_.stride, static_cast<const void*>(&to), sizeof to);
  }
}

void ChaseOnGpu::lay_by_gpu() {
  const std::size_t bytes = next_.size() * sizeof(std::uint32_t);
  const GpuBytes next = make_gpu_bytes(spec_.gpu, bytes);
  copy_and_wait(next.get(), next_.data(), bytes, stream_, "laying the chase");
  lay_chain(buffers_.front()->data(), spec_.stride,
            reinterpret_cast<const std::uint32_t*>(next.get()),
            static_cast<std::uint32_t>(next_.size()), stream_.get());
  check_cuda(cuda().cuStreamSynchronize(stream_.get()), "laying the chase");
}

void ChaseOnGpu::size_chase(double sample_s) {
  while (chase_.loads < kMaxLoads) {
    if (interrupted()) throw Interrupted();
    if (sample_one().duration_s >= sample_s) return;
    chase_.loads *= 2;
  }
}

template <typename Launch>
double ChaseOnGpu::seconds_of(const Launch& launch) {
  check_cuda(cuda().cuEventRecord(start_.get(), stream_.get()), "recording an event");
  launch();
  check_cuda(cuda().cuEventRecord(end_.get(), stream_.get()), "recording an event");
  check_cuda(cuda().cuStreamSynchronize(stream_.get()), "waiting for the chase");
  return seconds_between(start_, end_);
}

GpuSample ChaseOnGpu::sample_one() {
  const double start = now_seconds();
  const double seconds = seconds_of([this] {
    spec_.bulk ? launch_bulk_chase(chase_, stream_.get()) : launch_chase(chase_, stream_.get());
  });
  const std::uint32_t last_slot = read_back(last(0));
  require_end(last_slot, follow(chase_.first, chase_.loads));
  chase_.first = last_slot;  // Go on from there: the whole cycle is walked before any slot again.
  loads_ += chase_.loads;
  return {.start_s = start, .duration_s = seconds, .values = {seconds * 1e9 / chase_.loads}};
}

// Chases of `loads` on one multiprocessor after the other, each from where the one before ended;
// returns the seconds of all of them.
double ChaseOnGpu::round(std::uint32_t loads) {
  gate_->close();
  try {
    gate_->hold(stream_.get());
    const auto flags = static_cast<std::size_t>(multiprocessors_) * sizeof(std::uint32_t);
    check_cuda(cuda().cuMemsetD8Async(address_of(has_run(0)), 0, flags, stream_.get()),
               "clearing marks");
    check_cuda(cuda().cuEventRecord(start_.get(), stream_.get()), "recording an event");
    Chase chase = chase_;
    chase.loads = loads;
    for (int i = 0; i < multiprocessors_; ++i) {
      chase.last = last(i);
      launch_chase_on(chase, i, multiprocessors_, has_run(i), stream_.get());
      chase.first = follow(chase.first, loads);
    }
    check_cuda(cuda().cuEventRecord(end_.get(), stream_.get()), "recording an event");
  } catch (...) {
    gate_->open();
    throw;
  }
  gate_->open();
  check_cuda(cuda().cuStreamSynchronize(stream_.get()), "waiting for the chase");
  return seconds_between(start_, end_);
}

// The loads with which a launch fills a multiprocessor's L1, where that may hold the working set:
// each launch finds it empty.
std::uint32_t ChaseOnGpu::cold_loads() const {
  const std::size_t slots = next_.size();
  return slots * spec_.stride <= kMayFitL1 ? static_cast<std::uint32_t>(slots) : 0;
}

// ns a load, the mean over all multiprocessors; what launches and cold loads take is taken off.
GpuSample ChaseOnGpu::sample_everywhere() {
  const double start = now_seconds();
  const std::uint32_t all = cold_loads() + chase_.loads;
  const double seconds = round(all);
  ran_ = 0;
  for (int i = 0; i < multiprocessors_; ++i) {
    const std::uint32_t next = follow(chase_.first, all);
    if (read_back(has_run(i)) == 1) {
      require_end(read_back(last(i)), next);
      ++ran_;
    }
    chase_.first = next;
  }
  const std::uint64_t loads = std::uint64_t{chase_.loads} * static_cast<unsigned>(ran_);
  if (loads == 0) throw Failure("the chase ran on no multiprocessor");
  loads_ += loads;
  return {.start_s = start,
          .duration_s = seconds,
          .values = {(seconds - overhead_s_) * 1e9 / static_cast<double>(loads)}};
}

void ChaseOnGpu::time_overhead() {
  constexpr int kTimes = 5;
  std::vector<double> seconds;
  for (int i = 0; i < kTimes; ++i) seconds.push_back(round(cold_loads()));
  overhead_s_ = *std::min_element(seconds.begin(), seconds.end());
  chase_.loads = kLoadsOfRound * times_more();
}

// Seconds of a chase on one multiprocessor; none where no block came there.
std::optional<double> ChaseOnGpu::seconds_on(int multiprocessor, std::uint32_t loads) {
  std::uint32_t* const ran = has_run(0);
  check_cuda(cuda().cuMemsetD8Async(address_of(ran), 0, sizeof(unsigned), stream_.get()),
             "clearing a mark");
  Chase chase = chase_;
  chase.loads = loads;
  const double seconds = seconds_of(
      [&] { launch_chase_on(chase, multiprocessor, multiprocessors_, ran, stream_.get()); });
  if (read_back(ran) != 1) return std::nullopt;
  const std::uint32_t last_slot = read_back(last(0));
  require_end(last_slot, follow(chase_.first, loads));
  chase_.first = last_slot;  // The next one goes on, past what this one left in the L2.
  return seconds;
}

// What more loads take than cold ones, so that launches and a cold L1 are no part of it.
GpuSample ChaseOnGpu::sample_by_multiprocessor() {
  observation_->stop_watching();
  const double start = now_seconds();
  const std::uint32_t cold = cold_loads();
  const std::uint32_t more = kLoadsShown * times_more();
  double seconds = 0;
  shown_.clear();
  for (int i = 0; i < multiprocessors_; ++i) {
    if (interrupted()) throw Interrupted();
    const std::optional<double> before = seconds_on(i, cold);
    const std::optional<double> after = seconds_on(i, cold + more);
    if (!before || !after) continue;
    seconds += *after;
    shown_.emplace_back((*after - *before) * 1e9 / more, i);
  }
  std::sort(shown_.begin(), shown_.end());
  ++rounds_shown_;
  std::vector<double> values;
  for (const double share : {0.0, 0.05, 0.5, 0.95, 1.0}) {
    const double at = share * (static_cast<double>(shown_.size()) - 1);
    values.push_back(shown_.empty() ? std::numeric_limits<double>::quiet_NaN()
                                    : shown_[static_cast<std::size_t>(std::lround(at))].first);
  }
  return {.start_s = start, .duration_s = seconds, .values = std::move(values)};
}

void ChaseOnGpu::end(nlohmann::ordered_json& evidence) {
  observation_->stop_watching();
  constexpr std::uint64_t kSector = 32;
  evidence["walked_bytes"] = std::min<std::uint64_t>(loads_, next_.size()) * kSector;
  evidence["verified"] =
      "the cycle's length, and where each sample of the chase ended, against the CPU's own walk";
  evidence["clock"] = kEventClock;
  std::vector<std::string> notes;
  add_buffer_evidence(evidence, notes, buffers_);
  if (spec_.every_multiprocessor) {
    notes.push_back(fmt::format(
        "each sample is the mean over {} of {} SMs, {} loads on each; launches and cold loads, "
        "{:.2f} us for each SM, are taken off",
        ran_, multiprocessors_, chase_.loads, overhead_s_ * 1e6 / multiprocessors_));
  }
  if (!shown_.empty()) {
    notes.push_back(
        fmt::format("by SM: {} rounds of {} loads on each of {} of {}; in the last, fastest SM {}, "
                    "slowest SM {}",
                    rounds_shown_, kLoadsShown * times_more(), shown_.size(), multiprocessors_,
                    shown_.front().second, shown_.back().second));
  }
  observation_->report(evidence, std::move(notes));
  observation_.reset();
  if (next_.size() > kMaxLinksKept) next_ = {};
}

}  // namespace

std::unique_ptr<GpuChase> make_gpu_chase(const GpuLatencySpec& spec) {
  return std::make_unique<ChaseOnGpu>(spec);
}

}  // namespace tierscope
