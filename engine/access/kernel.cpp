#include "access/kernel.h"

#include "access/targets.h"
// targets.h comes before Highway's headers, which it configures.
#include <hwy/targets.h>
#if !HWY_ARCH_X86
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "access/target_table.h"
#include "errors.h"

namespace tierscope {
#if HWY_ARCH_X86
namespace N_SSE4 {
const TargetTable& target_table();
}
namespace N_AVX2 {
const TargetTable& target_table();
}
namespace N_AVX3 {
const TargetTable& target_table();
}
#else
namespace N_NEON {
const TargetTable& target_table();
}
namespace N_SVE {
const TargetTable& target_table();
}
#endif

namespace {

struct NamedTarget {
  std::string_view isa;
  const TargetTable& (*table)();
};

// The widest first.
constexpr NamedTarget kTargets[] = {
#if HWY_ARCH_X86
    {"avx512", N_AVX3::target_table}, {"avx2", N_AVX2::target_table}, {"sse4", N_SSE4::target_table}
#else
    {"sve", N_SVE::target_table}, {"neon", N_NEON::target_table}
#endif
};

const TargetTable& table_of(std::string_view isa) {
  for (const NamedTarget& target : kTargets) {
    if (target.isa == isa) return target.table();
  }
  throw std::invalid_argument("no such instruction set: " + std::string(isa));
}

// Highway's bits of what this CPU runs.
std::int64_t targets_of_cpu() {
#if HWY_ARCH_X86
  return hwy::SupportedTargets();
#else
  return HWY_NEON | ((getauxval(AT_HWCAP) & HWCAP_SVE) != 0 ? HWY_SVE : 0);
#endif
}

Kernel of_order(const KernelRow& row, Order order) {
  switch (order) {
    case Order::kSequential:
      return row.sequential;
    case Order::kReverse:
      return row.reverse;
    case Order::kStrided:
      return row.strided;
    case Order::kRandom:
      return row.random;
    case Order::kZipf:
      return row.zipf;
  }
  return nullptr;
}

}  // namespace

const OperationTraits& traits_of(Operation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}

std::span<const std::string_view> supported_isas() {
  static const std::vector<std::string_view> supported = [] {
    std::vector<std::string_view> found;
    for (const NamedTarget& target : kTargets) {
      if ((targets_of_cpu() & target.table().target) != 0) found.push_back(target.isa);
    }
    return found;
  }();
  return supported;
}

std::string resolve_isa(const std::string& asked) {
  const std::span<const std::string_view> supported = supported_isas();
  if (asked == "auto") return std::string(supported.front());
  if (std::ranges::find(supported, asked) != supported.end()) return asked;
  std::string names;
  for (const std::string_view isa : supported)
    names += (names.empty() ? "" : ", ") + std::string(isa);
  throw Unavailable(Cause::kIsa,
                    "this CPU or this build has no " + asked + " kernels; it has " + names,
                    "name one of those, or auto");
}

Kernel find_kernel(std::string_view isa, Operation operation, Order order) {
  return of_order(table_of(isa).operations[static_cast<std::size_t>(operation)], order);
}

MixedKernel find_mixed_kernel(std::string_view isa, Order order, Stores stores) {
  const std::size_t place = order == Order::kSequential ? 0 : order == Order::kRandom ? 1 : 2;
  return table_of(isa).mixed[static_cast<std::size_t>(stores)][place];
}

ScanKernel find_scan_kernel(std::string_view isa, std::size_t key_bytes, bool positions) {
  return table_of(isa).scans[key_bytes == sizeof(std::uint64_t) ? 1 : 0][positions ? 1 : 0];
}

Kernel find_address_kernel(std::string_view isa, Order order) {
  return of_order(table_of(isa).addresses, order);
}

}  // namespace tierscope
