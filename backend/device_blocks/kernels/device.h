// What all kernels share: who a thread is, where the points of a space lie, values as the dtypes say.
#pragma once

#include "backend/device_blocks/kernel_params.h"
#include "ir/core/scalar_builder.h"

#if defined(__NVPTX__)
#define MD_KERNEL extern "C" [[clang::nvptx_kernel]]
#define MD_SHARED __attribute__((address_space(3)))
#elif defined(__AMDGCN__)
#define MD_KERNEL extern "C" [[clang::amdgpu_kernel, gnu::visibility("default")]]
#define MD_SHARED __attribute__((address_space(3)))
#endif
// Memory of a block, which nobody has written at first.
#define MD_SHARED_ARRAY(T, name, count) alignas(16) static MD_SHARED __attribute__((loader_uninitialized)) T name[count]

namespace md::device_blocks {

#if defined(__NVPTX__)
inline unsigned thread_in_block() { return __nvvm_read_ptx_sreg_tid_x(); }
inline unsigned threads_of_block() { return __nvvm_read_ptx_sreg_ntid_x(); }
inline unsigned block_number() { return __nvvm_read_ptx_sreg_ctaid_x(); }
inline unsigned blocks_of_grid() { return __nvvm_read_ptx_sreg_nctaid_x(); }
inline void wait_for_block() { __nvvm_bar_sync(0); }
inline void show_to_host() { __nvvm_membar_sys(); }
#elif defined(__AMDGCN__)
inline unsigned thread_in_block() { return __builtin_amdgcn_workitem_id_x(); }
inline unsigned threads_of_block() { return __builtin_amdgcn_workgroup_size_x(); }
inline unsigned block_number() { return __builtin_amdgcn_workgroup_id_x(); }
inline unsigned blocks_of_grid() { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }
inline void wait_for_block() { __builtin_amdgcn_s_barrier(); }
inline void show_to_host() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
#endif

// f(i) for i < total: each thread takes every so many.
template <class F>
[[gnu::always_inline]] inline void for_each_point(Word total, F&& f) {
  const Word step = static_cast<Word>(blocks_of_grid()) * threads_of_block();
  for (Word i = static_cast<Word>(block_number()) * threads_of_block() + thread_in_block(); i < total; i += step) f(i);
}

// f(dimension, coordinate) of point i. The outermost one takes no division.
template <class F>
[[gnu::always_inline]] inline void for_each_coordinate(const Space& s, Word i, F&& f) {
  if (s.rank == 0) return;
  auto left = static_cast<std::uint64_t>(i);
#pragma clang loop unroll(disable)
  for (Word d = 0; d < s.rank - 1; ++d) {
    const auto size = static_cast<std::uint64_t>(s.sizes[d]);
    f(d, static_cast<Word>(left % size));
    left /= size;
  }
  f(s.rank - 1, static_cast<Word>(left));
}

template <class T>
[[gnu::always_inline]] inline T* at_address(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

// What a kernel notes (backend/device/statuses.h).
struct NotedStatus {
  std::int32_t code, taken;
  Word details[7];
};

// A position outside, noted by the first thread that finds one.
inline void note_outside(std::uint64_t status, const IndexTensor& index, Word at) {
  auto* s = at_address<NotedStatus>(status);
  if (__atomic_exchange_n(&s->taken, 1, __ATOMIC_RELAXED)) return;
  s->details[0] = at;
  s->details[1] = index.dim;
  s->details[2] = index.size;
  s->details[3] = index.words;
  show_to_host();
  *static_cast<volatile std::int32_t*>(&s->code) = static_cast<std::int32_t>(Failure::Position);
}

// The builder of single values, for arguments that need no large angles.
template <class T>
struct DeviceBuilder : ScalarBuilder<T> {
  template <class Fn>
  T call_rare(bool, T, T usual) {
    return usual;
  }
};

}  // namespace md::device_blocks

// X(suffix, type): the dtypes that kernels compute in, by their short names.
#define MD_FOR_FLOATS(X) X(f16, md::Float16) X(bf16, md::BFloat16) X(f32, float) X(f64, double)
#define MD_FOR_INTEGERS(X) \
  X(u8, std::uint8_t) X(i8, std::int8_t) X(i16, std::int16_t) X(i32, std::int32_t) X(i64, std::int64_t)
#define MD_FOR_NUMBERS(X) MD_FOR_INTEGERS(X) MD_FOR_FLOATS(X)
#define MD_FOR_DTYPES(X) X(b8, bool) MD_FOR_NUMBERS(X)
// X(bytes, type): elements that are only moved.
#define MD_FOR_SIZES(X) X(1, std::uint8_t) X(2, std::uint16_t) X(4, std::uint32_t) X(8, std::uint64_t)
