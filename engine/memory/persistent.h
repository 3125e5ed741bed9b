// Memory of a file or a device, in place of anonymous memory: on persistent memory, on tmpfs, or on
// any other file system for trying it out. Files have no name, so that nothing of others can be
// touched and nothing is left, however the process ends.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "memory/device_range.h"
#include "memory/mapping.h"
#include "memory/persistent_facts.h"
#include "memory/placement.h"
#include "memory/pool.h"
#include "storage/descriptor.h"

namespace tierscope {

// How stores to a mapping get to the medium.
enum class Durable {
  kFlush,  // Cache lines are written back and a fence is waited for.
  kMsync,  // msync(2): the kernel writes pages.
};

// A new file of `bytes` without a name in a directory, which has room for them: its blocks are
// allocated (but of tmpfs, whose pages come with the first touch). Throws Unavailable where the
// directory cannot be written or has no room.
Descriptor make_unnamed_file(const std::string& directory, std::size_t bytes);

// What shared files of tierscope's begin with.
inline constexpr std::string_view kSharedMark = "tierscope-handover";

// Opens a file of `bytes` or more that processes share. Throws Unavailable where it holds data that
// is not tierscope's: its first bytes are neither zeros nor begin with kSharedMark.
Descriptor open_shared_file(const std::string& path, std::size_t bytes);

class PersistentMapping {
 public:
  // Maps new memory of `bytes`, a multiple of unit_bytes, which it is aligned to. Of `bound`
  // placements the policy is set before there are pages. On DAX it is mapped with MAP_SYNC, and the
  // kernel's own list of mappings has to say so. placement.persistent has to be set. With a pool,
  // which backings pool and pool-objects need, it is that pool's next array. Throws Unavailable.
  PersistentMapping(std::size_t bytes, Pages pages, std::size_t unit_bytes,
                    const Placement& placement, std::shared_ptr<Pool> pool = nullptr);

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  const PersistentFacts& facts() const { return facts_; }
  // The array as its pool has it; null without a pool.
  const PoolArray* array() const { return array_; }
  int file() const { return file_.get(); }  // What is mapped; open as long as the mapping is.
  // Whether pages have a node that the kernel tells, as those of DAX have not.
  bool has_page_nodes() const { return !facts_.dax; }
  Durable durable_by() const { return durable_by_; }

  // The evidence `persistent`, of a measurement that did or did not make its stores durable.
  nlohmann::ordered_json evidence(bool made_durable) const;

 private:
  void map_file(std::size_t unit_bytes);
  void map_device(std::size_t unit_bytes);
  void map_array(std::size_t unit_bytes, const Placement& placement);
  void map_over(std::byte* at, std::size_t bytes, int kind, const Descriptor& file,
                std::size_t offset);
  void require_synchronous();
  void bind(const Placement& placement);

  std::size_t bytes_;
  Persistent wanted_;
  std::shared_ptr<Pool> pool_;
  const PoolArray* array_ = nullptr;
  std::unique_ptr<DeviceRange> range_;
  Descriptor file_;
  PersistentFacts facts_;
  Mapping memory_;             // Empty where the array is one object of a pool.
  std::byte* data_ = nullptr;  // In memory_ or in the pool's mapping.
  bool synchronous_ = false;   // Of DAX: by MAP_SYNC, or a device.
  Durable durable_by_ = Durable::kMsync;
};

// Whether the kernel lists the mapping that holds `at` as one of MAP_SYNC ("sf" of VmFlags).
bool is_synchronous(const std::byte* at, const std::string& smaps = "/proc/self/smaps");

}  // namespace tierscope
