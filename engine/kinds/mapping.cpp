// The cost of having memory: map, populate page by page, unmap.
#include <fmt/format.h>
#include <numaif.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "benches/evidence.h"
#include "benches/kinds.h"
#include "benches/memory_spec.h"
#include "benches/workspace.h"
#include "errors.h"
#include "memory/numa_policy.h"
#include "memory/read_back.h"
#include "memory/requirements.h"
#include "memory/system_memory.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

struct MappingSpec {
  int cpu;
  Placement placement;  // Bind or interleave.
  SamplingRule sampling;
  bool shared;
  std::size_t size;  // Whole pages.
  Pages pages;
};

// Seconds of each phase of one sample.
struct Phases {
  double map;
  double populate;
  double unmap;
};

bool is_hugetlb(Pages pages) { return pages == Pages::kHuge2M || pages == Pages::kHuge1G; }

std::byte* map(const MappingSpec& spec, std::size_t page) {
  constexpr int kHugetlbSizeShift = 26;  // MAP_HUGE_SHIFT
  int flags = MAP_ANONYMOUS | (spec.shared ? MAP_SHARED : MAP_PRIVATE);
  if (is_hugetlb(spec.pages)) {
    flags |= MAP_HUGETLB | (std::countr_zero(page) << kHugetlbSizeShift);
  }
  void* const start = mmap(nullptr, spec.size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (start == MAP_FAILED) {
    throw Unavailable(fmt::format("{} bytes cannot be mapped: {}", spec.size, std::strerror(errno)),
                      "ask for a smaller size, or look at `ulimit -v` and hugetlb reservations");
  }
  return static_cast<std::byte*>(start);
}

// What the kernel has to know of the range before pages come; it belongs to no phase.
void prepare(const MappingSpec& spec, std::byte* start) {
  if (!is_hugetlb(spec.pages)) {
    const int advice = spec.pages == Pages::kThp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
    madvise(start, spec.size, advice);  // A kernel without huge pages refuses; then none come.
  }
  std::vector<int> nodes;
  for (const NodeShare& share : spec.placement.nodes) nodes.push_back(share.node);
  const int mode = spec.placement.policy == Policy::kBind ? MPOL_BIND : MPOL_INTERLEAVE;
  set_range_policy(start, spec.size, mode, nodes);
}

// One sample. `report` is where the pages were, read back before they went.
Phases measure_once(const MappingSpec& spec, std::size_t page, RegionReport& report) {
  const std::size_t base = base_page_bytes();
  const double begin = now_seconds();
  std::byte* const start = map(spec, page);
  const double mapped = now_seconds();
  prepare(spec, start);
  const double prepared = now_seconds();
  const std::size_t step = is_hugetlb(spec.pages) ? page : base;
  for (std::size_t offset = 0; offset < spec.size; offset += step) {
    *reinterpret_cast<volatile char*>(start + offset) = 1;
  }
  const double populated = now_seconds();
  report = count_pages(start, spec.size, step);
  const double read_back = now_seconds();
  munmap(start, spec.size);
  return {
      .map = mapped - begin, .populate = populated - prepared, .unmap = now_seconds() - read_back};
}

Figure figure_of(const char* metric, const std::vector<double>& seconds, double divisor) {
  const Estimate estimate = estimate_median(seconds);
  return {.metric = metric,
          .unit = "ns",
          .estimate = estimate.median * 1e9 / divisor,
          .low = estimate.low * 1e9 / divisor,
          .high = estimate.high * 1e9 / divisor};
}

void verify_nodes(const MappingSpec& spec, const RegionReport& report) {
  for (const auto& [node, count] : report.pages) {
    const bool asked = std::ranges::any_of(
        spec.placement.nodes, [node = node](const NodeShare& share) { return share.node == node; });
    if (!asked) throw Failure(fmt::format("{} pages came to node {}, not asked for", count, node));
  }
}

Outcome measure(const MappingSpec& spec, Workspace& workspace, const Progress& progress) {
  require_memory(spec.size, spec.pages, spec.placement);
  const std::size_t page = page_bytes(spec.pages);
  if (spec.size % page != 0) {
    throw Failure(fmt::format("{} bytes are no whole number of pages of {}", spec.size, page));
  }
  const std::array<int, 1> cpu{spec.cpu};
  Team& team = workspace.team(cpu);
  workspace.lend({}, team);  // What earlier measurements left would take the room.

  DisturbanceWatch watch({spec.cpu});
  RegionReport report;
  int last_cpu = -1;
  std::vector<double> maps, populates, unmaps;
  const double pages = static_cast<double>(spec.size) / static_cast<double>(page);
  const auto sample = [&] {
    Phases phases{};
    double lost_share = 0;
    team.run([&](int) {
      const LostTime lost;
      phases = measure_once(spec, page, report);
      lost_share = lost.share();
      last_cpu = sched_getcpu();
    });
    verify_nodes(spec, report);
    watch.note(lost_share);
    maps.push_back(phases.map);
    populates.push_back(phases.populate);
    unmaps.push_back(phases.unmap);
    return (phases.map + phases.populate + phases.unmap) * 1e9 / pages;
  };
  Outcome outcome{
      .metric = "time_per_page",
      .unit = "ns",
      .sampled = take_samples(spec.sampling, sample, real_surroundings(progress, &watch)),
      .figures = {},
      .evidence = {}};
  if (outcome.sampled.samples.empty()) return outcome;
  outcome.figures = {figure_of("map", maps, 1), figure_of("populate_per_page", populates, pages),
                     figure_of("unmap_per_page", unmaps, pages)};
  nlohmann::ordered_json by_node = nlohmann::ordered_json::object();
  for (const auto& [node, count] : report.pages) by_node[std::to_string(node)] = count;
  outcome.evidence = {{"pages", by_node},
                      {"page_bytes", report.page_bytes},
                      {"region_bytes", spec.size},
                      {"cpus", {last_cpu}}};
  add_sampling_evidence(outcome.evidence, outcome.sampled, watch);
  return outcome;
}

}  // namespace

Job parse_mapping(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kSharing{
      {{"private", false}, {"shared", true}}};
  MappingSpec spec{};
  spec.cpu = static_cast<int>(measurement.integer("cpu", 0, kHighestCpu));
  spec.placement = read_placement(measurement);
  spec.sampling = read_sampling(measurement);
  if (spec.placement.policy != Policy::kBind && spec.placement.policy != Policy::kInterleave) {
    throw measurement.error("placement", "has to be bind or interleave");
  }
  ObjectReader pattern = measurement.object("pattern");
  spec.shared = pattern.has("sharing") && pattern.choice("sharing", kSharing);
  spec.size = pattern.bytes("size");
  spec.pages = pattern.has("pages") ? pattern.choice("pages", kPagesNames) : Pages::kThp;
  pattern.finish();
  return [spec](Workspace& workspace, const Progress& progress) {
    return measure(spec, workspace, progress);
  };
}

}  // namespace tierscope
