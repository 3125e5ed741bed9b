// libFuzzer: any bytes as a plan, and each line of them as a line of `repetitions`, are either
// taken or refused by PlanError, nothing else.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "harness/plan.h"
#include "protocol/json_text.h"
#include "protocol/object_reader.h"
#include "protocol/repetition_line.h"

namespace {

void read_line(std::string_view text) {
  try {
    const tierscope::RepetitionLine line = tierscope::parse_repetition_line(text);
    if (const auto* added = std::get_if<tierscope::AddPlan>(&line))
      tierscope::parse_plan(added->plan);
  } catch (const tierscope::PlanError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    tierscope::parse_plan(tierscope::parse_json(text, "plan"));
  } catch (const tierscope::PlanError&) {
  }
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    read_line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return 0;
}
