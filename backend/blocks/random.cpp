// rand, randn, randint and bernoulli: blocks of numbers drawn in vector lanes and brought to the result's dtype and
// place. The bits are the reference engine's (ir/reference/random_fill.cpp, reference_randomness.cpp).
#include <algorithm>
#include <atomic>

#include "backend/blocks/iteration.h"
#include "backend/blocks/kernel_args.h"
#include "backend/machine/thread_pool.h"
#include "ir/graph/op_visit.h"
#include "ir/reference/random_fill.h"
#include "registry/ops/randomness.h"

namespace md::blocks {
namespace {

constexpr std::int64_t kDraws = 8 * kBlock;  // worth a task of their own

// draw(at, n, values) gives the elements [at, at + n) as values of dtype `drawn`; `at` is a multiple of kBlock.
template <class F>
void write(const KernelArgs& c, DType drawn, F&& draw) {
  TensorImpl& out = *c.out[0];
  const Conversion convert = Conversion::copy(c.kernels, drawn, out.dtype);
  const auto item = static_cast<std::int64_t>(item_size(out.dtype));
  char* const data = static_cast<char*>(out.data());
  TensorImpl* const operands[] = {&out};
  Axes axes = make_axes(out.sizes, operands);
  merge(axes, 1);
  const bool dense = out.is_contiguous();
  parallel_for(out.numel(), kDraws, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) unsigned char values[kBlock * 8], converted[kBlock * 8];
    for (std::int64_t at = begin; at < end; at += kBlock) {
      const std::int64_t n = std::min(kBlock, end - at);
      void* const place = dense ? data + at * item : nullptr;
      void* result = place && !convert ? place : values;
      draw(at, n, result);
      if (convert) {
        void* const into = place ? place : converted;
        convert(result, into, n);
        result = into;
      }
      if (!place) scatter(axes, 0, data, item, at, n, result);
    }
  });
}

RandomRange reserve_words(const TensorImpl& t) {
  return reserve_random(blocks_f32(static_cast<std::uint64_t>(t.numel())));
}

// f(at, n, words, out) of the words of the elements.
template <class F>
void write_of_words(const KernelArgs& c, const RandomRange& r, DType drawn, F&& f) {
  write(c, drawn, [&](std::int64_t at, std::int64_t n, void* out) {
    alignas(64) std::uint32_t words[kBlock];
    c.kernels.random->bits(r.seed, r.first + static_cast<std::uint64_t>(at) / 4, (n + 1) / 2, words);
    f(at, n, words, out);
  });
}

// The two numbers of 64 bits or float64s of each block.
void write_of_blocks(const KernelArgs& c, const RandomRange& r, DType drawn, DrawKernel draw) {
  write(c, drawn, [&](std::int64_t at, std::int64_t n, void* out) {
    draw(r.seed, r.first + static_cast<std::uint64_t>(at) / 2, n, out);
  });
}

template <class O>
RandomRange reserve(O op, const KernelArgs& c) {
  return reserve_random(random_blocks(op, KernelCall{c.op, c.args, c.out}));
}

bool run_draw(ops::Rand op, const KernelArgs& c) {
  const RandomRange r = reserve(op, c);
  const DType t = c.out[0]->dtype;
  const RandomKernels& k = *c.kernels.random;
  if (t == DType::Float64) {
    write_of_blocks(c, r, t, k.uniform);
  } else {
    // As many digits as the dtype has: rounding could give 1.
    const int digits = info(t).digits;
    write_of_words(c, r, DType::Float32, [&](std::int64_t, std::int64_t n, const std::uint32_t* words, void* out) {
      k.singles(words, digits, n, static_cast<float*>(out));
    });
  }
  return true;
}

bool run_draw(ops::Randn op, const KernelArgs& c) {
  write_of_blocks(c, reserve(op, c), DType::Float64, c.kernels.random->normal);
  return true;
}

bool run_draw(ops::Randint op, const KernelArgs& c) {
  std::uint64_t low, high;
  convert_number(c.kernels, c.args[0], DType::Int64, &low);
  convert_number(c.kernels, c.args[1], DType::Int64, &high);
  const RandomRange r = reserve(op, c);
  const RandomKernels& k = *c.kernels.random;
  write(c, DType::Int64, [&](std::int64_t at, std::int64_t n, void* out) {
    k.bits(r.seed, r.first + static_cast<std::uint64_t>(at) / 2, n, out);
    k.remainders(low, high - low, n, static_cast<std::uint64_t*>(out));
  });
  return true;
}

bool run_draw(ops::BernoulliP, const KernelArgs& c) {
  const double p = c.args[1].get<double>();
  const RandomKernels& k = *c.kernels.random;
  write_of_words(c, reserve_words(*c.out[0]), DType::Bool,
                 [&](std::int64_t, std::int64_t n, const std::uint32_t* words, void* out) {
                   k.happen(words, p, n, static_cast<std::uint8_t*>(out));
                 });
  return true;
}

// Probabilities in row-major order of the result, as float64.
class Probabilities {
 public:
  Probabilities(const KernelArgs& c, TensorImpl& p)
      : p_(p), convert_(Conversion::copy(c.kernels, p.dtype, DType::Float64)) {
    TensorImpl* const operands[] = {c.out[0].get(), &p};
    axes_ = make_axes(c.out[0]->sizes, operands);
    merge(axes_, 2);
  }
  // n <= kBlock
  void read(std::int64_t at, std::int64_t n, double* values) const {
    alignas(64) unsigned char gathered[kBlock * 8];
    void* const into = convert_ ? static_cast<void*>(gathered) : values;
    gather(axes_, 1, static_cast<const char*>(p_.data()), static_cast<std::int64_t>(item_size(p_.dtype)), at, n, into);
    if (convert_) convert_(gathered, values, n);
  }

 private:
  const TensorImpl& p_;
  Conversion convert_;
  Axes axes_;
};

bool draw_by_tensor(const KernelArgs& c, TensorImpl& tensor) {
  const Probabilities probabilities(c, tensor);
  const RandomKernels& k = *c.kernels.random;
  std::atomic<bool> good = true;
  parallel_for(c.out[0]->numel(), kDraws, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) double p[kBlock];
    for (std::int64_t at = begin; at < end; at += kBlock) {
      const std::int64_t n = std::min(kBlock, end - at);
      probabilities.read(at, n, p);
      if (!k.are_probabilities(p, n)) good = false;
    }
  });
  if (!good) return false;  // the reference engine says which
  write_of_words(c, reserve_words(*c.out[0]), DType::Bool,
                 [&](std::int64_t at, std::int64_t n, const std::uint32_t* words, void* out) {
                   alignas(64) double p[kBlock];
                   probabilities.read(at, n, p);
                   k.happen_each(words, p, n, static_cast<std::uint8_t*>(out));
                 });
  return true;
}

bool run_draw(ops::Bernoulli, const KernelArgs& c) { return draw_by_tensor(c, *c.args[0].get<TensorRef>()); }
bool run_draw(ops::BernoulliTensor, const KernelArgs& c) { return draw_by_tensor(c, *c.args[1].get<TensorRef>()); }

template <class O>
concept Drawn = requires(const KernelArgs& c) { run_draw(O{}, c); };

}  // namespace

bool run_random(const KernelTable& kernels, const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  return visit_op(op.id, [&]<class O>(O o) {
    if constexpr (Drawn<O>) {
      return run_draw(o, KernelArgs{kernels, op, args, out});
    } else {
      return false;
    }
  });
}

}  // namespace md::blocks
