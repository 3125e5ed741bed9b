// What repetitions can take over from earlier ones: threads, placed memory and files.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "exchange.h"
#include "memory/region.h"
#include "storage/owned_files.h"
#include "threads/team.h"

namespace tierscope {

struct RegionKey {
  std::size_t bytes;
  Pages pages;
  Placement placement;
  // Arrays of one pool come and go together, so that a thread that goes over all of them keeps to
  // one pool. Set by Leases.
  std::size_t in_pool = 0;
  CpuSets touched_by{};  // First touch: the CPUs of the team that populates it.
  bool operator==(const RegionKey&) const = default;
};

// A region for the time of one repetition.
struct Lease {
  Region* region;
  bool is_new;  // Its pages were populated for this lease.
  // What its last holder said that it left in the region; empty for a new region, and where the
  // last holder said nothing.
  std::any found;
  // Empty. Say here what the region holds, once it does; say nothing where it will be overwritten.
  std::any* contents;
};

// Whether the region for the key of this number may keep the contents that it was found with.
using Fits = std::function<bool(std::size_t number, const std::any& contents)>;

// What a repetition is given: threads, memory and files that earlier ones had, and the way to other
// processes that make the same repetition.
//
// Populating and reading back a gigabyte takes longer than measuring it, and a sweep asks for the
// same regions again and again. So regions stay in a pool when a repetition ends, and so do teams
// of threads. The pool gives up regions that fresh repetitions replaced, and then its least
// recently used ones, when a new one does not fit, and when those on one node would hold more than
// half of what was available there at first.
class Leases {
 public:
  // Ends all leases of the repetition before. In a `fresh` repetition regions() gives new pages
  // only: other ones than all earlier repetitions had, as long as the pool has room for those.
  void begin_repetition(bool fresh);
  bool fresh() const { return fresh_; }

  // A team on these CPUs, one thread each; valid until the repetition ends. Throws as Team does.
  Team& team(std::span<const int> cpus) { return team(one_each(cpus)); }
  // The same with a thread for each set of CPUs.
  Team& team(const CpuSets& sets);

  // A region for each of these keys, populated by the threads of `populating` where it is new, and
  // read back then; valid until the repetition ends. Throws as Region does, before any memory is
  // touched where those of one key together would not fit.
  //
  // A region whose contents fit is preferred; then one whose last holder left nothing; then, as
  // long as there is room, a new one, so that what others will come back for stays. Without `fits`
  // any will do.
  std::vector<Lease> regions(std::span<const RegionKey> keys, Team& populating,
                             const Fits& fits = {});

  // Numbers of the regions that this repetition has leased; a region that is made anew has another.
  const std::set<std::uint64_t>& leased() const { return leased_; }

  // Files that measurements make; they last for as long as the process.
  FilePool& files() { return files_; }

  // With the processes that make this repetition, too. Throws Unavailable where nobody carries it.
  std::vector<nlohmann::json> exchange(const nlohmann::json& said) { return exchange_(said); }
  void exchange_by(Exchange exchange) { exchange_ = std::move(exchange); }

  // Gives up every region that this repetition has not leased; false where there was none.
  bool drop_idle_regions();

  // Regions that the pool holds, leased or not.
  std::size_t size() const { return pool_.size(); }

 private:
  struct Pooled {
    RegionKey key;
    std::unique_ptr<Region> region;
    std::unique_ptr<std::any> contents;
    bool leased;
    bool retired;  // Held only so that new regions have other pages.
    std::uint64_t number;

    bool is_idle() const { return !leased && !retired; }
  };
  struct CachedTeam {
    std::unique_ptr<Team> team;
    bool used;  // In this repetition.
  };

  using Missing = std::vector<const RegionKey*>;

  std::vector<Lease> try_regions(std::span<const RegionKey> keys, Team& populating,
                                 const Fits& fits);
  std::vector<Pooled*> reuse(std::span<const RegionKey> keys, const Fits& fits);
  Pooled* lease_idle(const RegionKey& key, const std::function<bool(const std::any&)>& wanted);
  Pooled* add(const RegionKey& key, Team& populating, const std::shared_ptr<Pool>& pool);
  void retire(std::vector<Pooled*>& chosen);
  void drop_incomplete(std::span<const RegionKey> keys);
  bool has_room(const Missing& missing);
  void make_room(const Missing& missing);
  bool drop_oldest_idle();

  static std::vector<nlohmann::json> refuse_exchange(const nlohmann::json& said);

  Exchange exchange_ = refuse_exchange;
  FilePool files_;
  bool fresh_ = false;
  std::uint64_t made_ = 0;  // Regions so far.
  std::set<std::uint64_t> leased_;
  std::vector<std::unique_ptr<Pooled>> pool_;  // The least recently used first.
  std::vector<CachedTeam> teams_;              // The least recently used first.
  std::map<int, std::size_t> available_;       // By node, when it was first asked for.
};

}  // namespace tierscope
