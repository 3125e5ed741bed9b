// Checks JSON values by tables.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "protocol/tables.h"

namespace tierscope {

// Throws PlanError where the object at this place is not as the table has it.
void check_object(const nlohmann::json& value, std::string_view where, const tables::Table& table);

// A key's field; none where the table has no such key.
const tables::Field* find_field(const tables::Table& table, std::string_view key);

// The table of an object that is checked.
const tables::Table& table_of(const tables::Field& field, const nlohmann::json& value);

// A boolean, number or text.
tables::Value scalar(const nlohmann::json& value);

}  // namespace tierscope
