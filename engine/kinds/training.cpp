// Training: samples of a dataset, read for accelerators that are emulated.
//
// Readers hand batches to threads that stand for accelerators and sleep for the time of a step.
// Nothing is decoded: bytes land in a reader's buffer.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/drive_watch.h"
#include "kinds/training_feed.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"
#include "sampling/clock.h"
#include "storage/page_cache.h"
#include "storage/small_files.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

enum class Format { kNpz, kTfrecord };

constexpr std::uint64_t kNpzOverhead = 512;  // Headers, names and directory of the archive.
constexpr std::uint64_t kRecordOverhead = 16;
constexpr std::uint64_t kNpzEnd = 64;  // Where the archive's directory is found, read first.

// What a dataset is made of; those that are alike share their files.
struct DatasetSpec {
  std::string directory;
  Format format;
  std::size_t files;
  std::size_t samples;  // Of each file.
  std::uint64_t mean;   // Bytes of a sample.
  std::uint64_t deviation;
  std::uint64_t seed;

  auto operator<=>(const DatasetSpec&) const = default;
};

struct TrainingSpec {
  SamplingRule sampling;
  DatasetSpec dataset;
  std::vector<int> cpus;
  bool large;
  std::size_t batch;
  double step_s;
  double needed;
  std::size_t buffer;
  std::size_t accelerators;
  std::size_t readers;  // Of each accelerator.
  std::size_t prefetch;
  bool shuffle;

  std::size_t files_of_each() const { return dataset.files / accelerators; }
  std::size_t steps() const {
    return dataset.format == Format::kNpz ? dataset.files / (batch * accelerators)
                                          : files_of_each() * dataset.samples / batch;
  }
};

// The files of a dataset. Sizes come from the seed.
class Dataset {
 public:
  Dataset(const DatasetSpec& spec, bool large) : spec_(spec) {
    std::mt19937_64 random(spec.seed);
    std::vector<std::uint64_t> sizes;
    ends_.resize(spec.files);
    for (std::vector<std::uint64_t>& ends : ends_) {
      std::uint64_t at = 0;
      for (std::size_t i = 0; i < spec.samples; ++i) ends.push_back(at += record(random));
      sizes.push_back(at + (spec.format == Format::kNpz ? kNpzOverhead : 0));
    }
    check_room(spec.directory, sizes, large);
    files_ = std::make_unique<SmallFiles>(spec.directory, std::move(sizes));
  }

  SmallFiles& files() { return *files_; }
  // Offsets behind each record of a file.
  const std::vector<std::uint64_t>& ends(std::size_t file) const { return ends_[file]; }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < files_->count(); ++i) sum += files_->size(i);
    return sum;
  }
  std::atomic<bool> made{false};

 private:
  // Within 0 and twice the mean, so that the mean stays what it is.
  std::uint64_t record(std::mt19937_64& random) const {
    const auto mean = static_cast<double>(spec_.mean);
    std::normal_distribution<double> sizes(mean, static_cast<double>(spec_.deviation));
    double size = mean;
    if (spec_.deviation != 0) {
      do {
        size = sizes(random);
      } while (size < 1 || size > 2 * mean);
    }
    return static_cast<std::uint64_t>(size) +
           (spec_.format == Format::kTfrecord ? kRecordOverhead : 0);
  }

  DatasetSpec spec_;
  std::vector<std::vector<std::uint64_t>> ends_;
  std::unique_ptr<SmallFiles> files_;
};

// Measurements of the same dataset take turns on the same files.
std::shared_ptr<Dataset> dataset_of(const DatasetSpec& spec, bool large) {
  static std::map<DatasetSpec, std::weak_ptr<Dataset>> known;
  std::shared_ptr<Dataset> found = known[spec].lock();
  if (!found) known[spec] = found = std::make_shared<Dataset>(spec, large);
  return found;
}

// What one reader did in an epoch.
struct Reader {
  std::vector<std::byte> buffer;
  std::int64_t reading_ns = 0;
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  Histogram latency;
};

// What one accelerator did in an epoch.
struct Accelerator {
  double first_wait_s = 0;
  double end_s = 0;
};

// While it lives, the thread's sleeps end when they are due, not some 50 us later.
class ExactSleep {
 public:
  ExactSleep() { prctl(PR_SET_TIMERSLACK, 1); }
  ~ExactSleep() { prctl(PR_SET_TIMERSLACK, 0); }  // The default.
  ExactSleep(const ExactSleep&) = delete;
  ExactSleep& operator=(const ExactSleep&) = delete;
};

void sleep_until(double end_s) {
  constexpr double kLongest = 0.1;  // Between looks for signals.
  while (true) {
    const double left = end_s - now_seconds();
    if (left <= 0) return;
    if (interrupted()) throw Interrupted();
    const double part = std::min(left, kLongest);
    const timespec span{.tv_sec = 0, .tv_nsec = static_cast<long>(part * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
  }
}

class Training : public State {
 public:
  explicit Training(TrainingSpec spec) : spec_(std::move(spec)) {}

  void open(Leases& leases) override {
    const double begin = now_seconds();
    const std::size_t readers = spec_.accelerators * spec_.readers;
    team_ = &leases.team(CpuSets(readers + spec_.accelerators, spec_.cpus));
    readers_.resize(readers);
    for (Reader& reader : readers_) reader.buffer.resize(spec_.buffer);
    accelerators_.resize(spec_.accelerators);
    if (!dataset_) dataset_ = dataset_of(spec_.dataset, spec_.large);
    make_files();
    if (!drives_) {
      const std::array devices{device_of(dataset_->files().opened(0).get())};
      drives_ = std::make_unique<DriveWatch>(devices);
    }
    memory_bytes_ = cacheable_bytes();
    asked_ = {.path = dataset_->files().path(), .set_up_s = now_seconds() - begin};
  }

  std::vector<Series> series() override {
    return {{.name = "epochs",
             .columns = {{.metric = "samples", .part = ""},
                         {.metric = "bandwidth", .part = ""},
                         {.metric = "utilisation", .part = ""},
                         {.metric = "accelerators_fed", .part = ""},
                         {.metric = "reading", .part = ""},
                         {.metric = "busy", .part = ""}},
             .take = [this] { return epoch(); },
             .samples = 1,
             .distributions = {{.metric = "io_latency", .part = ""}},
             .keep_disturbed = true}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    evidence["cpus"] = spec_.cpus;
    drives_->observe(evidence, asked_);
    evidence["training"] = {{"files", spec_.dataset.files},
                            {"bytes", dataset_->bytes()},
                            {"steps", spec_.steps()},
                            {"memory_bytes", memory_bytes_},
                            {"first_wait_s", first_wait_s_}};
    const std::size_t file = order_.front();
    if (const auto problem = dataset_->files().wrong(file)) {
      throw Failure(*problem, Cause::kVerification);
    }
    evidence["verified"] =
        "the sizes of all files that were read, and each whole cell of the epoch's first one";
  }

 private:
  // Once for all measurements that share them; a repetition that was cut goes on.
  void make_files() {
    if (dataset_->made) return;
    SmallFiles& files = dataset_->files();
    each_file([&](std::size_t file) {
      if (!files.exists(file)) files.create(file, FileSync::kNone);
    });
    dataset_->made = true;
    forget();  // What is dirty is written, before anything is counted.
  }

  // Has the kernel drop what it caches of the dataset; bytes that it kept.
  std::uint64_t forget() {
    SmallFiles& files = dataset_->files();
    std::atomic<std::uint64_t> kept{0};
    each_file([&](std::size_t file) {
      kept += forget_cached(files.opened(file).get(), files.size(file)).value_or(0);
    });
    return kept;
  }

  template <typename Work>
  void each_file(const Work& work) {
    std::atomic<std::size_t> next{0};
    team_->run([&](int) {
      for (std::size_t file = next++; file < spec_.dataset.files; file = next++) {
        if (interrupted()) throw Interrupted();
        work(file);
      }
    });
  }

  Sample epoch() {
    shuffle();
    asked_.cached_bytes = std::max(asked_.cached_bytes, forget());
    prepare();
    drives_->restart();
    const std::vector<BlockCounts> before = drives_->counters().read();
    const double start = now_seconds();
    team_->run([&](int thread) { work(static_cast<std::size_t>(thread)); });
    return sample_of(start, before);
  }

  void shuffle() {
    order_.resize(spec_.dataset.files);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    ++epoch_;
    if (!spec_.shuffle) return;
    std::mt19937_64 random(spec_.dataset.seed + epoch_);
    std::shuffle(order_.begin(), order_.end(), random);
  }

  void prepare() {
    feeds_.clear();
    for (std::size_t i = 0; i < spec_.accelerators; ++i) {
      const bool batches = spec_.dataset.format == Format::kNpz;
      feeds_.push_back(std::make_unique<Feed>(
          Feed::Wish{.units = batches ? spec_.steps() : spec_.files_of_each(),
                     .batches = batches,
                     .batch = spec_.batch,
                     .ahead = spec_.prefetch}));
    }
    gate_ = std::make_unique<StepGate>(spec_.accelerators);
    for (Reader& reader : readers_) {
      reader.reading_ns = 0;
      reader.reads = 0;
      reader.bytes = 0;
      reader.latency.clear();
    }
  }

  // A thread that throws lets nobody wait for it.
  void work(std::size_t thread) {
    try {
      if (thread < readers_.size()) {
        read(readers_[thread], thread % spec_.accelerators);
      } else {
        compute(thread - readers_.size());
      }
    } catch (...) {
      for (const auto& feed : feeds_) feed->close();
      gate_->close();
      throw;
    }
  }

  void compute(std::size_t number) {
    Feed& feed = *feeds_[number];
    Accelerator& own = accelerators_[number];
    const ExactSleep exact;
    const double start = now_seconds();
    for (std::size_t step = 0; step < spec_.steps(); ++step) {
      if (!feed.take() || !gate_->pass()) break;
      const double begin = now_seconds();
      if (step == 0) own.first_wait_s = begin - start;
      sleep_until(begin + spec_.step_s);
    }
    own.end_s = now_seconds();
    feed.close();
  }

  void read(Reader& reader, std::size_t accelerator) {
    Feed& feed = *feeds_[accelerator];
    while (const std::optional<std::size_t> unit = feed.claim()) {
      if (spec_.dataset.format == Format::kTfrecord) {
        if (!read_records(reader, order_[accelerator + *unit * spec_.accelerators], feed)) return;
        continue;
      }
      for (std::size_t i = 0; i < spec_.batch; ++i) {
        read_archive(reader, order_[(*unit * spec_.batch + i) * spec_.accelerators + accelerator]);
      }
      feed.deliver(*unit);
    }
  }

  // A sample is a file: its directory at the end, then all of it.
  void read_archive(Reader& reader, std::size_t index) {
    const SmallFiles& files = dataset_->files();
    const std::int64_t begin = now_ns();
    const Descriptor file = files.opened(index);
    const std::uint64_t end = files.size(index) - std::min(files.size(index), kNpzEnd);
    if (pread(file.get(), reader.buffer.data(), kNpzEnd, static_cast<off_t>(end)) < 0) {
      throw Failure("reading the end of a sample's file failed", Cause::kStorage);
    }
    ++reader.reads;
    files.read_pieces(file, index, reader.buffer, [&](auto, auto) {
      ++reader.reads;
      return true;
    });
    const std::int64_t ns = now_ns() - begin;
    reader.reading_ns += ns;
    reader.latency.record(static_cast<std::uint64_t>(ns));
    reader.bytes += files.size(index);
  }

  // A sample is a record, and its time that of the reads since the one before: most come with a
  // piece that others came with. False: nobody needs any more.
  bool read_records(Reader& reader, std::size_t index, Feed& feed) {
    const SmallFiles& files = dataset_->files();
    const std::vector<std::uint64_t>& ends = dataset_->ends(index);
    std::size_t record = 0;
    bool wanted = true;
    std::int64_t begin = now_ns();
    std::int64_t since_ns = 0;
    const Descriptor file = files.opened(index);
    files.read_pieces(
        file, index, reader.buffer, [&](std::span<const std::byte> piece, std::uint64_t offset) {
          const std::int64_t ns = now_ns() - begin;
          reader.reading_ns += ns;
          since_ns += ns;
          ++reader.reads;
          reader.bytes += piece.size();
          for (; record < ends.size() && ends[record] <= offset + piece.size(); ++record) {
            reader.latency.record(static_cast<std::uint64_t>(std::exchange(since_ns, 0)));
            if (wanted) wanted = feed.deliver(index);
          }
          begin = now_ns();
          return wanted;
        });
    return wanted;
  }

  Sample sample_of(double start, const std::vector<BlockCounts>& before) {
    Sample sample{};
    sample.start_s = start;
    std::uint64_t bytes = 0;
    double reading_s = 0;
    Histogram latency;
    for (const Accelerator& one : accelerators_) {
      sample.duration_s = std::max(sample.duration_s, one.end_s - start);
      first_wait_s_ = std::max(first_wait_s_, one.first_wait_s);
    }
    for (const Reader& reader : readers_) {
      asked_.reads += reader.reads;
      bytes += reader.bytes;
      reading_s += static_cast<double>(reader.reading_ns) * 1e-9;
      latency.add(reader.latency);
    }
    asked_.bytes_read += bytes;
    const double seconds = sample.duration_s;
    const auto steps = static_cast<double>(spec_.steps());
    const auto accelerators = static_cast<double>(spec_.accelerators);
    const double samples = steps * static_cast<double>(spec_.batch) * accelerators / seconds;
    const double reading = reading_s / (seconds * static_cast<double>(readers_.size()));
    // Each needs a batch in the time of a step for its needed share of the time.
    const double need = static_cast<double>(spec_.batch) / spec_.step_s * spec_.needed;
    sample.values = {samples,
                     static_cast<double>(bytes) / seconds,
                     steps * spec_.step_s / seconds,
                     reading > 0 ? samples / std::min(reading, 1.0) / need
                                 : std::numeric_limits<double>::quiet_NaN(),
                     std::min(reading, 1.0),
                     busy(before, seconds)};
    sample.histograms.push_back(latency.counts());
    return sample;
  }

  // The share of an epoch in which the busiest drive had requests in flight.
  double busy(const std::vector<BlockCounts>& before, double seconds) const {
    double most = std::numeric_limits<double>::quiet_NaN();
    for (const BlockCounts& one : difference(before, drives_->counters().read())) {
      most = std::fmax(most, std::min(static_cast<double>(one.busy_ms) * 1e-3 / seconds, 1.0));
    }
    return most;
  }

  TrainingSpec spec_;
  Team* team_ = nullptr;
  std::shared_ptr<Dataset> dataset_;
  std::unique_ptr<DriveWatch> drives_;
  std::vector<Reader> readers_;
  std::vector<Accelerator> accelerators_;
  std::vector<std::size_t> order_;            // Of files, in this epoch.
  std::vector<std::unique_ptr<Feed>> feeds_;  // One for each accelerator.
  std::unique_ptr<StepGate> gate_;
  std::size_t epoch_ = 0;
  AskedIo asked_;  // By this repetition.
  std::uint64_t memory_bytes_ = 0;
  double first_wait_s_ = 0;
};

void read_pattern(const ObjectReader& pattern, TrainingSpec& spec) {
  static constexpr std::array<std::pair<std::string_view, Format>, 2> kFormats{
      {{"npz", Format::kNpz}, {"tfrecord", Format::kTfrecord}}};
  spec.dataset.format = pattern.choice("format", kFormats);
  spec.dataset.files = pattern.integer<std::size_t>("files");
  spec.dataset.samples = pattern.integer<std::size_t>("file_samples");
  spec.dataset.mean = pattern.integer<std::uint64_t>("sample_size");
  spec.dataset.deviation = pattern.integer<std::uint64_t>("sample_stdev");
  spec.dataset.seed = pattern.integer<std::uint64_t>("seed");
  spec.batch = pattern.integer<std::size_t>("batch");
  spec.step_s = pattern.number("step_s");
  spec.needed = pattern.number("needed");
  spec.buffer = pattern.integer<std::size_t>("buffer");
  spec.accelerators = pattern.integer<std::size_t>("accelerators");
  spec.readers = pattern.integer<std::size_t>("readers");
  spec.prefetch = pattern.integer<std::size_t>("prefetch");
  spec.shuffle = pattern.boolean("shuffle");
  pattern.check(tables::kTrainingPatternFiles, spec.steps() >= 1);
}

}  // namespace

MakeState parse_training(const ObjectReader& measurement) {
  constexpr std::size_t kMostThreads = 4096;
  TrainingSpec spec{};
  spec.sampling = read_sampling(measurement);
  spec.cpus = measurement.integers("cpus");
  spec.dataset.directory = measurement.text("directory");
  spec.large = measurement.boolean("large");
  read_pattern(measurement.object("pattern"), spec);
  measurement.check(tables::kTrainingSpecPatternReaders,
                    spec.accelerators * (spec.readers + 1) <= kMostThreads);
  return [spec = std::move(spec)] { return std::make_unique<Training>(spec); };
}

}  // namespace tierscope
