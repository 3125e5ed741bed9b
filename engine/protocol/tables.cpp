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
constexpr Value kValues5[] = {std::string_view{"file"}, std::string_view{"pool"}, std::string_view{"pool-objects"}, std::string_view{"device"}, std::string_view{"shared-file"}};
constexpr Value kValues6[] = {std::string_view{""}, std::string_view{"battery"}};
constexpr Value kValues7[] = {std::string_view{"device"}};
constexpr Test kTests8[] = {{"backing", Test::Kind::kIn, kValues7}};
constexpr Value kValues9[] = {std::int64_t{0}};
constexpr Test kTests10[] = {{"offset", Test::Kind::kDiffers, kValues9}};
constexpr Value kValues11[] = {std::string_view{""}};
constexpr Test kTests12[] = {{"destroy", Test::Kind::kDiffers, kValues11}};
constexpr Value kValues13[] = {Value{true}};
constexpr Test kTests14[] = {{"bound", Test::Kind::kIn, kValues13}, {"backing", Test::Kind::kIn, kValues7}};
constexpr Value kValues15[] = {std::string_view{"shared-file"}};
constexpr Test kTests16[] = {{"bound", Test::Kind::kIn, kValues13}, {"backing", Test::Kind::kIn, kValues15}};
constexpr Field kPersistentFields[] = {
    {.name = "backing", .required = true, .type = Type::kText, .choices = kValues5},
    {.name = "path", .required = true, .type = Type::kText, .longest = 4096, .pattern = "^/"},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1125899906842624}},
    {.name = "destroy", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "backed_by", .otherwise = std::string_view{""}, .type = Type::kText, .choices = kValues6},
    {.name = "bound", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Rule kRules17[] = {{"offset", "goes with backing device", kTests10, kTests8}, {"destroy", "goes with backing device", kTests12, kTests8}, {"bound", "does not go with backing device", kTests14}, {"bound", "does not go with backing shared-file", kTests16}};
constexpr Table kPersistent{kPersistentFields, kRules17};

constexpr Value kValues18[] = {std::int64_t{1}};
constexpr Test kTests19[] = {{"nodes", Test::Kind::kElements, kValues18}};
constexpr Value kValues20[] = {std::string_view{"bind"}, std::string_view{"preferred"}};
constexpr Test kTests21[] = {{"policy", Test::Kind::kIn, kValues20}};
constexpr Value kValues22[] = {std::string_view{"kernel"}};
constexpr Value kValues23[] = {std::string_view{"partition"}};
constexpr Test kTests24[] = {{"mechanism", Test::Kind::kIn, kValues22}, {"policy", Test::Kind::kIn, kValues23}};
constexpr Value kValues25[] = {std::string_view{"first-touch"}};
constexpr Test kTests26[] = {{"mechanism", Test::Kind::kIn, kValues22}, {"policy", Test::Kind::kIn, kValues25}};
constexpr Value kValues27[] = {std::string_view{"bind"}};
constexpr Test kTests28[] = {{"policy", Test::Kind::kIn, kValues27}};
constexpr Test kTests29[] = {{"persistent", Test::Kind::kGiven, {}}};
constexpr Test kTests30[] = {{"policy", Test::Kind::kIn, kValues23}};
constexpr Test kTests31[] = {{"ranges", Test::Kind::kGiven, {}}};
constexpr Field kPlacementFields[] = {
    {.name = "policy", .required = true, .type = Type::kText, .choices = kValues1},
    {.name = "nodes", .required = true, .type = Type::kArray, .shortest = 1, .longest = 1024, .element = kFields2, .distinct = true, .distinct_by = "node"},
    {.name = "mechanism", .otherwise = std::string_view{"user"}, .type = Type::kText, .choices = kValues3},
    {.name = "ranges", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 1024, .element = kFields4},
    {.name = "persistent", .nullable = true, .type = Type::kObject, .table = &kPersistent},
};
constexpr Rule kRules32[] = {{"nodes", "policies bind and preferred take exactly one node", kTests21, kTests19}, {"mechanism", "policy partition is done in user space only", kTests24}, {"mechanism", "policy first-touch takes no mechanism", kTests26}, {"persistent", "goes with policy bind", kTests29, kTests28}, {"ranges", "goes with policy partition", kTests31, kTests30}};
constexpr Table kPlacement{kPlacementFields, kRules32};

constexpr Value kValues33[] = {std::string_view{"as-found"}, std::string_view{"on"}, std::string_view{"off"}};
constexpr Field kFields34[] = {{.type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}}};
constexpr Field kFields35[] = {{.type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true}};
constexpr Value kValues36[] = {std::string_view{"pool-objects"}};
constexpr Test kTests37[] = {{"persistent.backing", Test::Kind::kIn, kValues36}};
constexpr Test kTests38[] = {{"persistent.backing", Test::Kind::kIn, kValues15}};
constexpr Rule kRules39[] = {{"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests37}, {"persistent.backing", "shared-file goes with handover only", kTests38}};
constexpr Value kValues40[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"write-nt"}, std::string_view{"copy"}, std::string_view{"copy-nt"}, std::string_view{"scale"}, std::string_view{"scale-nt"}, std::string_view{"add"}, std::string_view{"add-nt"}, std::string_view{"triad"}, std::string_view{"triad-nt"}, std::string_view{"rmw"}, std::string_view{"memset"}, std::string_view{"memcpy"}};
constexpr Value kValues41[] = {std::string_view{"base"}, std::string_view{"thp"}, std::string_view{"2m"}, std::string_view{"512m"}, std::string_view{"1g"}};
constexpr Value kValues42[] = {std::string_view{"sequential"}, std::string_view{"reverse"}, std::string_view{"strided"}, std::string_view{"random"}, std::string_view{"zipf"}};
constexpr Value kValues43[] = {std::string_view{"partitioned"}, std::string_view{"shared"}};
constexpr Value kValues44[] = {std::string_view{"auto"}, std::string_view{"sse4"}, std::string_view{"avx2"}, std::string_view{"avx512"}, std::string_view{"neon"}, std::string_view{"sve"}};
constexpr Value kValues45[] = {std::string_view{"strided"}};
constexpr Test kTests46[] = {{"order", Test::Kind::kIn, kValues45}};
constexpr Test kTests47[] = {{"stride", Test::Kind::kGiven, {}}};
constexpr Value kValues48[] = {std::string_view{"zipf"}};
constexpr Test kTests49[] = {{"order", Test::Kind::kIn, kValues48}};
constexpr Value kValues50[] = {0.99};
constexpr Test kTests51[] = {{"zipf_alpha", Test::Kind::kDiffers, kValues50}};
constexpr Value kValues52[] = {std::string_view{"read"}, std::string_view{"write"}};
constexpr Value kValues53[] = {std::string_view{"sequential"}};
constexpr Test kTests54[] = {{"operation", Test::Kind::kIn, kValues52}, {"order", Test::Kind::kIn, kValues53}};
constexpr Value kValues55[] = {std::int64_t{64}};
constexpr Test kTests56[] = {{"access_size", Test::Kind::kBelow, kValues55}};
constexpr Value kValues57[] = {std::string_view{"access_size"}};
constexpr Test kTests58[] = {{"stride", Test::Kind::kBelow, kValues57}};
constexpr Test kTests59[] = {{"order", Test::Kind::kIn, kValues53}};
constexpr Value kValues60[] = {std::string_view{"memset"}, std::string_view{"memcpy"}};
constexpr Test kTests61[] = {{"operation", Test::Kind::kIn, kValues60}};
constexpr Value kValues62[] = {std::string_view{"auto"}};
constexpr Test kTests63[] = {{"isa", Test::Kind::kIn, kValues62}};
constexpr Value kValues64[] = {std::string_view{"shared"}};
constexpr Value kValues65[] = {std::string_view{"rmw"}};
constexpr Test kTests66[] = {{"sharing", Test::Kind::kIn, kValues64}, {"operation", Test::Kind::kIn, kValues65}};
constexpr Field kBandwidthPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues40},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues42},
    {.name = "access_size", .otherwise = std::int64_t{64}, .type = Type::kInteger, .least = std::int64_t{8}, .most = std::int64_t{1125899906842624}},
    {.name = "stride", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "zipf_alpha", .otherwise = 0.99, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "sharing", .otherwise = std::string_view{"partitioned"}, .type = Type::kText, .choices = kValues43},
    {.name = "isa", .otherwise = std::string_view{"auto"}, .type = Type::kText, .choices = kValues44},
};
constexpr Rule kRules67[] = {{"stride", "goes with order strided", kTests47, kTests46}, {"order", "strided needs a stride, such as 4k", kTests46, kTests47}, {"zipf_alpha", "goes with order zipf", kTests51, kTests49}, {"access_size", "8, 16 and 32 bytes go with operations read and write in order sequential", kTests56, kTests54}, {"stride", "is smaller than access_size", kTests58}, {"operation", "memset and memcpy go in order sequential only", kTests61, kTests59}, {"operation", "memset and memcpy go with isa auto: the C library chooses their instructions", kTests61, kTests63}, {"sharing", "shared does not go with rmw: where two threads update an element at once, one update is lost, so that none could be verified", kTests66}};
constexpr Table kBandwidthPattern{kBandwidthPatternFields, kRules67};

constexpr Value kValues68[] = {std::string_view{"copy"}, std::string_view{"copy-nt"}, std::string_view{"scale"}, std::string_view{"scale-nt"}, std::string_view{"add"}, std::string_view{"add-nt"}, std::string_view{"triad"}, std::string_view{"triad-nt"}, std::string_view{"memcpy"}};
constexpr Test kTests69[] = {{"pattern.operation", Test::Kind::kIn, kValues68}};
constexpr Test kTests70[] = {{"placement_b", Test::Kind::kGiven, {}}};
constexpr Value kValues71[] = {std::string_view{"add"}, std::string_view{"add-nt"}, std::string_view{"triad"}, std::string_view{"triad-nt"}};
constexpr Test kTests72[] = {{"pattern.operation", Test::Kind::kIn, kValues71}};
constexpr Test kTests73[] = {{"placement_c", Test::Kind::kGiven, {}}};
constexpr Test kTests74[] = {{"cpu_sets", Test::Kind::kGiven, {}}, {"placement.policy", Test::Kind::kIn, kValues25}};
constexpr Test kTests75[] = {{"cpu_sets", Test::Kind::kGiven, {}}, {"placement_b.policy", Test::Kind::kIn, kValues25}};
constexpr Test kTests76[] = {{"cpu_sets", Test::Kind::kGiven, {}}, {"placement_c.policy", Test::Kind::kIn, kValues25}};
constexpr Value kValues77[] = {std::monostate{}};
constexpr Value kValues78[] = {std::string_view{"copy"}, std::string_view{"scale"}, std::string_view{"add"}, std::string_view{"triad"}};
constexpr Value kValues79[] = {std::string_view{"partitioned"}};
constexpr Test kTests80[] = {{"placement_b", Test::Kind::kIn, kValues77}, {"placement_c", Test::Kind::kIn, kValues77}, {"pattern.operation", Test::Kind::kIn, kValues78}, {"pattern.order", Test::Kind::kIn, kValues53}, {"pattern.sharing", Test::Kind::kIn, kValues79}, {"pattern.isa", Test::Kind::kIn, kValues62}};
constexpr Test kTests81[] = {{"placement.persistent.backing", Test::Kind::kIn, kValues36}};
constexpr Test kTests82[] = {{"placement.persistent.backing", Test::Kind::kIn, kValues15}};
constexpr Field kBandwidthSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"bandwidth"}, .type = Type::kText, .choices = kValues0},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields35},
    {.name = "placement_b", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules39},
    {.name = "placement_c", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules39},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kBandwidthPattern},
};
constexpr Rule kRules83[] = {{"placement_b", "is of an array that the operation does not have", kTests70, kTests69}, {"placement_c", "is of an array that the operation does not have", kTests73, kTests72}, {"cpu_sets", "goes with memory that the plan places: which node a thread of a set touches from is up to the scheduler", kTests74}, {"cpu_sets", "goes with memory that the plan places: which node a thread of a set touches from is up to the scheduler", kTests75}, {"cpu_sets", "goes with memory that the plan places: which node a thread of a set touches from is up to the scheduler", kTests76}, {"placement.persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests81, kTests80}, {"placement.persistent.backing", "shared-file goes with handover only", kTests82}};
constexpr Table kBandwidthSpec{kBandwidthSpecFields, kRules83};

constexpr Value kValues84[] = {std::string_view{"latency"}};
constexpr Test kTests85[] = {{"policy", Test::Kind::kIn, kValues25}};
constexpr Rule kRules86[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests85}, {"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests37}, {"persistent.backing", "shared-file goes with handover only", kTests38}, {"policy", "first-touch is for the arrays of bandwidth only", kTests85}, {"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests37}, {"persistent.backing", "shared-file goes with handover only", kTests38}};
constexpr Value kValues87[] = {std::string_view{"random"}, std::string_view{"page-random"}};
constexpr Field kLatencyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "order", .otherwise = std::string_view{"random"}, .type = Type::kText, .choices = kValues87},
    {.name = "stride", .otherwise = std::int64_t{256}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
};
constexpr Table kLatencyPattern{kLatencyPatternFields};

constexpr Field kLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"latency"}, .type = Type::kText, .choices = kValues84},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules86},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kLatencyPattern},
    {.name = "chases", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
};
constexpr Table kLatencySpec{kLatencySpecFields};

constexpr Value kValues88[] = {std::string_view{"loaded-latency"}};
constexpr Value kValues89[] = {std::string_view{"ordinary"}, std::string_view{"nt"}, std::string_view{"clwb"}, std::string_view{"clflushopt"}};
constexpr Value kValues90[] = {std::string_view{"sequential"}, std::string_view{"random"}, std::string_view{"zipf"}};
constexpr Test kTests91[] = {{"prefetch", Test::Kind::kDiffers, kValues9}};
constexpr Field kStreamPatternFields[] = {
    {.name = "writes", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100}},
    {.name = "stores", .otherwise = std::string_view{"ordinary"}, .type = Type::kText, .choices = kValues89},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues90},
    {.name = "zipf_alpha", .otherwise = 0.99, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "access_size", .otherwise = std::int64_t{1024}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "prefetch", .otherwise = std::int64_t{0}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{0}, .most = std::int64_t{1048576}},
    {.name = "delay_ns", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1000000000}},
    {.name = "isa", .otherwise = std::string_view{"auto"}, .type = Type::kText, .choices = kValues44},
};
constexpr Rule kRules92[] = {{"zipf_alpha", "goes with order zipf", kTests51, kTests49}, {"prefetch", "goes with order sequential", kTests91, kTests59}};
constexpr Table kStreamPattern{kStreamPatternFields, kRules92};

constexpr Field kLoadFields[] = {
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields35},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules86},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kStreamPattern},
    {.name = "idle", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kLoad{kLoadFields};

constexpr Field kLoadedLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"loaded-latency"}, .type = Type::kText, .choices = kValues88},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules86},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kLatencyPattern},
    {.name = "load", .required = true, .type = Type::kObject, .table = &kLoad},
};
constexpr Table kLoadedLatencySpec{kLoadedLatencySpecFields};

constexpr Value kValues93[] = {std::string_view{"traffic"}};
constexpr Field kNamedStreamFields[] = {
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields35},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules86},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kStreamPattern},
    {.name = "name", .required = true, .type = Type::kText, .shortest = 1, .longest = 24, .pattern = "^[A-Za-z0-9_-]+$"},
};
constexpr Table kNamedStream{kNamedStreamFields};

constexpr Field kFields94[] = {{.type = Type::kObject, .table = &kNamedStream}};
constexpr Field kTrafficSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"traffic"}, .type = Type::kText, .choices = kValues93},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules86},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields35},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kStreamPattern},
    {.name = "beside", .type = Type::kArray, .longest = 15, .element = kFields94},
};
constexpr Table kTrafficSpec{kTrafficSpecFields};

constexpr Value kValues95[] = {std::string_view{"atomics"}};
constexpr Value kValues96[] = {std::string_view{"fetch-and-add"}, std::string_view{"compare-and-swap"}};
constexpr Field kAtomicsPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues96},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "shared", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kAtomicsPattern{kAtomicsPatternFields};

constexpr Field kAtomicsSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"atomics"}, .type = Type::kText, .choices = kValues95},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules86},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kAtomicsPattern},
};
constexpr Table kAtomicsSpec{kAtomicsSpecFields};

constexpr Value kValues97[] = {std::string_view{"core-latency"}};
constexpr Rule kRules98[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests85}, {"persistent", "is not accepted here: this memory is on nodes", kTests29}, {"policy", "first-touch is for the arrays of bandwidth only", kTests85}, {"persistent", "is not accepted here: this memory is on nodes", kTests29}};
constexpr Value kValues99[] = {std::string_view{"modified"}, std::string_view{"clean"}};
constexpr Field kCoreLatencyPatternFields[] = {
    {.name = "state", .otherwise = std::string_view{"modified"}, .type = Type::kText, .choices = kValues99},
    {.name = "size", .otherwise = std::int64_t{262144}, .type = Type::kInteger, .multiple = 256, .least = std::int64_t{256}, .most = std::int64_t{1073741824}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
};
constexpr Table kCoreLatencyPattern{kCoreLatencyPatternFields};

constexpr Test kTests100[] = {{"placement.policy", Test::Kind::kDiffers, kValues27}};
constexpr Value kValues101[] = {std::string_view{"cpu"}};
constexpr Test kTests102[] = {{"writer", Test::Kind::kSame, kValues101}};
constexpr Field kCoreLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"core-latency"}, .type = Type::kText, .choices = kValues97},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules98},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "writer", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kCoreLatencyPattern},
};
constexpr Rule kRules103[] = {{"placement.policy", "has to be bind: lines have one home", kTests100}, {"writer", "is the CPU that reads", kTests102}};
constexpr Table kCoreLatencySpec{kCoreLatencySpecFields, kRules103};

constexpr Value kValues104[] = {std::string_view{"mapping"}};
constexpr Value kValues105[] = {std::string_view{"private"}, std::string_view{"shared"}};
constexpr Value kValues106[] = {std::string_view{"touch"}, std::string_view{"call"}};
constexpr Field kMappingPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "sharing", .otherwise = std::string_view{"private"}, .type = Type::kText, .choices = kValues105},
    {.name = "populate", .otherwise = std::string_view{"touch"}, .type = Type::kText, .choices = kValues106},
};
constexpr Table kMappingPattern{kMappingPatternFields};

constexpr Value kValues107[] = {std::string_view{"bind"}, std::string_view{"interleave"}};
constexpr Test kTests108[] = {{"placement.policy", Test::Kind::kIn, kValues107}};
constexpr Test kTests109[] = {{"placement.policy", Test::Kind::kGiven, {}}};
constexpr Field kMappingSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"mapping"}, .type = Type::kText, .choices = kValues104},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules98},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kMappingPattern},
};
constexpr Rule kRules110[] = {{"placement.policy", "a mapping is placed by bind or interleave", kTests109, kTests108}};
constexpr Table kMappingSpec{kMappingSpecFields, kRules110};

constexpr Value kValues111[] = {std::string_view{"persist"}};
constexpr Value kValues112[] = {std::string_view{"stores"}, std::string_view{"clwb"}, std::string_view{"clflushopt"}, std::string_view{"clflush"}, std::string_view{"dc-cvap"}, std::string_view{"dc-cvac"}, std::string_view{"nt-stores"}, std::string_view{"nt-drain"}, std::string_view{"msync"}, std::string_view{"fdatasync"}, std::string_view{"pool-persist"}, std::string_view{"transaction"}, std::string_view{"allocation"}};
constexpr Value kValues113[] = {std::string_view{"sequential"}, std::string_view{"random"}};
constexpr Value kValues114[] = {std::string_view{"transaction"}};
constexpr Test kTests115[] = {{"method", Test::Kind::kIn, kValues114}};
constexpr Field kPersistPatternFields[] = {
    {.name = "method", .required = true, .type = Type::kText, .choices = kValues112},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues113},
    {.name = "block_size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "ranges", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
};
constexpr Rule kRules116[] = {{"ranges", "goes with method transaction", kTests31, kTests115}};
constexpr Table kPersistPattern{kPersistPatternFields, kRules116};

constexpr Field kPersistSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"persist"}, .type = Type::kText, .choices = kValues111},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules86},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kPersistPattern},
};
constexpr Table kPersistSpec{kPersistSpecFields};

constexpr Value kValues117[] = {std::string_view{"handover"}};
constexpr Value kValues118[] = {std::string_view{"software"}, std::string_view{"hardware"}, std::string_view{"flags-only"}};
constexpr Field kHandoverPatternFields[] = {
    {.name = "block_size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{16777216}},
    {.name = "coherence", .otherwise = std::string_view{"software"}, .type = Type::kText, .choices = kValues118},
};
constexpr Table kHandoverPattern{kHandoverPatternFields};

constexpr Test kTests119[] = {{"placement.persistent", Test::Kind::kIn, kValues77}};
constexpr Value kValues120[] = {std::string_view{"pool"}, std::string_view{"pool-objects"}};
constexpr Test kTests121[] = {{"placement.persistent.backing", Test::Kind::kIn, kValues120}};
constexpr Test kTests122[] = {{"responder", Test::Kind::kGiven, {}}};
constexpr Value kValues123[] = {std::string_view{"file"}};
constexpr Test kTests124[] = {{"placement.persistent.backing", Test::Kind::kIn, kValues123}, {"placement.persistent", Test::Kind::kGiven, {}}};
constexpr Test kTests125[] = {{"responder", Test::Kind::kSame, kValues101}};
constexpr Field kHandoverSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"handover"}, .type = Type::kText, .choices = kValues117},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "responder", .nullable = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kHandoverPattern},
};
constexpr Rule kRules126[] = {{"placement.persistent", "is needed: what processes share is a file or a device", kTests119}, {"placement.persistent.backing", "is file, shared-file or device here", kTests121}, {"responder", "is needed with backing file, which no other host sees", kTests124, kTests122}, {"responder", "is the CPU of the initiator", kTests125}};
constexpr Table kHandoverSpec{kHandoverSpecFields, kRules126};

constexpr Value kValues127[] = {std::string_view{"chain"}};
constexpr Rule kRules128[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests85}, {"persistent.backing", "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential order, partitioned, with isa auto, all arrays in one place", kTests37}, {"persistent.backing", "shared-file goes with handover only", kTests38}};
constexpr Value kValues129[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"compare-and-swap"}, std::string_view{"fetch-and-add"}};
constexpr Value kValues130[] = {std::string_view{"none"}, std::string_view{"write-back"}, std::string_view{"flush"}, std::string_view{"flush-opt"}, std::string_view{"non-temporal"}};
constexpr Value kValues131[] = {std::string_view{"none"}, std::string_view{"stores"}, std::string_view{"all"}};
constexpr Value kValues132[] = {std::int64_t{8}};
constexpr Value kValues133[] = {std::string_view{"compare-and-swap"}, std::string_view{"fetch-and-add"}};
constexpr Test kTests134[] = {{"size", Test::Kind::kDiffers, kValues132}, {"access", Test::Kind::kIn, kValues133}};
constexpr Value kValues135[] = {std::string_view{"none"}};
constexpr Test kTests136[] = {{"cache", Test::Kind::kDiffers, kValues135}, {"access", Test::Kind::kIn, kValues133}};
constexpr Value kValues137[] = {std::string_view{"read"}};
constexpr Value kValues138[] = {std::string_view{"non-temporal"}};
constexpr Test kTests139[] = {{"size", Test::Kind::kIn, kValues132}, {"access", Test::Kind::kIn, kValues137}, {"cache", Test::Kind::kIn, kValues138}};
constexpr Value kValues140[] = {std::string_view{"write"}};
constexpr Test kTests141[] = {{"access", Test::Kind::kIn, kValues140}};
constexpr Test kTests142[] = {{"region", Test::Kind::kDiffers, kValues9}, {"access", Test::Kind::kIn, kValues140}};
constexpr Field kOperationFields[] = {
    {.name = "access", .required = true, .type = Type::kText, .choices = kValues129},
    {.name = "size", .required = true, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{8}, .most = std::int64_t{65536}},
    {.name = "region", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "cache", .otherwise = std::string_view{"none"}, .type = Type::kText, .choices = kValues130},
    {.name = "fence", .otherwise = std::string_view{"none"}, .type = Type::kText, .choices = kValues131},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{-1073741824}, .most = std::int64_t{1073741824}},
};
constexpr Rule kRules143[] = {{"size", "is not 8, as atomics have it", kTests134}, {"cache", "does not go with atomics, which take no cache instruction", kTests136}, {"size", "8 is too little: non-temporal loads have 16 bytes at least", kTests139}, {"offset", "goes with writes: what reads takes an address of its own", kTests10, kTests141}, {"region", "goes with what reads: a write goes where the operation before it went", kTests142}};
constexpr Table kOperation{kOperationFields, kRules143};

constexpr Field kFields144[] = {{.type = Type::kObject, .table = &kOperation}};
constexpr Test kTests145[] = {{"linked", Test::Kind::kIn, kValues13}};
constexpr Test kTests146[] = {{"timed_from", Test::Kind::kDiffers, kValues18}};
constexpr Field kChainPatternFields[] = {
    {.name = "operations", .required = true, .type = Type::kArray, .shortest = 1, .longest = 64, .element = kFields144},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "size_second", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "linked", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "interleave", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "sample_every", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
    {.name = "timed_from", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
};
constexpr Rule kRules147[] = {{"timed_from", "goes with linked yes", kTests146, kTests145}};
constexpr Table kChainPattern{kChainPatternFields, kRules147};

constexpr Field kChainSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"chain"}, .type = Type::kText, .choices = kValues127},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules86},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields35},
    {.name = "placement_second", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules128},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kChainPattern},
};
constexpr Table kChainSpec{kChainSpecFields};

constexpr Value kValues148[] = {std::string_view{"ops"}};
constexpr Rule kRules149[] = {{"policy", "first-touch is for the arrays of bandwidth only", kTests85}, {"persistent", "is not accepted here: this memory is on nodes", kTests29}};
constexpr Field kFields150[] = {{.type = Type::kObject, .table = &kPlacement, .rules = kRules149}};
constexpr Value kValues151[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"column"}, std::string_view{"relations"}, std::string_view{"runs"}, std::string_view{"lsm"}};
constexpr Value kValues152[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}, std::string_view{"filter"}, std::string_view{"join"}, std::string_view{"merge"}};
constexpr Value kValues153[] = {std::string_view{"uniform"}, std::string_view{"zipf"}, std::string_view{"latest"}, std::string_view{"file"}};
constexpr Value kValues154[] = {std::int64_t{4}, std::int64_t{8}};
constexpr Value kValues155[] = {std::string_view{"positions"}, std::string_view{"count"}};
constexpr Value kValues156[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}};
constexpr Test kTests157[] = {{"operation", Test::Kind::kIn, kValues156}};
constexpr Value kValues158[] = {std::string_view{"btree"}};
constexpr Test kTests159[] = {{"structure", Test::Kind::kIn, kValues158}};
constexpr Value kValues160[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-f"}};
constexpr Test kTests161[] = {{"operation", Test::Kind::kIn, kValues160}};
constexpr Value kValues162[] = {std::string_view{"hash"}};
constexpr Test kTests163[] = {{"structure", Test::Kind::kIn, kValues162}};
constexpr Value kValues164[] = {std::string_view{"filter"}};
constexpr Test kTests165[] = {{"operation", Test::Kind::kIn, kValues164}};
constexpr Value kValues166[] = {std::string_view{"column"}};
constexpr Test kTests167[] = {{"structure", Test::Kind::kIn, kValues166}};
constexpr Value kValues168[] = {std::string_view{"join"}};
constexpr Test kTests169[] = {{"operation", Test::Kind::kIn, kValues168}};
constexpr Value kValues170[] = {std::string_view{"relations"}};
constexpr Test kTests171[] = {{"structure", Test::Kind::kIn, kValues170}};
constexpr Value kValues172[] = {std::string_view{"merge"}};
constexpr Test kTests173[] = {{"operation", Test::Kind::kIn, kValues172}};
constexpr Value kValues174[] = {std::string_view{"runs"}};
constexpr Test kTests175[] = {{"structure", Test::Kind::kIn, kValues174}};
constexpr Value kValues176[] = {std::string_view{"lookup"}};
constexpr Test kTests177[] = {{"operation", Test::Kind::kIn, kValues176}};
constexpr Value kValues178[] = {std::string_view{"lsm"}};
constexpr Test kTests179[] = {{"structure", Test::Kind::kIn, kValues178}};
constexpr Test kTests180[] = {{"inner_node", Test::Kind::kGiven, {}}};
constexpr Test kTests181[] = {{"leaf_node", Test::Kind::kGiven, {}}};
constexpr Test kTests182[] = {{"key_bytes", Test::Kind::kGiven, {}}};
constexpr Test kTests183[] = {{"selectivity", Test::Kind::kGiven, {}}};
constexpr Test kTests184[] = {{"found", Test::Kind::kGiven, {}}};
constexpr Test kTests185[] = {{"probe_ratio", Test::Kind::kGiven, {}}};
constexpr Value kValues186[] = {std::string_view{"relations"}, std::string_view{"lsm"}};
constexpr Test kTests187[] = {{"structure", Test::Kind::kIn, kValues186}};
constexpr Test kTests188[] = {{"misses", Test::Kind::kGiven, {}}};
constexpr Test kTests189[] = {{"partitions", Test::Kind::kGiven, {}}};
constexpr Test kTests190[] = {{"runs", Test::Kind::kGiven, {}}};
constexpr Test kTests191[] = {{"ratio", Test::Kind::kGiven, {}}};
constexpr Test kTests192[] = {{"inner_node", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues158}};
constexpr Test kTests193[] = {{"leaf_node", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues158}};
constexpr Test kTests194[] = {{"key_bytes", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues166}};
constexpr Test kTests195[] = {{"selectivity", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues166}};
constexpr Test kTests196[] = {{"found", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues166}};
constexpr Test kTests197[] = {{"probe_ratio", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues170}};
constexpr Test kTests198[] = {{"misses", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues186}};
constexpr Test kTests199[] = {{"partitions", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues170}};
constexpr Test kTests200[] = {{"runs", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues174}};
constexpr Test kTests201[] = {{"ratio", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues178}};
constexpr Value kValues202[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"lsm"}};
constexpr Test kTests203[] = {{"structure", Test::Kind::kIn, kValues202}};
constexpr Value kValues204[] = {std::string_view{"uniform"}};
constexpr Test kTests205[] = {{"distribution", Test::Kind::kDiffers, kValues204}};
constexpr Value kValues206[] = {std::string_view{"insert"}, std::string_view{"update"}};
constexpr Test kTests207[] = {{"operation", Test::Kind::kIn, kValues206}};
constexpr Test kTests208[] = {{"sharing", Test::Kind::kDiffers, kValues79}};
constexpr Value kValues209[] = {std::string_view{"scan"}, std::string_view{"ycsb-e"}};
constexpr Test kTests210[] = {{"operation", Test::Kind::kIn, kValues209}};
constexpr Test kTests211[] = {{"scan_length", Test::Kind::kGiven, {}}};
constexpr Value kValues212[] = {std::string_view{"zipf"}, std::string_view{"latest"}};
constexpr Test kTests213[] = {{"distribution", Test::Kind::kIn, kValues212}};
constexpr Test kTests214[] = {{"zipf_alpha", Test::Kind::kGiven, {}}};
constexpr Value kValues215[] = {std::string_view{"ycsb-d"}};
constexpr Test kTests216[] = {{"operation", Test::Kind::kIn, kValues215}};
constexpr Value kValues217[] = {std::string_view{"latest"}};
constexpr Test kTests218[] = {{"distribution", Test::Kind::kIn, kValues217}};
constexpr Value kValues219[] = {std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}};
constexpr Test kTests220[] = {{"distribution", Test::Kind::kIn, kValues123}, {"operation", Test::Kind::kIn, kValues219}};
constexpr Test kTests221[] = {{"distribution", Test::Kind::kIn, kValues123}};
constexpr Test kTests222[] = {{"keys_file", Test::Kind::kGiven, {}}};
constexpr Value kValues223[] = {std::string_view{"btree"}, std::string_view{"hash"}};
constexpr Test kTests224[] = {{"structure", Test::Kind::kIn, kValues223}};
constexpr Value kValues225[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"relations"}};
constexpr Value kValues226[] = {std::string_view{"lookup"}, std::string_view{"join"}};
constexpr Test kTests227[] = {{"structure", Test::Kind::kIn, kValues225}, {"operation", Test::Kind::kIn, kValues226}};
constexpr Test kTests228[] = {{"interleave", Test::Kind::kDiffers, kValues18}};
constexpr Test kTests229[] = {{"interleave", Test::Kind::kDiffers, kValues18}, {"partitions", Test::Kind::kDiffers, kValues18}};
constexpr Value kValues230[] = {std::int64_t{4294967297}};
constexpr Test kTests231[] = {{"keys", Test::Kind::kBelow, kValues230}};
constexpr Value kValues232[] = {std::int64_t{4}};
constexpr Test kTests233[] = {{"key_bytes", Test::Kind::kIn, kValues232}};
constexpr Field kOpsPatternFields[] = {
    {.name = "structure", .required = true, .type = Type::kText, .choices = kValues151},
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues152},
    {.name = "keys", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{68719476736}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "sharing", .otherwise = std::string_view{"partitioned"}, .type = Type::kText, .choices = kValues43},
    {.name = "distribution", .otherwise = std::string_view{"uniform"}, .type = Type::kText, .choices = kValues153},
    {.name = "zipf_alpha", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "keys_file", .nullable = true, .type = Type::kText},
    {.name = "interleave", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
    {.name = "scan_length", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1048576}},
    {.name = "inner_node", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{128}, .most = std::int64_t{65536}},
    {.name = "leaf_node", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{128}, .most = std::int64_t{65536}},
    {.name = "key_bytes", .nullable = true, .type = Type::kInteger, .choices = kValues154},
    {.name = "selectivity", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "found", .nullable = true, .type = Type::kText, .choices = kValues155},
    {.name = "probe_ratio", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
    {.name = "misses", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "partitions", .nullable = true, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "runs", .nullable = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{256}},
    {.name = "ratio", .nullable = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{32}},
    {.name = "sample_every", .otherwise = std::int64_t{64}, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{4096}},
};
constexpr Rule kRules234[] = {{"operation", "of btree is lookup or insert or update or scan or churn or ycsb-a or ycsb-b or ycsb-c or ycsb-d or ycsb-e or ycsb-f", kTests159, kTests157}, {"operation", "of hash is lookup or insert or update or churn or ycsb-a or ycsb-b or ycsb-c or ycsb-d or ycsb-f", kTests163, kTests161}, {"operation", "of column is filter", kTests167, kTests165}, {"operation", "of relations is join", kTests171, kTests169}, {"operation", "of runs is merge", kTests175, kTests173}, {"operation", "of lsm is lookup", kTests179, kTests177}, {"inner_node", "goes with structure btree", kTests180, kTests159}, {"leaf_node", "goes with structure btree", kTests181, kTests159}, {"key_bytes", "goes with structure column", kTests182, kTests167}, {"selectivity", "goes with structure column", kTests183, kTests167}, {"found", "goes with structure column", kTests184, kTests167}, {"probe_ratio", "goes with structure relations", kTests185, kTests171}, {"misses", "goes with structure relations or lsm", kTests188, kTests187}, {"partitions", "goes with structure relations", kTests189, kTests171}, {"runs", "goes with structure runs", kTests190, kTests175}, {"ratio", "goes with structure lsm", kTests191, kTests179}, {"inner_node", "is what this structure needs", kTests192}, {"leaf_node", "is what this structure needs", kTests193}, {"key_bytes", "is what this structure needs", kTests194}, {"selectivity", "is what this structure needs", kTests195}, {"found", "is what this structure needs", kTests196}, {"probe_ratio", "is what this structure needs", kTests197}, {"misses", "is what this structure needs", kTests198}, {"partitions", "is what this structure needs", kTests199}, {"runs", "is what this structure needs", kTests200}, {"ratio", "is what this structure needs", kTests201}, {"distribution", "goes with structure btree or hash or lsm", kTests205, kTests203}, {"sharing", "goes with operation insert or update", kTests208, kTests207}, {"scan_length", "goes with operation scan or ycsb-e", kTests211, kTests210}, {"operation", "scans need a scan_length", kTests210, kTests211}, {"zipf_alpha", "goes with distribution zipf or latest", kTests214, kTests213}, {"distribution", "zipf and latest need a zipf_alpha", kTests213, kTests214}, {"distribution", "latest goes with operation ycsb-d", kTests218, kTests216}, {"distribution", "keys of a file do not go with churn, ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f", kTests220}, {"keys_file", "goes with distribution file", kTests222, kTests221}, {"distribution", "file needs a keys_file", kTests221, kTests222}, {"distribution", "file goes with structure btree or hash", kTests221, kTests224}, {"interleave", "goes with structure btree or hash or relations and operation lookup or join", kTests228, kTests227}, {"interleave", "goes with one partition: tables of several are cached", kTests229}, {"keys", "of 4 bytes are 4g at most, as positions of 4 bytes number them", kTests233, kTests231}};
constexpr Table kOpsPattern{kOpsPatternFields, kRules234};

constexpr Field kOpsSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"ops"}, .type = Type::kText, .choices = kValues148},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules98},
    {.name = "prefetchers", .otherwise = std::string_view{"as-found"}, .type = Type::kText, .choices = kValues33},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "parts", .type = Type::kMap, .element = kFields150},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kOpsPattern},
};
constexpr Table kOpsSpec{kOpsSpecFields};

constexpr Value kValues235[] = {std::string_view{"gpu-copy"}};
constexpr Test kTests236[] = {{"row_bytes", Test::Kind::kGiven, {}}, {"pitch", Test::Kind::kIn, kValues77}};
constexpr Test kTests237[] = {{"pitch", Test::Kind::kGiven, {}}, {"row_bytes", Test::Kind::kIn, kValues77}};
constexpr Value kValues238[] = {std::string_view{"row_bytes"}};
constexpr Test kTests239[] = {{"pitch", Test::Kind::kBelow, kValues238}};
constexpr Test kTests240[] = {{"size", Test::Kind::kUneven, kValues238}};
constexpr Field kGpuCopyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4398046511104}},
    {.name = "row_bytes", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "pitch", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Rule kRules241[] = {{"row_bytes", "goes with a pitch", kTests236}, {"pitch", "goes with row_bytes", kTests237}, {"pitch", "is smaller than row_bytes", kTests239}, {"size", "is not a whole number of rows", kTests240}};
constexpr Table kGpuCopyPattern{kGpuCopyPatternFields, kRules241};

constexpr Value kValues242[] = {std::string_view{"host"}};
constexpr Value kValues243[] = {std::string_view{"pinned"}, std::string_view{"write-combined"}, std::string_view{"registered"}, std::string_view{"pageable"}, std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Value kValues244[] = {std::string_view{"pageable"}, std::string_view{"registered"}};
constexpr Test kTests245[] = {{"memory", Test::Kind::kIn, kValues244}};
constexpr Value kValues246[] = {std::string_view{"base"}};
constexpr Test kTests247[] = {{"pages", Test::Kind::kDiffers, kValues246}};
constexpr Field kHostPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues242},
    {.name = "memory", .otherwise = std::string_view{"pinned"}, .type = Type::kText, .choices = kValues243},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules98},
    {.name = "pages", .otherwise = std::string_view{"base"}, .type = Type::kText, .choices = kValues41},
};
constexpr Rule kRules248[] = {{"pages", "only pageable and registered memory has a choice of pages", kTests247, kTests245}, {"placement", "only pageable and registered memory spans several nodes", kTests100, kTests245}};
constexpr Table kHostPlace{kHostPlaceFields, kRules248};

constexpr Value kValues249[] = {std::string_view{"gpu"}};
constexpr Field kGpuPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"gpu"}, .type = Type::kText, .choices = kValues249},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Table kGpuPlace{kGpuPlaceFields};

constexpr Variant kVariants250[] = {{"where", "host", &kHostPlace}, {"where", "gpu", &kGpuPlace}};
constexpr Value kValues251[] = {std::string_view{"ce"}, std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Test kTests252[] = {{"source.where", Test::Kind::kIn, kValues242}, {"destination.where", Test::Kind::kIn, kValues242}};
constexpr Value kValues253[] = {std::string_view{"managed"}};
constexpr Test kTests254[] = {{"destination.memory", Test::Kind::kIn, kValues253}};
constexpr Field kTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kObject, .variants = kVariants250},
    {.name = "destination", .required = true, .type = Type::kObject, .variants = kVariants250},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues251},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules255[] = {{"source", "and destination are host memory; one of them at least is a GPU", kTests252}, {"destination", "managed memory comes over on demand as a source only", kTests254}};
constexpr Table kTransfer{kTransferFields, kRules255};

constexpr Field kFields256[] = {{.type = Type::kObject, .table = &kTransfer}};
constexpr Field kGpuCopySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-copy"}, .type = Type::kText, .choices = kValues235},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuCopyPattern},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "call_latency", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields256},
};
constexpr Table kGpuCopySpec{kGpuCopySpecFields};

constexpr Value kValues257[] = {std::string_view{"gpu-ranks"}};
constexpr Field kGpuRanksPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Table kGpuRanksPattern{kGpuRanksPatternFields};

constexpr Field kFields258[] = {{.type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}}};
constexpr Field kFields259[] = {{.type = Type::kText}};
constexpr Value kValues260[] = {std::string_view{"any"}, std::string_view{"fabric"}, std::string_view{"ipc"}};
constexpr Value kValues261[] = {std::string_view{"source"}};
constexpr Test kTests262[] = {{"destination", Test::Kind::kSame, kValues261}};
constexpr Field kRankTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "destination", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "rank", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues251},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules263[] = {{"destination", "is the source; a transfer goes from one rank to another one", kTests262}};
constexpr Table kRankTransfer{kRankTransferFields, kRules263};

constexpr Field kFields264[] = {{.type = Type::kObject, .table = &kRankTransfer}};
constexpr Field kGpuRanksSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-ranks"}, .type = Type::kText, .choices = kValues257},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuRanksPattern},
    {.name = "rank", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "gpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields258},
    {.name = "hosts", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields259},
    {.name = "handles", .otherwise = std::string_view{"any"}, .type = Type::kText, .choices = kValues260},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 16384, .element = kFields264},
};
constexpr Table kGpuRanksSpec{kGpuRanksSpecFields};

constexpr Value kValues265[] = {std::string_view{"gpu-memory"}};
constexpr Value kValues266[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"copy"}, std::string_view{"scale"}, std::string_view{"add"}, std::string_view{"triad"}, std::string_view{"random"}};
constexpr Value kValues267[] = {std::string_view{"random"}};
constexpr Test kTests268[] = {{"operation", Test::Kind::kIn, kValues267}};
constexpr Value kValues269[] = {std::int64_t{32}};
constexpr Test kTests270[] = {{"access_size", Test::Kind::kDiffers, kValues269}};
constexpr Value kValues271[] = {std::int64_t{68719476736}};
constexpr Test kTests272[] = {{"size", Test::Kind::kBelow, kValues271}};
constexpr Test kTests273[] = {{"size", Test::Kind::kBelow, kValues57}};
constexpr Field kGpuMemoryPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues266},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "access_size", .otherwise = std::int64_t{32}, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{16}, .most = std::int64_t{512}},
};
constexpr Rule kRules274[] = {{"access_size", "goes with operation random", kTests270, kTests268}, {"size", "has to be below 64 GiB of operation random", kTests268, kTests272}, {"size", "is smaller than access_size", kTests273}};
constexpr Table kGpuMemoryPattern{kGpuMemoryPatternFields, kRules274};

constexpr Field kGpuMemorySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-memory"}, .type = Type::kText, .choices = kValues265},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuMemoryPattern},
};
constexpr Table kGpuMemorySpec{kGpuMemorySpecFields};

constexpr Value kValues275[] = {std::string_view{"gpu-latency"}};
constexpr Value kValues276[] = {std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Value kValues277[] = {std::string_view{"random"}, std::string_view{"linear"}};
constexpr Field kGpuLatencyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "stride", .otherwise = std::int64_t{128}, .type = Type::kInteger, .multiple = 8, .least = std::int64_t{8}, .most = std::int64_t{1048576}},
    {.name = "order", .otherwise = std::string_view{"random"}, .type = Type::kText, .choices = kValues277},
};
constexpr Table kGpuLatencyPattern{kGpuLatencyPatternFields};

constexpr Value kValues278[] = {std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Test kTests279[] = {{"memory.memory", Test::Kind::kIn, kValues278}};
constexpr Value kValues280[] = {std::string_view{"sm"}};
constexpr Test kTests281[] = {{"engine", Test::Kind::kIn, kValues280}};
constexpr Value kValues282[] = {Value{false}};
constexpr Test kTests283[] = {{"per_sm", Test::Kind::kDiffers, kValues282}};
constexpr Test kTests284[] = {{"every_sm", Test::Kind::kDiffers, kValues282}};
constexpr Value kValues285[] = {std::int64_t{16}};
constexpr Value kValues286[] = {std::string_view{"tma"}};
constexpr Test kTests287[] = {{"pattern.stride", Test::Kind::kUneven, kValues285}, {"engine", Test::Kind::kIn, kValues286}};
constexpr Field kGpuLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-latency"}, .type = Type::kText, .choices = kValues275},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "memory", .required = true, .type = Type::kObject, .variants = kVariants250},
    {.name = "engine", .otherwise = std::string_view{"sm"}, .type = Type::kText, .choices = kValues276},
    {.name = "per_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "every_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuLatencyPattern},
};
constexpr Rule kRules288[] = {{"memory", "migrates; a chase goes through memory that stays where it is", kTests279}, {"per_sm", "goes with engine sm", kTests283, kTests281}, {"every_sm", "goes with engine sm", kTests284, kTests281}, {"pattern.stride", "has to be a multiple of 16 for engine tma", kTests287}};
constexpr Table kGpuLatencySpec{kGpuLatencySpecFields, kRules288};

constexpr Value kValues289[] = {std::string_view{"io"}};
constexpr Value kValues290[] = {std::string_view{"host"}, std::string_view{"device"}, std::string_view{"vmm"}, std::string_view{"pinned"}, std::string_view{"plain"}, std::string_view{"managed"}};
constexpr Test kTests291[] = {{"memory", Test::Kind::kIn, kValues242}};
constexpr Test kTests292[] = {{"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests293[] = {{"gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests294[] = {{"memory", Test::Kind::kDiffers, kValues242}};
constexpr Field kBuffersFields[] = {
    {.name = "memory", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues290},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules149},
    {.name = "gpu", .nullable = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Rule kRules295[] = {{"placement", "goes with memory host", kTests292, kTests291}, {"memory", "host needs a placement", kTests291, kTests292}, {"memory", "only host needs no gpu", kTests294, kTests293}};
constexpr Table kBuffers{kBuffersFields, kRules295};

constexpr Field kOwnedFilesFields[] = {
    {.name = "count", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{65536}},
    {.name = "keep", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "stem", .otherwise = std::string_view{"tierscope."}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{1,64}$"},
};
constexpr Table kOwnedFiles{kOwnedFilesFields};

constexpr Value kValues296[] = {std::string_view{"parts"}};
constexpr Test kTests297[] = {{"part", Test::Kind::kBelow, kValues296}};
constexpr Test kTests298[] = {{"part", Test::Kind::kGiven, {}}};
constexpr Test kTests299[] = {{"wait_s", Test::Kind::kGiven, {}}, {"name", Test::Kind::kIn, kValues11}};
constexpr Field kCommonFileFields[] = {
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{0,64}$"},
    {.name = "parts", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
    {.name = "part", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{999999}},
    {.name = "wait_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
};
constexpr Rule kRules300[] = {{"part", "has to be below parts", kTests298, kTests297}, {"wait_s", "goes with a name", kTests299}};
constexpr Table kCommonFile{kCommonFileFields, kRules300};

constexpr Test kTests301[] = {{"size", Test::Kind::kGiven, {}}, {"count", Test::Kind::kIn, kValues18}};
constexpr Test kTests302[] = {{"common.parts", Test::Kind::kDiffers, kValues18}};
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
constexpr Rule kRules303[] = {{"common", "is one file of a given size", kTests302, kTests301}};
constexpr Table kPathFiles{kPathFilesFields, kRules303};

constexpr Field kDeviceFilesFields[] = {
    {.name = "device", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "size", .nullable = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "destroy", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "second_word", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "purge", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kDeviceFiles{kDeviceFilesFields};

constexpr Variant kVariants304[] = {{"directory", "", &kOwnedFiles}, {"path", "", &kPathFiles}, {"device", "", &kDeviceFiles}};
constexpr Value kValues305[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"mix"}};
constexpr Field kBlockShareFields[] = {
    {.name = "bytes", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "weight", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
};
constexpr Table kBlockShare{kBlockShareFields};

constexpr Field kFields306[] = {{.type = Type::kObject, .table = &kBlockShare}};
constexpr Value kValues307[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"mmap"}, std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Value kValues308[] = {std::string_view{"as-found"}, std::string_view{"warm"}, std::string_view{"cold"}};
constexpr Value kValues309[] = {std::string_view{"regular"}, std::string_view{"poisson"}};
constexpr Value kValues310[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}, std::string_view{"odirect"}};
constexpr Value kValues311[] = {std::string_view{"mix"}};
constexpr Test kTests312[] = {{"operation", Test::Kind::kIn, kValues311}};
constexpr Test kTests313[] = {{"read_percent", Test::Kind::kGiven, {}}};
constexpr Test kTests314[] = {{"zipf", Test::Kind::kGiven, {}}};
constexpr Test kTests315[] = {{"rate", Test::Kind::kGiven, {}}};
constexpr Test kTests316[] = {{"arrivals", Test::Kind::kGiven, {}}};
constexpr Test kTests317[] = {{"iopoll", Test::Kind::kIn, kValues13}, {"direct", Test::Kind::kIn, kValues282}};
constexpr Value kValues318[] = {std::string_view{"io_uring"}};
constexpr Test kTests319[] = {{"backend", Test::Kind::kIn, kValues318}};
constexpr Test kTests320[] = {{"sqpoll", Test::Kind::kDiffers, kValues282}};
constexpr Test kTests321[] = {{"iopoll", Test::Kind::kDiffers, kValues282}};
constexpr Value kValues322[] = {std::string_view{"posix"}, std::string_view{"mmap"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-managed"}};
constexpr Test kTests323[] = {{"depth", Test::Kind::kDiffers, kValues18}, {"backend", Test::Kind::kIn, kValues322}};
constexpr Value kValues324[] = {std::string_view{"mmap"}};
constexpr Test kTests325[] = {{"direct", Test::Kind::kIn, kValues13}, {"backend", Test::Kind::kIn, kValues324}};
constexpr Value kValues326[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}};
constexpr Test kTests327[] = {{"backend", Test::Kind::kIn, kValues326}};
constexpr Test kTests328[] = {{"cufile", Test::Kind::kGiven, {}}};
constexpr Test kTests329[] = {{"end_fsync", Test::Kind::kIn, kValues13}, {"amount", Test::Kind::kIn, kValues77}};
constexpr Test kTests330[] = {{"time_limit_s", Test::Kind::kGiven, {}}, {"amount", Test::Kind::kIn, kValues77}};
constexpr Test kTests331[] = {{"ramp_s", Test::Kind::kDiffers, kValues9}, {"amount", Test::Kind::kGiven, {}}};
constexpr Test kTests332[] = {{"fsync", Test::Kind::kDiffers, kValues9}, {"operation", Test::Kind::kIn, kValues137}};
constexpr Test kTests333[] = {{"fdatasync", Test::Kind::kDiffers, kValues9}, {"operation", Test::Kind::kIn, kValues137}};
constexpr Test kTests334[] = {{"end_fsync", Test::Kind::kIn, kValues13}, {"operation", Test::Kind::kIn, kValues137}};
constexpr Value kValues335[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Test kTests336[] = {{"backend", Test::Kind::kIn, kValues335}};
constexpr Value kValues337[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}};
constexpr Test kTests338[] = {{"require", Test::Kind::kIn, kValues337}};
constexpr Value kValues339[] = {std::string_view{"odirect"}};
constexpr Test kTests340[] = {{"require", Test::Kind::kIn, kValues339}, {"direct", Test::Kind::kIn, kValues282}};
constexpr Field kIoPatternFields[] = {
    {.name = "operation", .otherwise = std::string_view{"read"}, .type = Type::kText, .choices = kValues305},
    {.name = "read_percent", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{99}},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues90},
    {.name = "zipf", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "block_size", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "blocks", .nullable = true, .type = Type::kArray, .shortest = 2, .longest = 64, .element = kFields306},
    {.name = "align", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "misalign", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1048576}, .below = true},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1152921504606846976}},
    {.name = "range", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues307},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "cache", .nullable = true, .type = Type::kText, .choices = kValues308},
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
    {.name = "arrivals", .nullable = true, .type = Type::kText, .choices = kValues309},
    {.name = "amount", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "time_limit_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
    {.name = "ramp_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = 1000000.0},
    {.name = "seed", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{0}},
    {.name = "verify", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "require", .nullable = true, .type = Type::kText, .choices = kValues310},
    {.name = "cufile", .nullable = true, .type = Type::kText, .longest = 4096, .pattern = "^[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)+=[^\\n]+$"},
};
constexpr Rule kRules341[] = {{"read_percent", "goes with operation mix", kTests313, kTests312}, {"operation", "mix needs a read_percent", kTests312, kTests313}, {"zipf", "goes with order zipf", kTests314, kTests49}, {"order", "zipf needs an exponent", kTests49, kTests314}, {"arrivals", "goes with rate", kTests316, kTests315}, {"rate", "needs arrivals", kTests315, kTests316}, {"iopoll", "needs direct I/O", kTests317}, {"sqpoll", "goes with backend io_uring", kTests320, kTests319}, {"iopoll", "goes with backend io_uring", kTests321, kTests319}, {"depth", "is 1: this backend has one operation a thread in flight", kTests323}, {"direct", "does not go with backend mmap, which goes through the page cache, or DAX", kTests325}, {"cufile", "goes with backend cufile or cufile-stream or cufile-batch or cufile-batch-stream", kTests328, kTests327}, {"end_fsync", "goes with amount", kTests329}, {"time_limit_s", "goes with amount", kTests330}, {"ramp_s", "goes with no amount", kTests331}, {"fsync", "goes with writes", kTests332}, {"fdatasync", "goes with writes", kTests333}, {"end_fsync", "goes with writes", kTests334}, {"require", "is a way to a GPU", kTests338, kTests336}, {"require", "odirect needs direct I/O", kTests340, kTests336}};
constexpr Table kIoPattern{kIoPatternFields, kRules341};

constexpr Field kIoJobFields[] = {
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 4200},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34},
    {.name = "buffers", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "files", .required = true, .type = Type::kObject, .variants = kVariants304},
    {.name = "shared", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .nullable = true, .type = Type::kObject, .table = &kIoPattern},
};
constexpr Table kIoJob{kIoJobFields};

constexpr Field kFields342[] = {{.type = Type::kObject, .table = &kIoJob}};
constexpr Value kValues343[] = {std::string_view{"written"}, std::string_view{"steady"}};
constexpr Field kTimeSeriesFields[] = {
    {.name = "until", .required = true, .type = Type::kText, .choices = kValues343},
    {.name = "passes", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{100}},
    {.name = "round_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{3600}},
};
constexpr Table kTimeSeries{kTimeSeriesFields};

constexpr Field kIoSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"io"}, .type = Type::kText, .choices = kValues289},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "jobs", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields342, .distinct = true, .distinct_by = "name"},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kIoPattern},
    {.name = "series", .nullable = true, .type = Type::kObject, .table = &kTimeSeries},
};
constexpr Table kIoSpec{kIoSpecFields};

constexpr Value kValues344[] = {std::string_view{"files"}};
constexpr Value kValues345[] = {std::string_view{"create"}, std::string_view{"open"}, std::string_view{"stat"}, std::string_view{"read"}, std::string_view{"list"}, std::string_view{"unlink"}};
constexpr Value kValues346[] = {std::string_view{"own"}, std::string_view{"shared"}};
constexpr Value kValues347[] = {std::string_view{"no"}, std::string_view{"file"}, std::string_view{"directory"}};
constexpr Value kValues348[] = {std::string_view{"create"}, std::string_view{"unlink"}};
constexpr Test kTests349[] = {{"operation", Test::Kind::kIn, kValues348}};
constexpr Value kValues350[] = {std::string_view{"no"}};
constexpr Test kTests351[] = {{"fsync", Test::Kind::kDiffers, kValues350}};
constexpr Field kFilesPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues345},
    {.name = "file_size", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{16777216}},
    {.name = "files", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{10000000}},
    {.name = "directories", .otherwise = std::string_view{"own"}, .type = Type::kText, .choices = kValues346},
    {.name = "fsync", .otherwise = std::string_view{"no"}, .type = Type::kText, .choices = kValues347},
};
constexpr Rule kRules352[] = {{"fsync", "goes with operation create or unlink", kTests351, kTests349}};
constexpr Table kFilesPattern{kFilesPatternFields, kRules352};

constexpr Field kFilesSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"files"}, .type = Type::kText, .choices = kValues344},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kFilesPattern},
};
constexpr Table kFilesSpec{kFilesSpecFields};

constexpr Value kValues353[] = {std::string_view{"checkpoint"}};
constexpr Test kTests354[] = {{"policy", Test::Kind::kDiffers, kValues27}};
constexpr Value kValues355[] = {std::string_view{"pool-objects"}, std::string_view{"device"}, std::string_view{"shared-file"}};
constexpr Test kTests356[] = {{"persistent.backing", Test::Kind::kIn, kValues355}};
constexpr Rule kRules357[] = {{"policy", "of a checkpoint's memory is bind: one node", kTests354}, {"persistent.backing", "of a checkpoint's memory is file or pool", kTests356}};
constexpr Value kValues358[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-async"}};
constexpr Field kCheckpointPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues358},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "depth", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "block_size", .otherwise = std::int64_t{1048576}, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1073741824}},
    {.name = "kills", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100000}},
};
constexpr Rule kRules359[] = {{"depth", "is 1: this backend has one operation a thread in flight", kTests323}};
constexpr Table kCheckpointPattern{kCheckpointPatternFields, kRules359};

constexpr Test kTests360[] = {{"directory", Test::Kind::kIn, kValues77}};
constexpr Test kTests361[] = {{"directory", Test::Kind::kGiven, {}}, {"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests362[] = {{"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests363[] = {{"pattern.backend", Test::Kind::kIn, kValues335}};
constexpr Test kTests364[] = {{"pattern.backend", Test::Kind::kGiven, {}}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests365[] = {{"pattern.kills", Test::Kind::kDiffers, kValues9}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Field kCheckpointSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"checkpoint"}, .type = Type::kText, .choices = kValues353},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34},
    {.name = "state", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "directory", .nullable = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules357},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kCheckpointPattern},
};
constexpr Rule kRules366[] = {{"directory", "or a placement is needed", kTests360, kTests292}, {"directory", "does not go with a placement", kTests361}, {"pattern.backend", "of a GPU needs a state on a GPU", kTests363, kTests362}, {"pattern.backend", "of files takes no state on a GPU", kTests364, kTests363}, {"pattern.kills", "go with a state in host memory: CUDA does not outlive fork", kTests365}};
constexpr Table kCheckpointSpec{kCheckpointSpecFields, kRules366};

constexpr Variant kVariants367[] = {{"kind", "bandwidth", &kBandwidthSpec}, {"kind", "latency", &kLatencySpec}, {"kind", "loaded-latency", &kLoadedLatencySpec}, {"kind", "traffic", &kTrafficSpec}, {"kind", "atomics", &kAtomicsSpec}, {"kind", "core-latency", &kCoreLatencySpec}, {"kind", "mapping", &kMappingSpec}, {"kind", "persist", &kPersistSpec}, {"kind", "handover", &kHandoverSpec}, {"kind", "chain", &kChainSpec}, {"kind", "ops", &kOpsSpec}, {"kind", "gpu-copy", &kGpuCopySpec}, {"kind", "gpu-ranks", &kGpuRanksSpec}, {"kind", "gpu-memory", &kGpuMemorySpec}, {"kind", "gpu-latency", &kGpuLatencySpec}, {"kind", "io", &kIoSpec}, {"kind", "files", &kFilesSpec}, {"kind", "checkpoint", &kCheckpointSpec}};
constexpr Field kFields368[] = {{.type = Type::kObject, .variants = kVariants367}};
constexpr Field kPlanFields[] = {
    {.name = "version", .required = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{2}},
    {.name = "measurements", .required = true, .type = Type::kArray, .shortest = 1, .longest = 100000, .element = kFields368, .distinct = true, .distinct_by = "id"},
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
      {"HandoverPattern", &kHandoverPattern},
      {"HandoverSpec", &kHandoverSpec},
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
