// What the tensor cores of a warp take and give: fragments out of shared memory, products of them added to sums, and
// copies into shared memory that go on beside the program. Layouts are those of the PTX ISA ("Matrix Fragments for
// mma.m16n8k16").
#pragma once

#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {

using SharedBytes = MD_SHARED unsigned char;
using FourWords = std::uint32_t __attribute__((ext_vector_type(4)));

// A step of a product over 32 bytes of depth: four registers of the left operand (16 rows), two of the right one (8
// columns), sums of 16 by 8 results.
using LeftFragment = std::uint32_t[4];
using SumFragment = float[4];

// `Terms`: what is multiplied. T is how it lies in memory, kCopiesAhead whether the device copies beside the program;
// prepare() is done to each register of a fragment, rounded() gives the bits of a result.
#define MD_MMA(shape_and_types)                                                                             \
  asm volatile("mma.sync.aligned." shape_and_types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

struct HalfTerms {
  using T = Float16;
  static constexpr bool kCopiesAhead = true;
  static void multiply_add(SumFragment& sums, const LeftFragment& a, const std::uint32_t* b) {
    MD_MMA("m16n8k16.row.col.f32.f16.f16.f32");
  }
  static void prepare(std::uint32_t&) {}
  static std::uint16_t rounded(float sum) {
    std::uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(sum));
    return bits;
  }
};

struct BrainTerms {
  using T = BFloat16;
  static constexpr bool kCopiesAhead = true;
  static void multiply_add(SumFragment& sums, const LeftFragment& a, const std::uint32_t* b) {
    MD_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
  }
  static void prepare(std::uint32_t&) {}
  static std::uint16_t rounded(float sum) {
    std::uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(sum));
    return bits;
  }
};

// float32 rounded to the 10 bits behind the leading one that tensor cores read.
struct Tf32Terms {
  using T = float;
  static constexpr bool kCopiesAhead = true;
  static void multiply_add(SumFragment& sums, const LeftFragment& a, const std::uint32_t* b) {
    MD_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
  }
  static void prepare(std::uint32_t& word) {
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(std::bit_cast<float>(word)));
  }
  static std::uint32_t rounded(float sum) { return std::bit_cast<std::uint32_t>(sum); }
};

// Devices of capability 7.5 multiply half as deep at once.
struct EarlyHalfTerms : HalfTerms {
  static constexpr bool kCopiesAhead = false;
  static void multiply_add(SumFragment& sums, const LeftFragment& a, const std::uint32_t* b) {
    for (int half = 0; half < 2; ++half)
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                   : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                   : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
  }
};
#undef MD_MMA

inline std::uint32_t shared_address(const SharedBytes* at) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(at));
}

// Four matrices of 8 rows of 16 bytes, whose addresses eight lanes each give. Turned: elements of two bytes, lane l
// gets column l / 4.
template <bool turned>
[[gnu::always_inline]] inline void load_matrices(std::uint32_t (&to)[4], const SharedBytes* at) {
  if constexpr (turned) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(at))
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(at))
                 : "memory");
  }
}

// The first `kept` of kBytes; the others become 0.
template <int kBytes>
[[gnu::always_inline]] inline void copy_ahead(SharedBytes* to, const void* from, int kept) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(kept)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from), "n"(kBytes),
                 "r"(kept)
                 : "memory");
  }
}

template <bool copies_ahead>
[[gnu::always_inline]] inline void end_copies_of_stage() {
  if constexpr (copies_ahead) asm volatile("cp.async.commit_group;" ::: "memory");
}
// Until the copies of all stages but the last `kLeft` are done.
template <bool copies_ahead, int kLeft>
[[gnu::always_inline]] inline void wait_for_copies() {
  if constexpr (copies_ahead) asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

inline int lane_in_warp() { return static_cast<int>(thread_in_block() % 32); }

inline void wait_for_warp() { __nvvm_bar_warp_sync(0xffffffffu); }

}  // namespace md::device_blocks
