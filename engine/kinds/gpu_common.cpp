#include "kinds/gpu_common.h"

#include "protocol/plan_parts.h"

namespace tierscope {

GpuCommon read_gpu_common(const ObjectReader& measurement) {
  return {.cpus = measurement.integers("cpus"),
          .sample_s = read_sampling(measurement).sample_s,
          .trace = measurement.boolean("trace")};
}

MemoryPlace read_memory_place(const ObjectReader& reader, std::string_view key) {
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kWheres{
      {{"host", true}, {"gpu", false}}};
  static constexpr std::array<std::pair<std::string_view, HostKind>, 7> kKinds{
      {{"pinned", HostKind::kPinned},
       {"write-combined", HostKind::kWriteCombined},
       {"registered", HostKind::kRegistered},
       {"pageable", HostKind::kPageable},
       {"managed", HostKind::kManaged},
       {"managed-prefetch", HostKind::kManagedPrefetch},
       {"managed-advised", HostKind::kManagedAdvised}}};
  const ObjectReader place = reader.object(key);
  MemoryPlace found;
  if (place.choice("where", kWheres)) {
    found.kind = place.choice("memory", kKinds);
    found.placement = read_placement(place, "placement");
    found.pages = read_pages(place);
  } else {
    found.gpu = place.integer<int>("gpu");
  }
  return found;
}

CopyEngine read_copy_engine(const ObjectReader& transfer) {
  static constexpr std::array<std::pair<std::string_view, CopyEngine>, 3> kEngines{
      {{"ce", CopyEngine::kCopyEngine},
       {"sm", CopyEngine::kMultiprocessors},
       {"tma", CopyEngine::kBulk}}};
  return transfer.choice("engine", kEngines);
}

}  // namespace tierscope
