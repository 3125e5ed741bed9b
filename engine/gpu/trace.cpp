#include "gpu/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "errors.h"
#include "gpu/cupti.h"
#include "sampling/overlap.h"

namespace tierscope {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};

struct Series {
  std::vector<double> ns;
  double bytes = 0;
};
// Group, name, and the bytes of each operation; 0 of calls and kernels.
using Key = std::tuple<std::string, std::string, std::uint64_t>;

// CUPTI calls back from threads of its own.
std::mutex mutex;
std::map<Key, Series> all;
std::vector<Interval> copies;

void add(const char* group, const std::string& name, std::uint64_t start, std::uint64_t end,
         std::uint64_t bytes) {
  const std::lock_guard lock(mutex);
  Series& series = all[{group, name, bytes}];
  series.ns.push_back(static_cast<double>(end - start));
  series.bytes += static_cast<double>(bytes);
}

void add_copy(const std::string& name, std::uint64_t start, std::uint64_t end,
              std::uint64_t bytes) {
  add("operation", name, start, end, bytes);
  const std::lock_guard lock(mutex);
  copies.push_back({start, end});
}

const char* name_of_copy(unsigned char kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "memcpy host to GPU";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "memcpy GPU to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "memcpy inside a GPU";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "memcpy host to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "memcpy GPU to GPU";
    default:
      return "memcpy";
  }
}

// cuMemcpyAsync_v2: the version is of no use to a reader.
std::string name_of_call(const char* name) {
  const std::string text = name == nullptr ? "unknown" : name;
  return text.substr(0, text.rfind("_v"));
}

void take(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto* call = reinterpret_cast<const CUpti_ActivityAPI*>(record);
      const char* name = nullptr;
      cupti().callback_name(CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &name);
      add("call", name_of_call(name), call->start, call->end, 0);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
      add_copy(name_of_copy(copy->copyKind), copy->start, copy->end, copy->bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
      add_copy("memcpy GPU to GPU", copy->start, copy->end, copy->bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* set = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      add("operation", "memset", set->start, set->end, set->bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      add("kernel", kernel->name, kernel->start, kernel->end, 0);
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (valid > 0 && cupti().next_record(buffer, valid, &record) == CUPTI_SUCCESS) take(record);
  std::free(buffer);
}

nlohmann::ordered_json describe(const Key& key, Series& series) {
  std::vector<double>& ns = series.ns;
  std::sort(ns.begin(), ns.end());
  const auto n = static_cast<double>(ns.size());
  const double total = std::accumulate(ns.begin(), ns.end(), 0.0);
  const double mean = total / n;
  double squares = 0;
  for (const double value : ns) squares += (value - mean) * (value - mean);
  const std::size_t middle = ns.size() / 2;
  const double median = ns.size() % 2 == 1 ? ns[middle] : (ns[middle - 1] + ns[middle]) / 2;
  nlohmann::ordered_json row{{"group", std::get<0>(key)},
                             {"name", std::get<1>(key)},
                             {"count", ns.size()},
                             {"bytes", series.bytes},
                             {"total_ns", total},
                             {"mean_ns", mean},
                             {"median_ns", median},
                             {"min_ns", ns.front()},
                             {"max_ns", ns.back()},
                             {"stddev_ns", ns.size() > 1 ? std::sqrt(squares / (n - 1)) : 0.0}};
  if (std::get<2>(key) > 0) row["each_bytes"] = static_cast<double>(std::get<2>(key));
  return row;
}

}  // namespace

Trace::Trace(bool wanted) {
  if (!wanted) return;
  if (!cupti().missing.empty()) {
    throw Unavailable(Cause::kTool, "no trace without CUPTI: " + cupti().missing,
                      "install the CUDA toolkit, or name the library's folder in TIERSCOPE_CUPTI");
  }
  {
    const std::lock_guard lock(mutex);
    all.clear();
    copies.clear();
  }
  static const bool registered =
      cupti().register_callbacks(give_buffer, take_buffer) == CUPTI_SUCCESS;
  if (!registered) throw Failure("CUPTI took no callbacks");
  for (const CUpti_ActivityKind kind : kKinds) {
    if (cupti().enable(kind) != CUPTI_SUCCESS) {
      throw Unavailable(Cause::kTool, "CUPTI refuses to trace",
                        "end other profilers; in a container, allow tracing");
    }
  }
  recording_ = true;
}

Trace::~Trace() {
  if (!recording_) return;
  for (const CUpti_ActivityKind kind : kKinds) cupti().disable(kind);
}

void Trace::report(nlohmann::ordered_json& evidence) {
  if (!recording_) return;
  for (const CUpti_ActivityKind kind : kKinds) cupti().disable(kind);
  recording_ = false;
  cupti().flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(mutex);
  std::vector<std::pair<double, nlohmann::ordered_json>> rows;
  for (auto& [key, series] : all) {
    const double total = std::accumulate(series.ns.begin(), series.ns.end(), 0.0);
    rows.emplace_back(total, describe(key, series));
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& one, const auto& other) { return one.first > other.first; });
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& row : rows) list.push_back(row.second);
  evidence["trace"] = std::move(list);
  const Overlap found = overlap_of(copies);
  evidence["copies_overlap"] = {{"copies", found.operations},
                                {"busy_ns", found.busy_ns},
                                {"overlapped_ns", found.overlapped_ns},
                                {"most", found.most}};
}

}  // namespace tierscope
