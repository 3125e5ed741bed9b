// Written by `make schema` from the models in src/tierscope. Do not edit.
#include "protocol/tables.h"

// clang-format off
namespace tierscope::tables {
namespace {

constexpr Value kValues0[] = {std::string_view{"bandwidth"}};
constexpr Field kSamplingFields[] = {
    {.name = "precision", .otherwise = 0.01, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 0.5},
    {.name = "budget_s", .otherwise = 2.0, .type = Type::kNumber, .least = 0.001, .most = std::int64_t{86400}},
    {.name = "sample_s", .otherwise = 0.01, .type = Type::kNumber, .least = 1e-05, .most = std::int64_t{60}},
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
constexpr Value kValues151[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"string-btree"}, std::string_view{"string-hash"}, std::string_view{"column"}, std::string_view{"relations"}, std::string_view{"runs"}, std::string_view{"lsm"}};
constexpr Value kValues152[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}, std::string_view{"filter"}, std::string_view{"join"}, std::string_view{"merge"}, std::string_view{"sort"}};
constexpr Value kValues153[] = {std::string_view{"bulk"}, std::string_view{"aged"}};
constexpr Value kValues154[] = {std::string_view{"uniform"}, std::string_view{"zipf"}, std::string_view{"latest"}, std::string_view{"file"}};
constexpr Value kValues155[] = {std::int64_t{4}, std::int64_t{8}};
constexpr Value kValues156[] = {std::string_view{"positions"}, std::string_view{"count"}};
constexpr Value kValues157[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}};
constexpr Test kTests158[] = {{"operation", Test::Kind::kIn, kValues157}};
constexpr Value kValues159[] = {std::string_view{"btree"}};
constexpr Test kTests160[] = {{"structure", Test::Kind::kIn, kValues159}};
constexpr Value kValues161[] = {std::string_view{"lookup"}, std::string_view{"insert"}, std::string_view{"update"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-f"}};
constexpr Test kTests162[] = {{"operation", Test::Kind::kIn, kValues161}};
constexpr Value kValues163[] = {std::string_view{"hash"}};
constexpr Test kTests164[] = {{"structure", Test::Kind::kIn, kValues163}};
constexpr Value kValues165[] = {std::string_view{"lookup"}, std::string_view{"update"}};
constexpr Test kTests166[] = {{"operation", Test::Kind::kIn, kValues165}};
constexpr Value kValues167[] = {std::string_view{"string-btree"}};
constexpr Test kTests168[] = {{"structure", Test::Kind::kIn, kValues167}};
constexpr Value kValues169[] = {std::string_view{"string-hash"}};
constexpr Test kTests170[] = {{"structure", Test::Kind::kIn, kValues169}};
constexpr Value kValues171[] = {std::string_view{"filter"}};
constexpr Test kTests172[] = {{"operation", Test::Kind::kIn, kValues171}};
constexpr Value kValues173[] = {std::string_view{"column"}};
constexpr Test kTests174[] = {{"structure", Test::Kind::kIn, kValues173}};
constexpr Value kValues175[] = {std::string_view{"join"}};
constexpr Test kTests176[] = {{"operation", Test::Kind::kIn, kValues175}};
constexpr Value kValues177[] = {std::string_view{"relations"}};
constexpr Test kTests178[] = {{"structure", Test::Kind::kIn, kValues177}};
constexpr Value kValues179[] = {std::string_view{"merge"}, std::string_view{"sort"}};
constexpr Test kTests180[] = {{"operation", Test::Kind::kIn, kValues179}};
constexpr Value kValues181[] = {std::string_view{"runs"}};
constexpr Test kTests182[] = {{"structure", Test::Kind::kIn, kValues181}};
constexpr Value kValues183[] = {std::string_view{"lookup"}};
constexpr Test kTests184[] = {{"operation", Test::Kind::kIn, kValues183}};
constexpr Value kValues185[] = {std::string_view{"lsm"}};
constexpr Test kTests186[] = {{"structure", Test::Kind::kIn, kValues185}};
constexpr Value kValues187[] = {std::string_view{"btree"}, std::string_view{"string-btree"}};
constexpr Test kTests188[] = {{"structure", Test::Kind::kIn, kValues187}};
constexpr Test kTests189[] = {{"inner_node", Test::Kind::kGiven, {}}};
constexpr Test kTests190[] = {{"leaf_node", Test::Kind::kGiven, {}}};
constexpr Test kTests191[] = {{"key_bytes", Test::Kind::kGiven, {}}};
constexpr Test kTests192[] = {{"selectivity", Test::Kind::kGiven, {}}};
constexpr Test kTests193[] = {{"found", Test::Kind::kGiven, {}}};
constexpr Test kTests194[] = {{"probe_ratio", Test::Kind::kGiven, {}}};
constexpr Value kValues195[] = {std::string_view{"relations"}, std::string_view{"lsm"}};
constexpr Test kTests196[] = {{"structure", Test::Kind::kIn, kValues195}};
constexpr Test kTests197[] = {{"misses", Test::Kind::kGiven, {}}};
constexpr Test kTests198[] = {{"partitions", Test::Kind::kGiven, {}}};
constexpr Test kTests199[] = {{"runs", Test::Kind::kGiven, {}}};
constexpr Test kTests200[] = {{"ratio", Test::Kind::kGiven, {}}};
constexpr Test kTests201[] = {{"inner_node", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues187}};
constexpr Test kTests202[] = {{"leaf_node", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues187}};
constexpr Test kTests203[] = {{"key_bytes", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues173}};
constexpr Test kTests204[] = {{"selectivity", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues173}};
constexpr Test kTests205[] = {{"found", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues173}};
constexpr Test kTests206[] = {{"probe_ratio", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues177}};
constexpr Test kTests207[] = {{"misses", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues195}};
constexpr Test kTests208[] = {{"partitions", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues177}};
constexpr Test kTests209[] = {{"runs", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues181}};
constexpr Test kTests210[] = {{"ratio", Test::Kind::kIn, kValues77}, {"structure", Test::Kind::kIn, kValues185}};
constexpr Value kValues211[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"string-btree"}, std::string_view{"string-hash"}, std::string_view{"lsm"}};
constexpr Test kTests212[] = {{"structure", Test::Kind::kIn, kValues211}};
constexpr Value kValues213[] = {std::string_view{"uniform"}};
constexpr Test kTests214[] = {{"distribution", Test::Kind::kDiffers, kValues213}};
constexpr Value kValues215[] = {std::string_view{"btree"}, std::string_view{"hash"}};
constexpr Value kValues216[] = {std::string_view{"insert"}, std::string_view{"update"}};
constexpr Test kTests217[] = {{"structure", Test::Kind::kIn, kValues215}, {"operation", Test::Kind::kIn, kValues216}};
constexpr Test kTests218[] = {{"sharing", Test::Kind::kDiffers, kValues79}};
constexpr Value kValues219[] = {std::string_view{"lookup"}, std::string_view{"update"}, std::string_view{"scan"}, std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-f"}};
constexpr Test kTests220[] = {{"structure", Test::Kind::kIn, kValues159}, {"operation", Test::Kind::kIn, kValues219}};
constexpr Value kValues221[] = {std::string_view{"bulk"}};
constexpr Test kTests222[] = {{"build", Test::Kind::kDiffers, kValues221}};
constexpr Value kValues223[] = {std::string_view{"scan"}, std::string_view{"ycsb-e"}};
constexpr Test kTests224[] = {{"operation", Test::Kind::kIn, kValues223}};
constexpr Test kTests225[] = {{"scan_length", Test::Kind::kGiven, {}}};
constexpr Value kValues226[] = {std::string_view{"zipf"}, std::string_view{"latest"}};
constexpr Test kTests227[] = {{"distribution", Test::Kind::kIn, kValues226}};
constexpr Test kTests228[] = {{"zipf_alpha", Test::Kind::kGiven, {}}};
constexpr Value kValues229[] = {std::string_view{"ycsb-d"}};
constexpr Test kTests230[] = {{"operation", Test::Kind::kIn, kValues229}};
constexpr Value kValues231[] = {std::string_view{"latest"}};
constexpr Test kTests232[] = {{"distribution", Test::Kind::kIn, kValues231}};
constexpr Value kValues233[] = {std::string_view{"churn"}, std::string_view{"ycsb-a"}, std::string_view{"ycsb-b"}, std::string_view{"ycsb-c"}, std::string_view{"ycsb-d"}, std::string_view{"ycsb-e"}, std::string_view{"ycsb-f"}};
constexpr Test kTests234[] = {{"distribution", Test::Kind::kIn, kValues123}, {"operation", Test::Kind::kIn, kValues233}};
constexpr Test kTests235[] = {{"distribution", Test::Kind::kIn, kValues123}};
constexpr Test kTests236[] = {{"keys_file", Test::Kind::kGiven, {}}};
constexpr Test kTests237[] = {{"structure", Test::Kind::kIn, kValues215}};
constexpr Value kValues238[] = {std::string_view{"btree"}, std::string_view{"hash"}, std::string_view{"relations"}};
constexpr Value kValues239[] = {std::string_view{"lookup"}, std::string_view{"join"}};
constexpr Test kTests240[] = {{"structure", Test::Kind::kIn, kValues238}, {"operation", Test::Kind::kIn, kValues239}};
constexpr Test kTests241[] = {{"interleave", Test::Kind::kDiffers, kValues18}};
constexpr Test kTests242[] = {{"interleave", Test::Kind::kDiffers, kValues18}, {"partitions", Test::Kind::kDiffers, kValues18}};
constexpr Value kValues243[] = {std::int64_t{4294967297}};
constexpr Test kTests244[] = {{"keys", Test::Kind::kBelow, kValues243}};
constexpr Value kValues245[] = {std::int64_t{4}};
constexpr Test kTests246[] = {{"key_bytes", Test::Kind::kIn, kValues245}};
constexpr Field kOpsPatternFields[] = {
    {.name = "structure", .required = true, .type = Type::kText, .choices = kValues151},
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues152},
    {.name = "keys", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{68719476736}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "sharing", .otherwise = std::string_view{"partitioned"}, .type = Type::kText, .choices = kValues43},
    {.name = "build", .otherwise = std::string_view{"bulk"}, .type = Type::kText, .choices = kValues153},
    {.name = "distribution", .otherwise = std::string_view{"uniform"}, .type = Type::kText, .choices = kValues154},
    {.name = "zipf_alpha", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "keys_file", .nullable = true, .type = Type::kText},
    {.name = "interleave", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
    {.name = "scan_length", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1048576}},
    {.name = "inner_node", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{128}, .most = std::int64_t{65536}},
    {.name = "leaf_node", .nullable = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{128}, .most = std::int64_t{65536}},
    {.name = "key_bytes", .nullable = true, .type = Type::kInteger, .choices = kValues155},
    {.name = "selectivity", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "found", .nullable = true, .type = Type::kText, .choices = kValues156},
    {.name = "probe_ratio", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{64}},
    {.name = "misses", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{1}},
    {.name = "partitions", .nullable = true, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "runs", .nullable = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{256}},
    {.name = "ratio", .nullable = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{32}},
    {.name = "sample_every", .otherwise = std::int64_t{64}, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{4096}},
};
constexpr Rule kRules247[] = {{"operation", "of btree is lookup or insert or update or scan or churn or ycsb-a or ycsb-b or ycsb-c or ycsb-d or ycsb-e or ycsb-f", kTests160, kTests158}, {"operation", "of hash is lookup or insert or update or churn or ycsb-a or ycsb-b or ycsb-c or ycsb-d or ycsb-f", kTests164, kTests162}, {"operation", "of string-btree is lookup or update", kTests168, kTests166}, {"operation", "of string-hash is lookup or update", kTests170, kTests166}, {"operation", "of column is filter", kTests174, kTests172}, {"operation", "of relations is join", kTests178, kTests176}, {"operation", "of runs is merge or sort", kTests182, kTests180}, {"operation", "of lsm is lookup", kTests186, kTests184}, {"inner_node", "goes with structure btree or string-btree", kTests189, kTests188}, {"leaf_node", "goes with structure btree or string-btree", kTests190, kTests188}, {"key_bytes", "goes with structure column", kTests191, kTests174}, {"selectivity", "goes with structure column", kTests192, kTests174}, {"found", "goes with structure column", kTests193, kTests174}, {"probe_ratio", "goes with structure relations", kTests194, kTests178}, {"misses", "goes with structure relations or lsm", kTests197, kTests196}, {"partitions", "goes with structure relations", kTests198, kTests178}, {"runs", "goes with structure runs", kTests199, kTests182}, {"ratio", "goes with structure lsm", kTests200, kTests186}, {"inner_node", "is what this structure needs", kTests201}, {"leaf_node", "is what this structure needs", kTests202}, {"key_bytes", "is what this structure needs", kTests203}, {"selectivity", "is what this structure needs", kTests204}, {"found", "is what this structure needs", kTests205}, {"probe_ratio", "is what this structure needs", kTests206}, {"misses", "is what this structure needs", kTests207}, {"partitions", "is what this structure needs", kTests208}, {"runs", "is what this structure needs", kTests209}, {"ratio", "is what this structure needs", kTests210}, {"distribution", "goes with structure btree or hash or string-btree or string-hash or lsm", kTests214, kTests212}, {"sharing", "goes with structure btree or hash and operation insert or update", kTests218, kTests217}, {"build", "goes with structure btree and operation lookup or update or scan or churn or ycsb-a or ycsb-b or ycsb-c or ycsb-f", kTests222, kTests220}, {"scan_length", "goes with operation scan or ycsb-e", kTests225, kTests224}, {"operation", "scans need a scan_length", kTests224, kTests225}, {"zipf_alpha", "goes with distribution zipf or latest", kTests228, kTests227}, {"distribution", "zipf and latest need a zipf_alpha", kTests227, kTests228}, {"distribution", "latest goes with operation ycsb-d", kTests232, kTests230}, {"distribution", "keys of a file do not go with churn, ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f", kTests234}, {"keys_file", "goes with distribution file", kTests236, kTests235}, {"distribution", "file needs a keys_file", kTests235, kTests236}, {"distribution", "file goes with structure btree or hash", kTests235, kTests237}, {"interleave", "goes with structure btree or hash or relations and operation lookup or join", kTests241, kTests240}, {"interleave", "goes with one partition: tables of several are cached", kTests242}, {"keys", "of 4 bytes are 4g at most, as positions of 4 bytes number them", kTests246, kTests244}, {"keys", "of a string-btree are 4g at most, as numbers of 4 bytes stand for them", kTests168, kTests244}};
constexpr Table kOpsPattern{kOpsPatternFields, kRules247};

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

constexpr Value kValues248[] = {std::string_view{"gpu-copy"}};
constexpr Test kTests249[] = {{"row_bytes", Test::Kind::kGiven, {}}, {"pitch", Test::Kind::kIn, kValues77}};
constexpr Test kTests250[] = {{"pitch", Test::Kind::kGiven, {}}, {"row_bytes", Test::Kind::kIn, kValues77}};
constexpr Value kValues251[] = {std::string_view{"row_bytes"}};
constexpr Test kTests252[] = {{"pitch", Test::Kind::kBelow, kValues251}};
constexpr Test kTests253[] = {{"size", Test::Kind::kUneven, kValues251}};
constexpr Field kGpuCopyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4398046511104}},
    {.name = "row_bytes", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
    {.name = "pitch", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Rule kRules254[] = {{"row_bytes", "goes with a pitch", kTests249}, {"pitch", "goes with row_bytes", kTests250}, {"pitch", "is smaller than row_bytes", kTests252}, {"size", "is not a whole number of rows", kTests253}};
constexpr Table kGpuCopyPattern{kGpuCopyPatternFields, kRules254};

constexpr Value kValues255[] = {std::string_view{"host"}};
constexpr Value kValues256[] = {std::string_view{"pinned"}, std::string_view{"write-combined"}, std::string_view{"registered"}, std::string_view{"pageable"}, std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Value kValues257[] = {std::string_view{"pageable"}, std::string_view{"registered"}};
constexpr Test kTests258[] = {{"memory", Test::Kind::kIn, kValues257}};
constexpr Value kValues259[] = {std::string_view{"base"}};
constexpr Test kTests260[] = {{"pages", Test::Kind::kDiffers, kValues259}};
constexpr Field kHostPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues255},
    {.name = "memory", .otherwise = std::string_view{"pinned"}, .type = Type::kText, .choices = kValues256},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules98},
    {.name = "pages", .otherwise = std::string_view{"base"}, .type = Type::kText, .choices = kValues41},
};
constexpr Rule kRules261[] = {{"pages", "only pageable and registered memory has a choice of pages", kTests260, kTests258}, {"placement", "only pageable and registered memory spans several nodes", kTests100, kTests258}};
constexpr Table kHostPlace{kHostPlaceFields, kRules261};

constexpr Value kValues262[] = {std::string_view{"gpu"}};
constexpr Field kGpuPlaceFields[] = {
    {.name = "where", .otherwise = std::string_view{"gpu"}, .type = Type::kText, .choices = kValues262},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Table kGpuPlace{kGpuPlaceFields};

constexpr Variant kVariants263[] = {{"where", "host", &kHostPlace}, {"where", "gpu", &kGpuPlace}};
constexpr Value kValues264[] = {std::string_view{"ce"}, std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Test kTests265[] = {{"source.where", Test::Kind::kIn, kValues255}, {"destination.where", Test::Kind::kIn, kValues255}};
constexpr Value kValues266[] = {std::string_view{"managed"}};
constexpr Test kTests267[] = {{"destination.memory", Test::Kind::kIn, kValues266}};
constexpr Field kTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kObject, .variants = kVariants263},
    {.name = "destination", .required = true, .type = Type::kObject, .variants = kVariants263},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues264},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules268[] = {{"source", "and destination are host memory; one of them at least is a GPU", kTests265}, {"destination", "managed memory comes over on demand as a source only", kTests267}};
constexpr Table kTransfer{kTransferFields, kRules268};

constexpr Field kFields269[] = {{.type = Type::kObject, .table = &kTransfer}};
constexpr Field kGpuCopySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-copy"}, .type = Type::kText, .choices = kValues248},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuCopyPattern},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "call_latency", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields269},
};
constexpr Table kGpuCopySpec{kGpuCopySpecFields};

constexpr Value kValues270[] = {std::string_view{"gpu-ranks"}};
constexpr Field kGpuRanksPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4398046511104}},
};
constexpr Table kGpuRanksPattern{kGpuRanksPatternFields};

constexpr Field kFields271[] = {{.type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}}};
constexpr Field kFields272[] = {{.type = Type::kText}};
constexpr Value kValues273[] = {std::string_view{"any"}, std::string_view{"fabric"}, std::string_view{"ipc"}};
constexpr Value kValues274[] = {std::string_view{"source"}};
constexpr Test kTests275[] = {{"destination", Test::Kind::kSame, kValues274}};
constexpr Field kRankTransferFields[] = {
    {.name = "name", .required = true, .type = Type::kText},
    {.name = "source", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "destination", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "rank", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "engine", .required = true, .type = Type::kText, .choices = kValues264},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{32}},
    {.name = "reported", .otherwise = Value{true}, .type = Type::kBoolean},
};
constexpr Rule kRules276[] = {{"destination", "is the source; a transfer goes from one rank to another one", kTests275}};
constexpr Table kRankTransfer{kRankTransferFields, kRules276};

constexpr Field kFields277[] = {{.type = Type::kObject, .table = &kRankTransfer}};
constexpr Field kGpuRanksSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-ranks"}, .type = Type::kText, .choices = kValues270},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuRanksPattern},
    {.name = "rank", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{4095}},
    {.name = "gpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields271},
    {.name = "hosts", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields272},
    {.name = "handles", .otherwise = std::string_view{"any"}, .type = Type::kText, .choices = kValues273},
    {.name = "verify", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "transfers", .required = true, .type = Type::kArray, .shortest = 1, .longest = 16384, .element = kFields277},
};
constexpr Table kGpuRanksSpec{kGpuRanksSpecFields};

constexpr Value kValues278[] = {std::string_view{"gpu-memory"}};
constexpr Value kValues279[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"copy"}, std::string_view{"scale"}, std::string_view{"add"}, std::string_view{"triad"}, std::string_view{"random"}};
constexpr Value kValues280[] = {std::string_view{"random"}};
constexpr Test kTests281[] = {{"operation", Test::Kind::kIn, kValues280}};
constexpr Value kValues282[] = {std::int64_t{32}};
constexpr Test kTests283[] = {{"access_size", Test::Kind::kDiffers, kValues282}};
constexpr Value kValues284[] = {std::int64_t{68719476736}};
constexpr Test kTests285[] = {{"size", Test::Kind::kBelow, kValues284}};
constexpr Test kTests286[] = {{"size", Test::Kind::kBelow, kValues57}};
constexpr Field kGpuMemoryPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues279},
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "access_size", .otherwise = std::int64_t{32}, .type = Type::kInteger, .power_of_two = true, .least = std::int64_t{16}, .most = std::int64_t{512}},
};
constexpr Rule kRules287[] = {{"access_size", "goes with operation random", kTests283, kTests281}, {"size", "has to be below 64 GiB of operation random", kTests281, kTests285}, {"size", "is smaller than access_size", kTests286}};
constexpr Table kGpuMemoryPattern{kGpuMemoryPatternFields, kRules287};

constexpr Field kGpuMemorySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-memory"}, .type = Type::kText, .choices = kValues278},
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

constexpr Value kValues288[] = {std::string_view{"gpu-latency"}};
constexpr Value kValues289[] = {std::string_view{"sm"}, std::string_view{"tma"}};
constexpr Value kValues290[] = {std::string_view{"random"}, std::string_view{"linear"}};
constexpr Field kGpuLatencyPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 64, .least = std::int64_t{64}, .most = std::int64_t{1125899906842624}},
    {.name = "stride", .otherwise = std::int64_t{128}, .type = Type::kInteger, .multiple = 8, .least = std::int64_t{8}, .most = std::int64_t{1048576}},
    {.name = "order", .otherwise = std::string_view{"random"}, .type = Type::kText, .choices = kValues290},
};
constexpr Table kGpuLatencyPattern{kGpuLatencyPatternFields};

constexpr Value kValues291[] = {std::string_view{"managed"}, std::string_view{"managed-prefetch"}, std::string_view{"managed-advised"}};
constexpr Test kTests292[] = {{"memory.memory", Test::Kind::kIn, kValues291}};
constexpr Value kValues293[] = {std::string_view{"sm"}};
constexpr Test kTests294[] = {{"engine", Test::Kind::kIn, kValues293}};
constexpr Value kValues295[] = {Value{false}};
constexpr Test kTests296[] = {{"per_sm", Test::Kind::kDiffers, kValues295}};
constexpr Test kTests297[] = {{"every_sm", Test::Kind::kDiffers, kValues295}};
constexpr Value kValues298[] = {std::int64_t{16}};
constexpr Value kValues299[] = {std::string_view{"tma"}};
constexpr Test kTests300[] = {{"pattern.stride", Test::Kind::kUneven, kValues298}, {"engine", Test::Kind::kIn, kValues299}};
constexpr Field kGpuLatencySpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"gpu-latency"}, .type = Type::kText, .choices = kValues288},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34, .distinct = true},
    {.name = "trace", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "gpu", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
    {.name = "memory", .required = true, .type = Type::kObject, .variants = kVariants263},
    {.name = "engine", .otherwise = std::string_view{"sm"}, .type = Type::kText, .choices = kValues289},
    {.name = "per_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "every_sm", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kGpuLatencyPattern},
};
constexpr Rule kRules301[] = {{"memory", "migrates; a chase goes through memory that stays where it is", kTests292}, {"per_sm", "goes with engine sm", kTests296, kTests294}, {"every_sm", "goes with engine sm", kTests297, kTests294}, {"pattern.stride", "has to be a multiple of 16 for engine tma", kTests300}};
constexpr Table kGpuLatencySpec{kGpuLatencySpecFields, kRules301};

constexpr Value kValues302[] = {std::string_view{"io"}};
constexpr Value kValues303[] = {std::string_view{"host"}, std::string_view{"device"}, std::string_view{"vmm"}, std::string_view{"pinned"}, std::string_view{"plain"}, std::string_view{"managed"}};
constexpr Test kTests304[] = {{"memory", Test::Kind::kIn, kValues255}};
constexpr Test kTests305[] = {{"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests306[] = {{"gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests307[] = {{"memory", Test::Kind::kDiffers, kValues255}};
constexpr Field kBuffersFields[] = {
    {.name = "memory", .otherwise = std::string_view{"host"}, .type = Type::kText, .choices = kValues303},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules149},
    {.name = "gpu", .nullable = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1023}},
};
constexpr Rule kRules308[] = {{"placement", "goes with memory host", kTests305, kTests304}, {"memory", "host needs a placement", kTests304, kTests305}, {"memory", "only host needs no gpu", kTests307, kTests306}};
constexpr Table kBuffers{kBuffersFields, kRules308};

constexpr Field kOwnedFilesFields[] = {
    {.name = "count", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{65536}},
    {.name = "keep", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "size", .required = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "stem", .otherwise = std::string_view{"tierscope."}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{1,64}$"},
};
constexpr Table kOwnedFiles{kOwnedFilesFields};

constexpr Value kValues309[] = {std::string_view{"parts"}};
constexpr Test kTests310[] = {{"part", Test::Kind::kBelow, kValues309}};
constexpr Test kTests311[] = {{"part", Test::Kind::kGiven, {}}};
constexpr Test kTests312[] = {{"wait_s", Test::Kind::kGiven, {}}, {"name", Test::Kind::kIn, kValues11}};
constexpr Field kCommonFileFields[] = {
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{0,64}$"},
    {.name = "parts", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
    {.name = "part", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{999999}},
    {.name = "wait_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
};
constexpr Rule kRules313[] = {{"part", "has to be below parts", kTests311, kTests310}, {"wait_s", "goes with a name", kTests312}};
constexpr Table kCommonFile{kCommonFileFields, kRules313};

constexpr Test kTests314[] = {{"size", Test::Kind::kGiven, {}}, {"count", Test::Kind::kIn, kValues18}};
constexpr Test kTests315[] = {{"common.parts", Test::Kind::kDiffers, kValues18}};
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
constexpr Rule kRules316[] = {{"common", "is one file of a given size", kTests315, kTests314}};
constexpr Table kPathFiles{kPathFilesFields, kRules316};

constexpr Field kDeviceFilesFields[] = {
    {.name = "device", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "size", .nullable = true, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{1152921504606846976}},
    {.name = "destroy", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "second_word", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 256},
    {.name = "purge", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kDeviceFiles{kDeviceFilesFields};

constexpr Variant kVariants317[] = {{"directory", "", &kOwnedFiles}, {"path", "", &kPathFiles}, {"device", "", &kDeviceFiles}};
constexpr Value kValues318[] = {std::string_view{"read"}, std::string_view{"write"}, std::string_view{"mix"}};
constexpr Field kZoneShareFields[] = {
    {.name = "accesses", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{100}},
    {.name = "size", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = std::int64_t{100}},
};
constexpr Table kZoneShare{kZoneShareFields};

constexpr Field kFields319[] = {{.type = Type::kObject, .table = &kZoneShare}};
constexpr Test kTests320[] = {{"pareto", Test::Kind::kGiven, {}}, {"normal", Test::Kind::kGiven, {}}};
constexpr Test kTests321[] = {{"pareto", Test::Kind::kGiven, {}}, {"zones", Test::Kind::kGiven, {}}};
constexpr Test kTests322[] = {{"normal", Test::Kind::kGiven, {}}, {"zones", Test::Kind::kGiven, {}}};
constexpr Test kTests323[] = {{"pareto", Test::Kind::kIn, kValues77}, {"normal", Test::Kind::kIn, kValues77}, {"zones", Test::Kind::kIn, kValues77}};
constexpr Field kSkewedOrderFields[] = {
    {.name = "pareto", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{1}, .below = true},
    {.name = "normal", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{100}},
    {.name = "zones", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields319},
};
constexpr Rule kRules324[] = {{"pareto", "goes without another one", kTests320}, {"pareto", "goes without zones", kTests321}, {"normal", "goes without zones", kTests322}, {"pareto", "or normal or zones is missing", kTests323}};
constexpr Table kSkewedOrder{kSkewedOrderFields, kRules324};

constexpr Field kStridedZonesFields[] = {
    {.name = "bytes", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "range", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "skip", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1152921504606846976}},
};
constexpr Table kStridedZones{kStridedZonesFields};

constexpr Field kBlockShareFields[] = {
    {.name = "bytes", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "weight", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
};
constexpr Table kBlockShare{kBlockShareFields};

constexpr Field kFields325[] = {{.type = Type::kObject, .table = &kBlockShare}};
constexpr Value kValues326[] = {std::string_view{"posix"}, std::string_view{"sync"}, std::string_view{"pvsync"}, std::string_view{"pvsync2"}, std::string_view{"splice"}, std::string_view{"libaio"}, std::string_view{"posixaio"}, std::string_view{"io_uring"}, std::string_view{"mmap"}, std::string_view{"pmem"}, std::string_view{"null"}, std::string_view{"ftruncate"}, std::string_view{"fallocate"}, std::string_view{"fallocate-keep"}, std::string_view{"punch-hole"}, std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Value kValues327[] = {std::string_view{"as-found"}, std::string_view{"warm"}, std::string_view{"cold"}};
constexpr Value kValues328[] = {std::string_view{"buffers"}, std::string_view{"files"}};
constexpr Field kDuplicatesFields[] = {
    {.name = "percent", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{100}},
    {.name = "working_set", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1099511627776}},
    {.name = "stream", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{65535}},
    {.name = "streams", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{65536}},
};
constexpr Table kDuplicates{kDuplicatesFields};

constexpr Value kValues329[] = {std::string_view{"regular"}, std::string_view{"poisson"}};
constexpr Field kThinkFields[] = {
    {.name = "every", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1099511627776}},
    {.name = "pause_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
    {.name = "spin_s", .otherwise = std::int64_t{0}, .type = Type::kNumber, .least = std::int64_t{0}, .most = 1000000.0},
};
constexpr Table kThink{kThinkFields};

constexpr Field kDepthSearchFields[] = {
    {.name = "target_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
    {.name = "percent", .otherwise = std::int64_t{100}, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{100}},
    {.name = "window_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
};
constexpr Table kDepthSearch{kDepthSearchFields};

constexpr Value kValues330[] = {std::string_view{"none"}, std::string_view{"realtime"}, std::string_view{"best-effort"}, std::string_view{"idle"}};
constexpr Field kPriorityFields[] = {
    {.name = "io_class", .required = true, .type = Type::kText, .choices = kValues330},
    {.name = "level", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{7}},
};
constexpr Table kPriority{kPriorityFields};

constexpr Value kValues331[] = {std::string_view{"reads"}, std::string_view{"writes"}};
constexpr Field kCommandPriorityFields[] = {
    {.name = "io_class", .required = true, .type = Type::kText, .choices = kValues330},
    {.name = "level", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{7}},
    {.name = "of", .required = true, .type = Type::kText, .choices = kValues331},
    {.name = "bytes", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "percent", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{100}},
};
constexpr Table kCommandPriority{kCommandPriorityFields};

constexpr Field kFields332[] = {{.type = Type::kObject, .table = &kCommandPriority}};
constexpr Value kValues333[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}, std::string_view{"odirect"}};
constexpr Value kValues334[] = {std::string_view{"mix"}};
constexpr Test kTests335[] = {{"operation", Test::Kind::kIn, kValues334}};
constexpr Test kTests336[] = {{"read_percent", Test::Kind::kGiven, {}}};
constexpr Test kTests337[] = {{"zipf", Test::Kind::kGiven, {}}};
constexpr Test kTests338[] = {{"rate", Test::Kind::kGiven, {}}};
constexpr Test kTests339[] = {{"arrivals", Test::Kind::kGiven, {}}};
constexpr Test kTests340[] = {{"order", Test::Kind::kIn, kValues280}};
constexpr Test kTests341[] = {{"distribution", Test::Kind::kGiven, {}}};
constexpr Test kTests342[] = {{"run", Test::Kind::kDiffers, kValues18}, {"order", Test::Kind::kIn, kValues53}};
constexpr Value kValues343[] = {std::int64_t{100}};
constexpr Test kTests344[] = {{"random_percent", Test::Kind::kDiffers, kValues343}, {"order", Test::Kind::kIn, kValues53}};
constexpr Test kTests345[] = {{"stride", Test::Kind::kDiffers, kValues9}, {"order", Test::Kind::kDiffers, kValues53}};
constexpr Test kTests346[] = {{"stride", Test::Kind::kDiffers, kValues9}, {"strided", Test::Kind::kGiven, {}}};
constexpr Test kTests347[] = {{"by_turns", Test::Kind::kIn, kValues13}, {"strided", Test::Kind::kGiven, {}}};
constexpr Test kTests348[] = {{"write_blocks", Test::Kind::kGiven, {}}};
constexpr Test kTests349[] = {{"write_rate", Test::Kind::kGiven, {}}};
constexpr Value kValues350[] = {std::string_view{"rate"}};
constexpr Test kTests351[] = {{"write_rate", Test::Kind::kBelow, kValues350}};
constexpr Test kTests352[] = {{"register_only", Test::Kind::kGiven, {}}, {"registered", Test::Kind::kIn, kValues295}};
constexpr Value kValues353[] = {std::string_view{"libaio"}, std::string_view{"io_uring"}};
constexpr Test kTests354[] = {{"backend", Test::Kind::kIn, kValues353}};
constexpr Test kTests355[] = {{"command_priorities", Test::Kind::kGiven, {}}};
constexpr Test kTests356[] = {{"duplicates", Test::Kind::kGiven, {}}, {"operation", Test::Kind::kIn, kValues137}};
constexpr Test kTests357[] = {{"duplicates", Test::Kind::kGiven, {}}, {"verify", Test::Kind::kIn, kValues13}};
constexpr Test kTests358[] = {{"duplicates", Test::Kind::kGiven, {}}, {"fill", Test::Kind::kGiven, {}}};
constexpr Value kValues359[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}, std::string_view{"mmap"}, std::string_view{"pmem"}};
constexpr Test kTests360[] = {{"duplicates", Test::Kind::kGiven, {}}, {"backend", Test::Kind::kIn, kValues359}};
constexpr Test kTests361[] = {{"iopoll", Test::Kind::kIn, kValues13}, {"direct", Test::Kind::kIn, kValues295}};
constexpr Value kValues362[] = {std::string_view{"io_uring"}};
constexpr Test kTests363[] = {{"backend", Test::Kind::kIn, kValues362}};
constexpr Test kTests364[] = {{"sqpoll", Test::Kind::kDiffers, kValues295}};
constexpr Test kTests365[] = {{"iopoll", Test::Kind::kDiffers, kValues295}};
constexpr Value kValues366[] = {std::string_view{"pmem"}};
constexpr Value kValues367[] = {std::string_view{"write"}, std::string_view{"mix"}};
constexpr Test kTests368[] = {{"backend", Test::Kind::kIn, kValues366}, {"operation", Test::Kind::kIn, kValues367}};
constexpr Test kTests369[] = {{"non_temporal", Test::Kind::kDiffers, kValues295}};
constexpr Test kTests370[] = {{"drain", Test::Kind::kDiffers, kValues295}};
constexpr Value kValues371[] = {std::string_view{"posix"}, std::string_view{"sync"}, std::string_view{"pvsync"}, std::string_view{"pvsync2"}, std::string_view{"splice"}, std::string_view{"mmap"}, std::string_view{"pmem"}, std::string_view{"null"}, std::string_view{"ftruncate"}, std::string_view{"fallocate"}, std::string_view{"fallocate-keep"}, std::string_view{"punch-hole"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-managed"}};
constexpr Test kTests372[] = {{"depth", Test::Kind::kDiffers, kValues18}, {"backend", Test::Kind::kIn, kValues371}};
constexpr Value kValues373[] = {std::string_view{"mmap"}, std::string_view{"pmem"}};
constexpr Test kTests374[] = {{"direct", Test::Kind::kIn, kValues13}, {"backend", Test::Kind::kIn, kValues373}};
constexpr Value kValues375[] = {std::string_view{"ftruncate"}, std::string_view{"fallocate"}, std::string_view{"fallocate-keep"}, std::string_view{"punch-hole"}};
constexpr Test kTests376[] = {{"backend", Test::Kind::kIn, kValues375}, {"operation", Test::Kind::kDiffers, kValues140}};
constexpr Test kTests377[] = {{"backend", Test::Kind::kIn, kValues375}, {"verify", Test::Kind::kIn, kValues13}};
constexpr Value kValues378[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}};
constexpr Test kTests379[] = {{"backend", Test::Kind::kIn, kValues378}};
constexpr Test kTests380[] = {{"cufile", Test::Kind::kGiven, {}}};
constexpr Test kTests381[] = {{"end_fsync", Test::Kind::kIn, kValues13}, {"amount", Test::Kind::kIn, kValues77}};
constexpr Test kTests382[] = {{"ramp_s", Test::Kind::kDiffers, kValues9}, {"amount", Test::Kind::kGiven, {}}};
constexpr Test kTests383[] = {{"fsync", Test::Kind::kDiffers, kValues9}, {"operation", Test::Kind::kIn, kValues137}};
constexpr Test kTests384[] = {{"fdatasync", Test::Kind::kDiffers, kValues9}, {"operation", Test::Kind::kIn, kValues137}};
constexpr Test kTests385[] = {{"end_fsync", Test::Kind::kIn, kValues13}, {"operation", Test::Kind::kIn, kValues137}};
constexpr Value kValues386[] = {std::string_view{"cufile"}, std::string_view{"cufile-stream"}, std::string_view{"cufile-batch"}, std::string_view{"cufile-batch-stream"}, std::string_view{"staged"}, std::string_view{"staged-async"}, std::string_view{"staged-managed"}};
constexpr Test kTests387[] = {{"backend", Test::Kind::kIn, kValues386}};
constexpr Value kValues388[] = {std::string_view{"p2p"}, std::string_view{"nvfs"}, std::string_view{"gpudirect"}};
constexpr Test kTests389[] = {{"require", Test::Kind::kIn, kValues388}};
constexpr Value kValues390[] = {std::string_view{"odirect"}};
constexpr Test kTests391[] = {{"require", Test::Kind::kIn, kValues390}, {"direct", Test::Kind::kIn, kValues295}};
constexpr Field kIoPatternFields[] = {
    {.name = "operation", .otherwise = std::string_view{"read"}, .type = Type::kText, .choices = kValues318},
    {.name = "read_percent", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{99}},
    {.name = "order", .otherwise = std::string_view{"sequential"}, .type = Type::kText, .choices = kValues90},
    {.name = "zipf", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{10}},
    {.name = "distribution", .nullable = true, .type = Type::kObject, .table = &kSkewedOrder},
    {.name = "run", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1073741824}},
    {.name = "same", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "random_percent", .otherwise = std::int64_t{100}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{100}},
    {.name = "stride", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{-1152921504606846976}, .most = std::int64_t{1152921504606846976}},
    {.name = "strided", .nullable = true, .type = Type::kObject, .table = &kStridedZones},
    {.name = "by_turns", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "block_size", .required = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "blocks", .nullable = true, .type = Type::kArray, .shortest = 2, .longest = 64, .element = kFields325},
    {.name = "write_blocks", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 64, .element = kFields325},
    {.name = "align", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1073741824}},
    {.name = "misalign", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1048576}, .below = true},
    {.name = "offset", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1152921504606846976}},
    {.name = "range", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues326},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "cache", .nullable = true, .type = Type::kText, .choices = kValues327},
    {.name = "depth", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "batch", .nullable = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "registered", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pages", .otherwise = std::string_view{"base"}, .type = Type::kText, .choices = kValues41},
    {.name = "register_only", .nullable = true, .type = Type::kText, .choices = kValues328},
    {.name = "sqpoll", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "iopoll", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "non_temporal", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "drain", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "fsync", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1073741824}},
    {.name = "fdatasync", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1073741824}},
    {.name = "end_fsync", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "refill", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "compressible", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100}},
    {.name = "duplicates", .nullable = true, .type = Type::kObject, .table = &kDuplicates},
    {.name = "fill", .nullable = true, .type = Type::kText, .pattern = "^([0-9a-f]{2}){1,512}$"},
    {.name = "write_rate", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000000000.0},
    {.name = "rate", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000000000.0},
    {.name = "arrivals", .nullable = true, .type = Type::kText, .choices = kValues329},
    {.name = "amount", .nullable = true, .type = Type::kInteger, .least = std::int64_t{512}, .most = std::int64_t{1152921504606846976}},
    {.name = "time_limit_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
    {.name = "delay_s", .otherwise = std::int64_t{0}, .type = Type::kNumber, .least = std::int64_t{0}, .most = 1000000.0},
    {.name = "think", .nullable = true, .type = Type::kObject, .table = &kThink},
    {.name = "search", .nullable = true, .type = Type::kObject, .table = &kDepthSearch},
    {.name = "priority", .nullable = true, .type = Type::kObject, .table = &kPriority},
    {.name = "command_priorities", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields332},
    {.name = "ramp_s", .nullable = true, .type = Type::kNumber, .least = std::int64_t{0}, .most = 1000000.0},
    {.name = "seed", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{0}},
    {.name = "verify", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "require", .nullable = true, .type = Type::kText, .choices = kValues333},
    {.name = "cufile", .nullable = true, .type = Type::kText, .longest = 4096, .pattern = "^[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)+=[^\\n]+$"},
};
constexpr Rule kRules392[] = {{"read_percent", "goes with operation mix", kTests336, kTests335}, {"operation", "mix needs a read_percent", kTests335, kTests336}, {"zipf", "goes with order zipf", kTests337, kTests49}, {"order", "zipf needs an exponent", kTests49, kTests337}, {"arrivals", "goes with rate", kTests339, kTests338}, {"rate", "needs arrivals", kTests338, kTests339}, {"distribution", "goes with order random", kTests341, kTests340}, {"run", "goes with random offsets", kTests342}, {"random_percent", "goes with random offsets", kTests344}, {"stride", "goes in sequence", kTests345}, {"stride", "goes without zones", kTests346}, {"by_turns", "goes without zones", kTests347}, {"write_blocks", "goes with operation mix", kTests348, kTests335}, {"write_rate", "goes with operation mix", kTests349, kTests335}, {"write_rate", "is a part of rate", kTests349, kTests351}, {"register_only", "goes with registered", kTests352}, {"command_priorities", "goes with backends libaio and io_uring", kTests355, kTests354}, {"duplicates", "goes with writes", kTests356}, {"duplicates", "goes without verify: equal blocks do not say where they belong", kTests357}, {"duplicates", "goes without fill", kTests358}, {"duplicates", "goes with system calls that write host memory", kTests360}, {"iopoll", "needs direct I/O", kTests361}, {"sqpoll", "goes with backend io_uring", kTests364, kTests363}, {"iopoll", "goes with backend io_uring", kTests365, kTests363}, {"non_temporal", "goes with backend pmem and operation write or mix", kTests369, kTests368}, {"drain", "goes with backend pmem and operation write or mix", kTests370, kTests368}, {"depth", "is 1: this backend has one operation a thread in flight", kTests372}, {"direct", "does not go with backends mmap and pmem, which go through the page cache, or DAX", kTests374}, {"backend", "changes which blocks a file has, and goes with operation write", kTests376}, {"backend", "writes no data to verify", kTests377}, {"cufile", "goes with backend cufile or cufile-stream or cufile-batch or cufile-batch-stream", kTests380, kTests379}, {"end_fsync", "goes with amount", kTests381}, {"ramp_s", "goes with no amount", kTests382}, {"fsync", "goes with writes", kTests383}, {"fdatasync", "goes with writes", kTests384}, {"end_fsync", "goes with writes", kTests385}, {"require", "is a way to a GPU", kTests389, kTests387}, {"require", "odirect needs direct I/O", kTests391, kTests387}};
constexpr Table kIoPattern{kIoPatternFields, kRules392};

constexpr Value kValues393[] = {std::string_view{"group"}, std::string_view{"all"}};
constexpr Field kFlowFields[] = {
    {.name = "number", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1073741824}},
    {.name = "weight", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1073741824}},
    {.name = "sleep_s", .otherwise = std::int64_t{0}, .type = Type::kNumber, .least = std::int64_t{0}, .most = 1000000.0},
};
constexpr Table kFlow{kFlowFields};

constexpr Test kTests394[] = {{"group", Test::Kind::kGiven, {}}};
constexpr Value kValues395[] = {std::string_view{"group"}};
constexpr Test kTests396[] = {{"ends", Test::Kind::kIn, kValues395}};
constexpr Field kIoJobFields[] = {
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields35},
    {.name = "name", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 4200},
    {.name = "buffers", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "files", .required = true, .type = Type::kObject, .variants = kVariants317},
    {.name = "shared", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .nullable = true, .type = Type::kObject, .table = &kIoPattern},
    {.name = "group", .nullable = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1073741824}},
    {.name = "ends", .nullable = true, .type = Type::kText, .choices = kValues393},
    {.name = "flow", .nullable = true, .type = Type::kObject, .table = &kFlow},
};
constexpr Rule kRules397[] = {{"ends", "group needs a number of one", kTests396, kTests394}};
constexpr Table kIoJob{kIoJobFields, kRules397};

constexpr Field kFields398[] = {{.type = Type::kObject, .table = &kIoJob}};
constexpr Value kValues399[] = {std::string_view{"written"}, std::string_view{"steady"}};
constexpr Value kValues400[] = {std::string_view{"rate"}, std::string_view{"time"}};
constexpr Field kTimeSeriesFields[] = {
    {.name = "until", .required = true, .type = Type::kText, .choices = kValues399},
    {.name = "of", .otherwise = std::string_view{"rate"}, .type = Type::kText, .choices = kValues400},
    {.name = "passes", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{100}},
    {.name = "group", .otherwise = std::string_view{""}, .type = Type::kText, .longest = 100},
    {.name = "tracked", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "round_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{3600}},
};
constexpr Table kTimeSeries{kTimeSeriesFields};

constexpr Value kValues401[] = {std::string_view{"iops"}, std::string_view{"bandwidth"}, std::string_view{"latency"}};
constexpr Field kSteadyFields[] = {
    {.name = "figure", .required = true, .type = Type::kText, .choices = kValues401},
    {.name = "slope", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "limit", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1e+18},
    {.name = "of_the_mean", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "duration_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = 1000000.0},
    {.name = "ramp_s", .otherwise = std::int64_t{0}, .type = Type::kNumber, .least = std::int64_t{0}, .most = 1000000.0},
};
constexpr Table kSteady{kSteadyFields};

constexpr Field kIoSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"io"}, .type = Type::kText, .choices = kValues302},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "jobs", .required = true, .type = Type::kArray, .shortest = 1, .longest = 256, .element = kFields398, .distinct = true, .distinct_by = "name"},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kIoPattern},
    {.name = "series", .nullable = true, .type = Type::kObject, .table = &kTimeSeries},
    {.name = "own_ends", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "ends_steady", .nullable = true, .type = Type::kObject, .table = &kSteady},
};
constexpr Table kIoSpec{kIoSpecFields};

constexpr Value kValues402[] = {std::string_view{"files"}};
constexpr Value kValues403[] = {std::string_view{"create"}, std::string_view{"open"}, std::string_view{"stat"}, std::string_view{"read"}, std::string_view{"list"}, std::string_view{"unlink"}};
constexpr Value kValues404[] = {std::string_view{"own"}, std::string_view{"shared"}};
constexpr Value kValues405[] = {std::string_view{"no"}, std::string_view{"file"}, std::string_view{"directory"}};
constexpr Value kValues406[] = {std::string_view{"create"}, std::string_view{"unlink"}};
constexpr Test kTests407[] = {{"operation", Test::Kind::kIn, kValues406}};
constexpr Value kValues408[] = {std::string_view{"no"}};
constexpr Test kTests409[] = {{"fsync", Test::Kind::kDiffers, kValues408}};
constexpr Field kFilesPatternFields[] = {
    {.name = "operation", .required = true, .type = Type::kText, .choices = kValues403},
    {.name = "file_size", .required = true, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{16777216}},
    {.name = "files", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{10000000}},
    {.name = "directories", .otherwise = std::string_view{"own"}, .type = Type::kText, .choices = kValues404},
    {.name = "fsync", .otherwise = std::string_view{"no"}, .type = Type::kText, .choices = kValues405},
};
constexpr Rule kRules410[] = {{"fsync", "goes with operation create or unlink", kTests409, kTests407}};
constexpr Table kFilesPattern{kFilesPatternFields, kRules410};

constexpr Field kFilesSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"files"}, .type = Type::kText, .choices = kValues402},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "cpu_sets", .nullable = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields35},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kFilesPattern},
    {.name = "own_ends", .otherwise = Value{false}, .type = Type::kBoolean},
};
constexpr Table kFilesSpec{kFilesSpecFields};

constexpr Value kValues411[] = {std::string_view{"training"}};
constexpr Value kValues412[] = {std::string_view{"npz"}, std::string_view{"tfrecord"}};
constexpr Value kValues413[] = {std::string_view{"h100"}, std::string_view{"a100"}};
constexpr Value kValues414[] = {std::string_view{"npz"}};
constexpr Test kTests415[] = {{"file_samples", Test::Kind::kDiffers, kValues18}, {"format", Test::Kind::kIn, kValues414}};
constexpr Field kTrainingPatternFields[] = {
    {.name = "workload", .required = true, .type = Type::kText, .pattern = "^[A-Za-z0-9._-]{1,64}$"},
    {.name = "format", .required = true, .type = Type::kText, .choices = kValues412},
    {.name = "files", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{10000000}},
    {.name = "file_samples", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
    {.name = "sample_size", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1099511627776}},
    {.name = "sample_stdev", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1099511627776}},
    {.name = "batch", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000000}},
    {.name = "step_s", .required = true, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{3600}},
    {.name = "needed", .otherwise = 0.9, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{1}},
    {.name = "buffer", .otherwise = std::int64_t{262144}, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{67108864}},
    {.name = "accelerator", .nullable = true, .type = Type::kText, .choices = kValues413},
    {.name = "accelerators", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1024}},
    {.name = "readers", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1024}},
    {.name = "prefetch", .otherwise = std::int64_t{2}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "shuffle", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "epochs", .otherwise = std::int64_t{6}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000}},
    {.name = "seed", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{2147483648}, .below = true},
};
constexpr Rule kRules416[] = {{"file_samples", "is 1 in a file of format npz", kTests415}};
constexpr Table kTrainingPattern{kTrainingPatternFields, kRules416};

constexpr Field kTrainingSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"training"}, .type = Type::kText, .choices = kValues411},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kTrainingPattern},
};
constexpr Table kTrainingSpec{kTrainingSpecFields};

constexpr Value kValues417[] = {std::string_view{"checkpoint"}};
constexpr Test kTests418[] = {{"policy", Test::Kind::kDiffers, kValues27}};
constexpr Value kValues419[] = {std::string_view{"pool-objects"}, std::string_view{"device"}, std::string_view{"shared-file"}};
constexpr Test kTests420[] = {{"persistent.backing", Test::Kind::kIn, kValues419}};
constexpr Rule kRules421[] = {{"policy", "of a checkpoint's memory is bind: one node", kTests418}, {"persistent.backing", "of a checkpoint's memory is file or pool", kTests420}};
constexpr Value kValues422[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"cufile"}, std::string_view{"staged"}, std::string_view{"staged-async"}};
constexpr Field kCheckpointPatternFields[] = {
    {.name = "size", .required = true, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1125899906842624}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "backend", .otherwise = std::string_view{"posix"}, .type = Type::kText, .choices = kValues422},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "depth", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{4096}},
    {.name = "block_size", .otherwise = std::int64_t{1048576}, .type = Type::kInteger, .multiple = 4096, .least = std::int64_t{4096}, .most = std::int64_t{1073741824}},
    {.name = "kills", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{100000}},
};
constexpr Rule kRules423[] = {{"depth", "is 1: this backend has one operation a thread in flight", kTests372}};
constexpr Table kCheckpointPattern{kCheckpointPatternFields, kRules423};

constexpr Test kTests424[] = {{"directory", Test::Kind::kIn, kValues77}};
constexpr Test kTests425[] = {{"directory", Test::Kind::kGiven, {}}, {"placement", Test::Kind::kGiven, {}}};
constexpr Test kTests426[] = {{"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests427[] = {{"pattern.backend", Test::Kind::kIn, kValues386}};
constexpr Test kTests428[] = {{"pattern.backend", Test::Kind::kGiven, {}}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests429[] = {{"pattern.kills", Test::Kind::kDiffers, kValues9}, {"state.gpu", Test::Kind::kGiven, {}}};
constexpr Field kCheckpointSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"checkpoint"}, .type = Type::kText, .choices = kValues417},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34},
    {.name = "state", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "directory", .nullable = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "placement", .nullable = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules421},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kCheckpointPattern},
};
constexpr Rule kRules430[] = {{"directory", "or a placement is needed", kTests424, kTests305}, {"directory", "does not go with a placement", kTests425}, {"pattern.backend", "of a GPU needs a state on a GPU", kTests427, kTests426}, {"pattern.backend", "of files takes no state on a GPU", kTests428, kTests427}, {"pattern.kills", "go with a state in host memory: CUDA does not outlive fork", kTests429}};
constexpr Table kCheckpointSpec{kCheckpointSpecFields, kRules430};

constexpr Value kValues431[] = {std::string_view{"model-checkpoint"}};
constexpr Value kValues432[] = {std::string_view{"llama3-8b"}, std::string_view{"llama3-70b"}, std::string_view{"llama3-405b"}, std::string_view{"llama3-1t"}};
constexpr Field kFields433[] = {{.type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1125899906842624}}};
constexpr Field kRankFilesFields[] = {
    {.name = "bytes", .required = true, .type = Type::kArray, .shortest = 1, .longest = 1024, .element = kFields433},
};
constexpr Table kRankFiles{kRankFilesFields};

constexpr Field kFields434[] = {{.type = Type::kObject, .table = &kRankFiles}};
constexpr Field kModelCheckpointPatternFields[] = {
    {.name = "model", .required = true, .type = Type::kText, .choices = kValues432},
    {.name = "scale", .otherwise = 1.0, .type = Type::kNumber, .least = std::int64_t{0}, .above = true, .most = std::int64_t{1}},
    {.name = "block_size", .otherwise = std::int64_t{4194304}, .type = Type::kInteger, .least = std::int64_t{4096}, .most = std::int64_t{67108864}},
    {.name = "count", .otherwise = std::int64_t{10}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1000}},
    {.name = "ranks", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields434},
};
constexpr Table kModelCheckpointPattern{kModelCheckpointPatternFields};

constexpr Field kModelCheckpointSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"model-checkpoint"}, .type = Type::kText, .choices = kValues431},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34},
    {.name = "directory", .required = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kModelCheckpointPattern},
};
constexpr Table kModelCheckpointSpec{kModelCheckpointSpecFields};

constexpr Value kValues435[] = {std::string_view{"kv-cache"}};
constexpr Value kValues436[] = {std::string_view{"fetch"}, std::string_view{"store"}};
constexpr Value kValues437[] = {std::string_view{"memcpy"}, std::string_view{"copy-engine"}, std::string_view{"batch"}, std::string_view{"kernel"}};
constexpr Value kValues438[] = {std::string_view{"posix"}, std::string_view{"libaio"}, std::string_view{"io_uring"}, std::string_view{"cufile"}, std::string_view{"cufile-stream"}};
constexpr Field kKvCachePatternFields[] = {
    {.name = "operation", .otherwise = std::string_view{"fetch"}, .type = Type::kText, .choices = kValues436},
    {.name = "piece", .required = true, .type = Type::kInteger, .multiple = 16, .least = std::int64_t{16}, .most = std::int64_t{67108864}},
    {.name = "pieces", .required = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{1048576}},
    {.name = "objects", .required = true, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{1048576}},
    {.name = "pages", .otherwise = std::string_view{"thp"}, .type = Type::kText, .choices = kValues41},
    {.name = "method", .otherwise = std::string_view{"memcpy"}, .type = Type::kText, .choices = kValues437},
    {.name = "multiprocessors", .otherwise = std::int64_t{0}, .type = Type::kInteger, .least = std::int64_t{0}, .most = std::int64_t{1024}},
    {.name = "backend", .otherwise = std::string_view{"io_uring"}, .type = Type::kText, .choices = kValues438},
    {.name = "direct", .otherwise = Value{true}, .type = Type::kBoolean},
    {.name = "depth", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{1}, .most = std::int64_t{256}},
    {.name = "seed", .otherwise = std::int64_t{1}, .type = Type::kInteger, .least = std::int64_t{0}},
};
constexpr Table kKvCachePattern{kKvCachePatternFields, kRules423};

constexpr Value kValues439[] = {std::string_view{"vmm"}, std::string_view{"pinned"}, std::string_view{"plain"}, std::string_view{"managed"}};
constexpr Test kTests440[] = {{"pool.memory", Test::Kind::kIn, kValues439}};
constexpr Test kTests441[] = {{"pool.gpu", Test::Kind::kGiven, {}}};
constexpr Value kValues442[] = {std::string_view{"copy-engine"}, std::string_view{"batch"}, std::string_view{"kernel"}};
constexpr Test kTests443[] = {{"pattern.method", Test::Kind::kIn, kValues442}};
constexpr Value kValues444[] = {std::string_view{"memcpy"}};
constexpr Test kTests445[] = {{"pattern.method", Test::Kind::kIn, kValues444}, {"pool.gpu", Test::Kind::kGiven, {}}};
constexpr Test kTests446[] = {{"pattern.backend", Test::Kind::kIn, kValues378}};
constexpr Field kKvCacheSpecFields[] = {
    {.name = "kind", .otherwise = std::string_view{"kv-cache"}, .type = Type::kText, .choices = kValues435},
    {.name = "id", .required = true, .type = Type::kText, .shortest = 1, .longest = 64, .pattern = "^[A-Za-z0-9._:-]+$"},
    {.name = "initiator", .required = true, .type = Type::kText},
    {.name = "target", .required = true, .type = Type::kText},
    {.name = "sampling", .type = Type::kObject, .table = &kSampling},
    {.name = "cpus", .required = true, .type = Type::kArray, .shortest = 1, .longest = 4096, .element = kFields34},
    {.name = "pool", .required = true, .type = Type::kObject, .table = &kBuffers},
    {.name = "placement", .required = true, .type = Type::kObject, .table = &kPlacement, .rules = kRules98},
    {.name = "directory", .nullable = true, .type = Type::kText, .shortest = 2, .longest = 4095, .pattern = "^/[^\\x00\\n]*$"},
    {.name = "large", .otherwise = Value{false}, .type = Type::kBoolean},
    {.name = "pattern", .required = true, .type = Type::kObject, .table = &kKvCachePattern},
};
constexpr Rule kRules447[] = {{"pool.memory", "of a pool is host or device", kTests440}, {"pattern.method", "of a GPU needs a pool on a GPU", kTests443, kTests441}, {"pattern.method", "of CPUs takes no pool on a GPU", kTests445}, {"pattern.backend", "of a GPU needs a pool on a GPU", kTests446, kTests441}};
constexpr Table kKvCacheSpec{kKvCacheSpecFields, kRules447};

constexpr Variant kVariants448[] = {{"kind", "bandwidth", &kBandwidthSpec}, {"kind", "latency", &kLatencySpec}, {"kind", "loaded-latency", &kLoadedLatencySpec}, {"kind", "traffic", &kTrafficSpec}, {"kind", "atomics", &kAtomicsSpec}, {"kind", "core-latency", &kCoreLatencySpec}, {"kind", "mapping", &kMappingSpec}, {"kind", "persist", &kPersistSpec}, {"kind", "handover", &kHandoverSpec}, {"kind", "chain", &kChainSpec}, {"kind", "ops", &kOpsSpec}, {"kind", "gpu-copy", &kGpuCopySpec}, {"kind", "gpu-ranks", &kGpuRanksSpec}, {"kind", "gpu-memory", &kGpuMemorySpec}, {"kind", "gpu-latency", &kGpuLatencySpec}, {"kind", "io", &kIoSpec}, {"kind", "files", &kFilesSpec}, {"kind", "training", &kTrainingSpec}, {"kind", "checkpoint", &kCheckpointSpec}, {"kind", "model-checkpoint", &kModelCheckpointSpec}, {"kind", "kv-cache", &kKvCacheSpec}};
constexpr Field kFields449[] = {{.type = Type::kObject, .variants = kVariants448}};
constexpr Field kPlanFields[] = {
    {.name = "version", .required = true, .type = Type::kInteger, .least = std::int64_t{2}, .most = std::int64_t{2}},
    {.name = "measurements", .required = true, .type = Type::kArray, .shortest = 1, .longest = 100000, .element = kFields449, .distinct = true, .distinct_by = "id"},
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
      {"ZoneShare", &kZoneShare},
      {"SkewedOrder", &kSkewedOrder},
      {"StridedZones", &kStridedZones},
      {"BlockShare", &kBlockShare},
      {"Duplicates", &kDuplicates},
      {"Think", &kThink},
      {"DepthSearch", &kDepthSearch},
      {"Priority", &kPriority},
      {"CommandPriority", &kCommandPriority},
      {"IoPattern", &kIoPattern},
      {"Flow", &kFlow},
      {"IoJob", &kIoJob},
      {"TimeSeries", &kTimeSeries},
      {"Steady", &kSteady},
      {"IoSpec", &kIoSpec},
      {"FilesPattern", &kFilesPattern},
      {"FilesSpec", &kFilesSpec},
      {"TrainingPattern", &kTrainingPattern},
      {"TrainingSpec", &kTrainingSpec},
      {"CheckpointPattern", &kCheckpointPattern},
      {"CheckpointSpec", &kCheckpointSpec},
      {"RankFiles", &kRankFiles},
      {"ModelCheckpointPattern", &kModelCheckpointPattern},
      {"ModelCheckpointSpec", &kModelCheckpointSpec},
      {"KvCachePattern", &kKvCachePattern},
      {"KvCacheSpec", &kKvCacheSpec},
      {"Plan", &kPlan},
  };
  return kModels;
}

}  // namespace tierscope::tables
