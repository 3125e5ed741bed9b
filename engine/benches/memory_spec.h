// The part of a plan that measurements of CPU-reached memory share: placement and sampling.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "memory/placement.h"
#include "protocol/object_reader.h"
#include "sampling/sampler.h"

namespace tierscope {

inline constexpr std::array<std::pair<std::string_view, Pages>, 4> kPagesNames{
    {{"base", Pages::kBase}, {"thp", Pages::kThp}, {"2m", Pages::kHuge2M}, {"1g", Pages::kHuge1G}}};

inline constexpr int kHighestCpu = 65535;
inline constexpr int kHighestNode = 1023;

Placement read_placement(ObjectReader& measurement);

// The key "isa": auto, or an instruction set that some build has.
std::string read_isa(ObjectReader& pattern);

// The instruction set to use where `asked` was asked for; throws Unavailable where it can't be had.
std::string resolve_isa(const std::string& asked);

// The rule of the key "sampling", each part of which has a default, as has the whole.
SamplingRule read_sampling(ObjectReader& measurement);

}  // namespace tierscope
