#include "memory/system_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "errors.h"

namespace tierscope {
namespace {

constexpr const char* kNodes = "/sys/devices/system/node";

// The number at the start of a text, after blanks.
std::optional<std::size_t> leading_number(std::string_view text) {
  const std::size_t digits = text.find_first_not_of(' ');
  if (digits == std::string_view::npos) return std::nullopt;
  std::size_t value = 0;
  const auto parsed = std::from_chars(text.data() + digits, text.data() + text.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  return value;
}

std::vector<int> node_list(const std::string& name) {
  const std::string text = read_text(fmt::format("{}/{}", kNodes, name));
  return text.empty() ? std::vector<int>{0} : parse_number_list(text);
}

}  // namespace

// Not an ifstream: its set-up costs several times what the kernel takes to write the text.
std::string read_text(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text;
  std::array<char, 16384> buffer;
  for (ssize_t count = 0; (count = read(file, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(file);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<int> parse_number_list(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc()) break;
    int last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') parsed = std::from_chars(parsed.ptr + 1, end, last);
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    at = parsed.ptr + 1;
  }
  return numbers;
}

std::string size_text(std::size_t bytes) {
  constexpr std::array<std::pair<std::size_t, const char*>, 4> kUnits{
      {{std::size_t{1} << 40, "TiB"},
       {std::size_t{1} << 30, "GiB"},
       {std::size_t{1} << 20, "MiB"},
       {std::size_t{1} << 10, "KiB"}}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes < unit) continue;
    const double tenths = std::round(10 * static_cast<double>(bytes) / static_cast<double>(unit));
    return fmt::format("{} {}", tenths / 10, name);
  }
  return fmt::format("{} bytes", bytes);
}

bool sys_is_visible() { return access("/sys/devices/system/cpu", F_OK) == 0; }

std::size_t base_page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t page_bytes(Pages pages) {
  switch (pages) {
    case Pages::kBase:
      break;
    case Pages::kThp: {
      const auto size = leading_number(read_text(fmt::format("{}/hpage_pmd_size", kThpDirectory)));
      if (!size) {
        throw Unavailable(Cause::kPages,
                          sys_is_visible() ? "this kernel has no transparent huge pages"
                                           : "/sys is not visible, so the size of transparent huge "
                                             "pages is unknown",
                          sys_is_visible() ? "use base pages" : "mount /sys, or use base pages");
      }
      return *size;
    }
    case Pages::kHuge2M:
      return std::size_t{2} << 20;
    case Pages::kHuge512M:
      return std::size_t{512} << 20;
    case Pages::kHuge1G:
      return std::size_t{1} << 30;
  }
  return base_page_bytes();
}

std::optional<ThpSwitch> forbidding_switch(bool shared, std::size_t page_bytes,
                                           const std::string& directory) {
  const char* const name = shared ? "shmem_enabled" : "enabled";
  const std::string general = fmt::format("{}/{}", directory, name);
  const std::string own = fmt::format("{}/hugepages-{}kB/{}", directory, page_bytes / 1024, name);
  const auto says = [](const std::string& text, const char* word) {
    return text.find(fmt::format("[{}]", word)) != std::string::npos;
  };
  const std::string general_text = read_text(general);
  if (general_text.empty()) return ThpSwitch{general, "nothing"};
  if (says(general_text, "deny")) return ThpSwitch{general, "deny"};
  // The size's own switch, where the kernel has one, goes before the general one.
  const std::string own_text = read_text(own);
  const bool inherits = own_text.empty() || says(own_text, "inherit");
  if (!says(inherits ? general_text : own_text, "never")) return std::nullopt;
  return ThpSwitch{inherits ? general : own, "never"};
}

// Without /sys, that there is one node must not be assumed.
std::vector<int> nodes_with_memory() {
  return sys_is_visible() ? node_list("has_memory") : allowed_nodes();
}

std::vector<int> online_nodes() { return node_list("online"); }

std::vector<int> possible_nodes() { return node_list("possible"); }

std::vector<int> allowed_nodes() {
  constexpr std::string_view kField = "Mems_allowed_list:\t";
  const std::string status = read_text("/proc/self/status");
  const std::size_t field = status.find(kField);
  if (field == std::string::npos) return node_list("has_memory");
  const std::size_t list = field + kField.size();
  return parse_number_list(std::string_view(status).substr(list, status.find('\n', list) - list));
}

std::string hugetlb_pool(int node, std::size_t page_bytes) {
  const std::string pool = fmt::format("/hugepages/hugepages-{}kB", page_bytes / 1024);
  const bool numa = access(kNodes, F_OK) == 0;
  return numa ? fmt::format("{}/node{}{}", kNodes, node, pool) : "/sys/kernel/mm" + pool;
}

std::size_t last_level_cache_bytes(std::span<const int> cpus, const std::string& root) {
  std::map<std::string, std::size_t> caches;  // By the CPUs that share them.
  for (const int cpu : cpus) {
    std::size_t last_level = 0;
    std::string sharing;
    std::size_t bytes = 0;
    for (int index = 0;; ++index) {
      const std::string cache = fmt::format("{}/cpu{}/cache/index{}/", root, cpu, index);
      const auto level = leading_number(read_text(cache + "level"));
      if (!level) break;
      const auto kilobytes = leading_number(read_text(cache + "size"));  // "2048K"
      if (*level < last_level || !kilobytes) continue;
      last_level = *level;
      sharing = read_text(cache + "shared_cpu_list");
      bytes = *kilobytes * 1024;
    }
    if (bytes != 0) caches[sharing] = bytes;
  }
  std::size_t total = 0;
  for (const auto& [sharing, bytes] : caches) total += bytes;
  return total;
}

NodeMemory node_memory(int node) {
  if (nodes_with_memory().size() == 1) {
    // This also counts memory that a kernel with deferred initialisation has not touched yet and
    // that the node's own MemFree therefore lacks.
    const std::string text = read_text("/proc/meminfo");
    const auto total = meminfo_bytes(text, "MemTotal");
    const auto available = meminfo_bytes(text, "MemAvailable");
    if (total && available) return {*total, *available};
  }
  const std::string path = fmt::format("{}/node{}/meminfo", kNodes, node);
  const std::string text = read_text(path);
  const auto total = meminfo_bytes(text, "MemTotal");
  const auto free = meminfo_bytes(text, "MemFree");
  if (!total || !free) throw Failure(fmt::format("{} states no MemTotal and MemFree", path));
  return {*total, *free + meminfo_bytes(text, "Inactive(file)").value_or(0) +
                      meminfo_bytes(text, "Active(file)").value_or(0) / 2 +
                      meminfo_bytes(text, "SReclaimable").value_or(0) / 2};
}

std::optional<std::size_t> meminfo_bytes(std::string_view text, std::string_view field) {
  const std::string key = std::string(field) + ":";
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    // "Active(file):" must not be found inside "Inactive(file):".
    if (at != 0 && text[at - 1] != ' ' && text[at - 1] != '\n') continue;
    const auto kib = leading_number(text.substr(at + key.size()));
    if (kib) return *kib * 1024;
  }
  return std::nullopt;
}

}  // namespace tierscope
