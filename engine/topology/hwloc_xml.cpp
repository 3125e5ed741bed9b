#include "topology/hwloc_xml.h"

#include <hwloc.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <type_traits>

namespace tierscope {
namespace {

using Topology =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;

void require(int status, const char* step) {
  if (status < 0) {
    throw std::runtime_error(std::string("hwloc could not ") + step + ": " +
                             std::generic_category().message(errno));
  }
}

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  require(hwloc_topology_init(&raw), "start");
  Topology topology(raw, &hwloc_topology_destroy);
  require(hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED),
          "include what the cgroup disallows");
  require(hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL),
          "keep every I/O device");
  require(hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL),
          "keep instruction caches");
  require(hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MEMCACHE, HWLOC_TYPE_FILTER_KEEP_ALL),
          "keep memory-side caches");
  require(hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL),
          "keep memory modules");
  // These initialise a device to look at it: that takes seconds, wakes GPUs that idle and holds
  // memory on them. What they would tell about a GPU, NVML tells as well. A library without one
  // of them refuses its name, which is as good.
  for (const char* component : {"cuda", "opencl", "gl", "levelzero", "rsmi"}) {
    static_cast<void>(
        hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component));
  }
  require(hwloc_topology_load(raw), "read the machine");
  return topology;
}

}  // namespace

std::string hwloc_xml() {
  const Topology topology = load_topology();
  char* buffer = nullptr;
  int length = 0;  // counts the final zero
  require(hwloc_topology_export_xmlbuffer(topology.get(), &buffer, &length, 0), "write XML");
  const auto release = [&](char* text) { hwloc_free_xmlbuffer(topology.get(), text); };
  const std::unique_ptr<char, decltype(release)> owner(buffer, release);
  return length > 0 ? std::string(buffer, static_cast<std::size_t>(length) - 1) : std::string();
}

}  // namespace tierscope
