#include "gpu/rank_memory.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <set>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/fabric.h"

namespace tierscope {
namespace {

// Differs from host to host, and is the same in all containers of one.
std::string host_identity() {
  std::string identity;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> identity;
  return identity;
}

const MemoryPlace& end_of(const GpuCopySpec& spec, std::size_t end) {
  const Transfer& transfer = spec.transfers[end / 2];
  return end % 2 == 0 ? transfer.source : transfer.destination;
}

// Only GPUs of one clique reach each other over NVLink.
std::string tell_apart(const std::map<std::string, int>& cliques) {
  std::string text = "the ranks' GPUs belong to different cliques of the NVLink fabric";
  for (const auto& [clique, rank] : cliques) {
    text += fmt::format(", rank {}'s to {}", rank, clique.empty() ? "none" : clique);
  }
  return text + "; take hosts of one clique (Fabric in `nvidia-smi -q`)";
}

}  // namespace

RankMemory::RankMemory(const GpuRanksSpec& spec, Ranks& ranks)
    : gpu_(spec.gpus.at(static_cast<std::size_t>(spec.copies.rank))), bytes_(spec.copies.size) {
  choose_handles(spec, ranks);
  const std::size_t ends = 2 * spec.copies.transfers.size();
  own_.resize(ends);
  mapped_.resize(ends);
  flag_ = std::make_unique<SharedMemory>(kind_, gpu_, sizeof(unsigned));
  check_cuda(cuda().cuMemsetD8(address_of(flag_->data()), 0, sizeof(unsigned)),
             "preparing the gate");
  check_cuda(cuda().cuCtxSynchronize(), "preparing the gate");
  for (std::size_t end = 0; end < ends; ++end) {
    if (spec.copies.holds(end_of(spec.copies, end))) {
      own_[end] = std::make_unique<SharedMemory>(kind_, gpu_, bytes_);
    }
  }
  map_others(spec, ranks);
  for (std::size_t end = 0; end < ends; ++end) {
    std::byte* const data = own_[end]      ? own_[end]->data()
                            : mapped_[end] ? mapped_[end]->data()
                                           : nullptr;
    if (data != nullptr) {
      buffers_.push_back(std::make_unique<Buffer>(end_of(spec.copies, end), bytes_, gpu_, data));
    }
    ends_.push_back(data != nullptr ? buffers_.back().get() : nullptr);
  }
}

void RankMemory::choose_handles(const GpuRanksSpec& spec, Ranks& ranks) {
  const bool wanted = spec.handles != HandleKind::kIpc;
  const std::string why_not = wanted ? tierscope::why_no_fabric(gpu_) : "";
  const bool fits = wanted && why_not.empty();
  std::set<std::string> hosts;
  std::map<std::string, int> cliques;  // And a rank of each.
  for (const auto& [rank, said] :
       ranks.meet("handles", {{"host", host_identity()},
                              {"no_fabric", why_not},
                              {"clique", fits ? read_fabric(gpu_).clique_name() : ""}})) {
    hosts.insert(said.at("host").get<std::string>());
    cliques.emplace(said.at("clique").get<std::string>(), rank);
    const auto why = said.at("no_fabric").get<std::string>();
    if (!why.empty() && why_no_fabric_.empty()) {
      why_no_fabric_ = fmt::format("rank {}: {}", rank, why);
    }
  }
  if (why_no_fabric_.empty() && cliques.size() > 1) why_no_fabric_ = tell_apart(cliques);
  const bool fabric = spec.handles != HandleKind::kIpc && why_no_fabric_.empty();
  if (!fabric && spec.handles == HandleKind::kFabric) {
    throw Unavailable(Cause::kGpuFeature, "there are no fabric handles: " + why_no_fabric_,
                      "leave --handles out: ranks of one host do without");
  }
  if (!fabric && hosts.size() > 1) {
    throw Unavailable(Cause::kGpuFeature,
                      fmt::format("GPUs of {} hosts reach each other by fabric handles only: {}",
                                  hosts.size(), why_no_fabric_),
                      "take hosts of one NVLink fabric, with IMEX on each of them");
  }
  kind_ = fabric ? HandleKind::kFabric : HandleKind::kIpc;
}

void RankMemory::map_others(const GpuRanksSpec& spec, Ranks& ranks) {
  nlohmann::json handles = nlohmann::json::object();
  for (std::size_t end = 0; end < own_.size(); ++end) {
    if (own_[end]) handles[std::to_string(end)] = own_[end]->handle();
  }
  const auto said = ranks.meet("memory", {{"ends", handles}, {"flag", flag_->handle()}});
  for (std::size_t end = 0; end < own_.size(); ++end) {
    if (own_[end] || !spec.copies.moves(spec.copies.transfers[end / 2])) continue;
    const int holder = end_of(spec.copies, end).rank;
    const auto handle = said.at(holder).at("ends").at(std::to_string(end)).get<std::string>();
    mapped_[end] = std::make_unique<MappedMemory>(kind_, gpu_, bytes_, handle);
  }
  if (!ranks.leads()) return;
  for (const auto& [rank, message] : said) {
    if (rank == spec.copies.rank) continue;
    const auto handle = message.at("flag").get<std::string>();
    flags_.push_back(std::make_unique<MappedMemory>(kind_, gpu_, sizeof(unsigned), handle));
  }
}

std::vector<volatile unsigned*> RankMemory::flags() const {
  std::vector<volatile unsigned*> all{flag()};
  for (const auto& flag : flags_) all.push_back(reinterpret_cast<unsigned*>(flag->data()));
  return all;
}

void RankMemory::give_back(Ranks& ranks) {
  ends_.clear();
  buffers_.clear();
  mapped_.clear();
  flags_.clear();
  ranks.meet("unmapped");
  own_.clear();
  flag_.reset();
}

}  // namespace tierscope
