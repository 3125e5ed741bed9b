// On which nodes pages are, asked from the kernel after they were populated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string_view>

#include "memory/placement.h"

namespace tierscope {

// Counts the pages of [start, start + bytes) by node with move_pages, one query every page_bytes.
// Where that call is forbidden or missing and one node has all the memory, resident pages are
// counted with mincore instead. About 13 ms for 262144 pages. Throws Failure for other errors.
RegionReport count_pages(std::byte* start, std::size_t bytes, std::size_t page_bytes);

// A line of smaps: "7f00-8f00 rw-p ..." starts a mapping, whose addresses are returned; "Name: ..."
// is a field of it, and false.
bool parse_mapping(std::string_view line, std::uintptr_t& first, std::uintptr_t& last);

// Bytes of [start, start + bytes) that transparent huge pages back, as the kernel's page tables
// have it now: private (AnonHugePages) or shared (ShmemPmdMapped, FilePmdMapped). Costs 0.2 ms at
// least.
std::size_t huge_bytes(const std::byte* start, std::size_t bytes);

// The same of [first, last) from the text of /proc/PID/smaps. Counts mappings that lie in the range
// as a whole. Reads no further than the range: the kernel makes the text as it is read, and walks
// all pages of each mapping for it.
std::size_t huge_bytes_in(std::istream& smaps, std::uintptr_t first, std::uintptr_t last);

}  // namespace tierscope
