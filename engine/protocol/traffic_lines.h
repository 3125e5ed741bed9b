// The command `traffic`: what hardware counters see of the machine's memory traffic, on demand.
#pragma once

namespace tierscope {

// Writes a line of JSON with the sources of counters, then one with their counts for each line of
// stdin, until that ends. Keys as in src/tierscope/machine/counters.py. Throws OutputError.
void write_traffic();

}  // namespace tierscope
