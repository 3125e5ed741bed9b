// `tierscope-engine pmem-check`: the writers that are cut off, the look at what is left, the
// replay.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tierscope {

// What to print of one of these:
//
//   write WRITER FILE   Writes generations 1, 2, ... to a file of zeros until the process ends.
//                       Prints "0" when it begins, and the number of each generation once that is
//                       durable, a line each.
//   look WRITER FILE    {"generation": N, "problem": TEXT}; no problem: an empty text.
//   replay STATES SEED  {"checks": [{"writer", "crash_points", "sampled", "states", "inconsistent",
//                       "first"}, ...]}; first: what is inconsistent in the first such state.
//
// WRITER: transactions, no-transactions, slots, slots-no-flush, slots-no-fence. Throws Unavailable,
// Failure, OutputError.
nlohmann::ordered_json pmem_check(const std::vector<std::string>& words);

}  // namespace tierscope
