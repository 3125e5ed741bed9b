// Blocks that two processes hand over to each other in memory that both map, on one host or on two
// that share a device.
#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.h"
#include "handover/session.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/evidence.h"
#include "kinds/window_sample.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

struct HandoverSpec {
  int cpu;
  std::optional<int> responder;  // Its CPU on this host.
  Placement placement;
  SamplingRule sampling;
  std::size_t block_size;
  Coherence coherence;
};

constexpr std::array<std::pair<std::string_view, Coherence>, 3> kCoherences{
    {{"software", Coherence::kSoftware},
     {"hardware", Coherence::kHardware},
     {"flags-only", Coherence::kFlagsOnly}}};

class Handover : public State {
 public:
  explicit Handover(const HandoverSpec& spec) : spec_(spec) {}

  void open(Leases& leases) override {
    team_ = &leases.team(std::array{spec_.cpu});
    session_.reset();
    session_ = std::make_unique<HandoverSession>(spec_.placement, spec_.responder);
    if (rounds_ != 0) return;
    rounds_ = 1;
    double lasted = 0;
    while (lasted < window_seconds(spec_.sampling) / 2 && !interrupted()) {
      lasted = take().duration_s;
    }
  }

  std::vector<Series> series() override {
    std::vector<int> cpus{spec_.cpu};
    if (spec_.responder) cpus.push_back(*spec_.responder);
    return {
        {.name = "rounds",
         .columns = {{.metric = "handover_time", .part = ""}, {.metric = "bandwidth", .part = ""}},
         .take = [this] { return take(); },
         .watched_cpus = cpus}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    const std::unique_ptr<HandoverSession> session = std::move(session_);
    const PersistentMapping& memory = session->memory();
    evidence = mapping_evidence(memory, spec_.placement);
    evidence["persistent"] = memory.evidence(spec_.coherence == Coherence::kSoftware &&
                                             memory.durable_by() == Durable::kFlush);
    evidence["cpus"] = {cpu_};
    if (spec_.responder) evidence["cpus"].push_back(responder_cpu_);
    const HandoverInitiator& initiator = session->initiator();
    evidence["handover"] = {
        {"rounds", initiator.rounds()},
        {"responder", initiator.partner()},
        {"instructions", spec_.coherence == Coherence::kHardware ? coherent_caches().text()
                                                                 : instruction_caches().text()}};
    evidence["verified"] = fmt::format(
        "{} bytes of {} rounds, each as the other side had filled "
        "it in that round",
        initiator.verified_bytes(), initiator.rounds());
  }

 private:
  // A session that failed is ended, so that the next one has the same place of a device.
  Sample take() {
    HandoverTimes times{};
    try {
      team_->run([&](int) {
        times = session_->initiator().hand_over(
            {.rounds = rounds_, .block_bytes = spec_.block_size, .coherence = spec_.coherence});
        cpu_ = sched_getcpu();
      });
    } catch (...) {
      session_.reset();
      throw;
    }
    responder_cpu_ = times.responder_cpu;
    const double one_s = times.seconds / static_cast<double>(2 * rounds_);
    // What made a sample look long enough when it was sized was a stall.
    if (times.seconds < window_seconds(spec_.sampling) / 2) rounds_ *= 2;
    return {.start_s = times.start_s,
            .duration_s = times.seconds,
            .values = {one_s * 1e9, static_cast<double>(spec_.block_size) / one_s},
            .lost_share = times.lost_share};
  }

  HandoverSpec spec_;
  Team* team_ = nullptr;
  std::unique_ptr<HandoverSession> session_;  // Of a repetition.
  std::uint64_t rounds_ = 0;                  // Of a sample; 0: not sized yet.
  int cpu_ = -1;
  int responder_cpu_ = -1;
};

}  // namespace

MakeState parse_handover(const ObjectReader& measurement) {
  HandoverSpec spec{};
  spec.cpu = measurement.integer<int>("cpu");
  if (measurement.has("responder")) spec.responder = measurement.integer<int>("responder");
  spec.placement = read_placement(measurement, "placement");
  spec.sampling = read_sampling(measurement);
  const ObjectReader pattern = measurement.object("pattern");
  spec.block_size = pattern.bytes("block_size");
  spec.coherence = pattern.choice("coherence", kCoherences);
  return [spec] { return std::make_unique<Handover>(spec); };
}

}  // namespace tierscope
