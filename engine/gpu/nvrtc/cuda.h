// What headers that host and device share need of CUDA's, which is for hosts only.
#pragma once

using CUstream = struct CUstream_st*;
