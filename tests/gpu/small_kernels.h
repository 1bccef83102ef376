// Kernels in PTX for tests of what launches them.
#pragma once

#include <string>

namespace md {

// add_one(p, n): p[i] += 1 of 32-bit integers. complain(status, code): as a kernel tells that something is wrong.
// wild(): stores where there is no memory. scratch(p): the bytes of shared memory it was given, through it.
inline const std::string kSmallKernels = R"(
.version 6.4
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 room[];

.visible .entry add_one(.param .u64 add_one_p, .param .u64 add_one_n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [add_one_p];
  ld.param.u64 %rd2, [add_one_n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd3, %r4;
  setp.ge.u64 %p1, %rd3, %rd2;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd4, %rd1;
  shl.b64 %rd5, %rd3, 2;
  add.s64 %rd6, %rd4, %rd5;
  ld.global.u32 %r5, [%rd6];
  add.s32 %r6, %r5, 1;
  st.global.u32 [%rd6], %r6;
DONE:
  ret;
}

.visible .entry complain(.param .u64 complain_status, .param .u64 complain_code)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [complain_status];
  ld.param.u64 %rd2, [complain_code];
  cvta.to.global.u64 %rd3, %rd1;
  cvt.u32.u64 %r1, %rd2;
  atom.global.or.b32 %r2, [%rd3], %r1;
  ret;
}

.visible .entry wild()
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 64;
  mov.u32 %r1, 7;
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry scratch(.param .u64 scratch_p)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [scratch_p];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %dynamic_smem_size;
  mov.u32 %r2, room;
  add.s32 %r3, %r2, %r1;
  st.shared.u32 [%r3+-4], %r1;
  ld.shared.u32 %r4, [%r3+-4];
  st.global.u32 [%rd2], %r4;
  ret;
}
)";

}  // namespace md
