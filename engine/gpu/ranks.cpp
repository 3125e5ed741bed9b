#include "gpu/ranks.h"

#include <fmt/format.h>

#include <utility>

#include "errors.h"

namespace tierscope {

Ranks::Ranks(const GpuRanksSpec& spec, Exchange exchange)
    : exchange_(std::move(exchange)),
      own_(spec.copies.rank),
      leader_(spec.leader()),
      all_(spec.taking_part()) {}

std::map<int, nlohmann::json> Ranks::meet(std::string_view step, nlohmann::json said) {
  said["step"] = step;
  const std::vector<nlohmann::json> found = exchange_(said);
  std::map<int, nlohmann::json> by_rank;
  for (std::size_t i = 0; i < found.size() && i < all_.size(); ++i) by_rank[all_[i]] = found[i];
  for (const int rank : all_) {
    const std::string other = by_rank[rank].is_object() ? by_rank[rank].value("step", "") : "";
    if (other != step) {
      throw Failure(fmt::format("rank {} is at step {}, rank {} at '{}'", own_, step, rank, other));
    }
  }
  return by_rank;
}

bool Ranks::another_sample(bool wanted) {
  return meet("sample", {{"another", wanted}}).at(leader_).at("another").get<bool>();
}

std::map<std::size_t, Timeline> Ranks::share(const std::map<std::size_t, Timeline>& own) {
  nlohmann::json lanes = nlohmann::json::array();
  for (const auto& [lane, timeline] : own) {
    lanes.push_back({{"lane", lane},
                     {"times", timeline.times},
                     {"bytes", timeline.bytes},
                     {"end", timeline.end}});
  }
  std::map<std::size_t, Timeline> all;
  for (const auto& [rank, said] : meet("copied", {{"lanes", lanes}})) {
    for (const nlohmann::json& lane : said.at("lanes")) {
      all.emplace(lane.at("lane").get<std::size_t>(),
                  Timeline{.times = lane.at("times").get<std::vector<double>>(),
                           .bytes = lane.at("bytes").get<std::vector<double>>(),
                           .end = lane.at("end").get<double>()});
    }
  }
  return all;
}

}  // namespace tierscope
