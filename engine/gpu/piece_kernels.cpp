#include "gpu/piece_kernels.h"

#include "gpu/kernel.h"

namespace tierscope {
namespace {

Kernel<PieceMove> move_pieces("move_pieces");

}  // namespace

void launch_pieces(const PieceMove& move, int blocks, CUstream stream) {
  move_pieces.launch({static_cast<unsigned>(blocks), piece_kernels::kThreads}, stream,
                     "launching the kernel that moves pieces", move);
}

}  // namespace tierscope
