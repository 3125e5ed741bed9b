namespace tierscope::gate_kernels {

// One thread that polls over the link; each poll takes about a microsecond there.
extern "C" __global__ void wait_for(const volatile unsigned* opened, unsigned round) {
  while (*opened < round) {
  }
}

extern "C" __global__ void wait_for_either(const volatile unsigned* flag,
                                           const volatile unsigned* other, unsigned round) {
  while (*flag < round && *other < round) {
  }
}

extern "C" __global__ void wait_and_set(const volatile unsigned* flag,
                                        volatile unsigned* const* others, int count,
                                        unsigned round) {
  if (threadIdx.x == 0) {
    while (*flag < round) {
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    *others[i] = round;
  }
}

}  // namespace tierscope::gate_kernels
