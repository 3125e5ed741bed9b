// Evidence that kinds of measurement of CPU-reached memory have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "benches/bench.h"
#include "memory/region.h"
#include "threads/disturbance.h"

namespace tierscope {

// The process's clock, its signals, and `progress`; `watch`, where given, tells which samples were
// disturbed and has to outlive what is returned.
Surroundings real_surroundings(const Progress& progress, const DisturbanceWatch* watch = nullptr);

// pages, page_bytes, huge_bytes and region_bytes of all regions together, read back now; throws
// Failure where a region is not, or no longer, where its placement put it.
nlohmann::ordered_json region_evidence(const std::vector<Region*>& regions);

// disturbed, replaced, steal_share, clock, and notes on what a reader must know of the samples.
void add_sampling_evidence(nlohmann::ordered_json& evidence, const Sampled& sampled,
                           const DisturbanceWatch& watch);

}  // namespace tierscope
