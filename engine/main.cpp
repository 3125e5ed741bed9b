// tierscope-engine: measures. Plans and visits come in on stdin, events go out on stdout.
#include <sys/prctl.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "errors.h"
#include "gpu/self_check.h"
#include "harness/kind.h"
#include "harness/plan.h"
#include "harness/session.h"
#include "pmem_check/commands.h"
#include "protocol/capabilities.h"
#include "protocol/events.h"
#include "protocol/json_text.h"
#include "protocol/object_reader.h"
#include "protocol/traffic_lines.h"
#include "storage/drive_wear.h"
#include "storage/leftovers.h"
#include "storage/path_facts.h"
#include "topology/hwloc_xml.h"

namespace tierscope {
namespace {

constexpr int kDone = 0;
constexpr int kNotWritable = 1;
constexpr int kWrong = 2;
constexpr int kInterrupted = 130;

constexpr std::string_view kUsage =
    "usage: tierscope-engine run           visit each measurement of the plan on stdin once\n"
    "       tierscope-engine visits        read plans and visits on stdin, one JSON line each\n"
    "       tierscope-engine check         check the plan on stdin\n"
    "       tierscope-engine capabilities  list what this machine can measure, as JSON\n"
    "       tierscope-engine topology      print this machine as hwloc XML\n"
    "       tierscope-engine traffic       what counters see of memory traffic, a line for a line\n"
    "       tierscope-engine path PATH     what a file, directory or device is, as JSON\n"
    "       tierscope-engine leftovers DIR list what tierscope left in a directory, as JSON\n"
    "       tierscope-engine clean DIR     remove what is proven to be tierscope's there, as JSON\n"
    "       tierscope-engine wear DEVICE   how worn the drive of an NVMe controller is, as JSON\n"
    "       tierscope-engine check-gpu     compare the results of GPU kernels with the CPU's\n"
    "       tierscope-engine pmem-check ...  crash tests of persistent memory; commands.h there\n"
    "run and visits write events to stdout.\n";

std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

void print(std::string_view text) {
  if (!(std::cout << text << std::flush)) throw OutputError("stdout cannot be written");
}

int measure(bool (*visit)()) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // Nobody would read what an orphan measures.
  return visit() ? kInterrupted : kDone;
}

std::string capabilities_text() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.emplace_back(kind.name);
  return capabilities(names).dump(2) + "\n";
}

nlohmann::ordered_json wear(const std::string& device) { return drive_wear(device); }

// What a command prints of a path.
int command(std::string_view name, const std::string& path) {
  using Json = nlohmann::ordered_json;
  Json (*const look)(const std::string&) = name == "path"        ? path_facts
                                           : name == "leftovers" ? leftovers
                                           : name == "clean"     ? clean
                                           : name == "wear"      ? wear
                                                                 : nullptr;
  if (!look) {
    std::cerr << kUsage;
    return kWrong;
  }
  // Bytes of a name that are not UTF-8 are replaced.
  print(look(path).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  return kDone;
}

int command(std::string_view name) {
  if (name == "run") return measure(run_plan);
  if (name == "visits") return measure(run_visits);
  if (name == "check") {
    parse_plan(parse_json(read_stdin(), "plan"));
  } else if (name == "capabilities") {
    print(capabilities_text());
  } else if (name == "topology") {
    print(hwloc_xml());
  } else if (name == "traffic") {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    write_traffic();
  } else if (name == "check-gpu") {
    print(check_gpu_kernels());
  } else {
    std::cerr << kUsage;
    return kWrong;
  }
  return kDone;
}

}  // namespace
}  // namespace tierscope

int main(int argc, char** argv) {
  try {
    if (argc > 2 && std::string_view(argv[1]) == "pmem-check") {
      tierscope::print(tierscope::pmem_check({argv + 2, argv + argc}).dump() + "\n");
      return tierscope::kDone;
    }
    if (argc == 3) return tierscope::command(argv[1], argv[2]);
    return tierscope::command(argc == 2 ? argv[1] : "");
  } catch (const tierscope::OutputError& error) {
    std::cerr << "tierscope-engine: " << error.what() << '\n';
    return tierscope::kNotWritable;
  } catch (const tierscope::PlanError& error) {
    std::cerr << "tierscope-engine: invalid input: " << error.what() << '\n';
  } catch (const tierscope::Unavailable& error) {
    std::cerr << "tierscope-engine: " << error.what();
    if (!error.remedy().empty()) std::cerr << "; " << error.remedy();
    std::cerr << '\n';
  } catch (const std::exception& error) {
    std::cerr << "tierscope-engine: " << error.what() << '\n';
  }
  return tierscope::kWrong;
}
