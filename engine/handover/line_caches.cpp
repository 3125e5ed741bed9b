#include "handover/line_caches.h"

#include "access/flush.h"
#include "errors.h"
#include "sizes.h"

namespace tierscope {
namespace {

using Act = void (*)(std::span<std::byte> lines);

template <Flush kHow>
void flush_lines(std::span<std::byte> lines) {
  for_each_line(lines.data(), lines.size(), flush_line<kHow>);
}

struct Instructions {
  Act write_back;
  Act drop;
  const char* text;
};

#if defined(__x86_64__)

// CLFLUSHOPT is ordered by fences only: MFENCE before it has earlier loads done, and MFENCE after
// it keeps later ones waiting (Intel SDM vol. 2A, CLFLUSHOPT).
void fence_all() { asm volatile("mfence" : : : "memory"); }
void fence_stores() { asm volatile("sfence" : : : "memory"); }

Instructions instructions() {
  if (has_flush(Flush::kClwb) && has_flush(Flush::kClflushopt)) {
    return {flush_lines<Flush::kClwb>, flush_lines<Flush::kClflushopt>,
            "clwb, sfence; clflushopt between mfences"};
  }
  if (has_flush(Flush::kClflushopt)) {
    return {flush_lines<Flush::kClflushopt>, flush_lines<Flush::kClflushopt>,
            "clflushopt, sfence; clflushopt between mfences"};
  }
  if (has_flush(Flush::kClflush)) {
    return {flush_lines<Flush::kClflush>, flush_lines<Flush::kClflush>,
            "clflush, sfence; clflush between mfences"};
  }
  throw Unavailable(Cause::kIsa, "this CPU has no instruction that writes cache lines back",
                    "measure --coherence hardware");
}

#else

// Of the whole system: the other host is beyond the inner shareable domain.
void fence_all() { asm volatile("dsb sy" : : : "memory"); }
void fence_stores() { fence_all(); }

void drop_lines(std::span<std::byte> lines) {
  for_each_line(lines.data(), lines.size(), write_back<WriteBack::kDrop>);
}

Instructions instructions() {
  return {flush_lines<Flush::kCvac>, drop_lines, "dc cvac, dsb sy; dc civac between dsb sy"};
}

#endif

class InstructionCaches : public LineCaches {
 public:
  void write_back(std::span<std::byte> lines) override {
    instructions_.write_back(lines);
    fence_stores();
  }
  void drop(std::span<std::byte> lines) override {
    fence_all();
    instructions_.drop(lines);
    fence_all();
  }
  std::string text() const override { return instructions_.text; }

 private:
  Instructions instructions_ = instructions();
};

class CoherentCaches : public LineCaches {
 public:
  void write_back(std::span<std::byte> /*lines*/) override {}
  void drop(std::span<std::byte> /*lines*/) override {}
  std::string text() const override { return "none: the hardware keeps caches coherent"; }
};

}  // namespace

LineCaches& instruction_caches() {
  static InstructionCaches caches;
  return caches;
}

LineCaches& coherent_caches() {
  static CoherentCaches caches;
  return caches;
}

}  // namespace tierscope
