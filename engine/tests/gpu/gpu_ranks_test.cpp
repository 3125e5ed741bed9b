// Copies among GPUs of several processes, each with a fake CUDA of its own that shares memory with
// the others: what they agree on, prove and say.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "errors.h"
#include "gpu/fake_cuda.h"
#include "gpu/gpu_kinds.h"

namespace tierscope {
namespace {

using nlohmann::json;

json rank_transfer(int source, int destination, int rank, const std::string& engine = "ce") {
  return {{"name", std::to_string(source) + ">" + std::to_string(destination)},
          {"source", source},
          {"destination", destination},
          {"rank", rank},
          {"engine", engine}};
}

json ranks_plan(const std::vector<json>& transfers, int rank, int ranks) {
  json plan = common_plan();
  plan["rank"] = rank;
  // Each process has a fake machine of its own: two have a GPU of the same number.
  for (int i = 0; i < ranks; ++i) {
    plan["gpus"].push_back(i % 2);
    plan["hosts"].push_back("host");
  }
  plan["pattern"] = {{"size", 256 << 10}};
  plan["transfers"] = transfers;
  return plan;
}

// One line a message, over a socket.
class Line {
 public:
  explicit Line(int socket) : socket_(socket), file_(fdopen(socket, "r")) {}
  void say(const json& message) const {
    const std::string line = message.dump() + "\n";
    EXPECT_EQ(write(socket_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  json hear() const {
    char* line = nullptr;
    std::size_t room = 0;
    const ssize_t length = getline(&line, &room, file_);
    json found = length < 0 ? json{{"end", "nothing said"}} : json::parse(std::string(line));
    free(line);  // NOLINT: getline's
    return found;
  }

 private:
  int socket_;
  FILE* file_;
};

struct Job {
  std::vector<json> transfers;
  int ranks = 2;
  std::vector<fake_cuda::Machine> machines = std::vector<fake_cuda::Machine>(2);
  std::string handles = "any";
  int repetitions = 1;
};

// A rank: makes its repetitions, and says of each what came of it.
[[noreturn]] void run_rank(const Job& job, int rank, int socket) {
  const Line line(socket);
  fake_cuda::set(job.machines.at(static_cast<std::size_t>(rank)));
  json plan = ranks_plan(job.transfers, rank, job.ranks);
  plan["handles"] = job.handles;
  Repeated repeated("gpu-ranks", plan);
  repeated.exchange_by([&line](const json& said) -> std::vector<json> {
    line.say(said);
    const json answer = line.hear();
    if (answer.contains("lost")) throw Failure(answer["lost"].get<std::string>());
    return answer.at("exchanged");
  });
  json end;
  try {
    json samples;
    for (int i = 0; i < job.repetitions; ++i) {
      const Repetition repetition = repeated.repetition(i > 0);
      for (std::size_t column = 0; column < repetition.series[0].columns.size(); ++column) {
        end["medians"][column] = median_of(repetition, 0, column);
      }
      end["samples"].push_back(repetition.series[0].samples.size());
      end["evidence"] = repetition.evidence;
    }
    end["memory"] = fake_cuda::pieces_of_memory();
  } catch (const Unavailable& error) {
    end["cause"] = name_of(error.cause());
    end["reason"] = error.what();
  } catch (const Failure& error) {
    end["cause"] = name_of(error.cause());
    end["reason"] = error.what();
  }
  line.say({{"end", end}});
  _exit(0);
}

// Carries messages until all ranks have ended; what each of them said at its end.
std::vector<json> run(const Job& job) {
  std::vector<Line> lines;
  std::vector<pid_t> children;
  for (int rank = 0; rank < job.ranks; ++rank) {
    std::array<int, 2> sockets{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
    children.push_back(fork());
    if (children.back() == 0) run_rank(job, rank, sockets[1]);
    close(sockets[1]);
    lines.emplace_back(sockets[0]);
  }
  std::vector<json> ends(static_cast<std::size_t>(job.ranks));
  const auto left = [&ends] { return std::ranges::count(ends, json()); };
  while (left() > 0) {
    std::vector<json> said;
    const bool all = left() == job.ranks;
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
      if (!ends[rank].is_null()) continue;
      said.push_back(lines[rank].hear());
      if (said.back().contains("end")) ends[rank] = said.back()["end"];
    }
    const bool none_ended = all && left() == job.ranks;
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
      if (!ends[rank].is_null()) continue;
      lines[rank].say(none_ended ? json{{"exchanged", said}} : json{{"lost", "another rank"}});
    }
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return ends;
}

void expect_rate(const json& found, double rate) {
  EXPECT_NEAR(found.get<double>() / rate, 1, 0.01);
}

TEST(GpuRanks, ACopyFromAnotherProcessIsAsFastAsItsEngineAndVerifiedByWhoHasTheMemory) {
  for (const bool fabric : {false, true}) {
    const fake_cuda::Machine machine{.fabric = fabric};
    for (const int mover : {0, 1}) {
      const auto ends =
          run({.transfers = {rank_transfer(0, 1, mover)}, .machines = {machine, machine}});
      for (const json& end : ends) {
        ASSERT_TRUE(end.contains("medians")) << end;
        expect_rate(end["medians"][0], 50e6);
        EXPECT_EQ(end["evidence"]["memory_handles"], fabric ? "fabric" : "ipc");
        EXPECT_EQ(end["evidence"]["verified"],
                  "262144 bytes at 1 destinations, compared with the source's pattern on the GPU");
      }
      EXPECT_EQ(ends[0]["samples"], ends[1]["samples"]);
    }
  }
}

TEST(GpuRanks, BothWaysAtOnceAreSummedAndEachIsReported) {
  for (const char* engine : {"ce", "sm"}) {
    const auto ends =
        run({.transfers = {rank_transfer(0, 1, 1, engine), rank_transfer(1, 0, 0, engine)}});
    for (const json& end : ends) {
      ASSERT_TRUE(end.contains("medians")) << end;
      const double rate = std::string(engine) == "ce" ? 50e6 : 40e6;
      expect_rate(end["medians"][0], 2 * rate);
      expect_rate(end["medians"][1], rate);
      expect_rate(end["medians"][2], rate);
    }
  }
}

TEST(GpuRanks, WhoIsFasterCopiesOnUntilTheOthersEnd) {
  const std::vector<fake_cuda::Machine> machines{{.copy_engine = 50e6}, {.copy_engine = 10e6}};
  const auto ends =
      run({.transfers = {rank_transfer(0, 1, 0), rank_transfer(1, 0, 1)}, .machines = machines});
  ASSERT_TRUE(ends[0].contains("medians")) << ends[0];
  expect_rate(ends[0]["medians"][1], 50e6);
  expect_rate(ends[0]["medians"][2], 10e6);
}

TEST(GpuRanks, AllCopyToAllOthers) {
  std::vector<json> transfers;
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from != to) transfers.push_back(rank_transfer(from, to, from, "sm"));
    }
  }
  const auto ends =
      run({.transfers = transfers, .ranks = 3, .machines = std::vector<fake_cuda::Machine>(3)});
  for (const json& end : ends) {
    ASSERT_TRUE(end.contains("medians")) << end;
    EXPECT_EQ(end["medians"].size(), 7);
    EXPECT_TRUE(end["evidence"]["verified"].get<std::string>().starts_with("1572864 bytes at 6"));
  }
}

TEST(GpuRanks, LaterRepetitionsGiveTheSameAndMemoryIsGivenBack) {
  const std::vector<json> transfers{rank_transfer(0, 1, 0)};
  const auto once = run({.transfers = transfers});
  const auto thrice = run({.transfers = transfers, .repetitions = 3});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(thrice[rank].contains("memory")) << thrice[rank];
    EXPECT_EQ(once[rank]["memory"], thrice[rank]["memory"]);
    EXPECT_EQ(thrice[rank]["samples"].size(), 3);
  }
}

// The process that has the destination sees what came, not the one that copied.
TEST(GpuRanks, CopiesThatDoNothingAreFoundByWhoHasTheDestination) {
  // The first copy prepares the gate.
  const fake_cuda::Machine lazy{
      .copies = [first = true]() mutable { return std::exchange(first, false); }};
  const auto ends = run({.transfers = {rank_transfer(0, 1, 0)}, .machines = {lazy, {}}});
  EXPECT_EQ(ends[1]["cause"], "verification");
  EXPECT_EQ(ends[0]["reason"], "another rank");
}

TEST(GpuRanks, WithoutAWayToTheOthersMemoryItIsSaidWhy) {
  const fake_cuda::Machine apart{.peers = false};
  const auto ends = run({.transfers = {rank_transfer(0, 1, 0)}, .machines = {apart, apart}});
  EXPECT_EQ(ends[0]["cause"], "peer");
  const auto wanted = run({.transfers = {rank_transfer(0, 1, 0)}, .handles = "fabric"});
  for (const json& end : wanted) {
    EXPECT_EQ(end["cause"], "gpu-feature");
    EXPECT_TRUE(
        end["reason"].get<std::string>().starts_with("there are no fabric handles: rank 0"));
  }
}

TEST(GpuRanks, OneProcessAloneIsRefused) {
  fake_cuda::set({});
  Repeated repeated("gpu-ranks", ranks_plan({rank_transfer(0, 1, 0)}, 0, 2));
  EXPECT_THROW(repeated.repetition(), Unavailable);
}

}  // namespace
}  // namespace tierscope
