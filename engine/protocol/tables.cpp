// Written by `make schema` from the models in src/tierscope. Do not edit.
#include "protocol/tables.h"

// clang-format off
namespace tierscope::tables {
namespace {

constexpr Value kValues0[] = {std::string_view{"bandwidth"}};
constexpr Field kSamplingFields[] = {
    {.name = "precision", .otherwise = 0.01, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 0.5},
    {.name = "budget_s", .otherwise = 2.0, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{86400}},
    {.name = "sample_s", .otherwise = 0.01, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{60}},
};
constexpr Table kSampling{kSamplingFields};

constexpr Value kValues1[] = {std::string_view{"bind"}, std::string_view{"preferred"}, std::string_view{"interleave"}, std::string_view{"weighted"}, std::string_view{"partition"}, std::string_view{"first-touch"}};
constexpr Field kNodeShareFields[] = {
    {.name = "node", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "weight", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{255}},
};
constexpr Table kNodeShare{kNodeShareFields};

constexpr Field kFields2[] = {{.type = Type::kObject, .table = &kNodeShare}};
constexpr Value kValues3[] = {std::string_view{"user"}, std::string_view{"kernel"}};
constexpr Field kFields4[] = {{.type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1024}}};
constexpr Value kValues5[] = {std::string_view{"file"}, std::string_view{"pool"}, std::string_view{"pool-objects"}, std::string_view{"device"}};
constexpr Value kValues6[] = {std::string_view{""}, std::string_view{"battery"}};
constexpr Value kValues7[] = {std::string_view{"device"}};
constexpr Test kTests8[] = {{"backing", Test::Kind::kIn, kValues7}};
constexpr Value kValues9[] = {std::int64_t{0}};
constexpr Test kTests10[] = {{"offset", Test::Kind::kDiffers, kValues9}};
constexpr Value kValues11[] = {std::string_view{""}};
constexpr Test kTests12[] = {{"destroy", Test::Kind::kDiffers, kValues11}};
constexpr Value kValues13[] = {Value{true}};
constexpr Test kTests14[] = {{"bound", Test::Kind::kIn, kValues13}, {"backing", Test::Kind::kIn, kValues7}};
constexpr Field kPersistentFields[] = {
    {.name = "backing", .required = true, .type = Type::kText, .choices = kValues5},
    {.name = "path", .required = true, .type = Type::kText, .longest = 4096, .pattern = "^/"},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1125899906842624}},
    {.name = "destroy", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "backed_by", .otherwise = std::string_view{""}, .type = Type::kText, .choices = kValues6},
    {.name = "bound", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Rule kRules15[] = {{"offset", "goes with backing device", kTests10, kTests8}, {"destroy", "goes with backing device", kTests12, kTests8}, {"bound", "does not go with backing device", kTests14}};
constexpr Table kPersistent{kPersistentFields, kRules15};

constexpr Value kValues16[] = {std::int64_t{1}};
constexpr Test kTests17[] = {{"nodes", Test::Kind::kElements, kValues16}};
constexpr Value kValues18[] = {std::string_view{"bind"}, std::string_view{"preferred"}};
constexpr Test kTests19[] = {{"policy", Test::Kind::kIn, kValues18}};
constexpr Value kValues20[] = {std::string_view{"kernel"}};
constexpr Value kValues21[] = {std::string_view{"partition"}};
constexpr Test kTests22[] = {{"mechanism", Test::Kind::kIn, kValues20}, {"policy", Test::Kind::kIn, kValues21}};
constexpr Value kValues23[] = {std::string_view{"first-touch"}};
constexpr Test kTests24[] = {{"mechanism", Test::Kind::kIn, kValues20}, {"policy", Test::Kind::kIn, kValues23}};
constexpr Value kValues25[] = {std::string_view{"bind"}};
constexpr Test kTests26[] = {{"policy", Test::Kind::kIn, kValues25}};
constexpr Test kTests27[] = {{"persistent", Test::Kind::kGiven, {}}};
constexpr Test kTests28[] = {{"policy", Test::Kind::kIn, kValues21}};
constexpr Test kTests29[] = {{"ranges", Test::Kind::kGiven, {}}};
constexpr Field kPlacementFields[] = {
    {.name = "policy", .required = true, .type = Type::kText, .choices = kValues1},
    {.name = "nodes", .required = true, .type = Type::kArray, .shortest = 1, .longest = 1024, .element = kFields2, .distinct = true, .distinct_by = "node"},
    {.name = "mechanism", .otherwise = std::string_view{"user"}, .type = Type::kText, .choices = kValues3},
    {.name = "ranges", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 1024, .element = kFields4},
    {.name = "persistent", .nullable = true, .type = Type::kObject, .table = &kPersistent},
};
constexpr Rule kRules30[] = {{"nodes", "policies bind and preferred take exactly one node", kTests19, kTests17}, {"mechanism", "policy partition is done in user space only", kTests22}, {"mechanism", "policy first-touch takes no mechanism", kTests24}, {"persistent", "goes with policy bind", kTests27, kTests26}, {"ranges", "goes with policy partition", kTests29, kTests28}};
constexpr Table kPlacement{kPlacementFields, kRules30};

constexpr Value kValues31[] = {std::string_view{"as-found"}, std::string_view{"on"}, std::string_view{"off"}};
constexpr Field kFields32[] = {{.type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}}};
constexpr Field kFields33[] = {{.type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true}};
constexpr Value kValues34[] = {std::string_view{"pool-objects"}};
constexpr Test kTests35[] = {{"persistent.backing", Test::Kind::kIn, kValues34}};
constexpr Rule kRules36[] = {{"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests35}};
constexpr Value kValues37[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"write-nt"}, std::string_view{"copy"}, std::string_view{"copy-nt"}, std::string_view{"scale"}, std::string_view{"scale-nt"}, std::string_view{"add"}, std::string_view{"add-nt"}, std::string_view{"triad"}, std::string_view{"triad-nt"}, std::string_view{"rmw"}, std::string_view{"memset"}, std::string_view{"memcpy"}};
constexpr Value kValues38[] = {std::string_view{"base"}, std::string_view{"thp"}, std::string_view{"2m"}, std::string_view{"512m"}, std::string_view{"1g"}};
constexpr Value kValues39[] = {std::string_view{"sequential"}, std::string_view{"reverse"}, std::string_view{"strided"}, std::string_view{"random"}, std::string_view{"zipf"}};
constexpr Value kValues40[] = {std::string_view{"partitioned"}, std::string_view{"shared"}};
constexpr Value kValues41[] = {std::string_view{"auto"}, std::string_view{"sse4"}, std::string_view{"avx2"}, std::string_view{"avx512"}, std::string_view{"neon"}, std::string_view{"sve"}};
constexpr Value kValues42[] = {std::string_view{"strided"}};
constexpr Test kTests43[] = {{"order", Test::Kind::kIn, kValues42}};
constexpr Test kTests44[] = {{"stride", Test::Kind::kGiven, {}}};
constexpr Value kValues45[] = {std::string_view{"zipf"}};
constexpr Test kTests46[] = {{"order", Test::Kind::kIn, kValues45}};
constexpr Value kValues47[] = {0.99};
constexpr Test kTests48[] = {{"zipf_alpha", Test::Kind::kDiffers, kValues47}};
constexpr Value kValues49[] = {std::string_view{"read"}, std::string_view{"write"}};
constexpr Value kValues50[] = {std::string_view{"sequential"}};
constexpr Test kTests51[] = {{"operation", Test::Kind::kIn, kValues49}, {"order", Test::Kind::kIn, kValues50}};
constexpr Value kValues52[] = {std::int64_t{64}};
constexpr Test kTests53[] = {{"access_size", Test::Kind::kBelow, kValues52}};
constexpr Value kValues54[] = {std::string_view{"access_size"}};
constexpr Test kTests55[] = {{"stride", Test::Kind::kBelow, kValues54}};
constexpr Test kTests56[] = {{"order", Test::Kind::kIn, kValues50}};
constexpr Value kValues57[] = {std::string_view{"memset"}, std::string_view{"memcpy"}};
constexpr Test kTests58[] = {{"operation", Test::Kind::kIn, kValues57}};
constexpr Value kValues59[] = {std::string_view{"auto"}};
constexpr Test kTests60[] = {{"isa", Test::Kind::kIn, kValues59}};
constexpr Value kValues61[] = {std::string_view{"shared"}};
constexpr Value kValues62[] = {std::string_view{"rmw"}};
constexpr Test kTests63[] = {{"sharing", Test::Kind::kIn, kValues61}, {"operation", Test::Kind::kIn, kValues62}};
constexpr Field kBandwidthPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues37},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues39},
    {.name = "access_size", .otherwise = std::int64_t{64}, .type = Type::kInteger, .least = std::int64_t{8}, .most = std::int64_t{1125899906842624}},
    {.name = "stride", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "zipf_alpha", .otherwise = 0.99, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "sharing", .otherwise = std::string_view{"partitioned"}, .type = Type::kText, .choices = kValues40},
    {.name = "isa", .otherwise = std::string_view{"auto"}, .type = Type::kText, .choices = kValues41},
};
constexpr Rule kRules64[] = {{"stride", "goes with order strided", kTests44, kTests43}, {"order", "strided needs a stride, such as 4k", kTests43, kTests44}, {"zipf_alpha", "goes with order zipf", kTests48, kTests46}, {"access_size", "8, 16 and 32 bytes go with operations read and write in order sequential", kTests53, kTests51}, {"stride", "is smaller than access_size", kTests55}, {"operation", "memset and memcpy go in order sequential only", kTests58, kTests56}, {"operation", "memset and memcpy go with isa auto: the C library chooses their instructions", kTests58, kTests60}, {"sharing", "shared does not go with rmw: where two threads update an element at once, one update is lost, so that none could be verified", kTests63}};
constexpr Table kBandwidthPattern{kBandwidthPatternFields, kRules64};

constexpr Value kValues65[] = {std::string_view{"copy"}, std::string_view{"copy-nt"}, std::string_view{"scale"}, std::string_view{"scale-nt"}, std::string_view{"add"}, std::string_view{"add-nt"}, std::string_view{"triad"}, std::string_view{"triad-nt"}, std::string_view{"memcpy"}};
constexpr Test kTests66[] = {{"pattern.operation", Test::Kind::kIn, kValues65}};
constexpr Test kTests67[] = {{"placement_b", Test::Kind::kGiven, {}}};
constexpr Value kValues68[] = {std::string_view{"add"}, std::string_view{"add-nt"}, std::string_view{"triad"}, std::string_view{"triad-nt"}};
constexpr Test kTests69[] = {{"pattern.operation", Test::Kind::kIn, kValues68}};
constexpr Test kTests70[] = {{"placement_c", Test::Kind::kGiven, {}}};
constexpr Test kTests71[] = {{"cpu_sets", Test::Kind::kGiven, {}}, {"placement.policy", Test::Kind::kIn, kValues23}};
constexpr Test kTests72[] = {{"cpu_sets", Test::Kind::kGiven, {}}, {"placement_b.policy", Test::Kind::kIn, kValues23}};
constexpr Test kTests73[] = {{"cpu_sets", Test::Kind::kGiven, {}}, {"placement_c.policy", Test::Kind::kIn, kValues23}};
constexpr Value kValues74[] = {std::monostate{}};
constexpr Value kValues75[] = {std::string_view{"copy"}, std::string_view{"scale"}, std::string_view{"add"}, std::string_view{"triad"}};
constexpr Value kValues76[] = {std::string_view{"partitioned"}};
constexpr Test kTests77[] = {{"placement_b", Test::Kind::kIn, kValues74}, {"placement_c", Test::Kind::kIn, kValues74}, {"pattern.operation", Test::Kind::kIn, kValues75}, {"pattern.order", Test::Kind::kIn, kValues50}, {"pattern.sharing", Test::Kind::kIn, kValues76}, {"pattern.isa", Test::Kind::kIn, kValues59}};
constexpr Test kTests78[] = {{"placement.persistent.backing", Test::Kind::kIn, kValues34}};
constexpr Field kBandwidthSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"bandwidth"}, .type = Type::kText, .choices = kValues0},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields33},
    {.name = "placement_b", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules36},
    {.name = "placement_c", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules36},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kBandwidthPattern},
};
constexpr Rule kRules79[] = {{"placement_b", "is of an array that the operation does not have", kTests67, kTests66}, {"placement_c", "is of an array that the operation does not have", kTests70, kTests69}, {"cpu_sets", "goes with memory that the plan places: which node a thread of a set touches from is up to the scheduler", kTests71}, {"cpu_sets", "goes with memory that the plan places: which node a thread of a set touches from is up to the scheduler", kTests72}, {"cpu_sets", "goes with memory that the plan places: which node a thread of a set touches from is up to the scheduler", kTests73}, {"placement.persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests78, kTests77}};
constexpr Table kBandwidthSpec{kBandwidthSpecFields, kRules79};

constexpr Value kValues80[] = {std::string_view{"latency"}};
constexpr Test kTests81[] = {{"policy", Test::Kind::kIn, kValues23}};
constexpr Rule kRules82[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests81}, {"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests35}, {"policy", "first-touch is for the arrays of bandwidth only", kTests81}, {"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests35}};
constexpr Value kValues83[] = {std::string_view{"random"}, std::string_view{"page-random"}};
constexpr Field kLatencyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
    {.name = "order", .otherwise = std::string_view{"random"}, .type = Type::kText, .choices = kValues83},
    {.name = "stride", .otherwise = std::int64_t{256}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
};
constexpr Table kLatencyPattern{kLatencyPatternFields};

constexpr Field kLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"latency"}, .type = Type::kText, .choices = kValues80},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules82},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kLatencyPattern},
    {.name = "chases", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
};
constexpr Table kLatencySpec{kLatencySpecFields};

constexpr Value kValues84[] = {std::string_view{"loaded-latency"}};
constexpr Value kValues85[] = {std::string_view{"ordinary"}, std::string_view{"nt"}, std::string_view{"clwb"}, std::string_view{"clflushopt"}};
constexpr Value kValues86[] = {std::string_view{"sequential"}, std::string_view{"random"}, std::string_view{"zipf"}};
constexpr Test kTests87[] = {{"prefetch", Test::Kind::kDiffers, kValues9}};
constexpr Field kStreamPatternFields[] = {
    {.name = "writes", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100}},
    {.name = "stores", .otherwise = std::string_view{"ordinary"}, .type = Type::kText, .choices = kValues85},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues86},
    {.name = "zipf_alpha", .otherwise = 0.99, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "access_size", .otherwise = std::int64_t{1024}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "prefetch", .otherwise = std::int64_t{0}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{0}, .most = std::int64_t{1048576}},
    {.name = "delay_ns", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1000000000}},
    {.name = "isa", .otherwise = std::string_view{"auto"}, .type = Type::kText, .choices = kValues41},
};
constexpr Rule kRules88[] = {{"zipf_alpha", "goes with order zipf", kTests48, kTests46}, {"prefetch", "goes with order sequential", kTests87, kTests56}};
constexpr Table kStreamPattern{kStreamPatternFields, kRules88};

constexpr Field kLoadFields[] = {
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields33},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules82},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kStreamPattern},
    {.name = "idle", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kLoad{kLoadFields};

constexpr Field kLoadedLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"loaded-latency"}, .type = Type::kText, .choices = kValues84},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules82},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kLatencyPattern},
    {.name = "load", .required = true, .type = Type::kObject, .table = &kLoad},
};
constexpr Table kLoadedLatencySpec{kLoadedLatencySpecFields};

constexpr Value kValues89[] = {std::string_view{"traffic"}};
constexpr Field kNamedStreamFields[] = {
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields33},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules82},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kStreamPattern},
    {.name = "name", .required = true, .type = Type::kText, .shortest = 1, .longest = 24, .pattern = "^[A-Za-z0-9_-]+$"},
};
constexpr Table kNamedStream{kNamedStreamFields};

constexpr Field kFields90[] = {{.type = Type::kObject, .table = &kNamedStream}};
constexpr Field kTrafficSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"traffic"}, .type = Type::kText, .choices = kValues89},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules82},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields33},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kStreamPattern},
    {.name = "beside", .type = Type::kArray, .longest = 15, .element = kFields90},
};
constexpr Table kTrafficSpec{kTrafficSpecFields};

constexpr Value kValues91[] = {std::string_view{"atomics"}};
constexpr Value kValues92[] = {std::string_view{"fetch-and-add"}, std::string_view{"compare-and-swap"}};
constexpr Field kAtomicsPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues92},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
    {.name = "shared", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kAtomicsPattern{kAtomicsPatternFields};

constexpr Field kAtomicsSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"atomics"}, .type = Type::kText, .choices = kValues91},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules82},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kAtomicsPattern},
};
constexpr Table kAtomicsSpec{kAtomicsSpecFields};

constexpr Value kValues93[] = {std::string_view{"core-latency"}};
constexpr Rule kRules94[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests81}, {"persistent", "is not accepted here: this memory is on nodes", kTests27}, {"policy", "first-touch is for the arrays of bandwidth only", kTests81}, {"persistent", "is not accepted here: this memory is on nodes", kTests27}};
constexpr Value kValues95[] = {std::string_view{"modified"}, std::string_view{"clean"}};
constexpr Field kCoreLatencyPatternFields[] = {
    {.name = "state", .otherwise = std::string_view{"modified"}, .type = Type::kText, .choices = kValues95},
    {.name = "size", .otherwise = std::int64_t{262144}, .type = Type::kInteger, .multiple = 256, .least = std::int64_t{256}, .most = std::int64_t{1073741824}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
};
constexpr Table kCoreLatencyPattern{kCoreLatencyPatternFields};

constexpr Test kTests96[] = {{"placement.policy", Test::Kind::kDiffers, kValues25}};
constexpr Value kValues97[] = {std::string_view{"cpu"}};
constexpr Test kTests98[] = {{"writer", Test::Kind::kSame, kValues97}};
constexpr Field kCoreLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"core-latency"}, .type = Type::kText, .choices = kValues93},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules94},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "writer", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kCoreLatencyPattern},
};
constexpr Rule kRules99[] = {{"placement.policy", "has to be bind: lines have one home", kTests96}, {"writer", "is the CPU that reads", kTests98}};
constexpr Table kCoreLatencySpec{kCoreLatencySpecFields, kRules99};

constexpr Value kValues100[] = {std::string_view{"mapping"}};
constexpr Value kValues101[] = {std::string_view{"private"}, std::string_view{"shared"}};
constexpr Value kValues102[] = {std::string_view{"touch"}, std::string_view{"call"}};
constexpr Field kMappingPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
    {.name = "sharing", .otherwise = std::string_view{"private"}, .type = Type::kText, .choices = kValues101},
    {.name = "populate", .otherwise = std::string_view{"touch"}, .type = Type::kText, .choices = kValues102},
};
constexpr Table kMappingPattern{kMappingPatternFields};

constexpr Value kValues103[] = {std::string_view{"bind"}, std::string_view{"interleave"}};
constexpr Test kTests104[] = {{"placement.policy", Test::Kind::kIn, kValues103}};
constexpr Test kTests105[] = {{"placement.policy", Test::Kind::kGiven, {}}};
constexpr Field kMappingSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"mapping"}, .type = Type::kText, .choices = kValues100},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules94},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kMappingPattern},
};
constexpr Rule kRules106[] = {{"placement.policy", "a mapping is placed by bind or interleave", kTests105, kTests104}};
constexpr Table kMappingSpec{kMappingSpecFields, kRules106};

constexpr Value kValues107[] = {std::string_view{"persist"}};
constexpr Value kValues108[] = {std::string_view{"stores"}, std::string_view{"clwb"}, std::string_view{"clflushopt"}, std::string_view{"clflush"}, std::string_view{"dc-cvap"}, std::string_view{"dc-cvac"}, std::string_view{"nt-stores"}, std::string_view{"nt-drain"}, std::string_view{"msync"}, std::string_view{"fdatasync"}, std::string_view{"pool-persist"}, std::string_view{"transaction"}, std::string_view{"allocation"}};
constexpr Value kValues109[] = {std::string_view{"sequential"}, std::string_view{"random"}};
constexpr Value kValues110[] = {std::string_view{"transaction"}};
constexpr Test kTests111[] = {{"method", Test::Kind::kIn, kValues110}};
constexpr Field kPersistPatternFields[] = {
    {.name = "method", .required = true, .type = Type::kText, .choices = kValues108},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues109},
    {.name = "block_size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "ranges", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
};
constexpr Rule kRules112[] = {{"ranges", "goes with method transaction", kTests29, kTests111}};
constexpr Table kPersistPattern{kPersistPatternFields, kRules112};

constexpr Field kPersistSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"persist"}, .type = Type::kText, .choices = kValues107},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules82},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kPersistPattern},
};
constexpr Table kPersistSpec{kPersistSpecFields};

constexpr Value kValues113[] = {std::string_view{"chain"}};
constexpr Rule kRules114[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests81}, {"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests35}};
constexpr Value kValues115[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"compare-and-swap"}, std::string_view{"fetch-and-add"}};
constexpr Value kValues116[] = {std::string_view{"none"}, std::string_view{"write-back"}, std::string_view{"flush"}, std::string_view{"flush-opt"}, std::string_view{"non-temporal"}};
constexpr Value kValues117[] = {std::string_view{"none"}, std::string_view{"stores"}, std::string_view{"all"}};
constexpr Value kValues118[] = {std::int64_t{8}};
constexpr Value kValues119[] = {std::string_view{"compare-and-swap"}, std::string_view{"fetch-and-add"}};
constexpr Test kTests120[] = {{"size", Test::Kind::kDiffers, kValues118}, {"access", Test::Kind::kIn, kValues119}};
constexpr Value kValues121[] = {std::string_view{"none"}};
constexpr Test kTests122[] = {{"cache", Test::Kind::kDiffers, kValues121}, {"access", Test::Kind::kIn, kValues119}};
constexpr Value kValues123[] = {std::string_view{"read"}};
constexpr Value kValues124[] = {std::string_view{"non-temporal"}};
constexpr Test kTests125[] = {{"size", Test::Kind::kIn, kValues118}, {"access", Test::Kind::kIn, kValues123}, {"cache", Test::Kind::kIn, kValues124}};
constexpr Value kValues126[] = {std::string_view{"write"}};
constexpr Test kTests127[] = {{"access", Test::Kind::kIn, kValues126}};
constexpr Test kTests128[] = {{"region", Test::Kind::kDiffers, kValues9}, {"access", Test::Kind::kIn, kValues126}};
constexpr Field kOperationFields[] = {
    {.name = "access", .required = true, .type = Type::kText, .choices = kValues115},
    {.name = "size", .required = true, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{8}, .most = std::int64_t{65536}},
    {.name = "region", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "cache", .otherwise = std::string_view{"none"}, .type = Type::kText, .choices = kValues116},
    {.name = "fence", .otherwise = std::string_view{"none"}, .type = Type::kText, .choices = kValues117},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{-1073741824}, .most = std::int64_t{1073741824}},
};
constexpr Rule kRules129[] = {{"size", "is not 8, as atomics have it", kTests120}, {"cache", "does not go with atomics, which take no cache instruction", kTests122}, {"size", "8 is too little: non-temporal loads have 16 bytes at least", kTests125}, {"offset", "goes with writes: what reads takes an address of its own", kTests10, kTests127}, {"region", "goes with what reads: a write goes where the operation before it went", kTests128}};
constexpr Table kOperation{kOperationFields, kRules129};

constexpr Field kFields130[] = {{.type = Type::kObject, .table = &kOperation}};
constexpr Test kTests131[] = {{"linked", Test::Kind::kIn, kValues13}};
constexpr Test kTests132[] = {{"timed_from", Test::Kind::kDiffers, kValues16}};
constexpr Field kChainPatternFields[] = {
    {.name = "operations", .required = true, .type = Type::kArray, .shortest = 1, .longest = 64, .element = kFields130},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
    {.name = "size_second", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "linked", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "interleave", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "sample_every", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
    {.name = "timed_from", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
};
constexpr Rule kRules133[] = {{"timed_from", "goes with linked yes", kTests132, kTests131}};
constexpr Table kChainPattern{kChainPatternFields, kRules133};

constexpr Field kChainSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"chain"}, .type = Type::kText, .choices = kValues113},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules82},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields33},
    {.name = "placement_second", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules114},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kChainPattern},
};
constexpr Table kChainSpec{kChainSpecFields};

constexpr Value kValues134[] = {std::string_view{"ops"}};
constexpr Rule kRules135[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests81}, {"persistent", "is not accepted here: this memory is on nodes", kTests27}};
constexpr Field kFields136[] = {{.type = Type::kObject, .table = &kPlacement, .rules = kRules135}};
constexpr Value kValues137[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"column"}, std::string_view{"relations"}, std::string_view{"runs"}, std::string_view{"lsm"}};
constexpr Value kValues138[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}, std::string_view{"filter"}, std::string_view{"join"}, std::string_view{"merge"}};
constexpr Value kValues139[] = {std::string_view{"uniform"}, std::string_view{"zipf"}, std::string_view{"latest"}, std::string_view{"file"}};
constexpr Value kValues140[] = {std::int64_t{4}, std::int64_t{8}};
constexpr Value kValues141[] = {std::string_view{"positions"}, std::string_view{"count"}};
constexpr Value kValues142[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}};
constexpr Test kTests143[] = {{"operation", Test::Kind::kIn, kValues142}};
constexpr Value kValues144[] = {std::string_view{"btree"}};
constexpr Test kTests145[] = {{"structure", Test::Kind::kIn, kValues144}};
constexpr Value kValues146[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-f"}};
constexpr Test kTests147[] = {{"operation", Test::Kind::kIn, kValues146}};
constexpr Value kValues148[] = {std::string_view{"hash"}};
constexpr Test kTests149[] = {{"structure", Test::Kind::kIn, kValues148}};
constexpr Value kValues150[] = {std::string_view{"filter"}};
constexpr Test kTests151[] = {{"operation", Test::Kind::kIn, kValues150}};
constexpr Value kValues152[] = {std::string_view{"column"}};
constexpr Test kTests153[] = {{"structure", Test::Kind::kIn, kValues152}};
constexpr Value kValues154[] = {std::string_view{"join"}};
constexpr Test kTests155[] = {{"operation", Test::Kind::kIn, kValues154}};
constexpr Value kValues156[] = {std::string_view{"relations"}};
constexpr Test kTests157[] = {{"structure", Test::Kind::kIn, kValues156}};
constexpr Value kValues158[] = {std::string_view{"merge"}};
constexpr Test kTests159[] = {{"operation", Test::Kind::kIn, kValues158}};
constexpr Value kValues160[] = {std::string_view{"runs"}};
constexpr Test kTests161[] = {{"structure", Test::Kind::kIn, kValues160}};
constexpr Value kValues162[] = {std::string_view{"lookup"}};
constexpr Test kTests163[] = {{"operation", Test::Kind::kIn, kValues162}};
constexpr Value kValues164[] = {std::string_view{"lsm"}};
constexpr Test kTests165[] = {{"structure", Test::Kind::kIn, kValues164}};
constexpr Test kTests166[] = {{"inner_node", Test::Kind::kGiven, {}}};
constexpr Test kTests167[] = {{"leaf_node", Test::Kind::kGiven, {}}};
constexpr Test kTests168[] = {{"key_bytes", Test::Kind::kGiven, {}}};
constexpr Test kTests169[] = {{"selectivity", Test::Kind::kGiven, {}}};
constexpr Test kTests170[] = {{"found", Test::Kind::kGiven, {}}};
constexpr Test kTests171[] = {{"probe_ratio", Test::Kind::kGiven, {}}};
constexpr Value kValues172[] = {std::string_view{"relations"}, std::string_view{"lsm"}};
constexpr Test kTests173[] = {{"structure", Test::Kind::kIn, kValues172}};
constexpr Test kTests174[] = {{"misses", Test::Kind::kGiven, {}}};
constexpr Test kTests175[] = {{"partitions", Test::Kind::kGiven, {}}};
constexpr Test kTests176[] = {{"runs", Test::Kind::kGiven, {}}};
constexpr Test kTests177[] = {{"ratio", Test::Kind::kGiven, {}}};
constexpr Test kTests178[] = {{"inner_node", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues144}};
constexpr Test kTests179[] = {{"leaf_node", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues144}};
constexpr Test kTests180[] = {{"key_bytes", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues152}};
constexpr Test kTests181[] = {{"selectivity", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues152}};
constexpr Test kTests182[] = {{"found", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues152}};
constexpr Test kTests183[] = {{"probe_ratio", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues156}};
constexpr Test kTests184[] = {{"misses", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues172}};
constexpr Test kTests185[] = {{"partitions", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues156}};
constexpr Test kTests186[] = {{"runs", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues160}};
constexpr Test kTests187[] = {{"ratio", Test::Kind::kIn, kValues74}, {"structure", Test::Kind::kIn, kValues164}};
constexpr Value kValues188[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"lsm"}};
constexpr Test kTests189[] = {{"structure", Test::Kind::kIn, kValues188}};
constexpr Value kValues190[] = {std::string_view{"uniform"}};
constexpr Test kTests191[] = {{"distribution", Test::Kind::kDiffers, kValues190}};
constexpr Value kValues192[] = {std::string_view{"insert"}, std::string_view{"update"}};
constexpr Test kTests193[] = {{"operation", Test::Kind::kIn, kValues192}};
constexpr Test kTests194[] = {{"sharing", Test::Kind::kDiffers, kValues76}};
constexpr Value kValues195[] = {std::string_view{"scan"}, std::string_view{"ycsb-e"}};
constexpr Test kTests196[] = {{"operation", Test::Kind::kIn, kValues195}};
constexpr Test kTests197[] = {{"scan_length", Test::Kind::kGiven, {}}};
constexpr Value kValues198[] = {std::string_view{"zipf"}, std::string_view{"latest"}};
constexpr Test kTests199[] = {{"distribution", Test::Kind::kIn, kValues198}};
constexpr Test kTests200[] = {{"zipf_alpha", Test::Kind::kGiven, {}}};
constexpr Value kValues201[] = {std::string_view{"ycsb-d"}};
constexpr Test kTests202[] = {{"operation", Test::Kind::kIn, kValues201}};
constexpr Value kValues203[] = {std::string_view{"latest"}};
constexpr Test kTests204[] = {{"distribution", Test::Kind::kIn, kValues203}};
constexpr Value kValues205[] = {std::string_view{"file"}};
constexpr Value kValues206[] = {std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}};
constexpr Test kTests207[] = {{"distribution", Test::Kind::kIn, kValues205}, {"operation", Test::Kind::kIn, kValues206}};
constexpr Test kTests208[] = {{"distribution", Test::Kind::kIn, kValues205}};
constexpr Test kTests209[] = {{"keys_file", Test::Kind::kGiven, {}}};
constexpr Value kValues210[] = {std::string_view{"btree"}, std::string_view{"hash"}};
constexpr Test kTests211[] = {{"structure", Test::Kind::kIn, kValues210}};
constexpr Value kValues212[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"relations"}};
constexpr Value kValues213[] = {std::string_view{"lookup"}, std::string_view{"join"}};
constexpr Test kTests214[] = {{"structure", Test::Kind::kIn, kValues212}, {"operation", Test::Kind::kIn, kValues213}};
constexpr Test kTests215[] = {{"interleave", Test::Kind::kDiffers, kValues16}};
constexpr Test kTests216[] = {{"interleave", Test::Kind::kDiffers, kValues16}, {"partitions", Test::Kind::kDiffers, kValues16}};
constexpr Value kValues217[] = {std::int64_t{4294967297}};
constexpr Test kTests218[] = {{"keys", Test::Kind::kBelow, kValues217}};
constexpr Value kValues219[] = {std::int64_t{4}};
constexpr Test kTests220[] = {{"key_bytes", Test::Kind::kIn, kValues219}};
constexpr Field kOpsPatternFields[] = {
    {.name = "structure", .required = true, .type = Type::kText, .choices = kValues137},
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues138},
    {.name = "keys", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{68719476736}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
    {.name = "sharing", .otherwise = std::string_view{"partitioned"}, .type = Type::kText, .choices = kValues40},
    {.name = "distribution", .otherwise = std::string_view{"uniform"}, .type = Type::kText, .choices = kValues139},
    {.name = "zipf_alpha", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "keys_file", .nullable = true, .type = Type::kText},
    {.name = "interleave", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
    {.name = "scan_length", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1048576}},
    {.name = "inner_node", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{128}, .most = std::int64_t{65536}},
    {.name = "leaf_node", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{128}, .most = std::int64_t{65536}},
    {.name = "key_bytes", .nullable = true, .type = Type::kInteger, .choices = kValues140},
    {.name = "selectivity", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "found", .nullable = true, .type = Type::kText, .choices = kValues141},
    {.name = "probe_ratio", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
    {.name = "misses", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "partitions", .nullable = true, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "runs", .nullable = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{256}},
    {.name = "ratio", .nullable = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{32}},
    {.name = "sample_every", .otherwise = std::int64_t{64}, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{4096}},
};
constexpr Rule kRules221[] = {{"operation", "of btree is lookup or insert or update or scan or churn or ycsb-a or ycsb-b or ycsb-c or ycsb-d or ycsb-e or ycsb-f", kTests145, kTests143}, {"operation", "of hash is lookup or insert or update or churn or ycsb-a or ycsb-b or ycsb-c or ycsb-d or ycsb-f", kTests149, kTests147}, {"operation", "of column is filter", kTests153, kTests151}, {"operation", "of relations is join", kTests157, kTests155}, {"operation", "of runs is merge", kTests161, kTests159}, {"operation", "of lsm is lookup", kTests165, kTests163}, {"inner_node", "goes with structure btree", kTests166, kTests145}, {"leaf_node", "goes with structure btree", kTests167, kTests145}, {"key_bytes", "goes with structure column", kTests168, kTests153}, {"selectivity", "goes with structure column", kTests169, kTests153}, {"found", "goes with structure column", kTests170, kTests153}, {"probe_ratio", "goes with structure relations", kTests171, kTests157}, {"misses", "goes with structure relations or lsm", kTests174, kTests173}, {"partitions", "goes with structure relations", kTests175, kTests157}, {"runs", "goes with structure runs", kTests176, kTests161}, {"ratio", "goes with structure lsm", kTests177, kTests165}, {"inner_node", "is what this structure needs", kTests178}, {"leaf_node", "is what this structure needs", kTests179}, {"key_bytes", "is what this structure needs", kTests180}, {"selectivity", "is what this structure needs", kTests181}, {"found", "is what this structure needs", kTests182}, {"probe_ratio", "is what this structure needs", kTests183}, {"misses", "is what this structure needs", kTests184}, {"partitions", "is what this structure needs", kTests185}, {"runs", "is what this structure needs", kTests186}, {"ratio", "is what this structure needs", kTests187}, {"distribution", "goes with structure btree or hash or lsm", kTests191, kTests189}, {"sharing", "goes with operation insert or update", kTests194, kTests193}, {"scan_length", "goes with operation scan or ycsb-e", kTests197, kTests196}, {"operation", "scans need a scan_length", kTests196, kTests197}, {"zipf_alpha", "goes with distribution zipf or latest", kTests200, kTests199}, {"distribution", "zipf and latest need a zipf_alpha", kTests199, kTests200}, {"distribution", "latest goes with operation ycsb-d", kTests204, kTests202}, {"distribution", "keys of a file do not go with churn, ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f", kTests207}, {"keys_file", "goes with distribution file", kTests209, kTests208}, {"distribution", "file needs a keys_file", kTests208, kTests209}, {"distribution", "file goes with structure btree or hash", kTests208, kTests211}, {"interleave", "goes with structure btree or hash or relations and operation lookup or join", kTests215, kTests214}, {"interleave", "goes with one partition: tables of several are cached", kTests216}, {"keys", "of 4 bytes are 4g at most, as positions of 4 bytes number them", kTests220, kTests218}};
constexpr Table kOpsPattern{kOpsPatternFields, kRules221};

constexpr Field kOpsSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"ops"}, .type = Type::kText, .choices = kValues134},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules94},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues31},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "parts", .type = Type::kMap, .element = kFields136},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kOpsPattern},
};
constexpr Table kOpsSpec{kOpsSpecFields};

constexpr Value kValues222[] = {std::string_view{"gpu-copy"}};
constexpr Test kTests223[] = {{"row_bytes", Test::Kind::kGiven, {}}, {"pitch", Test::Kind::kIn, kValues74}};
constexpr Test kTests224[] = {{"pitch", Test::Kind::kGiven, {}}, {"row_bytes", Test::Kind::kIn, kValues74}};
constexpr Value kValues225[] = {std::string_view{"row_bytes"}};
constexpr Test kTests226[] = {{"pitch", Test::Kind::kBelow, kValues225}};
constexpr Test kTests227[] = {{"size", Test::Kind::kUneven, kValues225}};
constexpr Field kGpuCopyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4398046511104}},
    {.name = "row_bytes", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "pitch", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Rule kRules228[] = {{"row_bytes", "goes with a pitch", kTests223}, {"pitch", "goes with row_bytes", kTests224}, {"pitch", "is smaller than row_bytes", kTests226}, {"size", "is not a whole number of rows", kTests227}};
constexpr Table kGpuCopyPattern{kGpuCopyPatternFields, kRules228};

constexpr Value kValues229[] = {std::string_view{"host"}};
constexpr Value kValues230[] = {std::string_view{"pinned"}, std::string_view{"write-combined"}, std::string_view{"registered"}, std::string_view{"pageable"}, std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Value kValues231[] = {std::string_view{"pageable"}, std::string_view{"registered"}};
constexpr Test kTests232[] = {{"memory", Test::Kind::kIn, kValues231}};
constexpr Value kValues233[] = {std::string_view{"base"}};
constexpr Test kTests234[] = {{"pages", Test::Kind::kDiffers, kValues233}};
constexpr Field kHostPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues229},
    {.name = "memory", .otherwise = std::string_view{"pinned"}, .type = Type::kText, .choices = kValues230},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules94},
    {.name = "pages", .otherwise = std::string_view{"base"}, .type = Type::kText, .choices = kValues38},
};
constexpr Rule kRules235[] = {{"pages", "only pageable and registered memory has a choice of pages", kTests234, kTests232}, {"placement", "only pageable and registered memory spans several nodes", kTests96, kTests232}};
constexpr Table kHostPlace{kHostPlaceFields, kRules235};

constexpr Value kValues236[] = {std::string_view{"gpu"}};
constexpr Field kGpuPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"gpu"}, .type = Type::kText, .choices = kValues236},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Table kGpuPlace{kGpuPlaceFields};

constexpr Variant kVariants237[] = {{"where", "host", &kHostPlace}, {"where", "gpu", &kGpuPlace}};
constexpr Value kValues238[] = {std::string_view{"ce"}, std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Test kTests239[] = {{"source.where", Test::Kind::kIn, kValues229}, {"destination.where", Test::Kind::kIn, kValues229}};
constexpr Value kValues240[] = {std::string_view{"managed"}};
constexpr Test kTests241[] = {{"destination.memory", Test::Kind::kIn, kValues240}};
constexpr Field kTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kObject, .variants = kVariants237},
    {.name = "destination", .required = true, .type = Type::kObject, .variants = kVariants237},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues238},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules242[] = {{"source", "and destination are host memory; one of them at least is a GPU", kTests239}, {"destination", "managed memory comes over on demand as a source only", kTests241}};
constexpr Table kTransfer{kTransferFields, kRules242};

constexpr Field kFields243[] = {{.type = Type::kObject, .table = &kTransfer}};
constexpr Field kGpuCopySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-copy"}, .type = Type::kText, .choices = kValues222},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuCopyPattern},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "call_latency", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields243},
};
constexpr Table kGpuCopySpec{kGpuCopySpecFields};

constexpr Value kValues244[] = {std::string_view{"gpu-ranks"}};
constexpr Field kGpuRanksPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Table kGpuRanksPattern{kGpuRanksPatternFields};

constexpr Field kFields245[] = {{.type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}}};
constexpr Field kFields246[] = {{.type = Type::kText}};
constexpr Value kValues247[] = {std::string_view{"any"}, std::string_view{"fabric"}, std::string_view{"ipc"}};
constexpr Value kValues248[] = {std::string_view{"source"}};
constexpr Test kTests249[] = {{"destination", Test::Kind::kSame, kValues248}};
constexpr Field kRankTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "destination", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "rank", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues238},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules250[] = {{"destination", "is the source; a transfer goes from one rank to another one", kTests249}};
constexpr Table kRankTransfer{kRankTransferFields, kRules250};

constexpr Field kFields251[] = {{.type = Type::kObject, .table = &kRankTransfer}};
constexpr Field kGpuRanksSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-ranks"}, .type = Type::kText, .choices = kValues244},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuRanksPattern},
    {.name = "rank", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "gpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields245},
    {.name = "hosts", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields246},
    {.name = "handles", .otherwise = std::string_view{"any"}, .type = Type::kText, .choices = kValues247},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 16384, .element = kFields251},
};
constexpr Table kGpuRanksSpec{kGpuRanksSpecFields};

constexpr Value kValues252[] = {std::string_view{"gpu-memory"}};
constexpr Value kValues253[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"copy"}, std::string_view{"scale"}, std::string_view{"add"}, std::string_view{"triad"}, std::string_view{"random"}};
constexpr Value kValues254[] = {std::string_view{"random"}};
constexpr Test kTests255[] = {{"operation", Test::Kind::kIn, kValues254}};
constexpr Value kValues256[] = {std::int64_t{32}};
constexpr Test kTests257[] = {{"access_size", Test::Kind::kDiffers, kValues256}};
constexpr Value kValues258[] = {std::int64_t{68719476736}};
constexpr Test kTests259[] = {{"size", Test::Kind::kBelow, kValues258}};
constexpr Test kTests260[] = {{"size", Test::Kind::kBelow, kValues54}};
constexpr Field kGpuMemoryPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues253},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "access_size", .otherwise = std::int64_t{32}, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{16}, .most = std::int64_t{512}},
};
constexpr Rule kRules261[] = {{"access_size", "goes with operation random", kTests257, kTests255}, {"size", "has to be below 64 GiB of operation random", kTests255, kTests259}, {"size", "is smaller than access_size", kTests260}};
constexpr Table kGpuMemoryPattern{kGpuMemoryPatternFields, kRules261};

constexpr Field kGpuMemorySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-memory"}, .type = Type::kText, .choices = kValues252},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuMemoryPattern},
};
constexpr Table kGpuMemorySpec{kGpuMemorySpecFields};

constexpr Value kValues262[] = {std::string_view{"gpu-latency"}};
constexpr Value kValues263[] = {std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Value kValues264[] = {std::string_view{"random"}, std::string_view{"linear"}};
constexpr Field kGpuLatencyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "stride", .otherwise = std::int64_t{128}, .type = Type::kInteger, .multiple = 8, .least = std::int64_t{8}, .most = std::int64_t{1048576}},
    {.name = "order", .otherwise = std::string_view{"random"}, .type = Type::kText, .choices = kValues264},
};
constexpr Table kGpuLatencyPattern{kGpuLatencyPatternFields};

constexpr Value kValues265[] = {std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Test kTests266[] = {{"memory.memory", Test::Kind::kIn, kValues265}};
constexpr Value kValues267[] = {std::string_view{"sm"}};
constexpr Test kTests268[] = {{"engine", Test::Kind::kIn, kValues267}};
constexpr Value kValues269[] = {Value{false}};
constexpr Test kTests270[] = {{"per_sm", Test::Kind::kDiffers, kValues269}};
constexpr Test kTests271[] = {{"every_sm", Test::Kind::kDiffers, kValues269}};
constexpr Value kValues272[] = {std::int64_t{16}};
constexpr Value kValues273[] = {std::string_view{"tma"}};
constexpr Test kTests274[] = {{"pattern.stride", Test::Kind::kUneven, kValues272}, {"engine", Test::Kind::kIn, kValues273}};
constexpr Field kGpuLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-latency"}, .type = Type::kText, .choices = kValues262},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "memory", .required = true, .type = Type::kObject, .variants = kVariants237},
    {.name = "engine", .otherwise = std::string_view{"sm"}, .type = Type::kText, .choices = kValues263},
    {.name = "per_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "every_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuLatencyPattern},
};
constexpr Rule kRules275[] = {{"memory", "migrates; a chase goes through memory that stays where it is", kTests266}, {"per_sm", "goes with engine sm", kTests270, kTests268}, {"every_sm", "goes with engine sm", kTests271, kTests268}, {"pattern.stride", "has to be a multiple of 16 for engine tma", kTests274}};
constexpr Table kGpuLatencySpec{kGpuLatencySpecFields, kRules275};

constexpr Value kValues276[] = {std::string_view{"io"}};
constexpr Value kValues277[] = {std::string_view{"host"}, std::string_view{"device"}, std::string_view{"vmm"}, std::string_view{"pinned"}, std::string_view{"plain"}, std::string_view{"managed"}};
constexpr Test kTests278[] = {{"memory", Test::Kind::kIn, kValues229}};
constexpr Test kTests279[] = {{"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests280[] = {{"gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests281[] = {{"memory", Test::Kind::kDiffers, kValues229}};
constexpr Field kBuffersFields[] = {
    {.name = "memory", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues277},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules135},
    {.name = "gpu", .nullable = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Rule kRules282[] = {{"placement", "goes with memory host", kTests279, kTests278}, {"memory", "host needs a placement", kTests278, kTests279}, {"memory", "only host needs no gpu", kTests281, kTests280}};
constexpr Table kBuffers{kBuffersFields, kRules282};

constexpr Field kOwnedFilesFields[] = {
    {.name = "count", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{65536}},
    {.name = "keep", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "stem", .otherwise = std::string_view{"tierscope."}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{1,64}$"},
};
constexpr Table kOwnedFiles{kOwnedFilesFields};

constexpr Value kValues283[] = {std::string_view{"parts"}};
constexpr Test kTests284[] = {{"part", Test::Kind::kBelow, kValues283}};
constexpr Test kTests285[] = {{"part", Test::Kind::kGiven, {}}};
constexpr Test kTests286[] = {{"wait_s", Test::Kind::kGiven, {}}, {"name", Test::Kind::kIn, kValues11}};
constexpr Field kCommonFileFields[] = {
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{0,64}$"},
    {.name = "parts", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
    {.name = "part", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{999999}},
    {.name = "wait_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
};
constexpr Rule kRules287[] = {{"part", "has to be below parts", kTests285, kTests284}, {"wait_s", "goes with a name", kTests286}};
constexpr Table kCommonFile{kCommonFileFields, kRules287};

constexpr Test kTests288[] = {{"size", Test::Kind::kGiven, {}}, {"count", Test::Kind::kIn, kValues16}};
constexpr Test kTests289[] = {{"common.parts", Test::Kind::kDiffers, kValues16}};
constexpr Field kPathFilesFields[] = {
    {.name = "count", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{65536}},
    {.name = "keep", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "size", .nullable = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "path", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "create", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "overwrite", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "common", .nullable = true, .type = Type::kObject, .table = &kCommonFile},
};
constexpr Rule kRules290[] = {{"common", "is one file of a given size", kTests289, kTests288}};
constexpr Table kPathFiles{kPathFilesFields, kRules290};

constexpr Field kDeviceFilesFields[] = {
    {.name = "device", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "size", .nullable = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "destroy", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "second_word", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "purge", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kDeviceFiles{kDeviceFilesFields};

constexpr Variant kVariants291[] = {{"directory", "", &kOwnedFiles}, {"path", "", &kPathFiles}, {"device", "", &kDeviceFiles}};
constexpr Value kValues292[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"mix"}};
constexpr Field kBlockShareFields[] = {
    {.name = "bytes", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "weight", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
};
constexpr Table kBlockShare{kBlockShareFields};

constexpr Field kFields293[] = {{.type = Type::kObject, .table = &kBlockShare}};
constexpr Value kValues294[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"mmap"}, std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Value kValues295[] = {std::string_view{"as-found"}, std::string_view{"warm"}, std::string_view{"cold"}};
constexpr Value kValues296[] = {std::string_view{"regular"}, std::string_view{"poisson"}};
constexpr Value kValues297[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}, std::string_view{"odirect"}};
constexpr Value kValues298[] = {std::string_view{"mix"}};
constexpr Test kTests299[] = {{"operation", Test::Kind::kIn, kValues298}};
constexpr Test kTests300[] = {{"read_percent", Test::Kind::kGiven, {}}};
constexpr Test kTests301[] = {{"zipf", Test::Kind::kGiven, {}}};
constexpr Test kTests302[] = {{"rate", Test::Kind::kGiven, {}}};
constexpr Test kTests303[] = {{"arrivals", Test::Kind::kGiven, {}}};
constexpr Test kTests304[] = {{"iopoll", Test::Kind::kIn, kValues13}, {"direct", Test::Kind::kIn, kValues269}};
constexpr Value kValues305[] = {std::string_view{"io_uring"}};
constexpr Test kTests306[] = {{"backend", Test::Kind::kIn, kValues305}};
constexpr Test kTests307[] = {{"sqpoll", Test::Kind::kDiffers, kValues269}};
constexpr Test kTests308[] = {{"iopoll", Test::Kind::kDiffers, kValues269}};
constexpr Value kValues309[] = {std::string_view{"posix"}, std::string_view{"mmap"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-managed"}};
constexpr Test kTests310[] = {{"depth", Test::Kind::kDiffers, kValues16}, {"backend", Test::Kind::kIn, kValues309}};
constexpr Value kValues311[] = {std::string_view{"mmap"}};
constexpr Test kTests312[] = {{"direct", Test::Kind::kIn, kValues13}, {"backend", Test::Kind::kIn, kValues311}};
constexpr Value kValues313[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}};
constexpr Test kTests314[] = {{"backend", Test::Kind::kIn, kValues313}};
constexpr Test kTests315[] = {{"cufile", Test::Kind::kGiven, {}}};
constexpr Test kTests316[] = {{"end_fsync", Test::Kind::kIn, kValues13}, {"amount", Test::Kind::kIn, kValues74}};
constexpr Test kTests317[] = {{"time_limit_s", Test::Kind::kGiven, {}}, {"amount", Test::Kind::kIn, kValues74}};
constexpr Test kTests318[] = {{"ramp_s", Test::Kind::kDiffers, kValues9}, {"amount", Test::Kind::kGiven, {}}};
constexpr Test kTests319[] = {{"fsync", Test::Kind::kDiffers, kValues9}, {"operation", Test::Kind::kIn, kValues123}};
constexpr Test kTests320[] = {{"fdatasync", Test::Kind::kDiffers, kValues9}, {"operation", Test::Kind::kIn, kValues123}};
constexpr Test kTests321[] = {{"end_fsync", Test::Kind::kIn, kValues13}, {"operation", Test::Kind::kIn, kValues123}};
constexpr Value kValues322[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Test kTests323[] = {{"backend", Test::Kind::kIn, kValues322}};
constexpr Value kValues324[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}};
constexpr Test kTests325[] = {{"require", Test::Kind::kIn, kValues324}};
constexpr Value kValues326[] = {std::string_view{"odirect"}};
constexpr Test kTests327[] = {{"require", Test::Kind::kIn, kValues326}, {"direct", Test::Kind::kIn, kValues269}};
constexpr Field kIoPatternFields[] = {
    {.name = "operation", .otherwise = std::string_view{"read"}, .type = Type::kText, .choices = kValues292},
    {.name = "read_percent", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{99}},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues86},
    {.name = "zipf", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "block_size", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "blocks", .nullable = true, .type = Type::kArray, .shortest = 2, .longest = 64, .element = kFields293},
    {.name = "align", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "misalign", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1048576}, .below = true},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1152921504606846976}},
    {.name = "range", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues294},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "cache", .nullable = true, .type = Type::kText, .choices = kValues295},
    {.name = "depth", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "batch", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "registered", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "sqpoll", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "iopoll", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "fsync", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1073741824}},
    {.name = "fdatasync", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1073741824}},
    {.name = "end_fsync", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "refill", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "compressible", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100}},
    {.name = "rate", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000000000.0},
    {.name = "arrivals", .nullable = true, .type = Type::kText, .choices = kValues296},
    {.name = "amount", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "time_limit_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
    {.name = "ramp_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = 1000000.0},
    {.name = "seed", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{0}},
    {.name = "verify", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "require", .nullable = true, .type = Type::kText, .choices = kValues297},
    {.name = "cufile", .nullable = true, .type = Type::kText, .longest = 4096, .pattern = "^[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)+=[^\\n]+$"},
};
constexpr Rule kRules328[] = {{"read_percent", "goes with operation mix", kTests300, kTests299}, {"operation", "mix needs a read_percent", kTests299, kTests300}, {"zipf", "goes with order zipf", kTests301, kTests46}, {"order", "zipf needs an exponent", kTests46, kTests301}, {"arrivals", "goes with rate", kTests303, kTests302}, {"rate", "needs arrivals", kTests302, kTests303}, {"iopoll", "needs direct I/O", kTests304}, {"sqpoll", "goes with backend io_uring", kTests307, kTests306}, {"iopoll", "goes with backend io_uring", kTests308, kTests306}, {"depth", "is 1: this backend has one operation a thread in flight", kTests310}, {"direct", "does not go with backend mmap, which goes through the page cache, or DAX", kTests312}, {"cufile", "goes with backend cufile or cufile-stream or cufile-batch or cufile-batch-stream", kTests315, kTests314}, {"end_fsync", "goes with amount", kTests316}, {"time_limit_s", "goes with amount", kTests317}, {"ramp_s", "goes with no amount", kTests318}, {"fsync", "goes with writes", kTests319}, {"fdatasync", "goes with writes", kTests320}, {"end_fsync", "goes with writes", kTests321}, {"require", "is a way to a GPU", kTests325, kTests323}, {"require", "odirect needs direct I/O", kTests327, kTests323}};
constexpr Table kIoPattern{kIoPatternFields, kRules328};

constexpr Field kIoJobFields[] = {
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields33},
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 4200},
    {.name = "buffers", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "files", .required = true, .type = Type::kObject, .variants = kVariants291},
    {.name = "shared", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .nullable = true, .type = Type::kObject, .table = &kIoPattern},
};
constexpr Table kIoJob{kIoJobFields};

constexpr Field kFields329[] = {{.type = Type::kObject, .table = &kIoJob}};
constexpr Value kValues330[] = {std::string_view{"written"}, std::string_view{"steady"}};
constexpr Field kTimeSeriesFields[] = {
    {.name = "until", .required = true, .type = Type::kText, .choices = kValues330},
    {.name = "passes", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{100}},
    {.name = "round_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{3600}},
};
constexpr Table kTimeSeries{kTimeSeriesFields};

constexpr Field kIoSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"io"}, .type = Type::kText, .choices = kValues276},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "jobs", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields329, .distinct = true, .distinct_by = "name"},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kIoPattern},
    {.name = "series", .nullable = true, .type = Type::kObject, .table = &kTimeSeries},
};
constexpr Table kIoSpec{kIoSpecFields};

constexpr Value kValues331[] = {std::string_view{"files"}};
constexpr Value kValues332[] = {std::string_view{"create"}, std::string_view{"open"}, std::string_view{"stat"}, std::string_view{"read"}, std::string_view{"list"}, std::string_view{"unlink"}};
constexpr Value kValues333[] = {std::string_view{"own"}, std::string_view{"shared"}};
constexpr Value kValues334[] = {std::string_view{"no"}, std::string_view{"file"}, std::string_view{"directory"}};
constexpr Value kValues335[] = {std::string_view{"create"}, std::string_view{"unlink"}};
constexpr Test kTests336[] = {{"operation", Test::Kind::kIn, kValues335}};
constexpr Value kValues337[] = {std::string_view{"no"}};
constexpr Test kTests338[] = {{"fsync", Test::Kind::kDiffers, kValues337}};
constexpr Field kFilesPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues332},
    {.name = "file_size", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{16777216}},
    {.name = "files", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{10000000}},
    {.name = "directories", .otherwise = std::string_view{"own"}, .type = Type::kText, .choices = kValues333},
    {.name = "fsync", .otherwise = std::string_view{"no"}, .type = Type::kText, .choices = kValues334},
};
constexpr Rule kRules339[] = {{"fsync", "goes with operation create or unlink", kTests338, kTests336}};
constexpr Table kFilesPattern{kFilesPatternFields, kRules339};

constexpr Field kFilesSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"files"}, .type = Type::kText, .choices = kValues331},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kFilesPattern},
};
constexpr Table kFilesSpec{kFilesSpecFields};

constexpr Value kValues340[] = {std::string_view{"checkpoint"}};
constexpr Test kTests341[] = {{"policy", Test::Kind::kDiffers, kValues25}};
constexpr Value kValues342[] = {std::string_view{"pool-objects"}, std::string_view{"device"}};
constexpr Test kTests343[] = {{"persistent.backing", Test::Kind::kIn, kValues342}};
constexpr Rule kRules344[] = {{"policy", "of a checkpoint's memory is bind: one node", kTests341}, {"persistent.backing", "of a checkpoint's memory is file or pool", kTests343}};
constexpr Value kValues345[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-async"}};
constexpr Field kCheckpointPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues38},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues345},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "depth", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "block_size", .otherwise = std::int64_t{1048576}, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1073741824}},
    {.name = "kills", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100000}},
};
constexpr Rule kRules346[] = {{"depth", "is 1: this backend has one operation a thread in flight", kTests310}};
constexpr Table kCheckpointPattern{kCheckpointPatternFields, kRules346};

constexpr Test kTests347[] = {{"directory", Test::Kind::kIn, kValues74}};
constexpr Test kTests348[] = {{"directory", Test::Kind::kGiven, {}}, {"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests349[] = {{"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests350[] = {{"pattern.backend", Test::Kind::kIn, kValues322}};
constexpr Test kTests351[] = {{"pattern.backend", Test::Kind::kGiven, {}}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests352[] = {{"pattern.kills", Test::Kind::kDiffers, kValues9}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Field kCheckpointSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"checkpoint"}, .type = Type::kText, .choices = kValues340},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields32},
    {.name = "state", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "directory", .nullable = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules344},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kCheckpointPattern},
};
constexpr Rule kRules353[] = {{"directory", "or a placement is needed", kTests347, kTests279}, {"directory", "does not go with a placement", kTests348}, {"pattern.backend", "of a GPU needs a state on a GPU", kTests350, kTests349}, {"pattern.backend", "of files takes no state on a GPU", kTests351, kTests350}, {"pattern.kills", "go with a state in host memory: CUDA does not outlive fork", kTests352}};
constexpr Table kCheckpointSpec{kCheckpointSpecFields, kRules353};

constexpr Variant kVariants354[] = {{"kind", "bandwidth", &kBandwidthSpec}, {"kind", "latency", &kLatencySpec}, {"kind", "loaded-latency", &kLoadedLatencySpec}, {"kind", "traffic", &kTrafficSpec}, {"kind", "atomics", &kAtomicsSpec}, {"kind", "core-latency", &kCoreLatencySpec}, {"kind", "mapping", &kMappingSpec}, {"kind", "persist", &kPersistSpec}, {"kind", "chain", &kChainSpec}, {"kind", "ops", &kOpsSpec}, {"kind", "gpu-copy", &kGpuCopySpec}, {"kind", "gpu-ranks", &kGpuRanksSpec}, {"kind", "gpu-memory", &kGpuMemorySpec}, {"kind", "gpu-latency", &kGpuLatencySpec}, {"kind", "io", &kIoSpec}, {"kind", "files", &kFilesSpec}, {"kind", "checkpoint", &kCheckpointSpec}};
constexpr Field kFields355[] = {{.type = Type::kObject, .variants = kVariants354}};
constexpr Field kPlanFields[] = {
    {.name = "version", .required = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{2}},
    {.name = "measurements", .required = true, .type = Type::kArray, .shortest = 1, .longest = 100000, .element = kFields355, .distinct = true, .distinct_by = "id"},
};
constexpr Table kPlan{kPlanFields};


}  // namespace

const Table& plan() { return kPlan; }

std::span<const Model> models() {
  static constexpr Model kModels[] = {
      {"Sampling", &kSampling},
      {"NodeShare", &kNodeShare},
      {"Persistent", &kPersistent},
      {"Placement", &kPlacement},
      {"BandwidthPattern", &kBandwidthPattern},
      {"BandwidthSpec", &kBandwidthSpec},
      {"LatencyPattern", &kLatencyPattern},
      {"LatencySpec", &kLatencySpec},
      {"StreamPattern", &kStreamPattern},
      {"Load", &kLoad},
      {"LoadedLatencySpec", &kLoadedLatencySpec},
      {"NamedStream", &kNamedStream},
      {"TrafficSpec", &kTrafficSpec},
      {"AtomicsPattern", &kAtomicsPattern},
      {"AtomicsSpec", &kAtomicsSpec},
      {"CoreLatencyPattern", &kCoreLatencyPattern},
      {"CoreLatencySpec", &kCoreLatencySpec},
      {"MappingPattern", &kMappingPattern},
      {"MappingSpec", &kMappingSpec},
      {"PersistPattern", &kPersistPattern},
      {"PersistSpec", &kPersistSpec},
      {"Operation", &kOperation},
      {"ChainPattern", &kChainPattern},
      {"ChainSpec", &kChainSpec},
      {"OpsPattern", &kOpsPattern},
      {"OpsSpec", &kOpsSpec},
      {"GpuCopyPattern", &kGpuCopyPattern},
      {"HostPlace", &kHostPlace},
      {"GpuPlace", &kGpuPlace},
      {"Transfer", &kTransfer},
      {"GpuCopySpec", &kGpuCopySpec},
      {"GpuRanksPattern", &kGpuRanksPattern},
      {"RankTransfer", &kRankTransfer},
      {"GpuRanksSpec", &kGpuRanksSpec},
      {"GpuMemoryPattern", &kGpuMemoryPattern},
      {"GpuMemorySpec", &kGpuMemorySpec},
      {"GpuLatencyPattern", &kGpuLatencyPattern},
      {"GpuLatencySpec", &kGpuLatencySpec},
      {"Buffers", &kBuffers},
      {"OwnedFiles", &kOwnedFiles},
      {"CommonFile", &kCommonFile},
      {"PathFiles", &kPathFiles},
      {"DeviceFiles", &kDeviceFiles},
      {"BlockShare", &kBlockShare},
      {"IoPattern", &kIoPattern},
      {"IoJob", &kIoJob},
      {"TimeSeries", &kTimeSeries},
      {"IoSpec", &kIoSpec},
      {"FilesPattern", &kFilesPattern},
      {"FilesSpec", &kFilesSpec},
      {"CheckpointPattern", &kCheckpointPattern},
      {"CheckpointSpec", &kCheckpointSpec},
      {"Plan", &kPlan},
  };
  return kModels;
}

}  // namespace tierscope::tables
