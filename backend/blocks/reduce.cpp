// Reductions in the defined order (docs/numerics.md): chunks of 1,024 elements fold in a kernel, their results in a
// tree.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/blocks/engine.h"
#include "backend/blocks/iteration.h"
#include "backend/machine/thread_pool.h"
#include "registry/reduction_order.h"

namespace md::blocks {

namespace {

static_assert(kReductionChunk == kBlock);

struct Call {
  ReductionKernels kernels;
  Conversion convert;  // into the compute dtype, as the combiner takes it
  TensorRef x;
  std::int64_t x_item, item;  // bytes of an element as stored, as computed
  Axes kept, folded;
  std::int64_t results, elements, chunks;
};

std::vector<bool> folded_dims(const Op& op, std::span<const Arg> args, int rank) {
  const Arg none;
  const Arg& dim = op.dim < 0 ? none : args[op.dim];
  const ListArg* list = dim.get_if<ListArg>();
  if (dim.is_none() || (list && list->items.empty())) return std::vector<bool>(rank, true);
  std::vector<bool> folded(rank, false);
  const std::span<const Arg> dims = list ? std::span<const Arg>(list->items) : std::span<const Arg>(&dim, 1);
  for (const Arg& d : dims) {
    const std::int64_t at = d.get<Size>().value();
    if (rank) folded[static_cast<std::size_t>(at < 0 ? at + rank : at)] = true;
  }
  return folded;
}

void split_axes(Call& c, const std::vector<bool>& folded) {
  TensorImpl* const operands[] = {c.x.get()};
  const Axes all = make_axes(c.x->sizes, operands);
  c.kept.clear(), c.folded.clear();
  for (std::size_t d = 0; d < all.size(); ++d) (folded[d] ? c.folded : c.kept).push_back(all[d]);
  c.results = product(c.kept);
  c.elements = product(c.folded);
  c.chunks = (c.elements + kReductionChunk - 1) / kReductionChunk;
  merge(c.kept, 1);
  merge(c.folded, 1);
}

// Folds `count` neighbouring results of every chunk: values[chunk * count + i], into the first chunk's place.
void fold_tree(const Call& c, char* values, std::int64_t count) {
  for (std::int64_t step = 1; step < c.chunks; step *= 2) {
    for (std::int64_t i = 0; i + step < c.chunks; i += 2 * step) {
      c.kernels.combine(values + i * count * c.item, values + (i + step) * count * c.item, count);
    }
  }
}

// Chunk `chunk` of the elements that start at `base`, as a dense block of the compute dtype.
const void* load_chunk(const Call& c, const char* base, bool dense, std::int64_t chunk, std::int64_t* n,
                       unsigned char* gathered, unsigned char* converted) {
  const std::int64_t start = chunk * kReductionChunk;
  *n = std::min(kReductionChunk, c.elements - start);
  const char* p = base + start * c.x_item;
  if (!dense) {
    gather(c.folded, 0, base, c.x_item, start, *n, gathered);
    p = reinterpret_cast<const char*>(gathered);
  }
  if (!c.convert) return p;
  c.convert(p, converted, *n);
  return converted;
}

// Calls f(unit, block, n) for every chunk of every result, unit = result * chunks + chunk.
template <class F>
void for_each_chunk(const Call& c, F&& f) {
  const bool dense = is_dense(c.folded, 0, c.x_item);
  const std::int64_t units = c.results * c.chunks;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::min(c.elements, kReductionChunk));
  parallel_for(units, grain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) unsigned char gathered[kBlock * 8], converted[kBlock * 8];
    Walker here(c.kept, 1, begin / c.chunks);
    std::int64_t chunk = begin % c.chunks;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      std::int64_t n;
      const char* base = static_cast<const char*>(c.x->data()) + here.offset(0);
      const void* block = load_chunk(c, base, dense, chunk, &n, gathered, converted);
      f(unit, block, n);
      if (++chunk == c.chunks) {
        chunk = 0;
        if (!c.kept.empty()) here.advance(1);
      }
    }
  });
}

void fold_inner(const Call& c, char* out) {
  Ref<Storage> partial;
  char* values = out;
  if (c.chunks > 1) {
    partial = allocate_storage(static_cast<std::size_t>(c.results * c.chunks * c.item));
    values = static_cast<char*>(partial->data());
  }
  for_each_chunk(c, [&](std::int64_t unit, const void* block, std::int64_t n) {
    c.kernels.fold_inner(block, n, values + unit * c.item);
  });
  if (c.chunks == 1) return;
  for (std::int64_t r = 0; r < c.results; ++r) {
    char* const mine = values + r * c.chunks * c.item;
    fold_tree(c, mine, 1);
    std::memcpy(out + r * c.item, mine, static_cast<std::size_t>(c.item));
  }
}

// The last axis is kept: neighbouring results are neighbouring columns. Needs unit stride along it.
struct Columns {
  std::int64_t count;  // columns of one group
  Axes outer;          // the kept axes before them
  std::int64_t groups;
};

Columns columns_of(const Call& c) {
  Columns s{1, c.kept, 1};
  // A kept last axis of size 1 has been merged away: what is last then need not be dense.
  if (!s.outer.empty() && s.outer.back().stride[0] == c.item) {
    s.count = s.outer.back().size;
    s.outer.pop_back();
  }
  s.groups = product(s.outer);
  return s;
}

// Element offsets of rows [start, start + n) of the folded axes.
void row_offsets(const Call& c, std::int64_t start, std::int64_t n, std::int64_t* offsets) {
  for (Walker w(c.folded, 1, start); n > 0;) {
    const std::int64_t run = std::min(n, w.left());
    const std::int64_t stride = c.folded.empty() ? 0 : c.folded.back().stride[0];
    for (std::int64_t i = 0; i < run; ++i) *offsets++ = (w.offset(0) + i * stride) / c.item;
    w.advance(run);
    n -= run;
  }
}

void fold_outer(const Call& c, char* out) {
  constexpr std::int64_t kStrip = 1024;
  const Columns s = columns_of(c);
  const std::int64_t strips = (s.count + kStrip - 1) / kStrip;
  Ref<Storage> partial;
  char* values = out;
  if (c.chunks > 1) {
    partial = allocate_storage(static_cast<std::size_t>(c.results * c.chunks * c.item));
    values = static_cast<char*>(partial->data());
  }
  // A unit is one chunk of one strip of columns of one group; strips innermost.
  const std::int64_t units = s.groups * c.chunks * strips;
  const std::int64_t work = std::min(c.elements, kReductionChunk) * std::min(s.count, kStrip);
  parallel_for(units, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t offsets[kReductionChunk];
    std::int64_t rows = 0, known = -1;  // the chunk `offsets` is for
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t strip = unit % strips, chunk = unit / strips % c.chunks, group = unit / strips / c.chunks;
      if (chunk != known) {
        rows = std::min(kReductionChunk, c.elements - chunk * kReductionChunk);
        row_offsets(c, chunk * kReductionChunk, rows, offsets);
        known = chunk;
      }
      const std::int64_t first = strip * kStrip;
      const char* base = static_cast<const char*>(c.x->data()) + Walker(s.outer, 1, group).offset(0) + first * c.item;
      c.kernels.fold_outer(base, offsets, rows, std::min(kStrip, s.count - first),
                           values + ((group * c.chunks + chunk) * s.count + first) * c.item);
    }
  });
  if (c.chunks == 1) return;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    char* const mine = values + g * c.chunks * s.count * c.item;
    fold_tree(c, mine, s.count);
    std::memcpy(out + g * s.count * c.item, mine, static_cast<std::size_t>(s.count * c.item));
  }
}

void find_inner(const Call& c, char* best, std::int64_t* best_at) {
  Ref<Storage> values = allocate_storage(static_cast<std::size_t>(c.results * c.chunks * c.item));
  std::vector<std::int64_t> positions(static_cast<std::size_t>(c.results * c.chunks));
  auto* const found = static_cast<char*>(values->data());
  for_each_chunk(c, [&](std::int64_t unit, const void* block, std::int64_t n) {
    const std::int64_t at = c.kernels.find(block, n);
    positions[static_cast<std::size_t>(unit)] = unit % c.chunks * kReductionChunk + at;
    std::memcpy(found + unit * c.item, static_cast<const char*>(block) + at * c.item, static_cast<std::size_t>(c.item));
  });
  for (std::int64_t r = 0; r < c.results; ++r) {
    const std::int64_t first = r * c.chunks;
    std::memcpy(best + r * c.item, found + first * c.item, static_cast<std::size_t>(c.item));
    best_at[r] = positions[static_cast<std::size_t>(first)];
    for (std::int64_t u = first + 1; u < first + c.chunks; ++u) {
      c.kernels.challenge(found + u * c.item, positions[static_cast<std::size_t>(u)], 1, best + r * c.item,
                          best_at + r);
    }
  }
}

void find_outer(const Call& c, char* best, std::int64_t* best_at) {
  constexpr std::int64_t kStrip = 512;
  const Columns s = columns_of(c);
  const std::int64_t strips = (s.count + kStrip - 1) / kStrip;
  const std::int64_t work = std::max<std::int64_t>(1, c.elements * std::min(s.count, kStrip));
  parallel_for(s.groups * strips, std::max<std::int64_t>(1, kGrain / work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t group = unit / strips, first = unit % strips * kStrip, n = std::min(kStrip, s.count - first);
      const char* base = static_cast<const char*>(c.x->data()) + Walker(s.outer, 1, group).offset(0) + first * c.item;
      char* const values = best + (group * s.count + first) * c.item;
      std::int64_t* const positions = best_at + group * s.count + first;
      Walker row(c.folded, 1, 0);
      std::memcpy(values, base + row.offset(0), static_cast<std::size_t>(n * c.item));
      std::fill_n(positions, n, 0);
      for (std::int64_t k = 1; k < c.elements; ++k) {
        row.advance(1);
        c.kernels.challenge(base + row.offset(0), k, n, values, positions);
      }
    }
  });
}

// No element at all: identity + 0.
void fill_empty(const Call& c, DType compute, char* out) {
  alignas(8) unsigned char value[8];
  c.kernels.fold_inner(value, 0, value);
  if (compute == DType::Float32) *reinterpret_cast<float*>(value) += 0.0f;
  if (compute == DType::Float64) *reinterpret_cast<double*>(value) += 0.0;
  fill(value, c.item, c.results, out);
}

// Into `to`, values of the working dtype, and `positions` where the op finds some.
void fold(Call& c, DType compute, bool inner, const std::vector<bool>& folded, char* to, std::int64_t* positions) {
  const DType value = working(compute);
  if (c.elements == 0) return fill_empty(c, value, to);
  if (!inner && (c.convert || (!c.kept.empty() && c.kept.back().stride[0] != c.x_item))) {
    const TensorRef compact = empty_tensor(c.x->sizes, value);
    copy_converted(c.convert, *c.x, *compact);
    c.x = compact;
    c.x_item = c.item;
    c.convert = {};
    split_axes(c, folded);
  }
  if (positions) {
    inner ? find_inner(c, to, positions) : find_outer(c, to, positions);
  } else {
    inner ? fold_inner(c, to) : fold_outer(c, to);
  }
}

}  // namespace

bool run_reduction(const KernelTable& kernels, const Op& op, std::span<const Arg> args,
                   std::span<const TensorRef> out) {
  const ComputeTypes types = compute_types(op, args);
  Call c;
  c.x = args[0].get<TensorRef>();
  const DType compute = op.decl->promote == Promote::Logical ? DType::Bool : types.compute;
  const DType value = working(compute);
  const int table = compute_index(value);
  c.kernels = kernels.reductions[table][op.id];
  const bool finds = op.traits.finds_position;
  if (finds ? !c.kernels.find : !c.kernels.fold_inner) return false;
  for (const TensorRef& t : out) {
    if (!t->is_contiguous()) return false;
  }
  c.convert = Conversion::load(kernels, c.x->dtype, compute);
  c.x_item = static_cast<std::int64_t>(item_size(c.x->dtype));
  c.item = static_cast<std::int64_t>(item_size(value));
  const std::vector<bool> folded = folded_dims(op, args, c.x->dim());
  const bool inner = folded.empty() || folded.back();
  split_axes(c, folded);
  if (c.results == 0) return true;
  // Results are values of the working dtype until they are stored.
  const bool keeps_values = !finds || out.size() > 1;
  const Conversion convert_result = keeps_values ? Conversion::store(kernels, compute, out[0]->dtype) : Conversion();
  TensorRef values;
  if (convert_result || !keeps_values) values = empty_tensor(out[0]->sizes, value);
  auto* const to = static_cast<char*>(values ? values->data() : out[0]->data());
  fold(c, compute, inner, folded, to, finds ? out.back()->as<std::int64_t>() : nullptr);
  if (convert_result) copy_converted(convert_result, *values, *out[0]);
  return true;
}

}  // namespace md::blocks
