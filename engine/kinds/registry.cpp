// The kinds of measurement that this build knows, each with the parser in the file of its name.
#include "harness/kind.h"

// A new kind is one more row. Rows expand to the parser's declaration and to the table's entry.
#define TIERSCOPE_KINDS(ROW)                      \
  ROW("bandwidth", parse_bandwidth)               \
  ROW("latency", parse_latency)                   \
  ROW("loaded-latency", parse_loaded_latency)     \
  ROW("traffic", parse_traffic)                   \
  ROW("atomics", parse_atomics)                   \
  ROW("core-latency", parse_core_latency)         \
  ROW("mapping", parse_mapping)                   \
  ROW("persist", parse_persist)                   \
  ROW("handover", parse_handover)                 \
  ROW("chain", parse_chain)                       \
  ROW("ops", parse_ops)                           \
  ROW("gpu-copy", parse_gpu_copy)                 \
  ROW("gpu-ranks", parse_gpu_ranks)               \
  ROW("gpu-memory", parse_gpu_memory)             \
  ROW("gpu-latency", parse_gpu_latency)           \
  ROW("io", parse_io)                             \
  ROW("files", parse_files)                       \
  ROW("training", parse_training)                 \
  ROW("checkpoint", parse_checkpoint)             \
  ROW("model-checkpoint", parse_model_checkpoint) \
  ROW("kv-cache", parse_kv_cache)

namespace tierscope {

#define TIERSCOPE_DECLARE(name, parse) MakeState parse(const ObjectReader& measurement);
TIERSCOPE_KINDS(TIERSCOPE_DECLARE)
#undef TIERSCOPE_DECLARE

std::span<const Kind> kinds() {
#define TIERSCOPE_ENTRY(name, parse) {name, parse},
  static constexpr Kind kKinds[] = {TIERSCOPE_KINDS(TIERSCOPE_ENTRY)};
#undef TIERSCOPE_ENTRY
  return kKinds;
}

}  // namespace tierscope
