// The cost of having memory: map, populate page by page or all at once, unmap.
#include <fmt/format.h>
#include <numaif.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "memory/numa_policy.h"
#include "memory/read_back.h"
#include "memory/requirements.h"
#include "memory/system_memory.h"
#include "protocol/plan_parts.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

struct MappingSpec {
  int cpu;
  Placement placement;  // Bind or interleave.
  SamplingRule sampling;
  bool shared;
  std::size_t size;  // Whole pages.
  Pages pages;
  bool at_once;  // Populated by one call, as MAP_POPULATE does it; else by a write to each page.
};

// Seconds of each phase of one cycle.
struct Phases {
  double map;
  double populate;
  double unmap;
};

// Where the next mapping fits so that huge pages can back all of it: kernels align not every
// mapping to huge pages by themselves.
std::byte* aligned_place(std::size_t bytes, std::size_t page) {
  void* const room =
      mmap(nullptr, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  munmap(room, bytes + page);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(room) % page;
  return static_cast<std::byte*>(room) + (beyond == 0 ? 0 : page - beyond);
}

std::byte* map(const MappingSpec& spec, std::size_t page, std::byte* place) {
  constexpr int kHugetlbSizeShift = 26;  // MAP_HUGE_SHIFT
  int flags = MAP_ANONYMOUS | (spec.shared ? MAP_SHARED : MAP_PRIVATE);
  if (is_hugetlb(spec.pages)) {
    flags |= MAP_HUGETLB | (std::countr_zero(page) << kHugetlbSizeShift);
  }
  void* const start = mmap(place, spec.size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (start == MAP_FAILED) {
    throw Unavailable(
        Cause::kMemory,
        fmt::format("{} cannot be mapped: {}", size_text(spec.size), std::strerror(errno)),
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

void touch_pages(const MappingSpec& spec, std::size_t page, std::byte* start) {
  const std::size_t step = is_hugetlb(spec.pages) ? page : base_page_bytes();
  for (std::size_t offset = 0; offset < spec.size; offset += step) {
    *reinterpret_cast<volatile char*>(start + offset) = 1;
  }
}

// MAP_POPULATE comes before a policy and before advice; this makes the same pages after them.
void populate_at_once(const MappingSpec& spec, std::byte* start) {
  while (madvise(start, spec.size, kPopulateWrite) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL) {
      throw Unavailable(Cause::kKernel, "this kernel has no MADV_POPULATE_WRITE (Linux 5.14)",
                        "--populate touch measures page by page");
    }
    throw Unavailable(
        Cause::kMemory,
        fmt::format("{} cannot be populated: {}", size_text(spec.size), std::strerror(errno)),
        "ask for a smaller size");
  }
}

// Throws Unavailable where the kernel backs the mapping by other pages than were asked for: it
// gives base pages where it finds no free huge one, and huge ones where its settings force it to.
void verify_pages(const MappingSpec& spec, std::size_t huge) {
  if (is_hugetlb(spec.pages) || huge == (spec.pages == Pages::kThp ? spec.size : 0)) return;
  const std::string found = fmt::format("transparent huge pages back {} of the {} mapped",
                                        size_text(huge), size_text(spec.size));
  if (spec.pages == Pages::kThp) {
    throw Unavailable(Cause::kPages, found, "echo 1 | sudo tee /proc/sys/vm/compact_memory");
  }
  throw Unavailable(Cause::kPages, found + ", where base pages were asked for",
                    fmt::format("echo advise | sudo tee {}/shmem_enabled", kThpDirectory));
}

// One cycle. `report` is where the pages were, read back before they went.
Phases measure_once(const MappingSpec& spec, std::size_t page, RegionReport& report) {
  std::byte* const place = spec.pages == Pages::kThp ? aligned_place(spec.size, page) : nullptr;
  const double begin = now_seconds();
  std::byte* const start = map(spec, page, place);
  const double mapped = now_seconds();
  prepare(spec, start);
  const double prepared = now_seconds();
  if (spec.at_once) {
    populate_at_once(spec, start);
  } else {
    touch_pages(spec, page, start);
  }
  const double populated = now_seconds();
  report = count_pages(start, spec.size, page);
  if (!is_hugetlb(spec.pages)) report.huge_bytes = huge_bytes(start, spec.size);
  const double read_back = now_seconds();
  munmap(start, spec.size);
  return {
      .map = mapped - begin, .populate = populated - prepared, .unmap = now_seconds() - read_back};
}

void verify_nodes(const MappingSpec& spec, const RegionReport& report) {
  for (const auto& [node, count] : report.pages) {
    const bool asked = std::ranges::any_of(
        spec.placement.nodes, [node = node](const NodeShare& share) { return share.node == node; });
    if (!asked) {
      throw Failure(fmt::format("{} pages are on node {}, which was not asked for", count, node),
                    Cause::kPlacement);
    }
  }
}

class MappingCycles : public State {
 public:
  explicit MappingCycles(const MappingSpec& spec) : spec_(spec) {}

  void open(Leases& leases) override {
    require_memory(spec_.size, spec_.pages, spec_.placement, spec_.shared);
    page_ = page_bytes(spec_.pages);
    if (spec_.size % page_ != 0) {
      throw Failure(
          fmt::format("{} bytes are not a whole number of pages of {} bytes", spec_.size, page_));
    }
    team_ = &leases.team(std::array{spec_.cpu});
  }

  std::vector<Series> series() override {
    std::vector<Column> columns{{.metric = "time_per_page", .part = ""},
                                {.metric = "map", .part = ""}};
    if (!spec_.at_once) columns.push_back({.metric = "populate_per_page", .part = ""});
    columns.push_back({.metric = "unmap_per_page", .part = ""});
    return {{.name = "cycles",
             .columns = std::move(columns),
             .take = [this] { return take(); },
             .watched_cpus = {spec_.cpu},
             .distributions = {{.metric = "map_latency", .part = ""},
                               {.metric = "unmap_latency", .part = ""}}}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    nlohmann::ordered_json by_node = nlohmann::ordered_json::object();
    for (const auto& [node, count] : report_.pages) by_node[std::to_string(node)] = count;
    evidence["pages"] = by_node;
    evidence["page_bytes"] = report_.page_bytes;
    if (!is_hugetlb(spec_.pages)) evidence["huge_bytes"] = report_.huge_bytes;
    evidence["region_bytes"] = spec_.size;
    evidence["cpus"] = {last_cpu_};
  }

 private:
  Sample take() {
    Sample sample{};
    team_->run([&](int) {
      const LostTime lost;
      sample.start_s = now_seconds();
      const Phases phases = measure_once(spec_, page_, report_);
      const double total = phases.map + phases.populate + phases.unmap;
      const double pages = static_cast<double>(spec_.size) / static_cast<double>(page_);
      sample.duration_s = total;
      sample.values = {total * 1e9 / pages};
      if (spec_.at_once) {
        sample.values.push_back((phases.map + phases.populate) * 1e9);
      } else {
        sample.values.push_back(phases.map * 1e9);
        sample.values.push_back(phases.populate * 1e9 / pages);
      }
      sample.values.push_back(phases.unmap * 1e9 / pages);
      sample.histograms = {one_of(phases.map + phases.populate), one_of(phases.unmap)};
      sample.lost_share = lost.share();
      last_cpu_ = sched_getcpu();
    });
    verify_nodes(spec_, report_);
    verify_pages(spec_, report_.huge_bytes);
    return sample;
  }

  static BucketCounts one_of(double seconds) {
    const auto ns = static_cast<std::uint64_t>(std::llround(seconds * 1e9));
    return {{Histogram::bucket_of(ns), 1}};
  }

  MappingSpec spec_;
  std::size_t page_ = 0;
  Team* team_ = nullptr;
  RegionReport report_;  // Of the last cycle, before its pages went.
  int last_cpu_ = -1;
};

}  // namespace

MakeState parse_mapping(const ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kSharing{
      {{"private", false}, {"shared", true}}};
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kPopulate{
      {{"touch", false}, {"call", true}}};
  MappingSpec spec{};
  spec.cpu = measurement.integer<int>("cpu");
  spec.placement = read_placement(measurement, "placement");
  spec.sampling = read_sampling(measurement);
  const ObjectReader pattern = measurement.object("pattern");
  spec.shared = pattern.choice("sharing", kSharing);
  spec.size = pattern.bytes("size");
  spec.pages = read_pages(pattern);
  spec.at_once = pattern.choice("populate", kPopulate);
  return [spec] { return std::make_unique<MappingCycles>(spec); };
}

}  // namespace tierscope
