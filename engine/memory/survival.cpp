#include "memory/survival.h"

#include <fmt/format.h>

namespace tierscope {
namespace {

Survival of_volatile(const PersistentFacts& facts, const std::string& backed_by) {
  if (backed_by.empty()) {
    return {"no", fmt::format("{} is in volatile memory.", facts.file_system)};
  }
  return {"no",
          fmt::format("The user declared that a {} keeps the memory, but {} is forgotten when the "
                      "kernel ends.",
                      backed_by, facts.file_system)};
}

// DAX: what reaches the memory stays there. It may still be in the CPUs' caches.
Survival of_dax(const PersistentFacts& facts, const Stored& stores, const std::string& backed_by) {
  const std::string& domain = facts.persistence_domain;
  if (domain == "cpu_cache") {
    return {"yes", "The platform flushes CPU caches when power is lost (domain cpu_cache)."};
  }
  if (domain != "memory_controller" && backed_by.empty()) {
    return {"unknown", "The kernel names no persistence domain of this memory."};
  }
  const std::string keeper =
      domain == "memory_controller"
          ? "Memory keeps what has left the CPU caches (domain memory_controller)"
          : fmt::format("The user declared that a {} keeps what has left the CPU caches",
                        backed_by);
  if (stores.made_durable) return {"yes", keeper + ", and every store was flushed."};
  return {"no", keeper + ", but stores were not flushed: the last of them may be lost."};
}

}  // namespace

Survival survival_of(const PersistentFacts& facts, const Stored& stores,
                     const std::string& backed_by) {
  if (facts.file_system == "tmpfs" || facts.file_system == "ramfs") {
    return of_volatile(facts, backed_by);
  }
  if (stores.synchronous) return of_dax(facts, stores, backed_by);
  if (!stores.made_durable) {
    return {"no", "The mapping is of the page cache, and nothing was written back by msync."};
  }
  return {"unknown", "msync wrote the pages to the device, which may have a volatile cache."};
}

}  // namespace tierscope
