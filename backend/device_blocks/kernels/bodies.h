// Pointwise ops and reductions: kernels made of the bodies in registry/ops, for one working dtype W.
#pragma once

#include "backend/device_blocks/kernels/body_builder.h"
#include "backend/device_blocks/kernels/stored.h"
#include "ir/graph/op_bodies.h"
#include "registry/reduction_order.h"

namespace md::device_blocks {

// Bool operands are masks; any builder serves for them.
template <class W>
using BuilderOf = BodyBuilder<std::conditional_t<std::is_same_v<W, bool>, std::int32_t, W>>;

template <class O, class W>
constexpr bool computes_with() {
  return computes_in<O>(info(dtype_of_working<W>()).category);
}

template <class W>
[[gnu::always_inline]] inline W operand(const PointwiseParams& p, int k, Word at) {
  if (p.in_dtype[k] >= 0) return load_as<W>(p.in_dtype[k], p.in[k].data, at);
  if constexpr (std::is_floating_point_v<W>) {
    return static_cast<W>(p.real[k]);
  } else {
    return static_cast<W>(p.whole[k]);
  }
}

template <class O, class W>
[[gnu::always_inline]] inline void run_body(const PointwiseParams& p) {
  if constexpr (O::decl.kind == OpKind::Pointwise && computes_with<O, W>()) {
    constexpr bool kMasks = std::is_same_v<W, bool>;
    constexpr int kCount = arity<O>;
    for_each_point(p.space.total, [&](Word i) {
      Word out = 0, in[kCount] = {};
      for_each_coordinate(p.space, i, [&](Word d, Word at) {
        out += at * p.out.strides.of[d];
#pragma clang loop unroll(full)
        for (int k = 0; k < kCount; ++k) in[k] += at * p.in[k].strides.of[d];
      });
      BuilderOf<W> b;
      const auto value = [&] {
        if constexpr (O::decl.promote == Promote::Select) {
          return apply_body<O, kMasks>(b, operand<bool>(p, 0, in[0]), operand<W>(p, 1, in[1]), operand<W>(p, 2, in[2]));
        } else if constexpr (kCount == 1) {
          return apply_body<O, kMasks>(b, operand<W>(p, 0, in[0]));
        } else {
          const W x = operand<W>(p, 0, in[0]), y = operand<W>(p, 1, in[1]);
          if constexpr (CanFail<O> && std::is_integral_v<W> && !kMasks) {
            if (O::fails_int(b, x, y)) {
              *at_address<volatile std::int32_t>(p.status) = static_cast<std::int32_t>(Failure::Body);
              return W(0);
            }
          }
          return apply_body<O, kMasks>(b, x, y);
        }
      }();
      store_as<std::remove_cv_t<decltype(value)>>(p.out_dtype, p.out.data, out, value);
    });
  }
}

template <class O, class W>
[[gnu::always_inline]] inline W join(W x, W y) {
  BuilderOf<W> b;
  if constexpr (std::is_same_v<W, bool>) {
    return O::combine_bool(b, x, y);
  } else {
    return O::combine(b, x, y);
  }
}
template <class O, class W>
[[gnu::always_inline]] inline W identity_of() {
  BuilderOf<W> b;
  if constexpr (std::is_same_v<W, bool>) {
    return O::identity_bool(b);
  } else {
    return O::identity(b);
  }
}
template <class O, class W>
constexpr bool folds_with() {
  if constexpr (O::decl.kind == OpKind::Reduction && computes_with<O, W>())
    return !(probe::Wins<O> || probe::WinsBool<O>);
  return false;
}

// A fold's value in the compute dtype, and then in the result's.
template <class W>
[[gnu::always_inline]] inline void store_fold(const Tensor& out, const Space& kept, Word result, Word compute,
                                              Word dtype, W value) {
  Word at = 0;
  for_each_coordinate(kept, result, [&](Word d, Word c) { at += c * out.strides.of[d]; });
  store_as<W>(dtype, out.data, at, compute == dtype ? value : brought_into<W>(compute, value));
}

// Element number k of those that fold into a result.
template <class W>
[[gnu::always_inline]] inline W folded_element(const FoldParams& p, Word start, Word k) {
  Word at = start;
  for_each_coordinate(p.folded, k, [&](Word d, Word c) { at += c * p.along.of[d]; });
  return load_as<W>(p.in_dtype, p.in.data, at);
}
template <class W>
[[gnu::always_inline]] inline void finish_chunk(const FoldParams& p, Word result, Word chunk, W value) {
  if (p.chunks == 1) {
    store_fold(p.out, p.kept, result, p.compute, p.out_dtype, value);
  } else {
    at_address<W>(p.parts)[result * p.chunks + chunk] = value;
  }
}

// A block of 64 threads, the lanes, folds a chunk.
template <class O, class W>
[[gnu::always_inline]] inline void fold_rows(const FoldParams& p, MD_SHARED W* lanes) {
  if constexpr (folds_with<O, W>()) {
    const auto lane = static_cast<Word>(thread_in_block());
    for (Word n = block_number(); n < p.kept.total * p.chunks; n += blocks_of_grid()) {
      const Word result = n / p.chunks, chunk = n % p.chunks;
      Word start = 0;
      for_each_coordinate(p.kept, result, [&](Word d, Word c) { start += c * p.in.strides.of[d]; });
      const Word first = chunk * kReductionChunk;
      const Word end = first + kReductionChunk < p.folded.total ? first + kReductionChunk : p.folded.total;
      W value = identity_of<O, W>();
      for (Word k = first + lane; k < end; k += kInnerLanes) value = join<O, W>(value, folded_element<W>(p, start, k));
      lanes[lane] = value;
      wait_for_block();
      for (int half = kInnerLanes / 2; half > 0; half /= 2) {
        if (lane < half) lanes[lane] = join<O, W>(lanes[lane], lanes[lane + half]);
        wait_for_block();
      }
      if (lane == 0) finish_chunk<W>(p, result, chunk, lanes[0]);
      wait_for_block();
    }
  }
}

// A thread folds a chunk in four lanes; neighbouring threads have neighbouring results.
template <class O, class W>
[[gnu::always_inline]] inline void fold_columns(const FoldParams& p) {
  if constexpr (folds_with<O, W>()) {
    static_assert(kOuterLanes == 4);
    for_each_point(p.kept.total * p.chunks, [&](Word n) {
      const Word result = n % p.kept.total, chunk = n / p.kept.total;
      Word start = 0;
      for_each_coordinate(p.kept, result, [&](Word d, Word c) { start += c * p.in.strides.of[d]; });
      const Word first = chunk * kReductionChunk;
      const Word end = first + kReductionChunk < p.folded.total ? first + kReductionChunk : p.folded.total;
      const W none = identity_of<O, W>();
      W a = none, b = none, c = none, d = none;
      for (Word k = first; k < end; k += 4) {
        a = join<O, W>(a, folded_element<W>(p, start, k));
        if (k + 1 < end) b = join<O, W>(b, folded_element<W>(p, start, k + 1));
        if (k + 2 < end) c = join<O, W>(c, folded_element<W>(p, start, k + 2));
        if (k + 3 < end) d = join<O, W>(d, folded_element<W>(p, start, k + 3));
      }
      finish_chunk<W>(p, result, chunk, join<O, W>(join<O, W>(a, c), join<O, W>(b, d)));
    });
  }
}

template <class O, class W>
[[gnu::always_inline]] inline void fold_parts(const FoldPartsParams& p) {
  if constexpr (folds_with<O, W>()) {
    const Word halves = (p.count + 1) / 2;
    for_each_point(p.kept.total * halves, [&](Word n) {
      const Word result = n / halves, at = n % halves;
      const W* parts = at_address<const W>(p.parts) + result * p.count;
      const W value = 2 * at + 1 < p.count ? join<O, W>(parts[2 * at], parts[2 * at + 1]) : parts[2 * at];
      if (halves == 1) {
        store_fold(p.out, p.kept, result, p.compute, p.out_dtype, value);
      } else {
        at_address<W>(p.to_parts)[result * halves + at] = value;
      }
    });
  }
}

}  // namespace md::device_blocks

// The kernels of an op struct S for working type W, whose short name is N.
#define MD_BODY_KERNELS(S, N, W)                                               \
  MD_KERNEL void S##_##N(PointwiseParams p) { run_body<ops::S, W>(p); }        \
  MD_KERNEL void S##_rows_##N(FoldParams p) {                                  \
    MD_SHARED_ARRAY(W, lanes, kInnerLanes);                                    \
    fold_rows<ops::S, W>(p, lanes);                                            \
  }                                                                            \
  MD_KERNEL void S##_columns_##N(FoldParams p) { fold_columns<ops::S, W>(p); } \
  MD_KERNEL void S##_parts_##N(FoldPartsParams p) { fold_parts<ops::S, W>(p); }
