#include "threads/cpu_sets.h"

#include <algorithm>
#include <map>
#include <set>

namespace tierscope {
namespace {

class Matching {
 public:
  explicit Matching(const CpuSets& sets) : sets_(sets) {}

  // Gives the thread a CPU, others moving to further CPUs of theirs where they have to.
  bool place(std::size_t thread) {
    const std::vector<int>& set = sets_[thread];
    const auto free = std::ranges::find_if(set, [this](int cpu) { return !user_.contains(cpu); });
    if (free != set.end()) {
      user_[*free] = thread;
      return true;
    }
    for (const int cpu : set) {
      if (!tried_.insert(cpu).second || !place(user_[cpu])) continue;
      user_[cpu] = thread;
      return true;
    }
    return false;
  }

  void begin() { tried_.clear(); }
  std::size_t used() const { return user_.size(); }

 private:
  const CpuSets& sets_;
  std::map<int, std::size_t> user_;  // The thread that has the CPU.
  std::set<int> tried_;              // For the thread that is placed now.
};

}  // namespace

CpuSets one_each(std::span<const int> cpus) {
  CpuSets sets;
  for (const int cpu : cpus) sets.push_back({cpu});
  return sets;
}

std::vector<int> all_cpus(const CpuSets& sets) {
  std::set<int> all;
  for (const std::vector<int>& set : sets) all.insert(set.begin(), set.end());
  return {all.begin(), all.end()};
}

std::vector<bool> has_own_cpu(const CpuSets& sets) {
  std::map<int, std::size_t> users;
  for (const std::vector<int>& set : sets) {
    for (const int cpu : set) ++users[cpu];
  }
  std::vector<bool> found;
  for (const std::vector<int>& set : sets) {
    found.push_back(set.size() == 1 && users.at(set.front()) == 1);
  }
  return found;
}

std::size_t most_at_once(const CpuSets& sets) {
  const std::size_t cpus = all_cpus(sets).size();
  Matching matching(sets);
  for (std::size_t thread = 0; thread < sets.size() && matching.used() < cpus; ++thread) {
    matching.begin();
    matching.place(thread);
  }
  return matching.used();
}

std::size_t threads_per_cpu(const CpuSets& sets) {
  const std::size_t at_once = most_at_once(sets);
  return (sets.size() + at_once - 1) / at_once;
}

}  // namespace tierscope
