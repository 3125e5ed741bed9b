// Parts of a plan that several kinds of measurement have: placement, pages, sampling.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "memory/placement.h"
#include "protocol/object_reader.h"
#include "sampling/rule.h"
#include "threads/cpu_sets.h"

namespace tierscope {

inline constexpr std::array<std::pair<std::string_view, Pages>, 5> kPagesNames{
    {{"base", Pages::kBase},
     {"thp", Pages::kThp},
     {"2m", Pages::kHuge2M},
     {"512m", Pages::kHuge512M},
     {"1g", Pages::kHuge1G}}};

// Where pages go.
Placement read_placement(const ObjectReader& reader);
Placement read_placement(const ObjectReader& measurement, std::string_view key);

// The key "cpus", to each of which a thread is pinned, and the key "cpu_sets": where it is there, a
// thread for each set, and "cpus" has to be all CPUs of the sets, ascending.
CpuSets read_threads(const ObjectReader& measurement);

Pages read_pages(const ObjectReader& pattern);
SamplingRule read_sampling(const ObjectReader& measurement);

}  // namespace tierscope
