#include "kinds/checkpoint_spec.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "protocol/plan_parts.h"
#include "storage/cell.h"

namespace tierscope {
namespace {

constexpr std::int64_t kMaxState = std::int64_t{1} << 50;
constexpr std::int64_t kMaxBlock = std::int64_t{1} << 30;
constexpr std::size_t kDefaultBlock = std::size_t{1} << 20;
constexpr std::int64_t kMaxDepth = 4096;
constexpr std::int64_t kMaxKills = 100'000;
constexpr std::size_t kMaxPath = 4095;
constexpr std::array<std::string_view, 3> kHostBackends{"posix", "libaio", "io_uring"};
constexpr std::array<std::string_view, 3> kGpuBackends{"cufile", "staged", "staged-async"};

std::size_t cells(ObjectReader& pattern, std::string_view key, std::int64_t most) {
  const std::int64_t bytes = pattern.integer(key, kCellBytes, most);
  if (bytes % kCellBytes != 0) throw pattern.error(key, "is no multiple of 4096");
  return static_cast<std::size_t>(bytes);
}

void read_pattern(ObjectReader& pattern, CheckpointSpec& spec) {
  spec.size = cells(pattern, "size", kMaxState);
  const std::size_t block =
      pattern.has("block_size") ? cells(pattern, "block_size", kMaxBlock) : kDefaultBlock;
  spec.block_bytes = std::min(block, spec.size);
  spec.pages = read_pages(pattern);
  spec.backend = read_backend(pattern);
  const auto& fitting = spec.state.gpu < 0 ? kHostBackends : kGpuBackends;
  if (std::ranges::find(fitting, spec.backend->name) == fitting.end()) {
    throw pattern.error("backend", "does not go with the memory of the state");
  }
  spec.direct = !pattern.has("direct") || pattern.boolean("direct");
  spec.depth =
      pattern.has("depth") ? static_cast<std::size_t>(pattern.integer("depth", 1, kMaxDepth)) : 1;
  if (spec.depth > 1 && spec.backend->synchronous) {
    throw pattern.error("depth", "is 1 of a backend with one operation in flight");
  }
  spec.kills = pattern.has("kills") ? static_cast<int>(pattern.integer("kills", 0, kMaxKills)) : 0;
  if (spec.kills > 0 && spec.state.gpu >= 0) {
    throw pattern.error("kills", "go with a state in host memory");
  }
  pattern.finish();
}

}  // namespace

CheckpointSpec read_checkpoint_spec(ObjectReader& measurement) {
  CheckpointSpec spec{};
  spec.sampling = read_sampling(measurement);
  spec.cpus = read_cpus(measurement);
  spec.state = read_io_buffers(measurement.object("state"));
  const auto given = [&](std::string_view key) {
    return measurement.has(key) && !measurement.any(key).is_null();
  };
  if (given("directory") == given("placement")) {
    throw measurement.error("directory", "or placement is needed, and not both");
  }
  if (given("directory")) {
    spec.directory = measurement.text("directory");
    if (spec.directory.size() < 2 || spec.directory.size() > kMaxPath ||
        !spec.directory.starts_with('/')) {
      throw measurement.error("directory", "'" + spec.directory + "' is no absolute path");
    }
  } else {
    spec.placement = read_placement(measurement, TakesPersistent::kArrays);
    if (spec.placement->policy != Policy::kBind) {
      throw measurement.error("placement", "of a checkpoint has to be policy bind");
    }
    const auto& persistent = spec.placement->persistent;
    if (persistent && persistent->backing != Backing::kFile &&
        persistent->backing != Backing::kPool) {
      throw measurement.error("placement", "of a checkpoint has backing file or pool");
    }
  }
  spec.large = measurement.has("large") && measurement.boolean("large");
  ObjectReader pattern = measurement.object("pattern");
  read_pattern(pattern, spec);
  return spec;
}

}  // namespace tierscope
