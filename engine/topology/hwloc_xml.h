#pragma once

#include <string>

namespace tierscope {

// This machine's topology as hwloc 2 XML: the whole machine, what the cgroup disallows included
// (allowed_cpuset and allowed_nodeset tell which part that is), with every PCI and OS device,
// memory attributes and distances. Throws std::runtime_error that says which step failed.
std::string hwloc_xml();

}  // namespace tierscope
