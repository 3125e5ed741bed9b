#include "handover/session.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <iostream>

#include "errors.h"
#include "interrupt.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr double kPatienceS = 5;        // For a flag.
constexpr double kChildPatienceS = 10;  // Until a process of this host has joined,
constexpr double kOtherPatienceS = 60;  // or a responder of another one.

HandoverCaches caches() { return {instruction_caches(), coherent_caches()}; }

std::span<std::byte> bytes_of(const PersistentMapping& memory) {
  return {memory.data(), kHandoverBytes};
}

// Touches each page, so that where they are can be read back.
std::span<std::byte> touched(std::span<std::byte> memory) {
  for (std::size_t at = 0; at < memory.size(); at += base_page_bytes()) {
    static_cast<void>(*static_cast<const volatile std::byte*>(&memory[at]));
  }
  return memory;
}

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return;
  throw Unavailable(Cause::kCpu, fmt::format("the responder cannot run on CPU {}: {}", cpu,
                                             std::strerror(errno)));
}

std::uint64_t whole_number(const std::string& word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc{} && end == word.data() + word.size()) return value;
  throw Unavailable(Cause::kOther, fmt::format("'{}' is not a number", word));
}

}  // namespace

HandoverSession::HandoverSession(const Placement& placement, std::optional<int> responder_cpu)
    : memory_(kHandoverBytes, Pages::kBase, base_page_bytes(), placement),
      initiator_(touched(bytes_of(memory_)), caches(), kPatienceS) {
  if (responder_cpu) start_responder(*responder_cpu);
  if (initiator_.meet(responder_cpu ? kChildPatienceS : kOtherPatienceS)) return;
  if (responder_cpu) {
    throw Failure(fmt::format("the responder did not start on CPU {}", *responder_cpu));
  }
  throw Unavailable(Cause::kPeer,
                    fmt::format("no responder of another host joined in {:g} s", kOtherPatienceS),
                    "start `tierscope handover-responder` there, with the same device and offset");
}

void HandoverSession::start_responder(int cpu) {
  const pid_t parent = getpid();
  responder_.id = fork();
  if (responder_.id < 0) throw Failure(fmt::format("fork: {}", std::strerror(errno)));
  if (responder_.id != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    pin_to(cpu);
    serve_handovers(bytes_of(memory_), caches(), kPatienceS,
                    [parent] { return getppid() != parent; });
  } catch (...) {
    _exit(1);  // The initiator says that nobody joined.
  }
  _exit(0);
}

HandoverSession::Process::~Process() {
  if (id <= 0) return;
  kill(id, SIGKILL);
  waitpid(id, nullptr, 0);
}

nlohmann::ordered_json handover_responder(const std::vector<std::string>& words) {
  if (words.size() != 4) {
    throw Unavailable(Cause::kOther, "handover-responder takes PATH OFFSET DESTROY CPU");
  }
  struct stat found{};
  const bool device = stat(words[0].c_str(), &found) == 0 && S_ISCHR(found.st_mode);
  const Placement placement{
      .policy = Policy::kBind,
      .nodes = {{.node = 0}},
      .persistent = Persistent{.backing = device ? Backing::kDevice : Backing::kSharedFile,
                               .path = words[0],
                               .offset = device ? whole_number(words[1]) : 0,
                               .destroy = words[2]}};
  watch_signals();
  pin_to(static_cast<int>(whole_number(words[3])));
  const PersistentMapping memory(kHandoverBytes, Pages::kBase, base_page_bytes(), placement);
  const HandoverCaches both = caches();
  std::cout << "ready" << std::endl;
  const Served served = serve_handovers(bytes_of(memory), both, kPatienceS, interrupted);
  return {{"sessions", served.sessions},
          {"rounds", served.rounds},
          {"bytes", served.bytes},
          {"wrong_words", served.wrong},
          {"instructions", both.software.text()}};
}

}  // namespace tierscope
