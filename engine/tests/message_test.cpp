// The exchange of messages over an MPI of two threads: matched by source and tag, complete at once.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "message/exchange.h"

namespace {

using Message = std::vector<char>;

// Mailboxes of both ranks, by tag. A rank is a thread.
struct FakeMpi {
  std::mutex mutex;
  std::array<std::map<int, std::deque<Message>>, 2> boxes;
  std::size_t spoiled_size = 0;  // A byte of messages of this size is changed under way.
};

struct FakeRequest {
  void* to = nullptr;  // Of a receive that is not complete.
  int bytes = 0;
  int tag = 0;
};

FakeMpi* fake = nullptr;
thread_local int own_rank = 0;

int fake_isend(const void* data, int count, std::uintptr_t /*type*/, int to, int tag,
               std::uintptr_t /*comm*/, void* request) {
  const auto* const bytes = static_cast<const char*>(data);
  Message message(bytes, bytes + count);
  if (message.size() == fake->spoiled_size) message.back() = static_cast<char>(~message.back());
  const std::lock_guard lock(fake->mutex);
  fake->boxes.at(static_cast<std::size_t>(to))[tag].push_back(std::move(message));
  *static_cast<FakeRequest*>(request) = {};
  return 0;
}

int fake_irecv(void* data, int count, std::uintptr_t /*type*/, int /*from*/, int tag,
               std::uintptr_t /*comm*/, void* request) {
  *static_cast<FakeRequest*>(request) = {data, count, tag};
  return 0;
}

bool received_all(int count, void* requests) {
  const std::lock_guard lock(fake->mutex);
  bool done = true;
  for (int i = 0; i < count; ++i) {
    FakeRequest& request = static_cast<FakeRequest*>(requests)[i];
    if (request.to == nullptr) continue;
    auto& box = fake->boxes.at(static_cast<std::size_t>(own_rank))[request.tag];
    if (box.empty()) {
      done = false;
      continue;
    }
    EXPECT_EQ(box.front().size(), static_cast<std::size_t>(request.bytes));
    std::memcpy(request.to, box.front().data(), box.front().size());
    box.pop_front();
    request = {};
  }
  return done;
}

int fake_testall(int count, void* requests, int* done, void* /*statuses*/) {
  *done = received_all(count, requests) ? 1 : 0;
  if (*done == 0) std::this_thread::yield();  // The other rank may wait for the mutex.
  return 0;
}

int fails(int /*count*/, void* /*requests*/, int* /*done*/, void* /*statuses*/) { return 17; }

struct Outcome {
  int result = -1;
  std::vector<double> values;
  double first_start = -1;
  std::uint64_t messages = 0;
  std::string error;
};

struct Asked {
  TsMessageOperation operation = kTsLatency;
  int size = 8;
  int window = 4;
  double patience_s = 300;  // A rank's thread may get no CPU for long.
};

Outcome take_part(int rank, const Asked& asked, bool broken = false) {
  own_rank = rank;
  std::vector<char> send(static_cast<std::size_t>(asked.size));
  std::vector<char> receive(send.size());
  std::vector<double> starts(8);
  std::vector<double> durations(8);
  std::vector<double> values(8);
  TsMessageExchange exchange{};
  exchange.mpi = {fake_isend,          fake_irecv, broken ? fails : fake_testall, 0, 0,
                  sizeof(FakeRequest), 24};
  exchange.operation = asked.operation;
  exchange.source = rank == 0 ? 1 : 0;
  exchange.partner = 1 - rank;
  exchange.tag = 10;
  exchange.size = asked.size;
  exchange.window = asked.window;
  exchange.send = send.data();
  exchange.receive = receive.data();
  exchange.seconds = 0.02;
  exchange.sample_seconds = 0.002;
  exchange.patience_s = asked.patience_s;
  exchange.seed = 7;
  TsMessageSamples samples{};
  samples.starts = starts.data();
  samples.durations = durations.data();
  samples.values = values.data();
  samples.capacity = values.size();
  Outcome found;
  found.result = ts_message_exchange(&exchange, &samples);
  values.resize(samples.count);
  found.values = std::move(values);
  found.first_start = starts.front();
  found.messages = samples.messages;
  found.error = samples.error;
  return found;
}

std::pair<Outcome, Outcome> exchanged(const Asked& asked, std::size_t spoiled_size = 0) {
  FakeMpi mpi;
  mpi.spoiled_size = spoiled_size;
  fake = &mpi;
  std::pair<Outcome, Outcome> found;
  std::thread other([&] { found.second = take_part(1, asked); });
  found.first = take_part(0, asked);
  other.join();
  for (const auto& boxes : mpi.boxes) {
    for (const auto& [tag, box] : boxes) EXPECT_TRUE(box.empty()) << "unread messages, tag " << tag;
  }
  return found;
}

class MessageOperation : public testing::TestWithParam<TsMessageOperation> {};

TEST_P(MessageOperation, TheSourceHasSamplesAndNothingIsLeftUnread) {
  for (const int size : {1, 8, 13, 5000}) {
    const auto [source, destination] = exchanged({GetParam(), size});
    EXPECT_EQ(source.result, kTsDone) << source.error;
    EXPECT_EQ(destination.result, kTsDone) << destination.error;
    ASSERT_FALSE(source.values.empty());
    for (const double value : source.values) EXPECT_GT(value, 0);
    EXPECT_GE(source.first_start, 0);
    EXPECT_TRUE(destination.values.empty());
    EXPECT_GE(source.messages, source.values.size() * (GetParam() == kTsLatency ? 1 : 4));
    EXPECT_EQ(destination.messages, GetParam() == kTsBandwidth ? 0 : source.messages);
  }
}

TEST_P(MessageOperation, AByteThatIsChangedUnderWayIsFound) {
  const auto [source, destination] = exchanged({GetParam(), 40}, 40);
  EXPECT_EQ(destination.result, kTsWrongContents);
  EXPECT_NE(destination.error.find("byte 39 "), std::string::npos) << destination.error;
  EXPECT_EQ(source.result, GetParam() == kTsBandwidth ? kTsDone : kTsWrongContents);
}

INSTANTIATE_TEST_SUITE_P(All, MessageOperation,
                         testing::Values(kTsLatency, kTsBandwidth, kTsBothWays));

TEST(Message, APartnerThatIsSilentIsGivenUp) {
  FakeMpi mpi;
  fake = &mpi;
  const Outcome source = take_part(0, {kTsLatency, 8, 4, 0.3});
  EXPECT_EQ(source.result, kTsSilent);
  EXPECT_EQ(source.error, "rank 1 did not answer for 0.3 s");
  const Outcome destination = take_part(1, {kTsBandwidth, 8, 4, 0.3});
  EXPECT_EQ(destination.result, kTsSilent);
}

TEST(Message, AnErrorOfMpiIsNamedWithItsCode) {
  FakeMpi mpi;
  fake = &mpi;
  const Outcome source = take_part(0, {}, true);
  EXPECT_EQ(source.result, kTsMpiFailed);
  EXPECT_EQ(source.error, "MPI_Testall failed with code 17");
}

}  // namespace
