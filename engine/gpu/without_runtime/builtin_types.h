// In place of the CUDA runtime's header of this name, which CUPTI's headers include but need
// nothing of: it takes others that come with nvcc only.
#pragma once
