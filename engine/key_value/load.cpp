#include "key_value/load.h"

#include <fmt/format.h>

#include <functional>
#include <future>
#include <iterator>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "errors.h"
#include "key_value/options.h"
#include "key_value/worker.h"
#include "sampling/clock.h"

namespace tierscope::key_value {
namespace {

constexpr unsigned kFillPipeline = 32;
constexpr double kWindowS = 0.25;  // Of the warm-up.
constexpr double kSteady = 1.02;   // Rises of the throughput that are less are none.

std::int64_t ns_of(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// All threads with their connections.
class Load {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options),
        workload_{.protocol = options.protocol,
                  .records = Records(options.records(), options.value),
                  .server = options.address.text()} {
    wait_for(options.address, options.protocol);
    const unsigned pipeline = options.fill ? kFillPipeline : options.pipeline;
    for (unsigned i = 0; i < options.threads; ++i) {
      const unsigned clients =
          options.clients / options.threads + (i < options.clients % options.threads ? 1 : 0);
      workers_.push_back(std::make_unique<Worker>(workload_, options.address, clients, pipeline));
      choices_.emplace_back(options.records(), options.skew, options.writes, i);
    }
  }

  void fill() {
    each([this](std::size_t thread) {
      std::uint64_t record = thread;
      const auto next = [&]() -> std::optional<Request> {
        if (record >= options_.records()) return std::nullopt;
        return Request{.record = std::exchange(record, record + workers_.size()), .write = true};
      };
      return workers_[thread]->closed_loop(next, std::numeric_limits<std::int64_t>::max());
    });
  }

  // Closed loops until the throughput of one is no longer above that of the one before. Returns the
  // seconds that it took.
  double warm_up() {
    if (options_.warm_up < kWindowS) return 0;
    const double began = now_seconds();
    double before = 0;
    while (now_seconds() - began + kWindowS <= options_.warm_up) {
      const double now = throughput(kWindowS);
      if (now <= before * kSteady) break;
      before = now;
    }
    return now_seconds() - began;
  }

  // Answers a second in a closed loop.
  double throughput(double seconds) {
    const std::int64_t end = now_ns() + ns_of(seconds);
    const std::vector<std::uint64_t> counts = each([&](std::size_t thread) {
      const auto next = [&]() -> std::optional<Request> {
        if (now_ns() >= end) return std::nullopt;
        return choices_[thread].next();
      };
      return workers_[thread]->closed_loop(next, end);
    });
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return static_cast<double>(sum) / seconds;
  }

  OpenLoop open_loop(double rate) {
    const std::int64_t start = now_ns();
    const std::vector<OpenLoop> loops = each([&](std::size_t thread) {
      return workers_[thread]->open_loop(choices_[thread], rate / options_.threads, thread + 1,
                                         start, options_.seconds);
    });
    OpenLoop all;
    for (const OpenLoop& loop : loops) all.add(loop);
    return all;
  }

 private:
  // What `run` returns for each thread.
  template <typename Run>
  std::vector<std::invoke_result_t<Run, std::size_t>> each(const Run& run) {
    using Result = std::invoke_result_t<Run, std::size_t>;
    std::vector<Result> found;
    if (workers_.size() == 1) {
      found.push_back(run(0));
      return found;
    }
    std::vector<std::future<Result>> running;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      running.push_back(std::async(std::launch::async, run, i));
    }
    for (auto& one : running) found.push_back(one.get());
    return found;
  }

  const LoadOptions& options_;
  Workload workload_;
  std::vector<std::unique_ptr<Worker>> workers_{};
  std::vector<Choices> choices_{};
};

std::string lines_of(const OpenLoop& loop, double seconds) {
  std::string lines;
  const auto add = [&](std::string_view name, double value, std::string_view unit) {
    fmt::format_to(std::back_inserter(lines), "{}: {} {}\n", name, value, unit);
  };
  const auto answers = static_cast<double>(loop.latencies.count());
  add("mean", answers > 0 ? loop.sum_ns / answers / 1e3 : 0, "us");
  add("p50", loop.latencies.quantile(0.5) / 1e3, "us");
  add("p99", loop.latencies.quantile(0.99) / 1e3, "us");
  add("p99.9", loop.latencies.quantile(0.999) / 1e3, "us");
  add("offered", static_cast<double>(loop.due) / seconds, "1/s");
  add("achieved", static_cast<double>(loop.in_time) / seconds, "1/s");
  return lines;
}

}  // namespace

std::string key_value_load(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--help"}) return std::string(load_usage());
  const LoadOptions options = parse_options(words);
  Load load(options);
  if (options.fill) {
    load.fill();
    return {};
  }
  const double warm_up_s = load.warm_up();
  std::string lines = fmt::format("throughput: {} 1/s\n", load.throughput(options.seconds));
  if (options.rate) {
    const OpenLoop loop = load.open_loop(*options.rate);
    if (loop.fell_behind) {
      throw Failure(fmt::format(
          "{}: the server does not keep up: {} 1/s offered, {} 1/s achieved, {:.3g} s behind at "
          "the end; lower --rate",
          options.address.text(), *options.rate,
          static_cast<double>(loop.in_time) / options.seconds, loop.behind_s));
    }
    lines += lines_of(loop, options.seconds);
  }
  return lines + fmt::format("warm-up: {} s\n", warm_up_s);
}

}  // namespace tierscope::key_value
