#include "kinds/checkpoint_kills.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>

#include "errors.h"
#include "interrupt.h"
#include "kinds/checkpoints.h"
#include "sampling/clock.h"
#include "splitmix64.h"
#include "storage/descriptor.h"

namespace tierscope {
namespace {

constexpr double kLongestWaitS = 60;  // For a child that says nothing; and 100 checkpoints more.

// What a child says through its pipe; whole, since it is shorter than PIPE_BUF.
struct Word {
  enum Kind : std::uint64_t { kRestarted, kBegun, kDurable, kFailed } kind;
  std::uint64_t generation;
  std::array<char, 240> text;  // Why it failed.
};

void say(int pipe, Word::Kind kind, std::uint64_t generation, const std::string& text = "") {
  Word word{.kind = kind, .generation = generation, .text = {}};
  text.copy(word.text.data(), word.text.size() - 1);
  if (::write(pipe, &word, sizeof word) != sizeof word) _exit(1);
}

// The generation of the last good checkpoint. None may have a header and be damaged.
std::uint64_t restarted(Checkpoints& checkpoints) {
  const Restart restart = checkpoints.restart();
  if (restart.rejected.empty()) return restart.generation;
  throw Failure("a checkpoint has its header and is not whole: " + restart.rejected,
                Cause::kVerification);
}

[[noreturn]] void write_until_killed(const KillsWish& wish, CheckpointState& state,
                                     CheckpointTarget& target, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    Team team(wish.cpus);
    Checkpoints checkpoints(team, state, target, wish.file);
    say(pipe, Word::kRestarted, restarted(checkpoints));
    while (true) {
      checkpoints.change();
      say(pipe, Word::kBegun, checkpoints.generation());
      checkpoints.save();
      say(pipe, Word::kDurable, checkpoints.generation());
    }
  } catch (const std::exception& error) {
    say(pipe, Word::kFailed, 0, error.what());
  }
  _exit(1);
}

// A child process, killed at the latest with this object.
class Writer {
 public:
  Writer(const KillsWish& wish, CheckpointState& state, CheckpointTarget& target) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
    pipe_ = Descriptor(ends[0]);
    Descriptor other(ends[1]);
    child_ = fork();
    if (child_ < 0) fail("fork");
    if (child_ == 0) write_until_killed(wish, state, target, other.get());
    longest_s_ = kLongestWaitS + 100 * wish.save_s;
  }
  ~Writer() { kill(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // The next thing that it says.
  Word next() {
    const double end = now_seconds() + longest_s_;
    pollfd ready{.fd = pipe_.get(), .events = POLLIN, .revents = 0};
    constexpr int kStepMs = 100;
    while (poll(&ready, 1, kStepMs) <= 0) {
      if (interrupted()) throw Interrupted();
      if (now_seconds() > end) {
        throw Failure(
            fmt::format("a program that saves checkpoints did nothing for {:.0f} s", longest_s_));
      }
    }
    Word word{};
    if (!take(word)) throw Failure("a program that saves checkpoints ended by itself");
    return word;
  }

  // What it had said when it was killed and nobody has heard yet.
  bool take(Word& word) {
    const ssize_t got = read(pipe_.get(), &word, sizeof word);
    if (got != sizeof word) return false;
    if (word.kind == Word::kFailed) {
      throw Failure(fmt::format("a program that was started after a kill: {}", word.text.data()),
                    Cause::kVerification);
    }
    return true;
  }

  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw Failure(fmt::format("{} failed: {}", what, std::strerror(errno)));
  }

  Descriptor pipe_;
  pid_t child_ = -1;
  double longest_s_ = 0;
};

// What is known of checkpoints between two processes.
struct Known {
  std::uint64_t durable;
  std::uint64_t begun;  // The same, or the next one.
};

// Whether a process that was started after so many kills found what it had to find.
void judge(const Known& known, std::uint64_t found, KillsReport& report) {
  if (found != known.durable && found != known.begun) {
    throw Failure(fmt::format("after {} kills the last good checkpoint was generation {}, and a "
                              "program that was started then found generation {}",
                              report.kills, known.durable, found),
                  Cause::kVerification);
  }
  report.went_on += known.begun != known.durable && found == known.begun;
}

double random_share(std::uint64_t& random) {
  return static_cast<double>(splitmix64(random) >> 11) * 0x1p-53;
}

// Kills one process at a random moment of one of its first checkpoints.
Known kill_one(const KillsWish& wish, CheckpointState& state, CheckpointTarget& target, Known known,
               std::uint64_t& random, KillsReport& report) {
  constexpr double kLatest = 1.2;  // Of a checkpoint's time: also after its end.
  Writer writer(wish, state, target);
  const std::uint64_t restarted = writer.next().generation;
  judge(known, restarted, report);
  known = {restarted, restarted};
  double begun_s = 0;
  double save_s = 0;  // Of the process's own last checkpoint.
  const auto note = [&](const Word& word) {
    if (word.kind == Word::kBegun) {
      known.begun = word.generation;
      begun_s = now_seconds();
    } else {
      known.durable = word.generation;
      save_s = now_seconds() - begun_s;
    }
  };
  // At least one checkpoint is whole before the one that is cut off.
  std::uint64_t more = 1 + splitmix64(random) % 3;
  while (true) {
    const Word word = writer.next();
    note(word);
    if (word.kind == Word::kBegun && more-- == 0) break;
  }
  std::this_thread::sleep_for(
      std::chrono::duration<double>(random_share(random) * kLatest * save_s));
  writer.kill();
  for (Word word{}; writer.take(word);) note(word);
  ++report.kills;
  report.while_saving += known.begun != known.durable;
  return known;
}

}  // namespace

KillsReport kill_writers(const KillsWish& wish, CheckpointState& state, CheckpointTarget& target,
                         std::uint64_t saved) {
  target.close();  // A pool is open in one process at a time.
  KillsReport report;
  std::uint64_t random = wish.seed;
  Known known{saved, saved};
  while (report.kills < wish.kills) {
    if (interrupted()) throw Interrupted();
    known = kill_one(wish, state, target, known, random, report);
  }
  Team team(wish.cpus);
  Checkpoints checkpoints(team, state, target, wish.file);
  judge(known, restarted(checkpoints), report);
  return report;
}

}  // namespace tierscope
