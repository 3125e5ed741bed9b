// The data structures that kind `ops` measures, each with what reads its part of a plan.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "database/structure.h"
#include "protocol/object_reader.h"

namespace tierscope {

// Makes a structure of a plan; reads files that the plan names. Throws Unavailable.
using MakeStructure = std::function<std::unique_ptr<database::Structure>()>;

struct StructureKind {
  std::string_view name;
  std::span<const std::string_view> parts;  // As Structure::parts() names them, in that order.
  // Reads the keys of the pattern that are the structure's own; throws PlanError.
  MakeStructure (*read)(const ObjectReader& pattern, std::size_t threads);
};

// Keys that each thread needs of an operation.
std::uint64_t fewest_keys(std::string_view operation);

// A new structure is one more row.
std::span<const StructureKind> structures();

}  // namespace tierscope
