#include "kinds/io_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kinds/io_checks.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;
constexpr std::int64_t kMaxBlock = std::int64_t{1} << 30;
constexpr std::int64_t kMinBlock = 512;
constexpr std::int64_t kMaxDepth = 4096;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 30;
constexpr std::int64_t kMaxFiles = 65536;
constexpr std::size_t kMaxJobs = 256;
constexpr double kMaxSeconds = 1e6;

using Reader = ObjectReader;

bool flag(Reader& reader, std::string_view key, bool otherwise = false) {
  return reader.has(key) ? reader.boolean(key) : otherwise;
}

std::int64_t number(Reader& reader, std::string_view key, std::int64_t low, std::int64_t high,
                    std::int64_t otherwise) {
  return reader.has(key) ? reader.integer(key, low, high) : otherwise;
}

// A key that is null says the same as one that is absent.
bool given(Reader& reader, std::string_view key) {
  return reader.has(key) && !reader.any(key).is_null();
}

std::string absolute(Reader& reader, std::string_view key) {
  std::string path = reader.text(key);
  if (!path.starts_with('/')) throw reader.error(key, "'" + path + "' is no absolute path");
  return path;
}

CommonFile read_common(Reader common) {
  constexpr std::int64_t kMaxHosts = 1'000'000;
  CommonFile found;
  found.name = common.has("name") ? common.text("name") : "";
  found.parts = static_cast<int>(number(common, "parts", 1, kMaxHosts, 1));
  found.part = static_cast<int>(number(common, "part", 0, found.parts - 1, 0));
  if (given(common, "wait_s")) found.wait_s = common.positive("wait_s", kMaxSeconds);
  if (found.wait_s > 0 && found.name.empty()) throw common.error("wait_s", "goes with a name");
  common.finish();
  return found;
}

TargetSpec read_files(Reader files) {
  TargetSpec target;
  if (files.has("directory")) {
    target.kind = TargetSpec::Kind::kOwned;
    target.path = absolute(files, "directory");
    target.stem = files.has("stem") ? files.text("stem") : "tierscope.";
    target.count = static_cast<int>(number(files, "count", 1, kMaxFiles, 1));
    target.size = static_cast<std::uint64_t>(files.integer("size", kCellBytes, kMaxBytes));
    target.keep = flag(files, "keep");
  } else if (files.has("device")) {
    target.kind = TargetSpec::Kind::kDevice;
    target.path = absolute(files, "device");
    target.destroy = files.has("destroy") ? files.text("destroy") : "";
    target.second_word = files.has("second_word") ? files.text("second_word") : "";
    target.purge = flag(files, "purge");
  } else {
    target.kind = TargetSpec::Kind::kPath;
    target.path = absolute(files, "path");
    target.count = static_cast<int>(number(files, "count", 1, kMaxFiles, 1));
    target.create = flag(files, "create");
    if (given(files, "common")) target.common = read_common(files.object("common"));
    target.keep = flag(files, "keep");
    target.overwrite = flag(files, "overwrite");
  }
  if (target.kind != TargetSpec::Kind::kOwned && given(files, "size")) {
    target.size = static_cast<std::uint64_t>(files.integer("size", kCellBytes, kMaxBytes));
  }
  if (target.kind != TargetSpec::Kind::kDevice) target.large = flag(files, "large");
  if (target.common.parts > 1 && (target.size == 0 || target.count != 1)) {
    throw files.error("common", "is one file of a given size");
  }
  files.finish();
  return target;
}

void read_blocks(Reader& pattern, IoPattern& found) {
  const auto size = static_cast<std::uint32_t>(pattern.integer("block_size", kMinBlock, kMaxBlock));
  if (!given(pattern, "blocks")) {
    found.blocks = {{.bytes = size, .weight = 1}};
    return;
  }
  for (const nlohmann::json& entry : pattern.array("blocks", 64)) {
    Reader block(entry, pattern.where() + ".blocks");
    found.blocks.push_back(
        {.bytes = static_cast<std::uint32_t>(block.integer("bytes", kMinBlock, kMaxBlock)),
         .weight = static_cast<std::uint32_t>(block.integer("weight", 1, 1'000'000))});
    block.finish();
  }
}

void read_operation(Reader& pattern, IoPattern& found) {
  static constexpr std::array<std::pair<std::string_view, IoOperation>, 3> kOperations{
      {{"read", IoOperation::kRead}, {"write", IoOperation::kWrite}, {"mix", IoOperation::kMix}}};
  static constexpr std::array<std::pair<std::string_view, IoOrder>, 3> kOrders{
      {{"sequential", IoOrder::kSequential},
       {"random", IoOrder::kRandom},
       {"zipf", IoOrder::kZipf}}};
  if (pattern.has("operation")) found.operation = pattern.choice("operation", kOperations);
  if (pattern.has("order")) found.order = pattern.choice("order", kOrders);
  const bool mixed = found.operation == IoOperation::kMix;
  if (given(pattern, "read_percent") != mixed) {
    throw pattern.error("read_percent", "goes with operation mix, and only with it");
  }
  if (mixed) found.read_percent = static_cast<int>(pattern.integer("read_percent", 1, 99));
  const bool zipf = found.order == IoOrder::kZipf;
  if (given(pattern, "zipf") != zipf) {
    throw pattern.error("zipf", "goes with order zipf, and only with it");
  }
  if (zipf) found.zipf = pattern.positive("zipf", 10);
}

// Who sends visits goes by it: visits are rounds until so much was written, or rates are steady.
bool read_series(Reader& measurement) {
  if (!given(measurement, "series")) return false;
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kUntil{
      {{"written", false}, {"steady", true}}};
  constexpr double kMaxPasses = 100;
  constexpr double kMaxRoundS = 3600;
  Reader series = measurement.object("series");
  series.choice("until", kUntil);
  series.positive("passes", kMaxPasses);
  series.positive("round_s", kMaxRoundS);
  series.finish();
  return true;
}

IoPattern read_pattern(Reader& pattern) {
  IoPattern found{};
  read_operation(pattern, found);
  read_blocks(pattern, found);
  found.align = given(pattern, "align")
                    ? static_cast<std::uint64_t>(pattern.integer("align", kMinBlock, kMaxBlock))
                    : found.smallest_block();
  found.misalign = static_cast<std::uint64_t>(number(pattern, "misalign", 0, (1 << 20) - 1, 0));
  found.offset = static_cast<std::uint64_t>(number(pattern, "offset", 0, kMaxBytes, 0));
  if (given(pattern, "range")) {
    found.range = static_cast<std::uint64_t>(pattern.integer("range", kMinBlock, kMaxBytes));
  }
  if (given(pattern, "rate")) found.rate = pattern.positive("rate", 1e12);
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kArrivals{
      {{"regular", false}, {"poisson", true}}};
  if (given(pattern, "arrivals") != found.rate.has_value()) {
    throw pattern.error("arrivals", "goes with a rate, and only with it");
  }
  if (found.rate) found.poisson = pattern.choice("arrivals", kArrivals);
  found.seed = static_cast<std::uint64_t>(
      number(pattern, "seed", 0, std::numeric_limits<std::int64_t>::max(), 1));
  return found;
}

// The key "cufile": one value of cufile.json. The engine's caller has given this process a
// cufile.json with it; cuFile reads that by itself.
void read_cufile_setting(Reader& pattern, const IoWork& work) {
  if (!given(pattern, "cufile")) return;
  const std::size_t sign = pattern.text("cufile").find('=');
  if (sign == 0 || sign == std::string::npos) throw pattern.error("cufile", "is no key=value");
  if (!work.backend->name.starts_with("cufile")) {
    throw pattern.error("cufile", "goes with the backends of cuFile");
  }
}

// Absent: what the figure is about, the drive or the page cache.
CacheState read_cache(Reader& pattern, const IoWork& work) {
  static constexpr std::array<std::pair<std::string_view, CacheState>, 3> kStates{
      {{"as-found", CacheState::kAsFound},
       {"warm", CacheState::kWarm},
       {"cold", CacheState::kCold}}};
  if (given(pattern, "cache")) return pattern.choice("cache", kStates);
  return work.direct ? CacheState::kCold : CacheState::kWarm;
}

std::string read_require(Reader& pattern) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kWays{
      {{"p2p", "p2p"}, {"nvfs", "nvfs"}, {"gpudirect", "gpudirect"}, {"odirect", "odirect"}}};
  return given(pattern, "require") ? std::string(pattern.choice("require", kWays)) : "";
}

IoWork read_work(Reader& pattern) {
  IoWork work{};
  work.pattern = read_pattern(pattern);
  work.backend = read_backend(pattern);
  work.direct = flag(pattern, "direct", true);
  work.depth = static_cast<std::uint32_t>(number(pattern, "depth", 1, kMaxDepth, 1));
  work.batch = given(pattern, "batch")
                   ? static_cast<std::uint32_t>(pattern.integer("batch", 1, kMaxDepth))
                   : work.depth;
  work.registered = flag(pattern, "registered");
  work.sqpoll = flag(pattern, "sqpoll");
  work.iopoll = flag(pattern, "iopoll");
  work.fsync = static_cast<std::uint64_t>(number(pattern, "fsync", 0, kMaxCount, 0));
  work.fdatasync = static_cast<std::uint64_t>(number(pattern, "fdatasync", 0, kMaxCount, 0));
  work.end_fsync = flag(pattern, "end_fsync");
  work.refill = flag(pattern, "refill");
  work.compressible = static_cast<int>(number(pattern, "compressible", 0, 100, 0));
  if (given(pattern, "amount")) {
    work.amount = static_cast<std::uint64_t>(pattern.integer("amount", kMinBlock, kMaxBytes));
  }
  work.time_limit_s = given(pattern, "time_limit_s") ? pattern.positive("time_limit_s", kMaxSeconds)
                                                     : std::numeric_limits<double>::infinity();
  work.ramp_s = given(pattern, "ramp_s") ? pattern.not_negative("ramp_s", kMaxSeconds) : 0;
  work.verify = flag(pattern, "verify");
  work.require = read_require(pattern);
  read_cufile_setting(pattern, work);
  work.cache = read_cache(pattern, work);
  check_work(pattern, work);
  return work;
}

// Of a file that several hosts use, each writes a region of its own; all of them read all of it,
// from different places on. Random offsets and data differ from host to host.
void take_part(Reader& pattern, IoJobSpec& job) {
  const CommonFile& common = job.files.common;
  if (common.parts == 1) return;
  IoPattern& found = job.work.pattern;
  const auto part = static_cast<std::uint64_t>(common.part);
  const auto parts = static_cast<std::uint64_t>(common.parts);
  constexpr std::uint64_t kSeeds = 1'000'003;  // More than a host has threads.
  found.seed += kSeeds * part;
  if (!found.writes()) return;
  const std::uint64_t size = job.files.size;
  const std::uint64_t step =
      std::max({found.align, std::uint64_t{found.largest_block()}, std::uint64_t{kCellBytes}});
  const std::uint64_t range =
      std::min(found.range.value_or(size), size - std::min(size, found.offset));
  const std::uint64_t own = range / parts / step * step;
  const std::uint64_t gap = (found.misalign + step - 1) / step * step;  // Blocks end so much later.
  if (own <= gap) {
    throw pattern.error("block_size", fmt::format("a region of each of {} hosts in {} bytes holds "
                                                  "no block of {}",
                                                  parts, range, step));
  }
  found.offset += part * own;
  found.range = own - gap;
}

IoJobSpec read_job(Reader job) {
  IoJobSpec found;
  found.name = job.has("name") ? job.text("name") : "";
  found.cpus = read_cpus(job);
  found.buffers = read_io_buffers(job.object("buffers"));
  found.files = read_files(job.object("files"));
  found.shared = flag(job, "shared");
  const bool made = found.files.kind != TargetSpec::Kind::kDevice;
  const auto count = static_cast<std::size_t>(found.files.count);
  if (made && !found.shared && count != 1 && count != found.cpus.size()) {
    throw job.error("files", "there is one, or one for each thread, unless they are shared");
  }
  found.own = given(job, "pattern");
  if (found.own) {
    Reader pattern = job.object("pattern");
    found.work = read_work(pattern);
    found.work.threads = found.cpus.size();
    pattern.finish();
  }
  job.finish();
  return found;
}

}  // namespace

IoBuffers read_io_buffers(ObjectReader buffers) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kMemories{
      {{"host", "host"},
       {"device", "device"},
       {"vmm", "vmm"},
       {"pinned", "pinned"},
       {"plain", "plain"},
       {"managed", "managed"}}};
  IoBuffers found;
  found.memory = buffers.has("memory") ? buffers.choice("memory", kMemories) : "host";
  if (given(buffers, "placement")) found.placement = read_placement(buffers);
  if (given(buffers, "gpu")) found.gpu = static_cast<int>(buffers.integer("gpu", 0, kMaxNode));
  if ((found.memory == "host") != found.placement.has_value()) {
    throw buffers.error("placement", "goes with memory host, and only with it");
  }
  if (found.memory != "host" && found.gpu < 0) {
    throw buffers.error("gpu", "is missing: memory " + found.memory + " needs one");
  }
  buffers.finish();
  return found;
}

std::vector<int> read_cpus(ObjectReader& measurement) {
  std::vector<int> cpus;
  for (const nlohmann::json& cpu : measurement.array("cpus", kMaxThreads)) {
    if (!cpu.is_number_integer() || cpu.get<std::int64_t>() < 0 ||
        cpu.get<std::int64_t>() > kMaxCpu) {
      throw measurement.error("cpus", cpu.dump() + " is no number of a CPU");
    }
    cpus.push_back(cpu.get<int>());
  }
  return cpus;
}

const BackendKind* read_backend(ObjectReader& pattern) {
  const std::string name = pattern.has("backend") ? pattern.text("backend") : "posix";
  const std::span<const BackendKind> kinds = backend_kinds();
  const auto found = std::ranges::find(kinds, name, &BackendKind::name);
  if (found == kinds.end()) throw pattern.error("backend", "'" + name + "' is no backend");
  return &*found;
}

IoSpec read_io_spec(ObjectReader& measurement) {
  IoSpec spec{};
  spec.sampling = read_sampling(measurement);
  for (const nlohmann::json& job : measurement.array("jobs", kMaxJobs)) {
    spec.jobs.push_back(
        read_job(Reader(job, fmt::format("{}.jobs[{}]", measurement.where(), spec.jobs.size()))));
  }
  Reader pattern = measurement.object("pattern");
  spec.work = read_work(pattern);
  for (const IoJobSpec& job : spec.jobs) {
    if (!job.own) spec.work.threads += job.cpus.size();
  }
  for (IoJobSpec& job : spec.jobs) {
    if (job.own) {
      check_together(pattern, spec.work, job.work);
    } else {
      job.work = spec.work;
    }
    check_job(pattern, job);
    take_part(pattern, job);
  }
  pattern.finish();
  check_series(measurement, spec, read_series(measurement));
  return spec;
}

}  // namespace tierscope
