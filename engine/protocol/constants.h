// Written by `make schema` from the models in src/tierscope. Do not edit.
#pragma once

#include "protocol/tables.h"

// clang-format off
namespace tierscope::tables {

inline constexpr Check kPlacementRanges{"ranges", "count other nodes than there are, or nodes of different weights in one range"};
inline constexpr Check kBandwidthPatternAccessSize{"access_size", "has to be 8, 16, 32 or a multiple of 64"};
inline constexpr Check kThreadsCpus{"cpus", "are not all CPUs of cpu_sets, ascending"};
inline constexpr Check kBandwidthSpecPatternSize{"pattern.size", "has fewer accesses than there are threads"};
inline constexpr Check kLatencyPatternSize{"size", "is too small: a chase needs two strides"};
inline constexpr Check kLatencySpecPatternSize{"pattern.size", "has fewer lines than there are chases"};
inline constexpr Check kStreamPatternSize{"pattern.size", "has fewer accesses than there are threads"};
inline constexpr Check kLoadedLatencySpecLoadCpus{"load.cpus", "have the chase's own CPU among them"};
inline constexpr Check kTrafficSpecCpus{"beside", "has threads on CPUs of other threads; streams that share CPUs have sets"};
inline constexpr Check kTrafficSpecNames{"beside", "has two streams of one name, or one that is called main"};
inline constexpr Check kTrafficSpecPatternSize{"pattern.size", "has fewer accesses than there are threads"};
inline constexpr Check kAtomicsSpecPatternSize{"pattern.size", "has fewer lines than there are threads"};
inline constexpr Check kPersistSpecPatternSize{"pattern.size", "has fewer blocks than there are threads"};
inline constexpr Check kChainPatternOperations{"operations", "begin with an offset, but no operation is before it"};
inline constexpr Check kChainPatternLinked{"linked", "goes with an operation that reads or has a full fence"};
inline constexpr Check kChainPatternSize{"size", "is less than the {} bytes that operations reach over"};
inline constexpr Check kChainPatternSizeSecond{"size_second", "is less than the {} bytes that operations reach over"};
inline constexpr Check kChainPatternOnlySecond{"size_second", "goes with operations of m1"};
inline constexpr Check kChainPatternTimedFrom{"timed_from", "is beyond the last operation, number {}"};
inline constexpr Check kChainSpecPlacementSecond{"placement_second", "goes with operations of m1, and only with them"};
inline constexpr Check kOpsPatternKeys{"keys", "are less than {}, which levels of ratio {} need"};
inline constexpr Check kOpsSpecParts{"parts", "name one that {} does not have"};
inline constexpr Check kOpsSpecPatternKeys{"pattern.keys", "are fewer than the {} that {} threads need"};
inline constexpr Check kGpuCopySpecAlone{"transfers", "of pageable and migrating memory are one transfer, one stream"};
inline constexpr Check kGpuCopySpecRows{"transfers", "of rows are copied by engine ce only"};
inline constexpr Check kGpuCopySpecPatternOffset{"pattern.offset", "has to be a multiple of 16 for engine tma"};
inline constexpr Check kGpuCopySpecCallLatency{"call_latency", "goes with one transfer, one stream, and memory that stays in place"};
inline constexpr Check kRankTransferRank{"rank", "is neither the source nor the destination, one of whose GPUs copies"};
inline constexpr Check kGpuRanksSpecHosts{"hosts", "are not one for each GPU"};
inline constexpr Check kGpuRanksSpecGpus{"gpus", "are too few: a rank has none"};
inline constexpr Check kGpuLatencyPatternSize{"size", "has to hold 2 to 2^28 strides"};
inline constexpr Check kIoJobFiles{"files", "are one, or one for each thread, unless they are shared"};
inline constexpr Check kIoSpecGpu{"pattern.backend", "needs a GPU in a job's buffers where it is one of GPUs, and takes none elsewhere"};
inline constexpr Check kIoSpecManaged{"pattern.backend", "staged-managed needs memory managed"};
inline constexpr Check kIoSpecPatternPages{"pattern.pages", "other than base need buffers in host memory"};
inline constexpr Check kIoSpecPatternOperation{"pattern.operation", "writing to a device destroys its data: name it in destroy (--destroy-data)"};
inline constexpr Check kIoSpecPatternAmount{"pattern.amount", "is in all patterns or in none, and time_limit_s the same, unless jobs have own_ends"};
inline constexpr Check kIoSpecPatternRampS{"pattern.ramp_s", "has to be the same in all patterns, and so require"};
inline constexpr Check kIoSpecOwnEnds{"own_ends", "needs an amount or a time_limit_s in each pattern"};
inline constexpr Check kIoSpecLimited{"pattern.time_limit_s", "goes with amount, or with own_ends"};
inline constexpr Check kIoSpecPaced{"jobs", "delay_s, search, ends and flow go with own_ends"};
inline constexpr Check kIoSpecSame{"pattern.backend", "of GPUs has to be the same in all patterns"};
inline constexpr Check kIoSpecSeries{"series", "writes, unless it is of a group"};
inline constexpr Check kIoSpecJobs{"jobs", "purge goes with a series"};
inline constexpr Check kFilesSpecPatternFiles{"pattern.files", "are fewer than threads, each of which needs one in a shared directory"};
inline constexpr Check kTrainingPatternFiles{"files", "have to hold a batch for each accelerator"};
inline constexpr Check kTrainingSpecPatternReaders{"pattern.readers", "and accelerators are more than 4096 threads together"};
inline constexpr Check kKvCacheSpecPatternPieces{"pattern.pieces", "make an object of more than 1 GiB"};

inline constexpr int kPlanVersion = 2;
inline constexpr double kDisturbedShare = 0.01;
inline constexpr std::uint64_t kOpsFillPercent = 90;
inline constexpr std::uint64_t kOpsMaxDepth = 40;
inline constexpr double kOpsMaxLoad = 0.55;
inline constexpr std::uint64_t kOpsBlock = 4096;
inline constexpr std::uint64_t kOpsLevels = 4;
inline constexpr std::uint64_t kOpsFilterBits = 10;
inline constexpr std::uint64_t kOpsFewestKeys = 64;
inline constexpr std::uint64_t kOpsFewestRows = 1024;
inline constexpr std::uint64_t kOpsFewestToInsert = 32768;
inline constexpr std::uint64_t kOpsMaxInterleave = 64;
inline constexpr std::uint64_t kOpsMaxPartitions = 4096;
inline constexpr std::uint64_t kOpsMaxRuns = 256;
inline constexpr std::uint64_t kOpsSharedSlots = 12;

}  // namespace tierscope::tables
