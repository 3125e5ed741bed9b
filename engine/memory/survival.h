// Whether data written would have survived power loss, as far as the kernel and the user tell.
#pragma once

#include <string>

#include "memory/persistent_facts.h"

namespace tierscope {

struct Stored {
  bool synchronous;   // They went to DAX: mapped by MAP_SYNC, or a device of DAX.
  bool made_durable;  // Each was flushed, or its page written by msync, before it counted as done.
};

struct Survival {
  std::string answer;  // "yes", "no" or "unknown".
  std::string why;     // One sentence.
};

// Pure. backed_by is what the user says that keeps volatile memory; empty: nothing.
Survival survival_of(const PersistentFacts& facts, const Stored& stores,
                     const std::string& backed_by);

}  // namespace tierscope
