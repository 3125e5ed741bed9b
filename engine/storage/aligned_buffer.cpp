#include "storage/aligned_buffer.h"

#include <fmt/format.h>

#include "errors.h"
#include "memory/system_memory.h"
#include "storage/cell.h"

namespace tierscope {

AlignedBuffer make_aligned(std::size_t bytes) {
  AlignedBuffer memory(static_cast<std::byte*>(std::aligned_alloc(kCellBytes, bytes)));
  if (!memory) {
    throw Unavailable(Cause::kMemory, fmt::format("no memory for a buffer of {}", size_text(bytes)),
                      "free some memory");
  }
  return memory;
}

}  // namespace tierscope
