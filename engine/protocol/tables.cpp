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
constexpr Value kValues4[] = {std::string_view{"file"}, std::string_view{"pool"}, std::string_view{"pool-objects"}, std::string_view{"device"}};
constexpr Value kValues5[] = {std::string_view{""}, std::string_view{"battery"}};
constexpr Value kValues6[] = {std::string_view{"device"}};
constexpr Test kTests7[] = {{"backing", Test::Kind::kIn, kValues6}};
constexpr Value kValues8[] = {std::int64_t{0}};
constexpr Test kTests9[] = {{"offset", Test::Kind::kDiffers, kValues8}};
constexpr Value kValues10[] = {std::string_view{""}};
constexpr Test kTests11[] = {{"destroy", Test::Kind::kDiffers, kValues10}};
constexpr Value kValues12[] = {Value{true}};
constexpr Test kTests13[] = {{"bound", Test::Kind::kIn, kValues12}, {"backing", Test::Kind::kIn, kValues6}};
constexpr Field kPersistentFields[] = {
    {.name = "backing", .required = true, .type = Type::kText, .choices = kValues4},
    {.name = "path", .required = true, .type = Type::kText, .longest = 4096, .pattern = "^/"},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1125899906842624}},
    {.name = "destroy", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "backed_by", .otherwise = std::string_view{""}, .type = Type::kText, .choices = kValues5},
    {.name = "bound", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Rule kRules14[] = {{"offset", "goes with backing device", kTests9, kTests7}, {"destroy", "goes with backing device", kTests11, kTests7}, {"bound", "does not go with backing device", kTests13}};
constexpr Table kPersistent{kPersistentFields, kRules14};

constexpr Value kValues15[] = {std::int64_t{1}};
constexpr Test kTests16[] = {{"nodes", Test::Kind::kElements, kValues15}};
constexpr Value kValues17[] = {std::string_view{"bind"}, std::string_view{"preferred"}};
constexpr Test kTests18[] = {{"policy", Test::Kind::kIn, kValues17}};
constexpr Value kValues19[] = {std::string_view{"kernel"}};
constexpr Value kValues20[] = {std::string_view{"partition"}};
constexpr Test kTests21[] = {{"mechanism", Test::Kind::kIn, kValues19}, {"policy", Test::Kind::kIn, kValues20}};
constexpr Value kValues22[] = {std::string_view{"first-touch"}};
constexpr Test kTests23[] = {{"mechanism", Test::Kind::kIn, kValues19}, {"policy", Test::Kind::kIn, kValues22}};
constexpr Value kValues24[] = {std::string_view{"bind"}};
constexpr Test kTests25[] = {{"policy", Test::Kind::kIn, kValues24}};
constexpr Test kTests26[] = {{"persistent", Test::Kind::kGiven, {}}};
constexpr Field kPlacementFields[] = {
    {.name = "policy", .required = true, .type = Type::kText, .choices = kValues1},
    {.name = "nodes", .required = true, .type = Type::kArray, .shortest = 1, .longest = 1024, .element = kFields2, .distinct = true, .distinct_by = "node"},
    {.name = "mechanism", .otherwise = std::string_view{"user"}, .type = Type::kText, .choices = kValues3},
    {.name = "persistent", .nullable = true, .type = Type::kObject, .table = &kPersistent},
};
constexpr Rule kRules27[] = {{"nodes", "policies bind and preferred take exactly one node", kTests18, kTests16}, {"mechanism", "policy partition is done in user space only", kTests21}, {"mechanism", "policy first-touch takes no mechanism", kTests23}, {"persistent", "goes with policy bind", kTests26, kTests25}};
constexpr Table kPlacement{kPlacementFields, kRules27};

constexpr Value kValues28[] = {std::string_view{"as-found"}, std::string_view{"on"}, std::string_view{"off"}};
constexpr Field kFields29[] = {{.type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}}};
constexpr Field kFields30[] = {{.type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true}};
constexpr Value kValues31[] = {std::string_view{"pool-objects"}};
constexpr Test kTests32[] = {{"persistent.backing", Test::Kind::kIn, kValues31}};
constexpr Rule kRules33[] = {{"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests32}};
constexpr Value kValues34[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"write-nt"}, std::string_view{"copy"}, std::string_view{"copy-nt"}, std::string_view{"scale"}, std::string_view{"scale-nt"}, std::string_view{"add"}, std::string_view{"add-nt"}, std::string_view{"triad"}, std::string_view{"triad-nt"}, std::string_view{"rmw"}, std::string_view{"memset"}, std::string_view{"memcpy"}};
constexpr Value kValues35[] = {std::string_view{"base"}, std::string_view{"thp"}, std::string_view{"2m"}, std::string_view{"512m"}, std::string_view{"1g"}};
constexpr Value kValues36[] = {std::string_view{"sequential"}, std::string_view{"reverse"}, std::string_view{"strided"}, std::string_view{"random"}, std::string_view{"zipf"}};
constexpr Value kValues37[] = {std::string_view{"partitioned"}, std::string_view{"shared"}};
constexpr Value kValues38[] = {std::string_view{"auto"}, std::string_view{"sse4"}, std::string_view{"avx2"}, std::string_view{"avx512"}, std::string_view{"neon"}, std::string_view{"sve"}};
constexpr Value kValues39[] = {std::string_view{"strided"}};
constexpr Test kTests40[] = {{"order", Test::Kind::kIn, kValues39}};
constexpr Test kTests41[] = {{"stride", Test::Kind::kGiven, {}}};
constexpr Value kValues42[] = {std::string_view{"zipf"}};
constexpr Test kTests43[] = {{"order", Test::Kind::kIn, kValues42}};
constexpr Value kValues44[] = {0.99};
constexpr Test kTests45[] = {{"zipf_alpha", Test::Kind::kDiffers, kValues44}};
constexpr Value kValues46[] = {std::string_view{"read"}, std::string_view{"write"}};
constexpr Value kValues47[] = {std::string_view{"sequential"}};
constexpr Test kTests48[] = {{"operation", Test::Kind::kIn, kValues46}, {"order", Test::Kind::kIn, kValues47}};
constexpr Value kValues49[] = {std::int64_t{64}};
constexpr Test kTests50[] = {{"access_size", Test::Kind::kBelow, kValues49}};
constexpr Value kValues51[] = {std::string_view{"access_size"}};
constexpr Test kTests52[] = {{"stride", Test::Kind::kBelow, kValues51}};
constexpr Test kTests53[] = {{"order", Test::Kind::kIn, kValues47}};
constexpr Value kValues54[] = {std::string_view{"memset"}, std::string_view{"memcpy"}};
constexpr Test kTests55[] = {{"operation", Test::Kind::kIn, kValues54}};
constexpr Value kValues56[] = {std::string_view{"auto"}};
constexpr Test kTests57[] = {{"isa", Test::Kind::kIn, kValues56}};
constexpr Value kValues58[] = {std::string_view{"shared"}};
constexpr Value kValues59[] = {std::string_view{"rmw"}};
constexpr Test kTests60[] = {{"sharing", Test::Kind::kIn, kValues58}, {"operation", Test::Kind::kIn, kValues59}};
constexpr Field kBandwidthPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues34},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues36},
    {.name = "access_size", .otherwise = std::int64_t{64}, .type = Type::kInteger, .least = std::int64_t{8}, .most = std::int64_t{1125899906842624}},
    {.name = "stride", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "zipf_alpha", .otherwise = 0.99, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "sharing", .otherwise = std::string_view{"partitioned"}, .type = Type::kText, .choices = kValues37},
    {.name = "isa", .otherwise = std::string_view{"auto"}, .type = Type::kText, .choices = kValues38},
};
constexpr Rule kRules61[] = {{"stride", "goes with order strided", kTests41, kTests40}, {"order", "strided needs a stride, such as 4k", kTests40, kTests41}, {"zipf_alpha", "goes with order zipf", kTests45, kTests43}, {"access_size", "8, 16 and 32 bytes go with operations read and write in order sequential", kTests50, kTests48}, {"stride", "is smaller than access_size", kTests52}, {"operation", "memset and memcpy go in order sequential only", kTests55, kTests53}, {"operation", "memset and memcpy go with isa auto: the C library chooses their instructions", kTests55, kTests57}, {"sharing", "shared does not go with rmw: where two threads update an element at once, one update is lost, so that none could be verified", kTests60}};
constexpr Table kBandwidthPattern{kBandwidthPatternFields, kRules61};

constexpr Value kValues62[] = {std::string_view{"copy"}, std::string_view{"copy-nt"}, std::string_view{"scale"}, std::string_view{"scale-nt"}, std::string_view{"add"}, std::string_view{"add-nt"}, std::string_view{"triad"}, std::string_view{"triad-nt"}, std::string_view{"memcpy"}};
constexpr Test kTests63[] = {{"pattern.operation", Test::Kind::kIn, kValues62}};
constexpr Test kTests64[] = {{"placement_b", Test::Kind::kGiven, {}}};
constexpr Value kValues65[] = {std::string_view{"add"}, std::string_view{"add-nt"}, std::string_view{"triad"}, std::string_view{"triad-nt"}};
constexpr Test kTests66[] = {{"pattern.operation", Test::Kind::kIn, kValues65}};
constexpr Test kTests67[] = {{"placement_c", Test::Kind::kGiven, {}}};
constexpr Test kTests68[] = {{"cpu_sets", Test::Kind::kGiven, {}}, {"placement.policy", Test::Kind::kIn, kValues22}};
constexpr Test kTests69[] = {{"cpu_sets", Test::Kind::kGiven, {}}, {"placement_b.policy", Test::Kind::kIn, kValues22}};
constexpr Test kTests70[] = {{"cpu_sets", Test::Kind::kGiven, {}}, {"placement_c.policy", Test::Kind::kIn, kValues22}};
constexpr Value kValues71[] = {std::monostate{}};
constexpr Value kValues72[] = {std::string_view{"copy"}, std::string_view{"scale"}, std::string_view{"add"}, std::string_view{"triad"}};
constexpr Value kValues73[] = {std::string_view{"partitioned"}};
constexpr Test kTests74[] = {{"placement_b", Test::Kind::kIn, kValues71}, {"placement_c", Test::Kind::kIn, kValues71}, {"pattern.operation", Test::Kind::kIn, kValues72}, {"pattern.order", Test::Kind::kIn, kValues47}, {"pattern.sharing", Test::Kind::kIn, kValues73}, {"pattern.isa", Test::Kind::kIn, kValues56}};
constexpr Test kTests75[] = {{"placement.persistent.backing", Test::Kind::kIn, kValues31}};
constexpr Field kBandwidthSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"bandwidth"}, .type = Type::kText, .choices = kValues0},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields30},
    {.name = "placement_b", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules33},
    {.name = "placement_c", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules33},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kBandwidthPattern},
};
constexpr Rule kRules76[] = {{"placement_b", "is of an array that the operation does not have", kTests64, kTests63}, {"placement_c", "is of an array that the operation does not have", kTests67, kTests66}, {"cpu_sets", "goes with memory that the plan places: which node a thread of a set touches from is up to the scheduler", kTests68}, {"cpu_sets", "goes with memory that the plan places: which node a thread of a set touches from is up to the scheduler", kTests69}, {"cpu_sets", "goes with memory that the plan places: which node a thread of a set touches from is up to the scheduler", kTests70}, {"placement.persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests75, kTests74}};
constexpr Table kBandwidthSpec{kBandwidthSpecFields, kRules76};

constexpr Value kValues77[] = {std::string_view{"latency"}};
constexpr Test kTests78[] = {{"policy", Test::Kind::kIn, kValues22}};
constexpr Rule kRules79[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests78}, {"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests32}, {"policy", "first-touch is for the arrays of bandwidth only", kTests78}, {"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests32}};
constexpr Value kValues80[] = {std::string_view{"random"}, std::string_view{"page-random"}};
constexpr Field kLatencyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "order", .otherwise = std::string_view{"random"}, .type = Type::kText, .choices = kValues80},
    {.name = "stride", .otherwise = std::int64_t{256}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
};
constexpr Table kLatencyPattern{kLatencyPatternFields};

constexpr Field kLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"latency"}, .type = Type::kText, .choices = kValues77},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules79},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kLatencyPattern},
    {.name = "chases", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
};
constexpr Table kLatencySpec{kLatencySpecFields};

constexpr Value kValues81[] = {std::string_view{"loaded-latency"}};
constexpr Value kValues82[] = {std::string_view{"ordinary"}, std::string_view{"nt"}, std::string_view{"clwb"}, std::string_view{"clflushopt"}};
constexpr Value kValues83[] = {std::string_view{"sequential"}, std::string_view{"random"}, std::string_view{"zipf"}};
constexpr Test kTests84[] = {{"prefetch", Test::Kind::kDiffers, kValues8}};
constexpr Field kStreamPatternFields[] = {
    {.name = "writes", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100}},
    {.name = "stores", .otherwise = std::string_view{"ordinary"}, .type = Type::kText, .choices = kValues82},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues83},
    {.name = "zipf_alpha", .otherwise = 0.99, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "access_size", .otherwise = std::int64_t{1024}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "prefetch", .otherwise = std::int64_t{0}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{0}, .most = std::int64_t{1048576}},
    {.name = "delay_ns", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1000000000}},
    {.name = "isa", .otherwise = std::string_view{"auto"}, .type = Type::kText, .choices = kValues38},
};
constexpr Rule kRules85[] = {{"zipf_alpha", "goes with order zipf", kTests45, kTests43}, {"prefetch", "goes with order sequential", kTests84, kTests53}};
constexpr Table kStreamPattern{kStreamPatternFields, kRules85};

constexpr Field kLoadFields[] = {
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields30},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules79},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kStreamPattern},
    {.name = "idle", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kLoad{kLoadFields};

constexpr Field kLoadedLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"loaded-latency"}, .type = Type::kText, .choices = kValues81},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules79},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kLatencyPattern},
    {.name = "load", .required = true, .type = Type::kObject, .table = &kLoad},
};
constexpr Table kLoadedLatencySpec{kLoadedLatencySpecFields};

constexpr Value kValues86[] = {std::string_view{"traffic"}};
constexpr Field kNamedStreamFields[] = {
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields30},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules79},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kStreamPattern},
    {.name = "name", .required = true, .type = Type::kText, .shortest = 1, .longest = 24, .pattern = "^[A-Za-z0-9_-]+$"},
};
constexpr Table kNamedStream{kNamedStreamFields};

constexpr Field kFields87[] = {{.type = Type::kObject, .table = &kNamedStream}};
constexpr Field kTrafficSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"traffic"}, .type = Type::kText, .choices = kValues86},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules79},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields30},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kStreamPattern},
    {.name = "beside", .type = Type::kArray, .longest = 15, .element = kFields87},
};
constexpr Table kTrafficSpec{kTrafficSpecFields};

constexpr Value kValues88[] = {std::string_view{"atomics"}};
constexpr Value kValues89[] = {std::string_view{"fetch-and-add"}, std::string_view{"compare-and-swap"}};
constexpr Field kAtomicsPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues89},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "shared", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kAtomicsPattern{kAtomicsPatternFields};

constexpr Field kAtomicsSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"atomics"}, .type = Type::kText, .choices = kValues88},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules79},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kAtomicsPattern},
};
constexpr Table kAtomicsSpec{kAtomicsSpecFields};

constexpr Value kValues90[] = {std::string_view{"core-latency"}};
constexpr Rule kRules91[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests78}, {"persistent", "is not accepted here: this memory is on nodes", kTests26}, {"policy", "first-touch is for the arrays of bandwidth only", kTests78}, {"persistent", "is not accepted here: this memory is on nodes", kTests26}};
constexpr Value kValues92[] = {std::string_view{"modified"}, std::string_view{"clean"}};
constexpr Field kCoreLatencyPatternFields[] = {
    {.name = "state", .otherwise = std::string_view{"modified"}, .type = Type::kText, .choices = kValues92},
    {.name = "size", .otherwise = std::int64_t{262144}, .type = Type::kInteger, .multiple = 256, .least = std::int64_t{256}, .most = std::int64_t{1073741824}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
};
constexpr Table kCoreLatencyPattern{kCoreLatencyPatternFields};

constexpr Test kTests93[] = {{"placement.policy", Test::Kind::kDiffers, kValues24}};
constexpr Value kValues94[] = {std::string_view{"cpu"}};
constexpr Test kTests95[] = {{"writer", Test::Kind::kSame, kValues94}};
constexpr Field kCoreLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"core-latency"}, .type = Type::kText, .choices = kValues90},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules91},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "writer", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kCoreLatencyPattern},
};
constexpr Rule kRules96[] = {{"placement.policy", "has to be bind: lines have one home", kTests93}, {"writer", "is the CPU that reads", kTests95}};
constexpr Table kCoreLatencySpec{kCoreLatencySpecFields, kRules96};

constexpr Value kValues97[] = {std::string_view{"mapping"}};
constexpr Value kValues98[] = {std::string_view{"private"}, std::string_view{"shared"}};
constexpr Field kMappingPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "sharing", .otherwise = std::string_view{"private"}, .type = Type::kText, .choices = kValues98},
};
constexpr Table kMappingPattern{kMappingPatternFields};

constexpr Value kValues99[] = {std::string_view{"bind"}, std::string_view{"interleave"}};
constexpr Test kTests100[] = {{"placement.policy", Test::Kind::kIn, kValues99}};
constexpr Test kTests101[] = {{"placement.policy", Test::Kind::kGiven, {}}};
constexpr Field kMappingSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"mapping"}, .type = Type::kText, .choices = kValues97},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules91},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kMappingPattern},
};
constexpr Rule kRules102[] = {{"placement.policy", "a mapping is placed by bind or interleave", kTests101, kTests100}};
constexpr Table kMappingSpec{kMappingSpecFields, kRules102};

constexpr Value kValues103[] = {std::string_view{"persist"}};
constexpr Value kValues104[] = {std::string_view{"stores"}, std::string_view{"clwb"}, std::string_view{"clflushopt"}, std::string_view{"clflush"}, std::string_view{"dc-cvap"}, std::string_view{"dc-cvac"}, std::string_view{"nt-stores"}, std::string_view{"nt-drain"}, std::string_view{"msync"}, std::string_view{"fdatasync"}, std::string_view{"pool-persist"}, std::string_view{"transaction"}, std::string_view{"allocation"}};
constexpr Value kValues105[] = {std::string_view{"sequential"}, std::string_view{"random"}};
constexpr Value kValues106[] = {std::string_view{"transaction"}};
constexpr Test kTests107[] = {{"method", Test::Kind::kIn, kValues106}};
constexpr Test kTests108[] = {{"ranges", Test::Kind::kGiven, {}}};
constexpr Field kPersistPatternFields[] = {
    {.name = "method", .required = true, .type = Type::kText, .choices = kValues104},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues105},
    {.name = "block_size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "ranges", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
};
constexpr Rule kRules109[] = {{"ranges", "goes with method transaction", kTests108, kTests107}};
constexpr Table kPersistPattern{kPersistPatternFields, kRules109};

constexpr Field kPersistSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"persist"}, .type = Type::kText, .choices = kValues103},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules79},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kPersistPattern},
};
constexpr Table kPersistSpec{kPersistSpecFields};

constexpr Value kValues110[] = {std::string_view{"chain"}};
constexpr Rule kRules111[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests78}, {"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests32}};
constexpr Value kValues112[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"compare-and-swap"}, std::string_view{"fetch-and-add"}};
constexpr Value kValues113[] = {std::string_view{"none"}, std::string_view{"write-back"}, std::string_view{"flush"}, std::string_view{"flush-opt"}, std::string_view{"non-temporal"}};
constexpr Value kValues114[] = {std::string_view{"none"}, std::string_view{"stores"}, std::string_view{"all"}};
constexpr Value kValues115[] = {std::int64_t{8}};
constexpr Value kValues116[] = {std::string_view{"compare-and-swap"}, std::string_view{"fetch-and-add"}};
constexpr Test kTests117[] = {{"size", Test::Kind::kDiffers, kValues115}, {"access", Test::Kind::kIn, kValues116}};
constexpr Value kValues118[] = {std::string_view{"none"}};
constexpr Test kTests119[] = {{"cache", Test::Kind::kDiffers, kValues118}, {"access", Test::Kind::kIn, kValues116}};
constexpr Value kValues120[] = {std::string_view{"read"}};
constexpr Value kValues121[] = {std::string_view{"non-temporal"}};
constexpr Test kTests122[] = {{"size", Test::Kind::kIn, kValues115}, {"access", Test::Kind::kIn, kValues120}, {"cache", Test::Kind::kIn, kValues121}};
constexpr Value kValues123[] = {std::string_view{"write"}};
constexpr Test kTests124[] = {{"access", Test::Kind::kIn, kValues123}};
constexpr Test kTests125[] = {{"region", Test::Kind::kDiffers, kValues8}, {"access", Test::Kind::kIn, kValues123}};
constexpr Field kOperationFields[] = {
    {.name = "access", .required = true, .type = Type::kText, .choices = kValues112},
    {.name = "size", .required = true, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{8}, .most = std::int64_t{65536}},
    {.name = "region", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "cache", .otherwise = std::string_view{"none"}, .type = Type::kText, .choices = kValues113},
    {.name = "fence", .otherwise = std::string_view{"none"}, .type = Type::kText, .choices = kValues114},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{-1073741824}, .most = std::int64_t{1073741824}},
};
constexpr Rule kRules126[] = {{"size", "is not 8, as atomics have it", kTests117}, {"cache", "does not go with atomics, which take no cache instruction", kTests119}, {"size", "8 is too little: non-temporal loads have 16 bytes at least", kTests122}, {"offset", "goes with writes: what reads takes an address of its own", kTests9, kTests124}, {"region", "goes with what reads: a write goes where the operation before it went", kTests125}};
constexpr Table kOperation{kOperationFields, kRules126};

constexpr Field kFields127[] = {{.type = Type::kObject, .table = &kOperation}};
constexpr Field kChainPatternFields[] = {
    {.name = "operations", .required = true, .type = Type::kArray, .shortest = 1, .longest = 64, .element = kFields127},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "size_second", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "linked", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "interleave", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "sample_every", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
};
constexpr Table kChainPattern{kChainPatternFields};

constexpr Field kChainSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"chain"}, .type = Type::kText, .choices = kValues110},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules79},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields30},
    {.name = "placement_second", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules111},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kChainPattern},
};
constexpr Table kChainSpec{kChainSpecFields};

constexpr Value kValues128[] = {std::string_view{"ops"}};
constexpr Rule kRules129[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests78}, {"persistent", "is not accepted here: this memory is on nodes", kTests26}};
constexpr Field kFields130[] = {{.type = Type::kObject, .table = &kPlacement, .rules = kRules129}};
constexpr Value kValues131[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"column"}, std::string_view{"relations"}, std::string_view{"runs"}, std::string_view{"lsm"}};
constexpr Value kValues132[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}, std::string_view{"filter"}, std::string_view{"join"}, std::string_view{"merge"}};
constexpr Value kValues133[] = {std::string_view{"uniform"}, std::string_view{"zipf"}, std::string_view{"latest"}, std::string_view{"file"}};
constexpr Value kValues134[] = {std::int64_t{4}, std::int64_t{8}};
constexpr Value kValues135[] = {std::string_view{"positions"}, std::string_view{"count"}};
constexpr Value kValues136[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}};
constexpr Test kTests137[] = {{"operation", Test::Kind::kIn, kValues136}};
constexpr Value kValues138[] = {std::string_view{"btree"}};
constexpr Test kTests139[] = {{"structure", Test::Kind::kIn, kValues138}};
constexpr Value kValues140[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-f"}};
constexpr Test kTests141[] = {{"operation", Test::Kind::kIn, kValues140}};
constexpr Value kValues142[] = {std::string_view{"hash"}};
constexpr Test kTests143[] = {{"structure", Test::Kind::kIn, kValues142}};
constexpr Value kValues144[] = {std::string_view{"filter"}};
constexpr Test kTests145[] = {{"operation", Test::Kind::kIn, kValues144}};
constexpr Value kValues146[] = {std::string_view{"column"}};
constexpr Test kTests147[] = {{"structure", Test::Kind::kIn, kValues146}};
constexpr Value kValues148[] = {std::string_view{"join"}};
constexpr Test kTests149[] = {{"operation", Test::Kind::kIn, kValues148}};
constexpr Value kValues150[] = {std::string_view{"relations"}};
constexpr Test kTests151[] = {{"structure", Test::Kind::kIn, kValues150}};
constexpr Value kValues152[] = {std::string_view{"merge"}};
constexpr Test kTests153[] = {{"operation", Test::Kind::kIn, kValues152}};
constexpr Value kValues154[] = {std::string_view{"runs"}};
constexpr Test kTests155[] = {{"structure", Test::Kind::kIn, kValues154}};
constexpr Value kValues156[] = {std::string_view{"lookup"}};
constexpr Test kTests157[] = {{"operation", Test::Kind::kIn, kValues156}};
constexpr Value kValues158[] = {std::string_view{"lsm"}};
constexpr Test kTests159[] = {{"structure", Test::Kind::kIn, kValues158}};
constexpr Test kTests160[] = {{"inner_node", Test::Kind::kGiven, {}}};
constexpr Test kTests161[] = {{"leaf_node", Test::Kind::kGiven, {}}};
constexpr Test kTests162[] = {{"key_bytes", Test::Kind::kGiven, {}}};
constexpr Test kTests163[] = {{"selectivity", Test::Kind::kGiven, {}}};
constexpr Test kTests164[] = {{"found", Test::Kind::kGiven, {}}};
constexpr Test kTests165[] = {{"probe_ratio", Test::Kind::kGiven, {}}};
constexpr Value kValues166[] = {std::string_view{"relations"}, std::string_view{"lsm"}};
constexpr Test kTests167[] = {{"structure", Test::Kind::kIn, kValues166}};
constexpr Test kTests168[] = {{"misses", Test::Kind::kGiven, {}}};
constexpr Test kTests169[] = {{"partitions", Test::Kind::kGiven, {}}};
constexpr Test kTests170[] = {{"runs", Test::Kind::kGiven, {}}};
constexpr Test kTests171[] = {{"ratio", Test::Kind::kGiven, {}}};
constexpr Test kTests172[] = {{"inner_node", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues138}};
constexpr Test kTests173[] = {{"leaf_node", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues138}};
constexpr Test kTests174[] = {{"key_bytes", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues146}};
constexpr Test kTests175[] = {{"selectivity", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues146}};
constexpr Test kTests176[] = {{"found", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues146}};
constexpr Test kTests177[] = {{"probe_ratio", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues150}};
constexpr Test kTests178[] = {{"misses", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues166}};
constexpr Test kTests179[] = {{"partitions", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues150}};
constexpr Test kTests180[] = {{"runs", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues154}};
constexpr Test kTests181[] = {{"ratio", Test::Kind::kIn, kValues71}, {"structure", Test::Kind::kIn, kValues158}};
constexpr Value kValues182[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"lsm"}};
constexpr Test kTests183[] = {{"structure", Test::Kind::kIn, kValues182}};
constexpr Value kValues184[] = {std::string_view{"uniform"}};
constexpr Test kTests185[] = {{"distribution", Test::Kind::kDiffers, kValues184}};
constexpr Value kValues186[] = {std::string_view{"insert"}, std::string_view{"update"}};
constexpr Test kTests187[] = {{"operation", Test::Kind::kIn, kValues186}};
constexpr Test kTests188[] = {{"sharing", Test::Kind::kDiffers, kValues73}};
constexpr Value kValues189[] = {std::string_view{"scan"}, std::string_view{"ycsb-e"}};
constexpr Test kTests190[] = {{"operation", Test::Kind::kIn, kValues189}};
constexpr Test kTests191[] = {{"scan_length", Test::Kind::kGiven, {}}};
constexpr Value kValues192[] = {std::string_view{"zipf"}, std::string_view{"latest"}};
constexpr Test kTests193[] = {{"distribution", Test::Kind::kIn, kValues192}};
constexpr Test kTests194[] = {{"zipf_alpha", Test::Kind::kGiven, {}}};
constexpr Value kValues195[] = {std::string_view{"ycsb-d"}};
constexpr Test kTests196[] = {{"operation", Test::Kind::kIn, kValues195}};
constexpr Value kValues197[] = {std::string_view{"latest"}};
constexpr Test kTests198[] = {{"distribution", Test::Kind::kIn, kValues197}};
constexpr Value kValues199[] = {std::string_view{"file"}};
constexpr Value kValues200[] = {std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}};
constexpr Test kTests201[] = {{"distribution", Test::Kind::kIn, kValues199}, {"operation", Test::Kind::kIn, kValues200}};
constexpr Test kTests202[] = {{"distribution", Test::Kind::kIn, kValues199}};
constexpr Test kTests203[] = {{"keys_file", Test::Kind::kGiven, {}}};
constexpr Value kValues204[] = {std::string_view{"btree"}, std::string_view{"hash"}};
constexpr Test kTests205[] = {{"structure", Test::Kind::kIn, kValues204}};
constexpr Value kValues206[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"relations"}};
constexpr Value kValues207[] = {std::string_view{"lookup"}, std::string_view{"join"}};
constexpr Test kTests208[] = {{"structure", Test::Kind::kIn, kValues206}, {"operation", Test::Kind::kIn, kValues207}};
constexpr Test kTests209[] = {{"interleave", Test::Kind::kDiffers, kValues15}};
constexpr Test kTests210[] = {{"interleave", Test::Kind::kDiffers, kValues15}, {"partitions", Test::Kind::kDiffers, kValues15}};
constexpr Value kValues211[] = {std::int64_t{4294967297}};
constexpr Test kTests212[] = {{"keys", Test::Kind::kBelow, kValues211}};
constexpr Value kValues213[] = {std::int64_t{4}};
constexpr Test kTests214[] = {{"key_bytes", Test::Kind::kIn, kValues213}};
constexpr Field kOpsPatternFields[] = {
    {.name = "structure", .required = true, .type = Type::kText, .choices = kValues131},
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues132},
    {.name = "keys", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{68719476736}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "sharing", .otherwise = std::string_view{"partitioned"}, .type = Type::kText, .choices = kValues37},
    {.name = "distribution", .otherwise = std::string_view{"uniform"}, .type = Type::kText, .choices = kValues133},
    {.name = "zipf_alpha", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "keys_file", .nullable = true, .type = Type::kText},
    {.name = "interleave", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
    {.name = "scan_length", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1048576}},
    {.name = "inner_node", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{128}, .most = std::int64_t{65536}},
    {.name = "leaf_node", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{128}, .most = std::int64_t{65536}},
    {.name = "key_bytes", .nullable = true, .type = Type::kInteger, .choices = kValues134},
    {.name = "selectivity", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "found", .nullable = true, .type = Type::kText, .choices = kValues135},
    {.name = "probe_ratio", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
    {.name = "misses", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "partitions", .nullable = true, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "runs", .nullable = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{256}},
    {.name = "ratio", .nullable = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{32}},
    {.name = "sample_every", .otherwise = std::int64_t{64}, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{4096}},
};
constexpr Rule kRules215[] = {{"operation", "of btree is lookup or insert or update or scan or churn or ycsb-a or ycsb-b or ycsb-c or ycsb-d or ycsb-e or ycsb-f", kTests139, kTests137}, {"operation", "of hash is lookup or insert or update or churn or ycsb-a or ycsb-b or ycsb-c or ycsb-d or ycsb-f", kTests143, kTests141}, {"operation", "of column is filter", kTests147, kTests145}, {"operation", "of relations is join", kTests151, kTests149}, {"operation", "of runs is merge", kTests155, kTests153}, {"operation", "of lsm is lookup", kTests159, kTests157}, {"inner_node", "goes with structure btree", kTests160, kTests139}, {"leaf_node", "goes with structure btree", kTests161, kTests139}, {"key_bytes", "goes with structure column", kTests162, kTests147}, {"selectivity", "goes with structure column", kTests163, kTests147}, {"found", "goes with structure column", kTests164, kTests147}, {"probe_ratio", "goes with structure relations", kTests165, kTests151}, {"misses", "goes with structure relations or lsm", kTests168, kTests167}, {"partitions", "goes with structure relations", kTests169, kTests151}, {"runs", "goes with structure runs", kTests170, kTests155}, {"ratio", "goes with structure lsm", kTests171, kTests159}, {"inner_node", "is what this structure needs", kTests172}, {"leaf_node", "is what this structure needs", kTests173}, {"key_bytes", "is what this structure needs", kTests174}, {"selectivity", "is what this structure needs", kTests175}, {"found", "is what this structure needs", kTests176}, {"probe_ratio", "is what this structure needs", kTests177}, {"misses", "is what this structure needs", kTests178}, {"partitions", "is what this structure needs", kTests179}, {"runs", "is what this structure needs", kTests180}, {"ratio", "is what this structure needs", kTests181}, {"distribution", "goes with structure btree or hash or lsm", kTests185, kTests183}, {"sharing", "goes with operation insert or update", kTests188, kTests187}, {"scan_length", "goes with operation scan or ycsb-e", kTests191, kTests190}, {"operation", "scans need a scan_length", kTests190, kTests191}, {"zipf_alpha", "goes with distribution zipf or latest", kTests194, kTests193}, {"distribution", "zipf and latest need a zipf_alpha", kTests193, kTests194}, {"distribution", "latest goes with operation ycsb-d", kTests198, kTests196}, {"distribution", "keys of a file do not go with churn, ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f", kTests201}, {"keys_file", "goes with distribution file", kTests203, kTests202}, {"distribution", "file needs a keys_file", kTests202, kTests203}, {"distribution", "file goes with structure btree or hash", kTests202, kTests205}, {"interleave", "goes with structure btree or hash or relations and operation lookup or join", kTests209, kTests208}, {"interleave", "goes with one partition: tables of several are cached", kTests210}, {"keys", "of 4 bytes are 4g at most, as positions of 4 bytes number them", kTests214, kTests212}};
constexpr Table kOpsPattern{kOpsPatternFields, kRules215};

constexpr Field kOpsSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"ops"}, .type = Type::kText, .choices = kValues128},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules91},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues28},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "parts", .type = Type::kMap, .element = kFields130},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kOpsPattern},
};
constexpr Table kOpsSpec{kOpsSpecFields};

constexpr Value kValues216[] = {std::string_view{"gpu-copy"}};
constexpr Test kTests217[] = {{"row_bytes", Test::Kind::kGiven, {}}, {"pitch", Test::Kind::kIn, kValues71}};
constexpr Test kTests218[] = {{"pitch", Test::Kind::kGiven, {}}, {"row_bytes", Test::Kind::kIn, kValues71}};
constexpr Value kValues219[] = {std::string_view{"row_bytes"}};
constexpr Test kTests220[] = {{"pitch", Test::Kind::kBelow, kValues219}};
constexpr Test kTests221[] = {{"size", Test::Kind::kUneven, kValues219}};
constexpr Field kGpuCopyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4398046511104}},
    {.name = "row_bytes", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "pitch", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Rule kRules222[] = {{"row_bytes", "goes with a pitch", kTests217}, {"pitch", "goes with row_bytes", kTests218}, {"pitch", "is smaller than row_bytes", kTests220}, {"size", "is not a whole number of rows", kTests221}};
constexpr Table kGpuCopyPattern{kGpuCopyPatternFields, kRules222};

constexpr Value kValues223[] = {std::string_view{"host"}};
constexpr Value kValues224[] = {std::string_view{"pinned"}, std::string_view{"write-combined"}, std::string_view{"registered"}, std::string_view{"pageable"}, std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Value kValues225[] = {std::string_view{"pageable"}, std::string_view{"registered"}};
constexpr Test kTests226[] = {{"memory", Test::Kind::kIn, kValues225}};
constexpr Value kValues227[] = {std::string_view{"base"}};
constexpr Test kTests228[] = {{"pages", Test::Kind::kDiffers, kValues227}};
constexpr Field kHostPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues223},
    {.name = "memory", .otherwise = std::string_view{"pinned"}, .type = Type::kText, .choices = kValues224},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules91},
    {.name = "pages", .otherwise = std::string_view{"base"}, .type = Type::kText, .choices = kValues35},
};
constexpr Rule kRules229[] = {{"pages", "only pageable and registered memory has a choice of pages", kTests228, kTests226}, {"placement", "only pageable and registered memory spans several nodes", kTests93, kTests226}};
constexpr Table kHostPlace{kHostPlaceFields, kRules229};

constexpr Value kValues230[] = {std::string_view{"gpu"}};
constexpr Field kGpuPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"gpu"}, .type = Type::kText, .choices = kValues230},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Table kGpuPlace{kGpuPlaceFields};

constexpr Variant kVariants231[] = {{"where", "host", &kHostPlace}, {"where", "gpu", &kGpuPlace}};
constexpr Value kValues232[] = {std::string_view{"ce"}, std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Test kTests233[] = {{"source.where", Test::Kind::kIn, kValues223}, {"destination.where", Test::Kind::kIn, kValues223}};
constexpr Value kValues234[] = {std::string_view{"managed"}};
constexpr Test kTests235[] = {{"destination.memory", Test::Kind::kIn, kValues234}};
constexpr Field kTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kObject, .variants = kVariants231},
    {.name = "destination", .required = true, .type = Type::kObject, .variants = kVariants231},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues232},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules236[] = {{"source", "and destination are host memory; one of them at least is a GPU", kTests233}, {"destination", "managed memory comes over on demand as a source only", kTests235}};
constexpr Table kTransfer{kTransferFields, kRules236};

constexpr Field kFields237[] = {{.type = Type::kObject, .table = &kTransfer}};
constexpr Field kGpuCopySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-copy"}, .type = Type::kText, .choices = kValues216},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuCopyPattern},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "call_latency", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields237},
};
constexpr Table kGpuCopySpec{kGpuCopySpecFields};

constexpr Value kValues238[] = {std::string_view{"gpu-ranks"}};
constexpr Field kGpuRanksPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Table kGpuRanksPattern{kGpuRanksPatternFields};

constexpr Field kFields239[] = {{.type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}}};
constexpr Field kFields240[] = {{.type = Type::kText}};
constexpr Value kValues241[] = {std::string_view{"any"}, std::string_view{"fabric"}, std::string_view{"ipc"}};
constexpr Value kValues242[] = {std::string_view{"source"}};
constexpr Test kTests243[] = {{"destination", Test::Kind::kSame, kValues242}};
constexpr Field kRankTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "destination", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "rank", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues232},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules244[] = {{"destination", "is the source; a transfer goes from one rank to another one", kTests243}};
constexpr Table kRankTransfer{kRankTransferFields, kRules244};

constexpr Field kFields245[] = {{.type = Type::kObject, .table = &kRankTransfer}};
constexpr Field kGpuRanksSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-ranks"}, .type = Type::kText, .choices = kValues238},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuRanksPattern},
    {.name = "rank", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "gpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields239},
    {.name = "hosts", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields240},
    {.name = "handles", .otherwise = std::string_view{"any"}, .type = Type::kText, .choices = kValues241},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 16384, .element = kFields245},
};
constexpr Table kGpuRanksSpec{kGpuRanksSpecFields};

constexpr Value kValues246[] = {std::string_view{"gpu-memory"}};
constexpr Value kValues247[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"copy"}, std::string_view{"scale"}, std::string_view{"add"}, std::string_view{"triad"}, std::string_view{"random"}};
constexpr Value kValues248[] = {std::string_view{"random"}};
constexpr Test kTests249[] = {{"operation", Test::Kind::kIn, kValues248}};
constexpr Value kValues250[] = {std::int64_t{32}};
constexpr Test kTests251[] = {{"access_size", Test::Kind::kDiffers, kValues250}};
constexpr Value kValues252[] = {std::int64_t{68719476736}};
constexpr Test kTests253[] = {{"size", Test::Kind::kBelow, kValues252}};
constexpr Test kTests254[] = {{"size", Test::Kind::kBelow, kValues51}};
constexpr Field kGpuMemoryPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues247},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "access_size", .otherwise = std::int64_t{32}, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{16}, .most = std::int64_t{512}},
};
constexpr Rule kRules255[] = {{"access_size", "goes with operation random", kTests251, kTests249}, {"size", "has to be below 64 GiB of operation random", kTests249, kTests253}, {"size", "is smaller than access_size", kTests254}};
constexpr Table kGpuMemoryPattern{kGpuMemoryPatternFields, kRules255};

constexpr Field kGpuMemorySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-memory"}, .type = Type::kText, .choices = kValues246},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuMemoryPattern},
};
constexpr Table kGpuMemorySpec{kGpuMemorySpecFields};

constexpr Value kValues256[] = {std::string_view{"gpu-latency"}};
constexpr Value kValues257[] = {std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Value kValues258[] = {std::string_view{"random"}, std::string_view{"linear"}};
constexpr Field kGpuLatencyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "stride", .otherwise = std::int64_t{128}, .type = Type::kInteger, .multiple = 8, .least = std::int64_t{8}, .most = std::int64_t{1048576}},
    {.name = "order", .otherwise = std::string_view{"random"}, .type = Type::kText, .choices = kValues258},
};
constexpr Table kGpuLatencyPattern{kGpuLatencyPatternFields};

constexpr Value kValues259[] = {std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Test kTests260[] = {{"memory.memory", Test::Kind::kIn, kValues259}};
constexpr Value kValues261[] = {std::string_view{"sm"}};
constexpr Test kTests262[] = {{"engine", Test::Kind::kIn, kValues261}};
constexpr Value kValues263[] = {Value{false}};
constexpr Test kTests264[] = {{"per_sm", Test::Kind::kDiffers, kValues263}};
constexpr Test kTests265[] = {{"every_sm", Test::Kind::kDiffers, kValues263}};
constexpr Value kValues266[] = {std::int64_t{16}};
constexpr Value kValues267[] = {std::string_view{"tma"}};
constexpr Test kTests268[] = {{"pattern.stride", Test::Kind::kUneven, kValues266}, {"engine", Test::Kind::kIn, kValues267}};
constexpr Field kGpuLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-latency"}, .type = Type::kText, .choices = kValues256},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "memory", .required = true, .type = Type::kObject, .variants = kVariants231},
    {.name = "engine", .otherwise = std::string_view{"sm"}, .type = Type::kText, .choices = kValues257},
    {.name = "per_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "every_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuLatencyPattern},
};
constexpr Rule kRules269[] = {{"memory", "migrates; a chase goes through memory that stays where it is", kTests260}, {"per_sm", "goes with engine sm", kTests264, kTests262}, {"every_sm", "goes with engine sm", kTests265, kTests262}, {"pattern.stride", "has to be a multiple of 16 for engine tma", kTests268}};
constexpr Table kGpuLatencySpec{kGpuLatencySpecFields, kRules269};

constexpr Value kValues270[] = {std::string_view{"io"}};
constexpr Value kValues271[] = {std::string_view{"host"}, std::string_view{"device"}, std::string_view{"vmm"}, std::string_view{"pinned"}, std::string_view{"plain"}, std::string_view{"managed"}};
constexpr Test kTests272[] = {{"memory", Test::Kind::kIn, kValues223}};
constexpr Test kTests273[] = {{"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests274[] = {{"gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests275[] = {{"memory", Test::Kind::kDiffers, kValues223}};
constexpr Field kBuffersFields[] = {
    {.name = "memory", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues271},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules129},
    {.name = "gpu", .nullable = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Rule kRules276[] = {{"placement", "goes with memory host", kTests273, kTests272}, {"memory", "host needs a placement", kTests272, kTests273}, {"memory", "only host needs no gpu", kTests275, kTests274}};
constexpr Table kBuffers{kBuffersFields, kRules276};

constexpr Field kOwnedFilesFields[] = {
    {.name = "count", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{65536}},
    {.name = "keep", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "stem", .otherwise = std::string_view{"tierscope."}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{1,64}$"},
};
constexpr Table kOwnedFiles{kOwnedFilesFields};

constexpr Value kValues277[] = {std::string_view{"parts"}};
constexpr Test kTests278[] = {{"part", Test::Kind::kBelow, kValues277}};
constexpr Test kTests279[] = {{"part", Test::Kind::kGiven, {}}};
constexpr Test kTests280[] = {{"wait_s", Test::Kind::kGiven, {}}, {"name", Test::Kind::kIn, kValues10}};
constexpr Field kCommonFileFields[] = {
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{0,64}$"},
    {.name = "parts", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
    {.name = "part", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{999999}},
    {.name = "wait_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
};
constexpr Rule kRules281[] = {{"part", "has to be below parts", kTests279, kTests278}, {"wait_s", "goes with a name", kTests280}};
constexpr Table kCommonFile{kCommonFileFields, kRules281};

constexpr Test kTests282[] = {{"size", Test::Kind::kGiven, {}}, {"count", Test::Kind::kIn, kValues15}};
constexpr Test kTests283[] = {{"common.parts", Test::Kind::kDiffers, kValues15}};
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
constexpr Rule kRules284[] = {{"common", "is one file of a given size", kTests283, kTests282}};
constexpr Table kPathFiles{kPathFilesFields, kRules284};

constexpr Field kDeviceFilesFields[] = {
    {.name = "device", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "size", .nullable = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "destroy", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "second_word", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "purge", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kDeviceFiles{kDeviceFilesFields};

constexpr Variant kVariants285[] = {{"directory", "", &kOwnedFiles}, {"path", "", &kPathFiles}, {"device", "", &kDeviceFiles}};
constexpr Value kValues286[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"mix"}};
constexpr Field kBlockShareFields[] = {
    {.name = "bytes", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "weight", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
};
constexpr Table kBlockShare{kBlockShareFields};

constexpr Field kFields287[] = {{.type = Type::kObject, .table = &kBlockShare}};
constexpr Value kValues288[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"mmap"}, std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Value kValues289[] = {std::string_view{"as-found"}, std::string_view{"warm"}, std::string_view{"cold"}};
constexpr Value kValues290[] = {std::string_view{"regular"}, std::string_view{"poisson"}};
constexpr Value kValues291[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}, std::string_view{"odirect"}};
constexpr Value kValues292[] = {std::string_view{"mix"}};
constexpr Test kTests293[] = {{"operation", Test::Kind::kIn, kValues292}};
constexpr Test kTests294[] = {{"read_percent", Test::Kind::kGiven, {}}};
constexpr Test kTests295[] = {{"zipf", Test::Kind::kGiven, {}}};
constexpr Test kTests296[] = {{"rate", Test::Kind::kGiven, {}}};
constexpr Test kTests297[] = {{"arrivals", Test::Kind::kGiven, {}}};
constexpr Test kTests298[] = {{"iopoll", Test::Kind::kIn, kValues12}, {"direct", Test::Kind::kIn, kValues263}};
constexpr Value kValues299[] = {std::string_view{"io_uring"}};
constexpr Test kTests300[] = {{"backend", Test::Kind::kIn, kValues299}};
constexpr Test kTests301[] = {{"sqpoll", Test::Kind::kDiffers, kValues263}};
constexpr Test kTests302[] = {{"iopoll", Test::Kind::kDiffers, kValues263}};
constexpr Value kValues303[] = {std::string_view{"posix"}, std::string_view{"mmap"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-managed"}};
constexpr Test kTests304[] = {{"depth", Test::Kind::kDiffers, kValues15}, {"backend", Test::Kind::kIn, kValues303}};
constexpr Value kValues305[] = {std::string_view{"mmap"}};
constexpr Test kTests306[] = {{"direct", Test::Kind::kIn, kValues12}, {"backend", Test::Kind::kIn, kValues305}};
constexpr Value kValues307[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}};
constexpr Test kTests308[] = {{"backend", Test::Kind::kIn, kValues307}};
constexpr Test kTests309[] = {{"cufile", Test::Kind::kGiven, {}}};
constexpr Test kTests310[] = {{"end_fsync", Test::Kind::kIn, kValues12}, {"amount", Test::Kind::kIn, kValues71}};
constexpr Test kTests311[] = {{"time_limit_s", Test::Kind::kGiven, {}}, {"amount", Test::Kind::kIn, kValues71}};
constexpr Test kTests312[] = {{"ramp_s", Test::Kind::kDiffers, kValues8}, {"amount", Test::Kind::kGiven, {}}};
constexpr Test kTests313[] = {{"fsync", Test::Kind::kDiffers, kValues8}, {"operation", Test::Kind::kIn, kValues120}};
constexpr Test kTests314[] = {{"fdatasync", Test::Kind::kDiffers, kValues8}, {"operation", Test::Kind::kIn, kValues120}};
constexpr Test kTests315[] = {{"end_fsync", Test::Kind::kIn, kValues12}, {"operation", Test::Kind::kIn, kValues120}};
constexpr Value kValues316[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Test kTests317[] = {{"backend", Test::Kind::kIn, kValues316}};
constexpr Value kValues318[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}};
constexpr Test kTests319[] = {{"require", Test::Kind::kIn, kValues318}};
constexpr Value kValues320[] = {std::string_view{"odirect"}};
constexpr Test kTests321[] = {{"require", Test::Kind::kIn, kValues320}, {"direct", Test::Kind::kIn, kValues263}};
constexpr Field kIoPatternFields[] = {
    {.name = "operation", .otherwise = std::string_view{"read"}, .type = Type::kText, .choices = kValues286},
    {.name = "read_percent", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{99}},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues83},
    {.name = "zipf", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "block_size", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "blocks", .nullable = true, .type = Type::kArray, .shortest = 2, .longest = 64, .element = kFields287},
    {.name = "align", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "misalign", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1048576}, .below = true},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1152921504606846976}},
    {.name = "range", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues288},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "cache", .nullable = true, .type = Type::kText, .choices = kValues289},
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
    {.name = "arrivals", .nullable = true, .type = Type::kText, .choices = kValues290},
    {.name = "amount", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "time_limit_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
    {.name = "ramp_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = 1000000.0},
    {.name = "seed", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{0}},
    {.name = "verify", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "require", .nullable = true, .type = Type::kText, .choices = kValues291},
    {.name = "cufile", .nullable = true, .type = Type::kText, .longest = 4096, .pattern = "^[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)+=[^\\n]+$"},
};
constexpr Rule kRules322[] = {{"read_percent", "goes with operation mix", kTests294, kTests293}, {"operation", "mix needs a read_percent", kTests293, kTests294}, {"zipf", "goes with order zipf", kTests295, kTests43}, {"order", "zipf needs an exponent", kTests43, kTests295}, {"arrivals", "goes with rate", kTests297, kTests296}, {"rate", "needs arrivals", kTests296, kTests297}, {"iopoll", "needs direct I/O", kTests298}, {"sqpoll", "goes with backend io_uring", kTests301, kTests300}, {"iopoll", "goes with backend io_uring", kTests302, kTests300}, {"depth", "is 1: this backend has one operation a thread in flight", kTests304}, {"direct", "does not go with backend mmap, which goes through the page cache, or DAX", kTests306}, {"cufile", "goes with backend cufile or cufile-stream or cufile-batch or cufile-batch-stream", kTests309, kTests308}, {"end_fsync", "goes with amount", kTests310}, {"time_limit_s", "goes with amount", kTests311}, {"ramp_s", "goes with no amount", kTests312}, {"fsync", "goes with writes", kTests313}, {"fdatasync", "goes with writes", kTests314}, {"end_fsync", "goes with writes", kTests315}, {"require", "is a way to a GPU", kTests319, kTests317}, {"require", "odirect needs direct I/O", kTests321, kTests317}};
constexpr Table kIoPattern{kIoPatternFields, kRules322};

constexpr Field kIoJobFields[] = {
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 4200},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29},
    {.name = "buffers", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "files", .required = true, .type = Type::kObject, .variants = kVariants285},
    {.name = "shared", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .nullable = true, .type = Type::kObject, .table = &kIoPattern},
};
constexpr Table kIoJob{kIoJobFields};

constexpr Field kFields323[] = {{.type = Type::kObject, .table = &kIoJob}};
constexpr Value kValues324[] = {std::string_view{"written"}, std::string_view{"steady"}};
constexpr Field kTimeSeriesFields[] = {
    {.name = "until", .required = true, .type = Type::kText, .choices = kValues324},
    {.name = "passes", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{100}},
    {.name = "round_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{3600}},
};
constexpr Table kTimeSeries{kTimeSeriesFields};

constexpr Field kIoSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"io"}, .type = Type::kText, .choices = kValues270},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "jobs", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields323, .distinct = true, .distinct_by = "name"},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kIoPattern},
    {.name = "series", .nullable = true, .type = Type::kObject, .table = &kTimeSeries},
};
constexpr Table kIoSpec{kIoSpecFields};

constexpr Value kValues325[] = {std::string_view{"files"}};
constexpr Value kValues326[] = {std::string_view{"create"}, std::string_view{"open"}, std::string_view{"stat"}, std::string_view{"read"}, std::string_view{"list"}, std::string_view{"unlink"}};
constexpr Value kValues327[] = {std::string_view{"own"}, std::string_view{"shared"}};
constexpr Value kValues328[] = {std::string_view{"no"}, std::string_view{"file"}, std::string_view{"directory"}};
constexpr Value kValues329[] = {std::string_view{"create"}, std::string_view{"unlink"}};
constexpr Test kTests330[] = {{"operation", Test::Kind::kIn, kValues329}};
constexpr Value kValues331[] = {std::string_view{"no"}};
constexpr Test kTests332[] = {{"fsync", Test::Kind::kDiffers, kValues331}};
constexpr Field kFilesPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues326},
    {.name = "file_size", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{16777216}},
    {.name = "files", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{10000000}},
    {.name = "directories", .otherwise = std::string_view{"own"}, .type = Type::kText, .choices = kValues327},
    {.name = "fsync", .otherwise = std::string_view{"no"}, .type = Type::kText, .choices = kValues328},
};
constexpr Rule kRules333[] = {{"fsync", "goes with operation create or unlink", kTests332, kTests330}};
constexpr Table kFilesPattern{kFilesPatternFields, kRules333};

constexpr Field kFilesSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"files"}, .type = Type::kText, .choices = kValues325},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kFilesPattern},
};
constexpr Table kFilesSpec{kFilesSpecFields};

constexpr Value kValues334[] = {std::string_view{"checkpoint"}};
constexpr Test kTests335[] = {{"policy", Test::Kind::kDiffers, kValues24}};
constexpr Value kValues336[] = {std::string_view{"pool-objects"}, std::string_view{"device"}};
constexpr Test kTests337[] = {{"persistent.backing", Test::Kind::kIn, kValues336}};
constexpr Rule kRules338[] = {{"policy", "of a checkpoint's memory is bind: one node", kTests335}, {"persistent.backing", "of a checkpoint's memory is file or pool", kTests337}};
constexpr Value kValues339[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-async"}};
constexpr Field kCheckpointPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues339},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "depth", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "block_size", .otherwise = std::int64_t{1048576}, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1073741824}},
    {.name = "kills", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100000}},
};
constexpr Rule kRules340[] = {{"depth", "is 1: this backend has one operation a thread in flight", kTests304}};
constexpr Table kCheckpointPattern{kCheckpointPatternFields, kRules340};

constexpr Test kTests341[] = {{"directory", Test::Kind::kIn, kValues71}};
constexpr Test kTests342[] = {{"directory", Test::Kind::kGiven, {}}, {"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests343[] = {{"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests344[] = {{"pattern.backend", Test::Kind::kIn, kValues316}};
constexpr Test kTests345[] = {{"pattern.backend", Test::Kind::kGiven, {}}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests346[] = {{"pattern.kills", Test::Kind::kDiffers, kValues8}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Field kCheckpointSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"checkpoint"}, .type = Type::kText, .choices = kValues334},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29},
    {.name = "state", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "directory", .nullable = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules338},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kCheckpointPattern},
};
constexpr Rule kRules347[] = {{"directory", "or a placement is needed", kTests341, kTests273}, {"directory", "does not go with a placement", kTests342}, {"pattern.backend", "of a GPU needs a state on a GPU", kTests344, kTests343}, {"pattern.backend", "of files takes no state on a GPU", kTests345, kTests344}, {"pattern.kills", "go with a state in host memory: CUDA does not outlive fork", kTests346}};
constexpr Table kCheckpointSpec{kCheckpointSpecFields, kRules347};

constexpr Variant kVariants348[] = {{"kind", "bandwidth", &kBandwidthSpec}, {"kind", "latency", &kLatencySpec}, {"kind", "loaded-latency", &kLoadedLatencySpec}, {"kind", "traffic", &kTrafficSpec}, {"kind", "atomics", &kAtomicsSpec}, {"kind", "core-latency", &kCoreLatencySpec}, {"kind", "mapping", &kMappingSpec}, {"kind", "persist", &kPersistSpec}, {"kind", "chain", &kChainSpec}, {"kind", "ops", &kOpsSpec}, {"kind", "gpu-copy", &kGpuCopySpec}, {"kind", "gpu-ranks", &kGpuRanksSpec}, {"kind", "gpu-memory", &kGpuMemorySpec}, {"kind", "gpu-latency", &kGpuLatencySpec}, {"kind", "io", &kIoSpec}, {"kind", "files", &kFilesSpec}, {"kind", "checkpoint", &kCheckpointSpec}};
constexpr Field kFields349[] = {{.type = Type::kObject, .variants = kVariants348}};
constexpr Field kPlanFields[] = {
    {.name = "version", .required = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{2}},
    {.name = "measurements", .required = true, .type = Type::kArray, .shortest = 1, .longest = 100000, .element = kFields349, .distinct = true, .distinct_by = "id"},
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
