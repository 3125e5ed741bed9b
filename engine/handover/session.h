// Memory that two sides share, and who answers in it: a process of this host, or
// `tierscope-engine handover-responder` on another one.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "handover/handover.h"
#include "memory/persistent.h"

namespace tierscope {

class HandoverSession {
 public:
  // Maps new memory, or the one that is shared with the other host. With a CPU, a process on it
  // answers; without, waits for a responder of another host. Throws Unavailable, Interrupted.
  HandoverSession(const Placement& placement, std::optional<int> responder_cpu);
  HandoverInitiator& initiator() { return initiator_; }
  const PersistentMapping& memory() const { return memory_; }

 private:
  // Killed at the latest with this object.
  struct Process {
    Process() = default;
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    pid_t id = 0;
  };

  void start_responder(int cpu);

  PersistentMapping memory_;
  HandoverInitiator initiator_;
  Process responder_;
};

// `tierscope-engine handover-responder PATH OFFSET DESTROY CPU`: answers in a device of DAX or a
// file that hosts share, until a signal comes. OFFSET and DESTROY are as in the plan's placement,
// of a device. Prints "ready" once it listens. Returns what it did, as JSON. Throws Unavailable.
nlohmann::ordered_json handover_responder(const std::vector<std::string>& words);

}  // namespace tierscope
