// Between stored halves and small integers and the values of their working dtypes.
#include <type_traits>

#include "backend/blocks/kernels/level.h"
#include "registry/half.h"

namespace md::blocks {
namespace {

template <class T>
using Working = std::conditional_t<std::is_class_v<T>, float, std::int32_t>;

template <class T>
void widen(const void* in, void* out, std::int64_t n) {
  const auto* from = static_cast<const T*>(in);
  auto* to = static_cast<Working<T>*>(out);
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, Float16>) {
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    }
#endif
    for (; i < n; ++i) to[i] = widened(from[i]);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    for (; i < n; ++i) to[i] = widened(from[i]);
  } else {
    for (; i < n; ++i) to[i] = from[i];
  }
}

template <class T>
void narrow(const void* in, void* out, std::int64_t n) {
  const auto* from = static_cast<const Working<T>*>(in);
  auto* to = static_cast<T*>(out);
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, Float16>) {
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
      const __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), h);
    }
#endif
    for (; i < n; ++i) to[i] = to_float16(from[i]);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    for (; i < n; ++i) to[i] = to_bfloat16(from[i]);
  } else {
    for (; i < n; ++i) to[i] = static_cast<T>(from[i]);
  }
}

struct Row {
  DType dtype;
  ConvertKernel widen, narrow;
};
constexpr Row kRows[] = {
    {DType::UInt8, &widen<std::uint8_t>, &narrow<std::uint8_t>},
    {DType::Int8, &widen<std::int8_t>, &narrow<std::int8_t>},
    {DType::Int16, &widen<std::int16_t>, &narrow<std::int16_t>},
    {DType::Float16, &widen<Float16>, &narrow<Float16>},
    {DType::BFloat16, &widen<BFloat16>, &narrow<BFloat16>},
};
constexpr ConvertKernel kernel_for(int t, ConvertKernel Row::* which) {
  for (const Row& r : kRows) {
    if (static_cast<int>(r.dtype) == t) return r.*which;
  }
  return nullptr;
}

}  // namespace

namespace MD_LEVEL {

static_assert(kDTypeCount >= 10);  // those after the tenth have no such kernels
#define MD_EACH(W)                                                                           \
  {kernel_for(0, W), kernel_for(1, W), kernel_for(2, W), kernel_for(3, W), kernel_for(4, W), \
   kernel_for(5, W), kernel_for(6, W), kernel_for(7, W), kernel_for(8, W), kernel_for(9, W)}
constexpr ConvertKernel kWiden[kDTypeCount] = MD_EACH(&Row::widen);
constexpr ConvertKernel kNarrow[kDTypeCount] = MD_EACH(&Row::narrow);
#undef MD_EACH

}  // namespace MD_LEVEL
}  // namespace md::blocks
