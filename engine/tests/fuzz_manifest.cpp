// libFuzzer: any bytes as the list of files that tierscope made are either taken or refused by
// std::runtime_error, nothing else; what is taken can be written and read again. So that lines get
// past their checksums, the same bytes are tried once more with those put right.
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "storage/manifest.h"

namespace {

using tierscope::FileEntry;

void read(std::string_view text) {
  try {
    std::string again = tierscope::manifest_header();
    const auto entries = tierscope::parse_manifest(text);
    for (const FileEntry& entry : entries) again += tierscope::manifest_line(entry);
    if (tierscope::parse_manifest(again).size() != entries.size()) std::abort();
  } catch (const std::runtime_error&) {
  }
}

std::string with_checks(std::string_view text) {
  std::string right;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    const std::size_t check = line.rfind(",\"check\":\"");
    line.resize(check == std::string::npos ? line.size() : check);
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits(line.data(), line.size())));
    right += line + ",\"check\":\"" + digits + "\"}\n";
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return right;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  read(with_checks(text));
  return 0;
}
