"""Kernels in PTX for tests of what launches them."""

HEAD = ".version {version}\n.target {target}\n.address_size 64\n"

BODY = """
.extern .shared .align 16 .b8 room[];
.visible .global .align 4 .u32 answer = 42;

// p[i] = p[i] * factor + 1 for i < n
.visible .entry affine(.param .u64 affine_p, .param .u64 affine_n, .param .u32 affine_factor)
{
  .reg .pred %p<2>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [affine_p];
  ld.param.u64 %rd2, [affine_n];
  ld.param.u32 %r7, [affine_factor];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd3, %r4;
  setp.ge.u64 %p1, %rd3, %rd2;
  @%p1 bra DONE;
  shl.b64 %rd5, %rd3, 2;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.u32 %r5, [%rd6];
  mul.lo.u32 %r6, %r5, %r7;
  add.u32 %r8, %r6, 1;
  st.global.u32 [%rd6], %r8;
DONE:
  ret;
}

// p[0] += 1 if n is not 0: parameters of 64 bits, as graphs of the package have them
.visible .entry count(.param .u64 count_p)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [count_p];
  ld.global.u32 %r1, [%rd1];
  add.u32 %r2, %r1, 1;
  st.global.u32 [%rd1], %r2;
  ret;
}

// the last word of the shared memory that the launch gives, through it
.visible .entry scratch(.param .u64 scratch_p)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [scratch_p];
  mov.u32 %r1, %dynamic_smem_size;
  mov.u32 %r2, room;
  add.s32 %r3, %r2, %r1;
  st.shared.u32 [%r3+-4], %r1;
  ld.shared.u32 %r4, [%r3+-4];
  st.global.u32 [%rd1], %r4;
  ret;
}

.visible .entry endless()
{
AGAIN:
  bra AGAIN;
}

.visible .entry bounded() .maxntid 64, 1, 1
{
  ret;
}
"""


def small_kernels(version="6.3", target="sm_75"):
    return HEAD.format(version=version, target=target) + BODY
