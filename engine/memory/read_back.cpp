#include "memory/read_back.h"

#include <fmt/format.h>
#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "errors.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr std::size_t kQueriesPerCall = 16384;  // Bounds the arrays; larger ones are no faster.

// A page on a node, or what move_pages says of one that is absent (an error, below 0).
void add_page(RegionReport& report, int node) {
  report.nodes.push_back(static_cast<std::int16_t>(node));
  if (node >= 0) {
    ++report.pages[node];
  } else {
    ++report.absent_pages;
  }
}

// For one node with memory: all that is resident is there.
RegionReport count_resident(std::byte* start, std::size_t bytes, std::size_t page_bytes, int node) {
  const std::size_t base = base_page_bytes();
  std::vector<unsigned char> resident(bytes / base);
  if (mincore(start, bytes, resident.data()) != 0) {
    throw Failure(fmt::format("mincore: {}", std::strerror(errno)));
  }
  const std::size_t step = page_bytes / base;
  RegionReport report{.page_bytes = page_bytes, .source = "mincore, one node with memory"};
  for (std::size_t i = 0; i < resident.size(); i += step) {
    add_page(report, (resident[i] & 1) != 0 ? node : -ENOENT);
  }
  return report;
}

}  // namespace

RegionReport count_pages(std::byte* start, std::size_t bytes, std::size_t page_bytes) {
  RegionReport report{.page_bytes = page_bytes, .source = "move_pages"};
  const std::size_t pages = bytes / page_bytes;
  std::vector<void*> addresses(std::min(pages, kQueriesPerCall));
  std::vector<int> status(addresses.size());
  for (std::size_t first = 0; first < pages; first += kQueriesPerCall) {
    const std::size_t count = std::min(kQueriesPerCall, pages - first);
    for (std::size_t i = 0; i < count; ++i) addresses[i] = start + (first + i) * page_bytes;
    if (move_pages(0, count, addresses.data(), nullptr, status.data(), 0) != 0) {
      const int error = errno;
      const std::vector<int> nodes = nodes_with_memory();
      if ((error == EPERM || error == ENOSYS) && nodes.size() == 1) {
        return count_resident(start, bytes, page_bytes, nodes.front());
      }
      throw Failure(fmt::format("move_pages: {}", std::strerror(error)));
    }
    for (std::size_t i = 0; i < count; ++i) add_page(report, status[i]);
  }
  return report;
}

bool parse_mapping(std::string_view line, std::uintptr_t& first, std::uintptr_t& last) {
  const char* end = line.data() + line.size();
  const auto low = std::from_chars(line.data(), end, first, 16);
  if (low.ec != std::errc() || low.ptr == end || *low.ptr != '-') return false;
  const auto high = std::from_chars(low.ptr + 1, end, last, 16);
  return high.ec == std::errc() && high.ptr != end && *high.ptr == ' ';
}

std::size_t huge_bytes(const std::byte* start, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  std::ifstream smaps("/proc/self/smaps");
  return huge_bytes_in(smaps, first, first + bytes);
}

std::size_t huge_bytes_in(std::istream& smaps, std::uintptr_t first, std::uintptr_t last) {
  constexpr std::array<std::string_view, 3> kFields{
      "AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:"};
  std::size_t bytes = 0;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    if (parse_mapping(line, start, end)) {
      if (start >= last) break;
      inside = first <= start && end <= last;
    } else if (inside && std::ranges::any_of(kFields, [&line](std::string_view field) {
                 return line.starts_with(field);
               })) {
      const std::size_t digits = line.find_first_not_of(' ', line.find(':') + 1);
      std::size_t kib = 0;
      if (digits == std::string::npos) continue;
      std::from_chars(line.data() + digits, line.data() + line.size(), kib);
      bytes += kib * 1024;
    }
  }
  return bytes;
}

}  // namespace tierscope
