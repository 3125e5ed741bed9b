// libFuzzer: any bytes as a plan are either taken or refused by PlanError, nothing else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/object_reader.h"
#include "protocol/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    tierscope::parse_plan({reinterpret_cast<const char*>(data), size});
  } catch (const tierscope::PlanError&) {
  }
  return 0;
}
