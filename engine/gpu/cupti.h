// NVIDIA's tracing library (CUPTI), loaded at run time.
#pragma once

#include <cupti_activity.h>
#include <cupti_callbacks.h>

#include <string>

namespace tierscope {

struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiGetCallbackName) callback_name = nullptr;
  std::string missing;  // Why there is no CUPTI; empty where all of the above is there.
};

const Cupti& cupti();

}  // namespace tierscope
