#include "memory/persistent_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <filesystem>
#include <sstream>

#include "memory/system_memory.h"
#include "storage/mounts.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

// A node number of sysfs; none where it is absent or -1.
std::optional<int> node_in(const fs::path& file) {
  const std::string text = read_text(file);
  int node = -1;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), node);
  return wrong == std::errc{} && node >= 0 ? std::optional(node) : std::nullopt;
}

// The kernel's list has "first count" on each line.
std::uint64_t sum_of_bad_blocks(const std::string& text) {
  std::istringstream lines(text);
  std::uint64_t sum = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  while (lines >> first >> count) sum += count;
  return sum;
}

// ndctl's word for the mode of a namespace at a directory; empty where none is there. What holds an
// fsdax namespace has a `mode` of another meaning: where its memory map is.
std::string mode_at(const fs::path& at) {
  const std::string name = at.filename();
  if (name.starts_with("pfn")) return "fsdax";
  if (!name.starts_with("namespace")) return "";
  const std::string written = read_text(at / "mode");
  if (written == "memory") return "fsdax";
  if (written == "dax") return "devdax";
  return written == "safe" ? "sector" : written;
}

// Looks from a device's directory upwards: partition, disk, namespace, region.
void read_parents(const fs::path& start, const fs::path& top, PersistentFacts& facts) {
  for (fs::path at = start; at != top && at.has_relative_path(); at = at.parent_path()) {
    std::error_code none;
    if (!facts.bad_blocks && fs::exists(at / "badblocks", none)) {
      facts.bad_blocks = sum_of_bad_blocks(read_text(at / "badblocks"));
    }
    if (facts.namespace_mode.empty()) facts.namespace_mode = mode_at(at);
    if (facts.persistence_domain.empty()) {
      facts.persistence_domain = read_text(at / "persistence_domain");
    }
    if (!facts.node) facts.node = node_in(at / "target_node");
  }
  for (fs::path at = start; !facts.node && at != top && at.has_relative_path();
       at = at.parent_path()) {
    facts.node = node_in(at / "numa_node");
  }
}

// "bind:2" of "rw,size=1g,mpol=bind:2".
std::string policy_in(const std::string& options) {
  std::istringstream words(options);
  for (std::string word; std::getline(words, word, ',');) {
    if (word.starts_with("mpol=")) return word.substr(5);
  }
  return "";
}

}  // namespace

PersistentFacts facts_of_device(bool block, dev_t device, const std::string& root) {
  PersistentFacts facts;
  std::error_code error;
  const fs::path link = fmt::format("{}/sys/dev/{}/{}:{}", root, block ? "block" : "char",
                                    major(device), minor(device));
  const fs::path start = fs::canonical(link, error);
  if (error) return facts;
  facts.device = start.filename();
  read_parents(start, fs::path(root + "/sys/devices"), facts);
  return facts;
}

PersistentFacts facts_of(const Descriptor& file, const std::string& root) {
  struct statx found{};
  if (statx(file.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &found) != 0) return {};
  const dev_t device = makedev(found.stx_dev_major, found.stx_dev_minor);
  PersistentFacts facts = facts_of_device(true, device, root);
  facts.dax = (found.stx_attributes & STATX_ATTR_DAX) != 0;
  if (const auto mount = mount_of(file.get())) {
    facts.file_system = mount->type;
    facts.mount_policy = policy_in(mount->options);
  }
  return facts;
}

}  // namespace tierscope
