#include "protocol/traffic_lines.h"

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "errors.h"
#include "memory/traffic_counters.h"
#include "protocol/events.h"
#include "protocol/line_reader.h"

namespace tierscope {
namespace {

using Json = nlohmann::ordered_json;

void print(const Json& line) {
  if (!(std::cout << line.dump() << '\n' << std::flush)) {
    throw OutputError("stdout cannot be written");
  }
}

}  // namespace

void write_traffic() {
  const TrafficCounters counters;
  Json sources = Json::array();
  for (const CounterSource& source : counters.sources()) {
    sources.push_back({{"name", source.name},
                       {"available", source.available},
                       {"detail", source.detail},
                       {"reason", source.reason},
                       {"remedy", source.remedy}});
  }
  print({{"sources", sources}});
  LineReader lines(STDIN_FILENO);
  while (lines.next()) {
    Json counts = Json::array();
    for (const TrafficCount& count : counters.counts()) {
      counts.push_back({{"source", count.source},
                        {"counter", count.counter},
                        {"cpu", count.cpu},
                        {"bytes", count.bytes},
                        {"seconds", count.seconds}});
    }
    print({{"counts", counts}});
  }
}

}  // namespace tierscope
