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
constexpr Value kValues132[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"filter"}, std::string_view{"join"}, std::string_view{"merge"}};
constexpr Value kValues133[] = {std::string_view{"uniform"}, std::string_view{"zipf"}, std::string_view{"file"}};
constexpr Value kValues134[] = {std::int64_t{4}, std::int64_t{8}};
constexpr Value kValues135[] = {std::string_view{"positions"}, std::string_view{"count"}};
constexpr Value kValues136[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}};
constexpr Test kTests137[] = {{"operation", Test::Kind::kIn, kValues136}};
constexpr Value kValues138[] = {std::string_view{"btree"}};
constexpr Test kTests139[] = {{"structure", Test::Kind::kIn, kValues138}};
constexpr Value kValues140[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}};
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
constexpr Value kValues186[] = {std::string_view{"scan"}};
constexpr Test kTests187[] = {{"operation", Test::Kind::kIn, kValues186}};
constexpr Test kTests188[] = {{"scan_length", Test::Kind::kGiven, {}}};
constexpr Test kTests189[] = {{"distribution", Test::Kind::kIn, kValues42}};
constexpr Test kTests190[] = {{"zipf_alpha", Test::Kind::kGiven, {}}};
constexpr Value kValues191[] = {std::string_view{"file"}};
constexpr Test kTests192[] = {{"distribution", Test::Kind::kIn, kValues191}};
constexpr Test kTests193[] = {{"keys_file", Test::Kind::kGiven, {}}};
constexpr Value kValues194[] = {std::string_view{"btree"}, std::string_view{"hash"}};
constexpr Test kTests195[] = {{"structure", Test::Kind::kIn, kValues194}};
constexpr Value kValues196[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"relations"}};
constexpr Value kValues197[] = {std::string_view{"lookup"}, std::string_view{"join"}};
constexpr Test kTests198[] = {{"structure", Test::Kind::kIn, kValues196}, {"operation", Test::Kind::kIn, kValues197}};
constexpr Test kTests199[] = {{"interleave", Test::Kind::kDiffers, kValues15}};
constexpr Test kTests200[] = {{"interleave", Test::Kind::kDiffers, kValues15}, {"partitions", Test::Kind::kDiffers, kValues15}};
constexpr Value kValues201[] = {std::int64_t{4294967297}};
constexpr Test kTests202[] = {{"keys", Test::Kind::kBelow, kValues201}};
constexpr Value kValues203[] = {std::int64_t{4}};
constexpr Test kTests204[] = {{"key_bytes", Test::Kind::kIn, kValues203}};
constexpr Field kOpsPatternFields[] = {
    {.name = "structure", .required = true, .type = Type::kText, .choices = kValues131},
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues132},
    {.name = "keys", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{68719476736}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
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
constexpr Rule kRules205[] = {{"operation", "of btree is lookup or insert or update or scan", kTests139, kTests137}, {"operation", "of hash is lookup or insert or update", kTests143, kTests141}, {"operation", "of column is filter", kTests147, kTests145}, {"operation", "of relations is join", kTests151, kTests149}, {"operation", "of runs is merge", kTests155, kTests153}, {"operation", "of lsm is lookup", kTests159, kTests157}, {"inner_node", "goes with structure btree", kTests160, kTests139}, {"leaf_node", "goes with structure btree", kTests161, kTests139}, {"key_bytes", "goes with structure column", kTests162, kTests147}, {"selectivity", "goes with structure column", kTests163, kTests147}, {"found", "goes with structure column", kTests164, kTests147}, {"probe_ratio", "goes with structure relations", kTests165, kTests151}, {"misses", "goes with structure relations or lsm", kTests168, kTests167}, {"partitions", "goes with structure relations", kTests169, kTests151}, {"runs", "goes with structure runs", kTests170, kTests155}, {"ratio", "goes with structure lsm", kTests171, kTests159}, {"inner_node", "is what this structure needs", kTests172}, {"leaf_node", "is what this structure needs", kTests173}, {"key_bytes", "is what this structure needs", kTests174}, {"selectivity", "is what this structure needs", kTests175}, {"found", "is what this structure needs", kTests176}, {"probe_ratio", "is what this structure needs", kTests177}, {"misses", "is what this structure needs", kTests178}, {"partitions", "is what this structure needs", kTests179}, {"runs", "is what this structure needs", kTests180}, {"ratio", "is what this structure needs", kTests181}, {"distribution", "goes with structure btree or hash or lsm", kTests185, kTests183}, {"scan_length", "goes with operation scan", kTests188, kTests187}, {"operation", "scan needs a scan_length", kTests187, kTests188}, {"zipf_alpha", "goes with distribution zipf", kTests190, kTests189}, {"distribution", "zipf needs a zipf_alpha", kTests189, kTests190}, {"keys_file", "goes with distribution file", kTests193, kTests192}, {"distribution", "file needs a keys_file", kTests192, kTests193}, {"distribution", "file goes with structure btree or hash", kTests192, kTests195}, {"interleave", "goes with structure btree or hash or relations and operation lookup or join", kTests199, kTests198}, {"interleave", "goes with one partition: tables of several are cached", kTests200}, {"keys", "of 4 bytes are 4g at most, as positions of 4 bytes number them", kTests204, kTests202}};
constexpr Table kOpsPattern{kOpsPatternFields, kRules205};

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

constexpr Value kValues206[] = {std::string_view{"gpu-copy"}};
constexpr Test kTests207[] = {{"row_bytes", Test::Kind::kGiven, {}}, {"pitch", Test::Kind::kIn, kValues71}};
constexpr Test kTests208[] = {{"pitch", Test::Kind::kGiven, {}}, {"row_bytes", Test::Kind::kIn, kValues71}};
constexpr Value kValues209[] = {std::string_view{"row_bytes"}};
constexpr Test kTests210[] = {{"pitch", Test::Kind::kBelow, kValues209}};
constexpr Test kTests211[] = {{"size", Test::Kind::kUneven, kValues209}};
constexpr Field kGpuCopyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4398046511104}},
    {.name = "row_bytes", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "pitch", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Rule kRules212[] = {{"row_bytes", "goes with a pitch", kTests207}, {"pitch", "goes with row_bytes", kTests208}, {"pitch", "is smaller than row_bytes", kTests210}, {"size", "is not a whole number of rows", kTests211}};
constexpr Table kGpuCopyPattern{kGpuCopyPatternFields, kRules212};

constexpr Value kValues213[] = {std::string_view{"host"}};
constexpr Value kValues214[] = {std::string_view{"pinned"}, std::string_view{"write-combined"}, std::string_view{"registered"}, std::string_view{"pageable"}, std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Value kValues215[] = {std::string_view{"pageable"}, std::string_view{"registered"}};
constexpr Test kTests216[] = {{"memory", Test::Kind::kIn, kValues215}};
constexpr Value kValues217[] = {std::string_view{"base"}};
constexpr Test kTests218[] = {{"pages", Test::Kind::kDiffers, kValues217}};
constexpr Field kHostPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues213},
    {.name = "memory", .otherwise = std::string_view{"pinned"}, .type = Type::kText, .choices = kValues214},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules91},
    {.name = "pages", .otherwise = std::string_view{"base"}, .type = Type::kText, .choices = kValues35},
};
constexpr Rule kRules219[] = {{"pages", "only pageable and registered memory has a choice of pages", kTests218, kTests216}, {"placement", "only pageable and registered memory spans several nodes", kTests93, kTests216}};
constexpr Table kHostPlace{kHostPlaceFields, kRules219};

constexpr Value kValues220[] = {std::string_view{"gpu"}};
constexpr Field kGpuPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"gpu"}, .type = Type::kText, .choices = kValues220},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Table kGpuPlace{kGpuPlaceFields};

constexpr Variant kVariants221[] = {{"where", "host", &kHostPlace}, {"where", "gpu", &kGpuPlace}};
constexpr Value kValues222[] = {std::string_view{"ce"}, std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Test kTests223[] = {{"source.where", Test::Kind::kIn, kValues213}, {"destination.where", Test::Kind::kIn, kValues213}};
constexpr Value kValues224[] = {std::string_view{"managed"}};
constexpr Test kTests225[] = {{"destination.memory", Test::Kind::kIn, kValues224}};
constexpr Field kTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kObject, .variants = kVariants221},
    {.name = "destination", .required = true, .type = Type::kObject, .variants = kVariants221},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues222},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules226[] = {{"source", "and destination are host memory; one of them at least is a GPU", kTests223}, {"destination", "managed memory comes over on demand as a source only", kTests225}};
constexpr Table kTransfer{kTransferFields, kRules226};

constexpr Field kFields227[] = {{.type = Type::kObject, .table = &kTransfer}};
constexpr Field kGpuCopySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-copy"}, .type = Type::kText, .choices = kValues206},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuCopyPattern},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "call_latency", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields227},
};
constexpr Table kGpuCopySpec{kGpuCopySpecFields};

constexpr Value kValues228[] = {std::string_view{"gpu-ranks"}};
constexpr Field kGpuRanksPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Table kGpuRanksPattern{kGpuRanksPatternFields};

constexpr Field kFields229[] = {{.type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}}};
constexpr Field kFields230[] = {{.type = Type::kText}};
constexpr Value kValues231[] = {std::string_view{"any"}, std::string_view{"fabric"}, std::string_view{"ipc"}};
constexpr Value kValues232[] = {std::string_view{"source"}};
constexpr Test kTests233[] = {{"destination", Test::Kind::kSame, kValues232}};
constexpr Field kRankTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "destination", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "rank", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues222},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules234[] = {{"destination", "is the source; a transfer goes from one rank to another one", kTests233}};
constexpr Table kRankTransfer{kRankTransferFields, kRules234};

constexpr Field kFields235[] = {{.type = Type::kObject, .table = &kRankTransfer}};
constexpr Field kGpuRanksSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-ranks"}, .type = Type::kText, .choices = kValues228},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuRanksPattern},
    {.name = "rank", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "gpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields229},
    {.name = "hosts", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields230},
    {.name = "handles", .otherwise = std::string_view{"any"}, .type = Type::kText, .choices = kValues231},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 16384, .element = kFields235},
};
constexpr Table kGpuRanksSpec{kGpuRanksSpecFields};

constexpr Value kValues236[] = {std::string_view{"gpu-memory"}};
constexpr Value kValues237[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"copy"}, std::string_view{"scale"}, std::string_view{"add"}, std::string_view{"triad"}, std::string_view{"random"}};
constexpr Value kValues238[] = {std::string_view{"random"}};
constexpr Test kTests239[] = {{"operation", Test::Kind::kIn, kValues238}};
constexpr Value kValues240[] = {std::int64_t{32}};
constexpr Test kTests241[] = {{"access_size", Test::Kind::kDiffers, kValues240}};
constexpr Value kValues242[] = {std::int64_t{68719476736}};
constexpr Test kTests243[] = {{"size", Test::Kind::kBelow, kValues242}};
constexpr Test kTests244[] = {{"size", Test::Kind::kBelow, kValues51}};
constexpr Field kGpuMemoryPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues237},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "access_size", .otherwise = std::int64_t{32}, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{16}, .most = std::int64_t{512}},
};
constexpr Rule kRules245[] = {{"access_size", "goes with operation random", kTests241, kTests239}, {"size", "has to be below 64 GiB of operation random", kTests239, kTests243}, {"size", "is smaller than access_size", kTests244}};
constexpr Table kGpuMemoryPattern{kGpuMemoryPatternFields, kRules245};

constexpr Field kGpuMemorySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-memory"}, .type = Type::kText, .choices = kValues236},
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

constexpr Value kValues246[] = {std::string_view{"gpu-latency"}};
constexpr Value kValues247[] = {std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Value kValues248[] = {std::string_view{"random"}, std::string_view{"linear"}};
constexpr Field kGpuLatencyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "stride", .otherwise = std::int64_t{128}, .type = Type::kInteger, .multiple = 8, .least = std::int64_t{8}, .most = std::int64_t{1048576}},
    {.name = "order", .otherwise = std::string_view{"random"}, .type = Type::kText, .choices = kValues248},
};
constexpr Table kGpuLatencyPattern{kGpuLatencyPatternFields};

constexpr Value kValues249[] = {std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Test kTests250[] = {{"memory.memory", Test::Kind::kIn, kValues249}};
constexpr Value kValues251[] = {std::string_view{"sm"}};
constexpr Test kTests252[] = {{"engine", Test::Kind::kIn, kValues251}};
constexpr Value kValues253[] = {Value{false}};
constexpr Test kTests254[] = {{"per_sm", Test::Kind::kDiffers, kValues253}};
constexpr Test kTests255[] = {{"every_sm", Test::Kind::kDiffers, kValues253}};
constexpr Value kValues256[] = {std::int64_t{16}};
constexpr Value kValues257[] = {std::string_view{"tma"}};
constexpr Test kTests258[] = {{"pattern.stride", Test::Kind::kUneven, kValues256}, {"engine", Test::Kind::kIn, kValues257}};
constexpr Field kGpuLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-latency"}, .type = Type::kText, .choices = kValues246},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "memory", .required = true, .type = Type::kObject, .variants = kVariants221},
    {.name = "engine", .otherwise = std::string_view{"sm"}, .type = Type::kText, .choices = kValues247},
    {.name = "per_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "every_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuLatencyPattern},
};
constexpr Rule kRules259[] = {{"memory", "migrates; a chase goes through memory that stays where it is", kTests250}, {"per_sm", "goes with engine sm", kTests254, kTests252}, {"every_sm", "goes with engine sm", kTests255, kTests252}, {"pattern.stride", "has to be a multiple of 16 for engine tma", kTests258}};
constexpr Table kGpuLatencySpec{kGpuLatencySpecFields, kRules259};

constexpr Value kValues260[] = {std::string_view{"io"}};
constexpr Value kValues261[] = {std::string_view{"host"}, std::string_view{"device"}, std::string_view{"vmm"}, std::string_view{"pinned"}, std::string_view{"plain"}, std::string_view{"managed"}};
constexpr Test kTests262[] = {{"memory", Test::Kind::kIn, kValues213}};
constexpr Test kTests263[] = {{"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests264[] = {{"gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests265[] = {{"memory", Test::Kind::kDiffers, kValues213}};
constexpr Field kBuffersFields[] = {
    {.name = "memory", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues261},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules129},
    {.name = "gpu", .nullable = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Rule kRules266[] = {{"placement", "goes with memory host", kTests263, kTests262}, {"memory", "host needs a placement", kTests262, kTests263}, {"memory", "only host needs no gpu", kTests265, kTests264}};
constexpr Table kBuffers{kBuffersFields, kRules266};

constexpr Field kOwnedFilesFields[] = {
    {.name = "count", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{65536}},
    {.name = "keep", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "stem", .otherwise = std::string_view{"tierscope."}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{1,64}$"},
};
constexpr Table kOwnedFiles{kOwnedFilesFields};

constexpr Value kValues267[] = {std::string_view{"parts"}};
constexpr Test kTests268[] = {{"part", Test::Kind::kBelow, kValues267}};
constexpr Test kTests269[] = {{"part", Test::Kind::kGiven, {}}};
constexpr Test kTests270[] = {{"wait_s", Test::Kind::kGiven, {}}, {"name", Test::Kind::kIn, kValues10}};
constexpr Field kCommonFileFields[] = {
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{0,64}$"},
    {.name = "parts", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
    {.name = "part", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{999999}},
    {.name = "wait_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
};
constexpr Rule kRules271[] = {{"part", "has to be below parts", kTests269, kTests268}, {"wait_s", "goes with a name", kTests270}};
constexpr Table kCommonFile{kCommonFileFields, kRules271};

constexpr Test kTests272[] = {{"size", Test::Kind::kGiven, {}}, {"count", Test::Kind::kIn, kValues15}};
constexpr Test kTests273[] = {{"common.parts", Test::Kind::kDiffers, kValues15}};
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
constexpr Rule kRules274[] = {{"common", "is one file of a given size", kTests273, kTests272}};
constexpr Table kPathFiles{kPathFilesFields, kRules274};

constexpr Field kDeviceFilesFields[] = {
    {.name = "device", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "size", .nullable = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "destroy", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "second_word", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "purge", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kDeviceFiles{kDeviceFilesFields};

constexpr Variant kVariants275[] = {{"directory", "", &kOwnedFiles}, {"path", "", &kPathFiles}, {"device", "", &kDeviceFiles}};
constexpr Value kValues276[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"mix"}};
constexpr Field kBlockShareFields[] = {
    {.name = "bytes", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "weight", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
};
constexpr Table kBlockShare{kBlockShareFields};

constexpr Field kFields277[] = {{.type = Type::kObject, .table = &kBlockShare}};
constexpr Value kValues278[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"mmap"}, std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Value kValues279[] = {std::string_view{"as-found"}, std::string_view{"warm"}, std::string_view{"cold"}};
constexpr Value kValues280[] = {std::string_view{"regular"}, std::string_view{"poisson"}};
constexpr Value kValues281[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}, std::string_view{"odirect"}};
constexpr Value kValues282[] = {std::string_view{"mix"}};
constexpr Test kTests283[] = {{"operation", Test::Kind::kIn, kValues282}};
constexpr Test kTests284[] = {{"read_percent", Test::Kind::kGiven, {}}};
constexpr Test kTests285[] = {{"zipf", Test::Kind::kGiven, {}}};
constexpr Test kTests286[] = {{"rate", Test::Kind::kGiven, {}}};
constexpr Test kTests287[] = {{"arrivals", Test::Kind::kGiven, {}}};
constexpr Test kTests288[] = {{"iopoll", Test::Kind::kIn, kValues12}, {"direct", Test::Kind::kIn, kValues253}};
constexpr Value kValues289[] = {std::string_view{"io_uring"}};
constexpr Test kTests290[] = {{"backend", Test::Kind::kIn, kValues289}};
constexpr Test kTests291[] = {{"sqpoll", Test::Kind::kDiffers, kValues253}};
constexpr Test kTests292[] = {{"iopoll", Test::Kind::kDiffers, kValues253}};
constexpr Value kValues293[] = {std::string_view{"posix"}, std::string_view{"mmap"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-managed"}};
constexpr Test kTests294[] = {{"depth", Test::Kind::kDiffers, kValues15}, {"backend", Test::Kind::kIn, kValues293}};
constexpr Value kValues295[] = {std::string_view{"mmap"}};
constexpr Test kTests296[] = {{"direct", Test::Kind::kIn, kValues12}, {"backend", Test::Kind::kIn, kValues295}};
constexpr Value kValues297[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}};
constexpr Test kTests298[] = {{"backend", Test::Kind::kIn, kValues297}};
constexpr Test kTests299[] = {{"cufile", Test::Kind::kGiven, {}}};
constexpr Test kTests300[] = {{"end_fsync", Test::Kind::kIn, kValues12}, {"amount", Test::Kind::kIn, kValues71}};
constexpr Test kTests301[] = {{"time_limit_s", Test::Kind::kGiven, {}}, {"amount", Test::Kind::kIn, kValues71}};
constexpr Test kTests302[] = {{"ramp_s", Test::Kind::kDiffers, kValues8}, {"amount", Test::Kind::kGiven, {}}};
constexpr Test kTests303[] = {{"fsync", Test::Kind::kDiffers, kValues8}, {"operation", Test::Kind::kIn, kValues120}};
constexpr Test kTests304[] = {{"fdatasync", Test::Kind::kDiffers, kValues8}, {"operation", Test::Kind::kIn, kValues120}};
constexpr Test kTests305[] = {{"end_fsync", Test::Kind::kIn, kValues12}, {"operation", Test::Kind::kIn, kValues120}};
constexpr Value kValues306[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Test kTests307[] = {{"backend", Test::Kind::kIn, kValues306}};
constexpr Value kValues308[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}};
constexpr Test kTests309[] = {{"require", Test::Kind::kIn, kValues308}};
constexpr Value kValues310[] = {std::string_view{"odirect"}};
constexpr Test kTests311[] = {{"require", Test::Kind::kIn, kValues310}, {"direct", Test::Kind::kIn, kValues253}};
constexpr Field kIoPatternFields[] = {
    {.name = "operation", .otherwise = std::string_view{"read"}, .type = Type::kText, .choices = kValues276},
    {.name = "read_percent", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{99}},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues83},
    {.name = "zipf", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "block_size", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "blocks", .nullable = true, .type = Type::kArray, .shortest = 2, .longest = 64, .element = kFields277},
    {.name = "align", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "misalign", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1048576}, .below = true},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1152921504606846976}},
    {.name = "range", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues278},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "cache", .nullable = true, .type = Type::kText, .choices = kValues279},
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
    {.name = "arrivals", .nullable = true, .type = Type::kText, .choices = kValues280},
    {.name = "amount", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "time_limit_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
    {.name = "ramp_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = 1000000.0},
    {.name = "seed", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{0}},
    {.name = "verify", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "require", .nullable = true, .type = Type::kText, .choices = kValues281},
    {.name = "cufile", .nullable = true, .type = Type::kText, .longest = 4096, .pattern = "^[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)+=[^\\n]+$"},
};
constexpr Rule kRules312[] = {{"read_percent", "goes with operation mix", kTests284, kTests283}, {"operation", "mix needs a read_percent", kTests283, kTests284}, {"zipf", "goes with order zipf", kTests285, kTests43}, {"order", "zipf needs an exponent", kTests43, kTests285}, {"arrivals", "goes with rate", kTests287, kTests286}, {"rate", "needs arrivals", kTests286, kTests287}, {"iopoll", "needs direct I/O", kTests288}, {"sqpoll", "goes with backend io_uring", kTests291, kTests290}, {"iopoll", "goes with backend io_uring", kTests292, kTests290}, {"depth", "is 1: this backend has one operation a thread in flight", kTests294}, {"direct", "does not go with backend mmap, which goes through the page cache, or DAX", kTests296}, {"cufile", "goes with backend cufile or cufile-stream or cufile-batch or cufile-batch-stream", kTests299, kTests298}, {"end_fsync", "goes with amount", kTests300}, {"time_limit_s", "goes with amount", kTests301}, {"ramp_s", "goes with no amount", kTests302}, {"fsync", "goes with writes", kTests303}, {"fdatasync", "goes with writes", kTests304}, {"end_fsync", "goes with writes", kTests305}, {"require", "is a way to a GPU", kTests309, kTests307}, {"require", "odirect needs direct I/O", kTests311, kTests307}};
constexpr Table kIoPattern{kIoPatternFields, kRules312};

constexpr Field kIoJobFields[] = {
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 4200},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29},
    {.name = "buffers", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "files", .required = true, .type = Type::kObject, .variants = kVariants275},
    {.name = "shared", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .nullable = true, .type = Type::kObject, .table = &kIoPattern},
};
constexpr Table kIoJob{kIoJobFields};

constexpr Field kFields313[] = {{.type = Type::kObject, .table = &kIoJob}};
constexpr Value kValues314[] = {std::string_view{"written"}, std::string_view{"steady"}};
constexpr Field kTimeSeriesFields[] = {
    {.name = "until", .required = true, .type = Type::kText, .choices = kValues314},
    {.name = "passes", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{100}},
    {.name = "round_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{3600}},
};
constexpr Table kTimeSeries{kTimeSeriesFields};

constexpr Field kIoSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"io"}, .type = Type::kText, .choices = kValues260},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "jobs", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields313, .distinct = true, .distinct_by = "name"},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kIoPattern},
    {.name = "series", .nullable = true, .type = Type::kObject, .table = &kTimeSeries},
};
constexpr Table kIoSpec{kIoSpecFields};

constexpr Value kValues315[] = {std::string_view{"files"}};
constexpr Value kValues316[] = {std::string_view{"create"}, std::string_view{"open"}, std::string_view{"stat"}, std::string_view{"read"}, std::string_view{"list"}, std::string_view{"unlink"}};
constexpr Value kValues317[] = {std::string_view{"own"}, std::string_view{"shared"}};
constexpr Value kValues318[] = {std::string_view{"no"}, std::string_view{"file"}, std::string_view{"directory"}};
constexpr Value kValues319[] = {std::string_view{"create"}, std::string_view{"unlink"}};
constexpr Test kTests320[] = {{"operation", Test::Kind::kIn, kValues319}};
constexpr Value kValues321[] = {std::string_view{"no"}};
constexpr Test kTests322[] = {{"fsync", Test::Kind::kDiffers, kValues321}};
constexpr Field kFilesPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues316},
    {.name = "file_size", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{16777216}},
    {.name = "files", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{10000000}},
    {.name = "directories", .otherwise = std::string_view{"own"}, .type = Type::kText, .choices = kValues317},
    {.name = "fsync", .otherwise = std::string_view{"no"}, .type = Type::kText, .choices = kValues318},
};
constexpr Rule kRules323[] = {{"fsync", "goes with operation create or unlink", kTests322, kTests320}};
constexpr Table kFilesPattern{kFilesPatternFields, kRules323};

constexpr Field kFilesSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"files"}, .type = Type::kText, .choices = kValues315},
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

constexpr Value kValues324[] = {std::string_view{"checkpoint"}};
constexpr Test kTests325[] = {{"policy", Test::Kind::kDiffers, kValues24}};
constexpr Value kValues326[] = {std::string_view{"pool-objects"}, std::string_view{"device"}};
constexpr Test kTests327[] = {{"persistent.backing", Test::Kind::kIn, kValues326}};
constexpr Rule kRules328[] = {{"policy", "of a checkpoint's memory is bind: one node", kTests325}, {"persistent.backing", "of a checkpoint's memory is file or pool", kTests327}};
constexpr Value kValues329[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-async"}};
constexpr Field kCheckpointPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues35},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues329},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "depth", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "block_size", .otherwise = std::int64_t{1048576}, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1073741824}},
    {.name = "kills", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100000}},
};
constexpr Rule kRules330[] = {{"depth", "is 1: this backend has one operation a thread in flight", kTests294}};
constexpr Table kCheckpointPattern{kCheckpointPatternFields, kRules330};

constexpr Test kTests331[] = {{"directory", Test::Kind::kIn, kValues71}};
constexpr Test kTests332[] = {{"directory", Test::Kind::kGiven, {}}, {"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests333[] = {{"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests334[] = {{"pattern.backend", Test::Kind::kIn, kValues306}};
constexpr Test kTests335[] = {{"pattern.backend", Test::Kind::kGiven, {}}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests336[] = {{"pattern.kills", Test::Kind::kDiffers, kValues8}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Field kCheckpointSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"checkpoint"}, .type = Type::kText, .choices = kValues324},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields29},
    {.name = "state", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "directory", .nullable = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules328},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kCheckpointPattern},
};
constexpr Rule kRules337[] = {{"directory", "or a placement is needed", kTests331, kTests263}, {"directory", "does not go with a placement", kTests332}, {"pattern.backend", "of a GPU needs a state on a GPU", kTests334, kTests333}, {"pattern.backend", "of files takes no state on a GPU", kTests335, kTests334}, {"pattern.kills", "go with a state in host memory: CUDA does not outlive fork", kTests336}};
constexpr Table kCheckpointSpec{kCheckpointSpecFields, kRules337};

constexpr Variant kVariants338[] = {{"kind", "bandwidth", &kBandwidthSpec}, {"kind", "latency", &kLatencySpec}, {"kind", "loaded-latency", &kLoadedLatencySpec}, {"kind", "traffic", &kTrafficSpec}, {"kind", "atomics", &kAtomicsSpec}, {"kind", "core-latency", &kCoreLatencySpec}, {"kind", "mapping", &kMappingSpec}, {"kind", "persist", &kPersistSpec}, {"kind", "chain", &kChainSpec}, {"kind", "ops", &kOpsSpec}, {"kind", "gpu-copy", &kGpuCopySpec}, {"kind", "gpu-ranks", &kGpuRanksSpec}, {"kind", "gpu-memory", &kGpuMemorySpec}, {"kind", "gpu-latency", &kGpuLatencySpec}, {"kind", "io", &kIoSpec}, {"kind", "files", &kFilesSpec}, {"kind", "checkpoint", &kCheckpointSpec}};
constexpr Field kFields339[] = {{.type = Type::kObject, .variants = kVariants338}};
constexpr Field kPlanFields[] = {
    {.name = "version", .required = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{2}},
    {.name = "measurements", .required = true, .type = Type::kArray, .shortest = 1, .longest = 100000, .element = kFields339, .distinct = true, .distinct_by = "id"},
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
