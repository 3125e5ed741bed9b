#include "gpu/observation.h"

#include <sched.h>

#include <utility>

namespace tierscope {

Observation::Observation(const std::string& name, const std::vector<int>& gpus, int current,
                         const GpuCommon& common)
    : range_(name),
      trace_(common.trace),
      on_cpu_(common.cpus.front()),
      monitor_(gpus, common.cpus.front()),
      on_gpu_(current) {}

void Observation::report(nlohmann::ordered_json& evidence, std::vector<std::string> notes) {
  evidence["cpus"] = {sched_getcpu()};
  evidence["gpus"] = monitor_.report(notes);
  for (std::string& note : notes) evidence["notes"].push_back(std::move(note));
  trace_.report(evidence);
}

}  // namespace tierscope
