// libFuzzer: any bytes as the answer of a key-value server are parsed without a look behind their
// end. What a cut leaves open is what the whole says; an answer lies in what was received, and
// takes no more of a value than is allowed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "key_value/protocols.h"

namespace {

using tierscope::key_value::Answer;
using tierscope::key_value::Protocol;

constexpr std::size_t kMost = 64;

Answer parse(Protocol protocol, std::string_view text) {
  return parse_answer(protocol, text, kMost);
}

void require(bool holds) {
  if (!holds) std::abort();
}

void read(Protocol protocol, std::string_view text) {
  const Answer whole = parse(protocol, text);
  require(whole.bytes <= text.size());
  if (whole.kind == Answer::Kind::kPartial) {
    require(text.size() < kMost + tierscope::key_value::kAnswerOverhead);
  }
  if (whole.kind == Answer::Kind::kValue) require(whole.text.size() <= kMost);
  const bool complete =
      whole.kind != Answer::Kind::kPartial && whole.kind != Answer::Kind::kMalformed;
  require(complete == (whole.bytes > 0));
  if (!complete) return;
  for (std::size_t cut = 0; cut < whole.bytes; ++cut) {
    // A copy, so that the sanitizer notices a look behind the cut.
    const std::string part(text.substr(0, cut));
    require(parse(protocol, part).kind == Answer::Kind::kPartial);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(Protocol::kRedis, text);
  read(Protocol::kMemcached, text);
  return 0;
}
