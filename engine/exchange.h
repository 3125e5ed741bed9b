// What the engines of several processes tell each other in the middle of a repetition. Whoever
// started them carries it, since an engine knows nothing of MPI.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace tierscope {

// Says something to all that take part in a measurement and returns what each of them said, in the
// order of their ranks. Throws Failure where one of them is lost, Interrupted where a signal came.
using Exchange = std::function<std::vector<nlohmann::json>(const nlohmann::json& said)>;

}  // namespace tierscope
