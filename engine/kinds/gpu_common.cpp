#include "kinds/gpu_common.h"

#include "protocol/plan_parts.h"

namespace tierscope {

GpuCommon read_gpu_common(ObjectReader& measurement) {
  return {.cpus = measurement.distinct_integers("cpus", 0, kMaxCpu, kMaxThreads),
          .sample_s = read_sampling(measurement).sample_s,
          .trace = measurement.has("trace") && measurement.boolean("trace")};
}

MemoryPlace read_memory_place(ObjectReader& reader, std::string_view key) {
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
  ObjectReader place = reader.object(key);
  MemoryPlace found;
  if (place.choice("where", kWheres)) {
    found.kind = place.choice("memory", kKinds);
    found.placement = read_placement(place);
    found.pages = place.has("pages") ? place.choice("pages", kPagesNames) : Pages::kBase;
    const bool ordinary = found.kind == HostKind::kPageable || found.kind == HostKind::kRegistered;
    if (!ordinary && found.pages != Pages::kBase) {
      throw place.error("pages", "only pageable and registered memory has a choice of pages");
    }
    if (!ordinary && found.placement.policy != Policy::kBind) {
      throw place.error("placement", "only pageable and registered memory spans several nodes");
    }
  } else {
    found.gpu = static_cast<int>(place.integer("gpu", 0, kMaxGpu));
  }
  place.finish();
  return found;
}

CopyEngine read_copy_engine(ObjectReader& transfer) {
  static constexpr std::array<std::pair<std::string_view, CopyEngine>, 3> kEngines{
      {{"ce", CopyEngine::kCopyEngine},
       {"sm", CopyEngine::kMultiprocessors},
       {"tma", CopyEngine::kBulk}}};
  return transfer.choice("engine", kEngines);
}

int read_streams(ObjectReader& transfer) {
  constexpr int kMaxStreams = 64;
  return transfer.has("streams") ? static_cast<int>(transfer.integer("streams", 1, kMaxStreams))
                                 : 1;
}

}  // namespace tierscope
