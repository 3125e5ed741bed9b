// libFuzzer: any bytes are either taken as rules of the preloaded allocator or refused with one
// line that names the text; what is taken is within its limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "rules.h"
#include "text.h"

namespace {

void check(const rules& read) {
  bool right = read.rule_count <= kMaxRules && read.arena_count <= kMaxArenaLines;
  for (int i = 0; i < read.rule_count; ++i) {
    const rule& one = read.rules[i];
    right = right && one.arena >= kPlain && one.arena < read.arena_count && one.line > 0;
    if (one.kind == kSizeRule || one.kind == kMapRule) right = right && one.low <= one.high;
    if (one.kind == kSiteRule) fits_glob(one.object, "libc.so.6");
    if (one.pattern != nullptr) fits_glob(one.pattern, "worker-12");
  }
  if (read.has_ratio) {
    const ratio_line& ratio = read.ratio;
    right = right && ratio.window > 0 && ratio.least <= ratio.start && ratio.start <= ratio.most;
  }
  if (!right) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = std::make_unique<rules>();
  for (const char* const line_ends : {"\n", ";\n"}) {
    char message[kMaxMessage] = "";
    if (parse_rules(read.get(), reinterpret_cast<const char*>(data), size, "name", line_ends,
                    message)) {
      check(*read);
    } else if (std::strncmp(message, "name:", 5) != 0 || std::strchr(message, '\n') != nullptr) {
      std::abort();
    }
  }
  return 0;
}
