// tierscope-engine: measures. Plans and repetitions come in on stdin, events go out on stdout.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "errors.h"
#include "gpu/self_check.h"
#include "handover/session.h"
#include "harness/kind.h"
#include "harness/plan.h"
#include "harness/session.h"
#include "key_value/load.h"
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
constexpr int kServerFailed = 1;
constexpr int kWrong = 2;
constexpr int kInterrupted = 130;

constexpr std::string_view kUsage =
    "usage: tierscope-engine run [PLAN]    measure each measurement of a plan once\n"
    "       tierscope-engine repetitions        read plans and repetitions on stdin, one JSON line "
    "each\n"
    "       tierscope-engine check [PLAN]  check a plan\n"
    "       tierscope-engine capabilities  list what this machine can measure, as JSON\n"
    "       tierscope-engine topology      print this machine as hwloc XML\n"
    "       tierscope-engine traffic       what counters see of memory traffic, a line for a line\n"
    "       tierscope-engine path PATH     what a file, directory or device is, as JSON\n"
    "       tierscope-engine leftovers DIR list what tierscope left in a directory, as JSON\n"
    "       tierscope-engine clean DIR     remove what is proven to be tierscope's there, as JSON\n"
    "       tierscope-engine wear DEVICE   how worn the drive of an NVMe controller is, as JSON\n"
    "       tierscope-engine check-gpu     compare the results of GPU kernels with the CPU's\n"
    "       tierscope-engine pmem-check ...  crash tests of persistent memory; commands.h there\n"
    "       tierscope-engine handover-responder ...  answer in memory that hosts share; session.h "
    "there\n"
    "       tierscope-engine key-value-load ...  load redis or memcached; --help says how\n"
    "       tierscope-engine --version     print the version\n"
    "PLAN is a file of JSON; without it the plan comes from stdin. run and repetitions write "
    "events to\n"
    "stdout, one JSON object a line. Exit status: 0 done, 1 stdout cannot be written, 2 the input "
    "is\n"
    "wrong or the machine lacks what it asks for, 130 interrupted.\n"
    "example: tierscope latency --dry-run --json | jq .plan > plan.json; tierscope-engine run "
    "plan.json\n";

std::string read_all(std::istream& from) {
  return {std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
}

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw PlanError(path, "is a directory, not a plan");
  std::ifstream file(path);
  std::string text = read_all(file);
  if (!file) throw PlanError(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  return text;
}

void print(std::string_view text) {
  if (!(std::cout << text << std::flush)) throw OutputError("stdout cannot be written");
}

// Ends with the program that started it: nobody would read what an orphan measures. It ends in
// order, so that its files go, although its output has no reader any more.
void end_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  std::signal(SIGPIPE, SIG_IGN);
}

int ended(bool was_interrupted) { return was_interrupted ? kInterrupted : kDone; }

bool takes_plan(std::string_view name) { return name == "run" || name == "check"; }

int command_of_plan(std::string_view name, const std::string& text) {
  const nlohmann::json plan = parse_json(text, "plan");
  if (name == "run") {
    end_with_parent();
    return ended(run_plan(plan));
  }
  parse_plan(plan);
  return kDone;
}

int command_of_load(const std::vector<std::string>& words) {
  end_with_parent();
  try {
    print(key_value::key_value_load(words));
    return kDone;
  } catch (const Failure& error) {
    std::cerr << "tierscope-engine: " << error.what() << '\n';
    return kServerFailed;
  }
}

std::string capabilities_text() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.emplace_back(kind.name);
  return capabilities(names).dump(2) + "\n";
}

nlohmann::ordered_json wear(const std::string& device) { return drive_wear(device); }

// What a command does with a path.
int command(std::string_view name, const std::string& path) {
  if (takes_plan(name)) return command_of_plan(name, read_file(path));
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
  if (takes_plan(name)) return command_of_plan(name, read_all(std::cin));
  if (name == "repetitions") {
    end_with_parent();
    return ended(run_repetitions());
  }
  if (name == "--help" || name == "-h") {
    print(kUsage);
  } else if (name == "--version") {
    print(fmt::format("tierscope-engine {}\n", engine_version()));
  } else if (name == "capabilities") {
    print(capabilities_text());
  } else if (name == "topology") {
    print(hwloc_xml());
  } else if (name == "traffic") {
    end_with_parent();
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
    if (argc > 2 && std::string_view(argv[1]) == "handover-responder") {
      tierscope::end_with_parent();
      tierscope::print(tierscope::handover_responder({argv + 2, argv + argc}).dump() + "\n");
      return tierscope::kDone;
    }
    if (argc > 2 && std::string_view(argv[1]) == "key-value-load") {
      return tierscope::command_of_load({argv + 2, argv + argc});
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
