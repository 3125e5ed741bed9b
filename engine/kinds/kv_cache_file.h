// Objects of a cache in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "kinds/drive_watch.h"
#include "kinds/kv_cache_order.h"
#include "kinds/kv_cache_pool.h"
#include "kinds/kv_cache_spec.h"
#include "storage/descriptor.h"
#include "storage/in_flight.h"
#include "storage/owned_files.h"

namespace tierscope {

class KvFile {
 public:
  // Makes the file. Throws Unavailable.
  KvFile(const KvCacheSpec& spec, FilePool& files);

  // In the thread that will use them: what objects go through, one for each operation in flight.
  void prepare(std::size_t thread, std::span<std::byte* const> buffers);
  // Gives up all that prepare() made, before the buffers go.
  void close();

  // Every `step`-th object from `first` on, with their pieces: into the pool, or out of it.
  void move(std::size_t thread, std::size_t first, std::size_t step, KvPool& pool,
            const KvOrder& order);

  // Contents, between samples; whole pages. Throws Failure.
  void read(std::uint64_t at, std::span<std::byte> to) const;
  void write(std::uint64_t at, std::span<const std::byte> from);
  // Bytes from the first on that hold the pattern, as somebody filled them: measurements that go to
  // one directory share its file, and fetches leave what they find.
  std::uint64_t& filled() const;
  // Has the drive keep what was written, and the page cache drop it; remembers what it kept.
  void settle();

  // What drives move counts from now on; setting up took so long.
  void restart(double set_up_s);
  // Once so many transfers have been made, nothing else was read or written, and settle().
  void observe(nlohmann::ordered_json& evidence, std::uint64_t transfers) const;

 private:
  [[noreturn]] void fail(const char* doing) const;

  const KvCacheSpec& spec_;
  OwnedFile* file_;
  Descriptor descriptor_;
  std::vector<std::vector<std::byte*>> buffers_;  // Of each thread, as the next one.
  std::vector<std::unique_ptr<InFlight>> lanes_;
  std::unique_ptr<DriveWatch> drives_;
  std::uint64_t cached_bytes_ = 0;  // Most that the page cache kept.
  double set_up_s_ = 0;
};

}  // namespace tierscope
