#include "kinds/kv_cache_spec.h"

#include <array>

#include "protocol/constants.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

void read_kv_cache_pattern(const ObjectReader& pattern, KvCacheSpec& spec) {
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kOperations{
      {{"fetch", true}, {"store", false}}};
  static constexpr std::array<std::pair<std::string_view, PieceMethod>, 4> kMethods{
      {{"memcpy", PieceMethod::kMemcpy},
       {"copy-engine", PieceMethod::kCopyEngine},
       {"batch", PieceMethod::kBatch},
       {"kernel", PieceMethod::kKernel}}};
  spec.fetch = pattern.choice("operation", kOperations);
  spec.piece = pattern.bytes("piece");
  spec.pieces = pattern.integer<std::size_t>("pieces");
  spec.objects = pattern.integer<std::size_t>("objects");
  spec.pages = read_pages(pattern);
  spec.method = pattern.choice("method", kMethods);
  spec.multiprocessors = pattern.integer<int>("multiprocessors");
  spec.backend = read_backend(pattern);
  spec.direct = pattern.boolean("direct");
  spec.depth = pattern.integer<std::size_t>("depth");
  spec.seed = pattern.integer<std::uint64_t>("seed");
}

}  // namespace

std::size_t KvCacheSpec::stride() const {
  constexpr std::size_t kPage = 4096;
  return (object_bytes() + kPage - 1) / kPage * kPage;
}

KvCacheSpec read_kv_cache_spec(const ObjectReader& measurement) {
  constexpr std::size_t kLargestObject = std::size_t{1} << 30;
  KvCacheSpec spec{};
  spec.sampling = read_sampling(measurement);
  spec.cpus = measurement.integers("cpus");
  spec.pool = read_io_buffers(measurement.object("pool"));
  spec.placement = read_placement(measurement, "placement");
  if (measurement.has("directory")) spec.directory = measurement.text("directory");
  spec.large = measurement.boolean("large");
  read_kv_cache_pattern(measurement.object("pattern"), spec);
  measurement.check(tables::kKvCacheSpecPatternPieces, spec.object_bytes() <= kLargestObject);
  return spec;
}

}  // namespace tierscope
