// What copies among GPUs of several processes go from and to.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/ranks.h"
#include "gpu/shared_memory.h"
#include "gpu/specs.h"

namespace tierscope {

class RankMemory {
 public:
  // Takes memory for this process's ends of all transfers, and maps those of others that its GPU
  // copies from or to. All ranks do so at the same time. Throws Unavailable or Failure.
  RankMemory(const GpuRanksSpec& spec, Ranks& ranks);

  // The source and the destination of each transfer in turn; null where neither is this process's
  // nor copied by it.
  const std::vector<Buffer*>& ends() const { return ends_; }
  // The flag of this process's gate, 0, and on the leader those of all ranks.
  volatile unsigned* flag() const { return reinterpret_cast<unsigned*>(flag_->data()); }
  std::vector<volatile unsigned*> flags() const;

  // By what handles; and, where those of the fabric could not be used, why.
  HandleKind kind() const { return kind_; }
  const std::string& why_no_fabric() const { return why_no_fabric_; }

  // Gives all of it back, once no rank has any of it mapped.
  void give_back(Ranks& ranks);

 private:
  void choose_handles(const GpuRanksSpec& spec, Ranks& ranks);
  void map_others(const GpuRanksSpec& spec, Ranks& ranks);

  int gpu_;
  std::size_t bytes_;
  HandleKind kind_ = HandleKind::kFabric;
  std::string why_no_fabric_;
  std::unique_ptr<SharedMemory> flag_;
  std::vector<std::unique_ptr<SharedMemory>> own_;     // As ends_; null where others have it.
  std::vector<std::unique_ptr<MappedMemory>> mapped_;  // As ends_.
  std::vector<std::unique_ptr<MappedMemory>> flags_;   // Of other ranks, on the leader.
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Buffer*> ends_;
};

}  // namespace tierscope
