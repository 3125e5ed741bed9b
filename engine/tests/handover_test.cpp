// Hand-overs between two sides whose caches are simulated: each has a copy of the memory of its
// own, which only writing back and dropping lines connects, as on hosts without coherence.
#include "handover/handover.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "errors.h"

namespace tierscope {
namespace {

constexpr double kPatienceS = 20;

struct SharedMemory {
  std::vector<std::byte> bytes = std::vector<std::byte>(kHandoverBytes);
  std::mutex mutex;
};

// A host's caches: `bytes` is what its loads and stores see.
class SimulatedCaches : public LineCaches {
 public:
  explicit SimulatedCaches(SharedMemory& memory) : memory_(memory) {}

  void write_back(std::span<std::byte> lines) override {
    if (forget_blocks && is_block(lines)) return;
    const std::lock_guard lock(memory_.mutex);
    std::memcpy(&memory_.bytes[place(lines)], lines.data(), lines.size());
  }
  void drop(std::span<std::byte> lines) override {
    if (keep_blocks && is_block(lines)) return;
    const std::lock_guard lock(memory_.mutex);
    std::memcpy(lines.data(), &memory_.bytes[place(lines)], lines.size());
  }
  std::string text() const override { return "simulated"; }

  std::vector<std::byte> bytes = std::vector<std::byte>(kHandoverBytes);
  // Planted faults.
  bool forget_blocks = false;
  bool keep_blocks = false;

 private:
  std::size_t place(std::span<std::byte> lines) const {
    return static_cast<std::size_t>(lines.data() - bytes.data());
  }
  bool is_block(std::span<std::byte> lines) const { return place(lines) >= kHandoverControl; }

  SharedMemory& memory_;
};

// Two hosts, whose responder serves as long as this lives.
class TwoHosts {
 public:
  TwoHosts() = default;
  ~TwoHosts() { stop(); }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  HandoverInitiator& meet(double patience_s = kPatienceS) {
    serving_ = std::thread([this, patience_s] {
      served_ = serve_handovers(second.bytes, {second, coherent_caches()}, patience_s,
                                [this] { return stopped_.load(); });
    });
    initiator_.emplace(first.bytes, HandoverCaches{first, coherent_caches()}, patience_s);
    EXPECT_TRUE(initiator_->meet(kPatienceS));
    return *initiator_;
  }
  Served stop() {
    stopped_ = true;
    if (serving_.joinable()) serving_.join();
    return served_;
  }

  SharedMemory memory;
  SimulatedCaches first{memory};
  SimulatedCaches second{memory};

 private:
  std::optional<HandoverInitiator> initiator_;
  std::atomic<bool> stopped_ = false;
  Served served_;
  std::thread serving_;
};

std::string failure_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.cause(), Cause::kVerification);
    return failure.what();
  }
  return "";
}

constexpr HandoverBatch batch(Coherence coherence) {
  return {.rounds = 20, .block_bytes = 4096, .coherence = coherence};
}

TEST(Handover, BlocksArriveByWritingBackAndDroppingLines) {
  TwoHosts hosts;
  HandoverInitiator& initiator = hosts.meet();
  EXPECT_GT(initiator.hand_over(batch(Coherence::kSoftware)).seconds, 0);
  initiator.hand_over({.rounds = 1, .block_bytes = 64, .coherence = Coherence::kSoftware});
  EXPECT_EQ(initiator.rounds(), 23);
  EXPECT_EQ(initiator.verified_bytes(), 2 * (21 * 4096 + 2 * 64));
  EXPECT_TRUE(initiator.partner().starts_with("process ")) << initiator.partner();
  const Served served = hosts.stop();
  EXPECT_EQ(served.sessions, 1);
  EXPECT_EQ(served.rounds, 23);
  EXPECT_EQ(served.bytes, 21 * 4096 + 2 * 64);
  EXPECT_EQ(served.wrong, 0);
}

TEST(Handover, BlocksThatAreLeftToTheHardwareAreFoundStale) {
  TwoHosts hosts;
  HandoverInitiator& initiator = hosts.meet();
  EXPECT_NE(failure_of([&] { initiator.hand_over(batch(Coherence::kFlagsOnly)); }), "");
  EXPECT_NO_THROW(initiator.hand_over(batch(Coherence::kSoftware))) << "the session goes on";
  EXPECT_GT(hosts.stop().wrong, 0);
}

TEST(Handover, AnInitiatorThatForgetsToWriteBackIsFound) {
  TwoHosts hosts;
  HandoverInitiator& initiator = hosts.meet();
  initiator.hand_over(batch(Coherence::kSoftware));
  hosts.first.forget_blocks = true;
  const std::string said = failure_of([&] { initiator.hand_over(batch(Coherence::kSoftware)); });
  EXPECT_NE(said.find("words that the responder loaded were wrong; the first is word 0 of the "
                      "block of round 22, which was that of the round before: a stale cache line"),
            std::string::npos)
      << said;
}

TEST(Handover, AnInitiatorThatKeepsItsCopiesIsFound) {
  TwoHosts hosts;
  HandoverInitiator& initiator = hosts.meet();
  initiator.hand_over(batch(Coherence::kSoftware));
  hosts.first.keep_blocks = true;
  const std::string said = failure_of([&] { initiator.hand_over(batch(Coherence::kSoftware)); });
  EXPECT_NE(said.find("words that the initiator loaded were wrong"), std::string::npos) << said;
}

TEST(Handover, FlagsThatNobodyWritesBackDoNotArrive) {
  TwoHosts hosts;
  HandoverInitiator& initiator = hosts.meet(0.1);
  const std::string said = failure_of([&] { initiator.hand_over(batch(Coherence::kHardware)); });
  EXPECT_EQ(said, "the responder's flag of round 1 did not arrive in 0.2 s");
}

TEST(Handover, AResponderJoinsEachSession) {
  TwoHosts hosts;
  hosts.meet().hand_over(batch(Coherence::kSoftware));
  HandoverInitiator next(hosts.first.bytes, {hosts.first, coherent_caches()}, kPatienceS);
  ASSERT_TRUE(next.meet(kPatienceS));
  next.hand_over(batch(Coherence::kSoftware));
  EXPECT_EQ(next.rounds(), 21);
  EXPECT_EQ(hosts.stop().sessions, 2);
}

TEST(Handover, NobodyIsMetWhereNobodyResponds) {
  SharedMemory memory;
  SimulatedCaches caches(memory);
  HandoverInitiator initiator(caches.bytes, {caches, coherent_caches()}, kPatienceS);
  EXPECT_FALSE(initiator.meet(0.01));
}

// The instructions, between two threads of this machine.
TEST(Handover, InstructionsOfThisCpuHandOver) {
  std::vector<std::byte> room(kHandoverBytes + 4096);
  const auto address = reinterpret_cast<std::uintptr_t>(room.data());
  const std::span<std::byte> memory(room.data() + (4096 - address % 4096) % 4096, kHandoverBytes);
  const HandoverCaches caches{instruction_caches(), coherent_caches()};
  std::atomic<bool> stopped = false;
  std::thread responder(
      [&] { serve_handovers(memory, caches, kPatienceS, [&] { return stopped.load(); }); });
  HandoverInitiator initiator(memory, caches, kPatienceS);
  EXPECT_TRUE(initiator.meet(kPatienceS));
  for (const Coherence how : {Coherence::kSoftware, Coherence::kHardware, Coherence::kFlagsOnly}) {
    EXPECT_GT(initiator.hand_over({.rounds = 5, .block_bytes = 64 << 10, .coherence = how}).seconds,
              0);
  }
  stopped = true;
  responder.join();
}

}  // namespace
}  // namespace tierscope
