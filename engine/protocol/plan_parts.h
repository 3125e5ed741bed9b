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

inline constexpr int kPlanVersion = 2;

inline constexpr int kMaxCpu = 65535;
inline constexpr int kMaxNode = 1023;
inline constexpr std::size_t kMaxThreads = 4096;

// What a kind takes of persistent memory: none, arrays by their addresses, or objects of pools too.
enum class TakesPersistent { kNo, kArrays, kObjects };

// Where pages go: an object of this key. Policy first-touch is for kinds whose threads walk what
// each of them populated.
Placement read_placement(ObjectReader& measurement, TakesPersistent takes = TakesPersistent::kNo,
                         const char* key = "placement", bool first_touch = false);

// The key "cpus", to each of which a thread is pinned, and the key "cpu_sets": where it is there, a
// thread for each set, and "cpus" has to be all CPUs of the sets, ascending.
CpuSets read_threads(ObjectReader& measurement);
bool has_cpu_sets(ObjectReader& measurement);

// The key "zipf_alpha" of order zipf, 0.9 where it is absent.
double read_zipf_alpha(ObjectReader& pattern);

// The key "prefetchers", of measurements whose memory CPUs reach. The engine's caller has switched
// them before a visit; the engine checks the word and does no more.
void read_prefetchers(ObjectReader& measurement);

// The key "pages", thp where it is absent.
Pages read_pages(ObjectReader& pattern);

// The key "isa": auto, or an instruction set that some build has; auto where it is absent.
std::string read_isa(ObjectReader& pattern);

// The key "sampling", each part of which has a default, as has the whole.
SamplingRule read_sampling(ObjectReader& measurement);

}  // namespace tierscope
