#include "kinds/io_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kinds/io_checks.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

using Reader = ObjectReader;

CommonFile read_common(const Reader& common) {
  return {.name = common.text("name"),
          .part = common.integer<int>("part"),
          .parts = common.integer<int>("parts"),
          .wait_s = common.has("wait_s") ? common.number("wait_s") : 0};
}

TargetSpec read_device(const Reader& files) {
  TargetSpec target;
  target.kind = TargetSpec::Kind::kDevice;
  target.path = files.text("device");
  target.destroy = files.text("destroy");
  target.second_word = files.text("second_word");
  target.purge = files.boolean("purge");
  if (files.has("size")) target.size = files.integer<std::uint64_t>("size");
  return target;
}

TargetSpec read_files(const Reader& files) {
  if (files.has("device")) return read_device(files);
  TargetSpec target;
  const bool owned = files.has("directory");
  target.kind = owned ? TargetSpec::Kind::kOwned : TargetSpec::Kind::kPath;
  target.path = files.text(owned ? "directory" : "path");
  target.count = files.integer<int>("count");
  target.keep = files.boolean("keep");
  target.large = files.boolean("large");
  if (files.has("size")) target.size = files.integer<std::uint64_t>("size");
  if (owned) {
    target.stem = files.text("stem");
    return target;
  }
  target.create = files.boolean("create");
  target.overwrite = files.boolean("overwrite");
  if (files.has("common")) target.common = read_common(files.object("common"));
  return target;
}

std::vector<BlockShare> read_shares(const Reader& pattern, std::string_view key) {
  std::vector<BlockShare> found;
  for (const Reader& block : pattern.objects(key)) {
    found.push_back({.bytes = block.integer<std::uint32_t>("bytes"),
                     .weight = block.integer<std::uint32_t>("weight")});
  }
  return found;
}

void read_blocks(const Reader& pattern, IoPattern& found) {
  found.blocks = read_shares(pattern, "blocks");
  found.write_blocks = read_shares(pattern, "write_blocks");
  if (found.blocks.empty()) {
    found.blocks = {{.bytes = pattern.integer<std::uint32_t>("block_size"), .weight = 1}};
  }
}

void read_distribution(const Reader& distribution, IoPattern& found) {
  if (distribution.has("pareto")) {
    found.order = IoOrder::kPareto;
    found.skew = distribution.number("pareto");
  } else if (distribution.has("normal")) {
    found.order = IoOrder::kNormal;
    found.skew = distribution.number("normal");
  } else {
    found.order = IoOrder::kZoned;
    for (const Reader& zone : distribution.objects("zones")) {
      found.zones.push_back({.accesses = zone.number("accesses"), .size = zone.number("size")});
    }
  }
}

void read_order(const Reader& pattern, IoPattern& found) {
  if (pattern.has("distribution")) read_distribution(pattern.object("distribution"), found);
  if (pattern.has("zipf")) found.skew = pattern.number("zipf");
  found.stride = pattern.integer<std::int64_t>("stride");
  found.run = pattern.integer<std::uint32_t>("run");
  found.same = pattern.boolean("same");
  found.random_percent = pattern.integer<int>("random_percent");
  found.by_turns = pattern.boolean("by_turns");
  if (!pattern.has("strided")) return;
  const Reader strided = pattern.object("strided");
  found.strided = StridedZones{.bytes = strided.integer<std::uint64_t>("bytes"),
                               .range = strided.integer<std::uint64_t>("range"),
                               .skip = strided.integer<std::uint64_t>("skip")};
}

void read_pauses(const Reader& pattern, IoWork& work) {
  work.delay_s = pattern.number("delay_s");
  if (pattern.has("think")) {
    const Reader think = pattern.object("think");
    work.think_every = think.integer<std::uint64_t>("every");
    work.think_s = think.number("pause_s");
    work.think_spin_s = think.number("spin_s");
  }
  if (!pattern.has("search")) return;
  const Reader search = pattern.object("search");
  work.search = DepthSearchRule{.target_s = search.number("target_s"),
                                .percent = search.number("percent"),
                                .window_s = search.number("window_s")};
}

IoPriority read_priority(const Reader& priority) {
  static constexpr std::array<std::pair<std::string_view, int>, 4> kClasses{
      {{"none", 0}, {"realtime", 1}, {"best-effort", 2}, {"idle", 3}}};
  return io_priority(priority.choice("io_class", kClasses), priority.integer<int>("level"));
}

void read_priorities(const Reader& pattern, IoWork& work) {
  if (pattern.has("priority")) work.priority = read_priority(pattern.object("priority"));
  for (const Reader& one : pattern.objects("command_priorities")) {
    work.command_priorities.push_back(
        {.write = one.text("of") == "writes",
         .bytes = one.has("bytes") ? one.integer<std::uint32_t>("bytes") : 0,
         .percent = one.integer<int>("percent"),
         .priority = read_priority(one)});
  }
}

// Pairs of hexadecimal digits.
std::string read_bytes(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

IoPattern read_pattern(const Reader& pattern) {
  static constexpr std::array<std::pair<std::string_view, IoOperation>, 3> kOperations{
      {{"read", IoOperation::kRead}, {"write", IoOperation::kWrite}, {"mix", IoOperation::kMix}}};
  static constexpr std::array<std::pair<std::string_view, IoOrder>, 3> kOrders{
      {{"sequential", IoOrder::kSequential},
       {"random", IoOrder::kRandom},
       {"zipf", IoOrder::kZipf}}};
  IoPattern found{};
  found.operation = pattern.choice("operation", kOperations);
  found.order = pattern.choice("order", kOrders);
  if (pattern.has("read_percent")) found.read_percent = pattern.integer<int>("read_percent");
  read_order(pattern, found);
  read_blocks(pattern, found);
  found.align =
      pattern.has("align") ? pattern.integer<std::uint64_t>("align") : found.smallest_block();
  found.misalign = pattern.integer<std::uint64_t>("misalign");
  found.offset = pattern.integer<std::uint64_t>("offset");
  if (pattern.has("range")) found.range = pattern.integer<std::uint64_t>("range");
  if (pattern.has("rate")) found.rate = pattern.number("rate");
  if (pattern.has("write_rate")) found.write_rate = pattern.number("write_rate");
  found.poisson = pattern.has("arrivals") && pattern.text("arrivals") == "poisson";
  found.seed = pattern.integer<std::uint64_t>("seed");
  return found;
}

// Absent: what the figure is about, the drive or the page cache.
CacheState read_cache(const Reader& pattern, bool direct) {
  static constexpr std::array<std::pair<std::string_view, CacheState>, 3> kStates{
      {{"as-found", CacheState::kAsFound},
       {"warm", CacheState::kWarm},
       {"cold", CacheState::kCold}}};
  if (pattern.has("cache")) return pattern.choice("cache", kStates);
  return direct ? CacheState::kCold : CacheState::kWarm;
}

IoWork read_work(const Reader& pattern) {
  IoWork work{};
  work.pattern = read_pattern(pattern);
  work.backend = read_backend(pattern);
  work.direct = pattern.boolean("direct");
  work.depth = pattern.integer<std::uint32_t>("depth");
  work.batch = pattern.has("batch") ? pattern.integer<std::uint32_t>("batch") : work.depth;
  work.pages = read_pages(pattern);
  const std::string only = pattern.has("register_only") ? pattern.text("register_only") : "";
  work.registered_buffers = pattern.boolean("registered") && only != "files";
  work.registered_files = pattern.boolean("registered") && only != "buffers";
  work.sqpoll = pattern.boolean("sqpoll");
  work.iopoll = pattern.boolean("iopoll");
  work.non_temporal = pattern.boolean("non_temporal");
  work.drain = pattern.boolean("drain");
  work.fsync = pattern.integer<std::uint64_t>("fsync");
  work.fdatasync = pattern.integer<std::uint64_t>("fdatasync");
  work.end_fsync = pattern.boolean("end_fsync");
  work.refill = pattern.boolean("refill");
  work.compressible = pattern.integer<int>("compressible");
  if (pattern.has("duplicates")) {
    const Reader duplicates = pattern.object("duplicates");
    work.duplicates = DuplicatesRule{
        .percent = duplicates.integer<int>("percent"),
        .working_set =
            duplicates.has("working_set") ? duplicates.integer<std::uint64_t>("working_set") : 0,
        .stream = duplicates.integer<std::uint32_t>("stream"),
        .streams = duplicates.integer<std::uint32_t>("streams")};
  }
  if (pattern.has("fill")) work.fill = read_bytes(pattern.text("fill"));
  if (pattern.has("amount")) work.amount = pattern.integer<std::uint64_t>("amount");
  work.time_limit_s = pattern.has("time_limit_s") ? pattern.number("time_limit_s")
                                                  : std::numeric_limits<double>::infinity();
  work.ramp_s = pattern.has("ramp_s") ? pattern.number("ramp_s") : 0;
  read_pauses(pattern, work);
  read_priorities(pattern, work);
  work.verify = pattern.boolean("verify");
  if (pattern.has("require")) work.require = pattern.text("require");
  work.cache = read_cache(pattern, work.direct);
  return work;
}

// Of a file that several hosts use, each writes a region of its own; all of them read all of it,
// from different places on. Random offsets and data differ from host to host.
void take_part(const Reader& pattern, IoJobSpec& job) {
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

IoJobSpec read_job(const Reader& job) {
  IoJobSpec found;
  found.name = job.text("name");
  found.threads = read_threads(job);
  found.buffers = read_io_buffers(job.object("buffers"));
  found.files = read_files(job.object("files"));
  found.shared = job.boolean("shared");
  const bool made = found.files.kind != TargetSpec::Kind::kDevice;
  const auto count = static_cast<std::size_t>(found.files.count);
  job.check(tables::kIoJobFiles,
            !made || found.shared || count == 1 || count == found.threads.size());
  if (job.has("group")) found.group = job.integer<int>("group");
  if (job.has("ends")) found.ends = job.text("ends");
  if (job.has("flow")) {
    const Reader flow = job.object("flow");
    found.flow = flow.integer<int>("number");
    found.flow_weight = flow.integer<std::uint64_t>("weight");
    found.flow_sleep_s = flow.number("sleep_s");
  }
  found.own = job.has("pattern");
  if (found.own) {
    found.work = read_work(job.object("pattern"));
    found.work.threads = found.threads.size();
  }
  return found;
}

SteadyRule read_steady(const Reader& steady) {
  static constexpr std::array<std::pair<std::string_view, SteadyRule::Figure>, 3> kFigures{
      {{"iops", SteadyRule::Figure::kIops},
       {"bandwidth", SteadyRule::Figure::kBandwidth},
       {"latency", SteadyRule::Figure::kLatency}}};
  return {.figure = steady.choice("figure", kFigures),
          .slope = steady.boolean("slope"),
          .limit = steady.number("limit"),
          .of_the_mean = steady.boolean("of_the_mean"),
          .duration_s = steady.number("duration_s"),
          .ramp_s = steady.number("ramp_s")};
}

}  // namespace

IoBuffers read_io_buffers(const ObjectReader& buffers) {
  IoBuffers found;
  found.memory = buffers.text("memory");
  if (buffers.has("placement")) found.placement = read_placement(buffers, "placement");
  if (buffers.has("gpu")) found.gpu = buffers.integer<int>("gpu");
  return found;
}

const BackendKind* read_backend(const ObjectReader& pattern) {
  std::vector<std::pair<std::string_view, const BackendKind*>> names;
  for (const BackendKind& one : backend_kinds()) names.emplace_back(one.name, &one);
  return pattern.choice("backend", names);
}

IoSpec read_io_spec(const ObjectReader& measurement) {
  IoSpec spec{};
  spec.sampling = read_sampling(measurement);
  for (const Reader& job : measurement.objects("jobs")) spec.jobs.push_back(read_job(job));
  const Reader pattern = measurement.object("pattern");
  spec.work = read_work(pattern);
  spec.own_ends = measurement.boolean("own_ends");
  if (measurement.has("ends_steady")) {
    spec.steady = read_steady(measurement.object("ends_steady"));
  }
  for (const IoJobSpec& job : spec.jobs) {
    if (!job.own) spec.work.threads += job.threads.size();
  }
  for (IoJobSpec& job : spec.jobs) {
    if (job.own) {
      check_together(measurement, spec, job.work);
    } else {
      job.work = spec.work;
    }
    check_job(measurement, spec, job);
    take_part(pattern, job);
  }
  check_series(measurement, spec);
  return spec;
}

}  // namespace tierscope
