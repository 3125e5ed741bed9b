#include "kinds/checkpoint_spec.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "protocol/plan_parts.h"
#include "storage/cell.h"

namespace tierscope {
namespace {

void read_pattern(const ObjectReader& pattern, CheckpointSpec& spec) {
  spec.size = pattern.bytes("size");
  spec.block_bytes = std::min(pattern.bytes("block_size"), spec.size);
  spec.pages = read_pages(pattern);
  spec.backend = read_backend(pattern);
  spec.direct = pattern.boolean("direct");
  spec.depth = pattern.integer<std::size_t>("depth");
  spec.kills = pattern.integer<int>("kills");
}

}  // namespace

CheckpointSpec read_checkpoint_spec(const ObjectReader& measurement) {
  CheckpointSpec spec{};
  spec.sampling = read_sampling(measurement);
  spec.cpus = measurement.integers("cpus");
  spec.state = read_io_buffers(measurement.object("state"));
  if (measurement.has("directory")) spec.directory = measurement.text("directory");
  if (measurement.has("placement")) spec.placement = read_placement(measurement, "placement");
  spec.large = measurement.boolean("large");
  read_pattern(measurement.object("pattern"), spec);
  return spec;
}

}  // namespace tierscope
