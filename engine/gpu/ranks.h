// Several processes (MPI ranks) that make one measurement, each with a GPU. All of them take the
// same steps in the same order, so that each knows what the others do.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "exchange.h"
#include "gpu/specs.h"
#include "sampling/timelines.h"

namespace tierscope {

class Ranks {
 public:
  Ranks(const GpuRanksSpec& spec, Exchange exchange);

  // In ascending order; this process is one of them.
  const std::vector<int>& all() const { return all_; }
  bool leads() const { return own_ == leader_; }

  // Waits until all are at this step; what each of them said, by rank. Throws Failure where one is
  // at another step, or lost.
  std::map<int, nlohmann::json> meet(std::string_view step,
                                     nlohmann::json said = nlohmann::json::object());
  // Of the step `sample`: whether there is another one, which the leader says.
  bool another_sample(bool wanted);
  // Own timelines by number of the lane; returns those of all ranks.
  std::map<std::size_t, Timeline> share(const std::map<std::size_t, Timeline>& own);

 private:
  Exchange exchange_;
  int own_;
  int leader_;
  std::vector<int> all_;
};

}  // namespace tierscope
