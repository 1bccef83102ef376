// The files of this folder are compiled once per CPU level. Everything in them has internal linkage or lives in the
// level's namespace: a function shared by name could be linked in its AVX-512 form and run where there is none.
#pragma once

#include "backend/blocks/kernel_table.h"
#include "backend/blocks/kernels/simd_bool.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include "backend/blocks/kernels/simd_v4.h"
#define MD_LEVEL v4
namespace md::blocks {
namespace {
using BoolSimd = BoolLanes<64>;
inline constexpr char kLevelName[] = "x86-64-v4";
}  // namespace
}  // namespace md::blocks
#elif defined(__AVX2__) && defined(__FMA__)
#include "backend/blocks/kernels/simd_v3.h"
#define MD_LEVEL v3
namespace md::blocks {
namespace {
using BoolSimd = BoolLanes<32>;
inline constexpr char kLevelName[] = "x86-64-v3";
}  // namespace
}  // namespace md::blocks
#else
#include "backend/blocks/kernels/simd_scalar.h"
#define MD_LEVEL v2
namespace md::blocks {
namespace {
template <class T>
using Simd = ScalarLane<T>;
template <class T>
using Simd32 = ScalarLane<T>;
using BoolSimd = BoolLanes<1>;
inline constexpr char kLevelName[] = "x86-64-v2";
}  // namespace
}  // namespace md::blocks
#endif

namespace md::blocks::MD_LEVEL {

extern const PointwiseKernel kPointwiseFloat32[], kPointwiseFloat64[], kPointwiseInt32[], kPointwiseInt64[],
    kPointwiseBool[];
extern const ReductionKernels kReduceFloat32[], kReduceFloat64[], kReduceInt32[], kReduceInt64[], kReduceBool[];
extern const ConvertKernel kConvert[kComputeTypes][kComputeTypes];
extern const ConvertKernel kWiden[kDTypeCount], kNarrow[kDTypeCount];
extern const ProductKernels kProducts[kComputeTypes];
extern const ConvolutionKernels kConvolutions[kComputeTypes];
extern const MaxPoolKernel kMaxPools[kComputeTypes];
extern const RandomKernels kRandom;
extern const KernelTable kTable;

}  // namespace md::blocks::MD_LEVEL
