// Events of perf that count bytes: found by what the kernel says of a PMU below
// /sys/bus/event_source/devices, opened for everybody. See perf_event_open(2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tierscope {

// The three config words of perf_event_attr for "event=0x04,umask=0x03", placed as the files of
// `format_directory` say; empty where none of them describes a term.
struct PerfConfig {
  std::array<unsigned long long, 3> words;
};
std::optional<PerfConfig> encode_perf_event(std::string_view terms,
                                            const std::string& format_directory);

// Bytes that one count of an event stands for, by its file's .scale and .unit, or as the kernel's
// driver documents it.
std::optional<double> bytes_per_count(const std::string& event);

// Whether it counts reads or writes; totals and parts of them (graphics, I/O) would count twice.
bool counts_accesses(const std::string& event);

// A descriptor, or a negative number and errno.
int open_event(unsigned type, const PerfConfig& config, int cpu);

struct PerfValue {
  std::uint64_t count, enabled, running;
};

// Empty where others use the PMU too: the kernel lets them take turns, and a part is not counted.
std::optional<PerfValue> read_event(int file);

}  // namespace tierscope
