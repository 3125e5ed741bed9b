// Marks functions that GPUs run as well; empty for compilers that know no GPU.
#pragma once

#ifdef __CUDACC__
#define TIERSCOPE_HOST_DEVICE __host__ __device__
#else
#define TIERSCOPE_HOST_DEVICE
#endif
