#include "gpu/chase_kernels.h"

#include "gpu/kernel.h"

namespace tierscope {
namespace {

constexpr const char* kLaunching = "launching the chase";

Kernel<std::byte*, std::size_t, const std::uint32_t*, std::uint32_t> lay("chain_lay");
Kernel<Chase> chase_once("chase_once");
Kernel<Chase> chase_bulk("chase_bulk");
Kernel<Chase, int, unsigned*> chase_on("chase_on");

}  // namespace

void lay_chain(std::byte* start, std::size_t stride, const std::uint32_t* next, std::uint32_t slots,
               CUstream stream) {
  lay.launch({512, 256}, stream, "laying out the chase", start, stride, next, slots);
}

void launch_chase(const Chase& chase, CUstream stream) {
  chase_once.launch({1, 1}, stream, kLaunching, chase);
}

void launch_bulk_chase(const Chase& chase, CUstream stream) {
  chase_bulk.launch({1, 1}, stream, kLaunching, chase);
}

void launch_chase_on(const Chase& chase, int multiprocessor, int multiprocessors, unsigned* ran,
                     CUstream stream) {
  // Blocks spread over all multiprocessors before any takes a second one.
  chase_on.launch({static_cast<unsigned>(multiprocessors), 1}, stream, kLaunching, chase,
                  multiprocessor, ran);
}

}  // namespace tierscope
