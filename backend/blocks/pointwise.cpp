// Pointwise ops: operands become dense blocks of the compute dtype (in place where they already are), one kernel call
// per block, the result goes straight to its place or through a block of its own.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "backend/blocks/copy_runs.h"
#include "backend/blocks/engine.h"
#include "backend/blocks/iteration.h"
#include "backend/machine/thread_pool.h"
#include "ir/core/error.h"
#include "ir/graph/op_visit.h"

namespace md::blocks {

namespace {

constexpr int kMostOperands = 3;
static_assert(kMostOperands < kMaxOperands);

struct Operand {
  TensorImpl* tensor = nullptr;  // null: a number
  DType dtype, wanted;
  bool constant = false;              // one value for all elements ...
  alignas(8) unsigned char value[8];  // ... as the body takes it
  bool dense = false;
  const char* data = nullptr;
  Conversion convert;  // into the wanted dtype, as the body takes it
  std::int64_t item = 0, wanted_item = 0;
};

struct Call {
  PointwiseKernel kernel;
  Axes axes;  // operand 0 is the result
  std::int64_t total;
  int count = 0;
  Operand operands[kMostOperands];
  TensorImpl* out;
  bool out_dense;
  bool strided;  // some operand or the result is neither dense nor constant
  std::int64_t out_item;
  Conversion convert_result;
};

void set_number(const KernelTable& kernels, const Arg& a, Operand& o) {
  o.constant = true;
  load_number(kernels, a, o.wanted, o.value);
}

void set_tensor(const KernelTable& kernels, TensorImpl* t, Operand& o) {
  o.tensor = t;
  o.dtype = t->dtype;
  o.item = static_cast<std::int64_t>(item_size(o.dtype));
  o.data = static_cast<const char*>(t->data());
  o.convert = Conversion::load(kernels, o.dtype, o.wanted);
  o.constant = t->numel() == 1;
  if (!o.constant) return;
  if (o.convert) {
    o.convert(o.data, o.value, 1);
  } else {
    std::memcpy(o.value, o.data, static_cast<std::size_t>(o.item));
  }
}

// Buffers of one thread: a gathered and a converted block per operand, and two for the result.
struct Buffers {
  alignas(64) unsigned char gathered[kMostOperands][kBlock * 8];
  alignas(64) unsigned char converted[kMostOperands][kBlock * 8];
  // Of an operand constant along the row: the offset whose value fills `gathered`, and how far.
  std::int64_t repeated[kMostOperands] = {-1, -1, -1}, repeats[kMostOperands] = {};
  alignas(64) unsigned char result[kBlock * 8];
  alignas(64) unsigned char converted_result[kBlock * 8];
};

// The operand's elements [start, start + n) as a dense block of the wanted dtype.
const void* load_block(const Call& c, int k, const Walker& here, std::int64_t start, std::int64_t n, Buffers& buffers) {
  const Operand& o = c.operands[k];
  if (o.constant) return buffers.converted[k];  // filled once
  const char* p;
  if (o.dense) {
    p = o.data + start * o.item;
  } else if (n <= here.left() && c.axes.back().stride[k + 1] == o.item) {
    p = o.data + here.offset(k + 1);
  } else if (n <= here.left() && c.axes.back().stride[k + 1] == 0) {
    const std::int64_t at = here.offset(k + 1);
    if (buffers.repeated[k] != at || buffers.repeats[k] < n) {
      fill(o.data + at, o.item, n, buffers.gathered[k]);
      buffers.repeated[k] = at, buffers.repeats[k] = n;
    }
    p = reinterpret_cast<const char*>(buffers.gathered[k]);
  } else {
    gather(c.axes, k + 1, o.data, o.item, start, n, buffers.gathered[k]);
    buffers.repeated[k] = -1;
    p = reinterpret_cast<const char*>(buffers.gathered[k]);
  }
  if (!o.convert) return p;
  o.convert(p, buffers.converted[k], n);
  return buffers.converted[k];
}

// Runs the kernel and brings its result to its place. True if the op failed.
bool store_block(const Call& c, const void* const* in, const Walker& here, std::int64_t start, std::int64_t n,
                 Buffers& buffers) {
  char* const data = static_cast<char*>(c.out->data());
  char* place = nullptr;
  if (c.out_dense) {
    place = data + start * c.out_item;
  } else if (n <= here.left() && c.axes.back().stride[0] == c.out_item) {
    place = data + here.offset(0);
  }
  void* const into = place && !c.convert_result ? static_cast<void*>(place) : buffers.result;
  const bool failed = c.kernel(in, into, n);
  const void* result = into;
  if (c.convert_result) {
    void* const converted = place ? static_cast<void*>(place) : buffers.converted_result;
    c.convert_result(result, converted, n);
    result = converted;
  }
  if (!place) scatter(c.axes, 0, data, c.out_item, start, n, result);
  return failed;
}

// Elements [begin, end) of the space. True if the op failed on one of them.
bool run_range(const Call& c, std::int64_t begin, std::int64_t end) {
  // Blocks keep to one row where rows are long, so that a row operand is read in place.
  constexpr std::int64_t kLongRow = 256;
  Buffers buffers;
  const std::int64_t most = std::min(kBlock, end - begin);
  for (int k = 0; k < c.count; ++k) {
    const Operand& o = c.operands[k];
    if (o.constant) fill(o.value, o.wanted_item, most, buffers.converted[k]);
  }
  const bool by_row = c.strided && c.axes.back().size >= kLongRow;
  // A value repeated along the row is written once and read often: shorter blocks.
  std::int64_t block = kBlock;
  for (int k = 0; by_row && k < c.count; ++k) {
    if (!c.operands[k].constant && c.axes.back().stride[k + 1] == 0) block = kBlock / 4;
  }
  bool failed = false;
  Walker here(c.axes, c.count + 1, c.strided ? begin : 0);
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t n = by_row ? std::min({block, end - at, here.left()}) : std::min(kBlock, end - at);
    const void* in[kMostOperands];
    for (int k = 0; k < c.count; ++k) in[k] = load_block(c, k, here, at, n, buffers);
    failed |= store_block(c, in, here, at, n, buffers);
    at += n;
    if (by_row) {
      here.advance(n);
    } else if (c.strided && at < end) {
      here = Walker(c.axes, c.count + 1, at);
    }
  }
  return failed;
}

// --- Tiles ---------------------------------------------------------------------------------------------------------
// An operand that is contiguous along another axis than the result (a transpose) would be read one element per cache
// line. Two axes then run in tiles, read along one and written along the other.

// Moves the axis along which such an operand is contiguous next to the innermost; false if there is none.
bool arrange_tiles(Call& c) {
  const std::size_t rank = c.axes.size();
  for (int k = 0; rank > 1 && k < c.count; ++k) {
    const Operand& o = c.operands[k];
    const std::int64_t inner = c.axes.back().stride[k + 1];
    if (o.constant || inner == o.item || inner == 0 || c.axes.back().size < 8) continue;
    for (std::size_t d = 0; d + 1 < rank; ++d) {
      if (c.axes[d].stride[k + 1] != o.item || c.axes[d].size < 8) continue;
      std::rotate(c.axes.begin() + d, c.axes.begin() + d + 1, c.axes.end() - 1);
      return true;
    }
  }
  return false;
}

struct TileBuffers {
  Buffers rows;
  alignas(64) unsigned char tiles[kMostOperands][kTileRows * kTileColumns * 8];
};

// One tile: `rows` by `columns` elements at the byte offsets `at` of the result and the operands.
bool run_tile(const Call& c, const std::int64_t* at, std::int64_t rows, std::int64_t columns, TileBuffers& buffers) {
  const Axis &down = c.axes[c.axes.size() - 2], &across = c.axes.back();
  const char* first[kMostOperands];
  std::int64_t step[kMostOperands];  // bytes from row to row
  for (int k = 0; k < c.count; ++k) {
    const Operand& o = c.operands[k];
    first[k] = o.data + at[k + 1];
    step[k] = down.stride[k + 1];
    if (o.constant || across.stride[k + 1] == o.item) continue;
    unsigned char* const tile = buffers.tiles[k];
    if (step[k] == o.item && across.stride[k + 1] != 0) {
      gather_tile(first[k], across.stride[k + 1], rows, columns, o.item, tile);
    } else {
      for (std::int64_t i = 0; i < rows; ++i) {
        gather_run(first[k] + i * step[k], across.stride[k + 1], o.item, columns, tile + i * kTileColumns * o.item);
      }
    }
    first[k] = reinterpret_cast<const char*>(tile);
    step[k] = kTileColumns * o.item;
  }
  bool failed = false;
  const bool direct = across.stride[0] == c.out_item;
  for (std::int64_t i = 0; i < rows; ++i) {
    const void* in[kMostOperands];
    for (int k = 0; k < c.count; ++k) {
      const Operand& o = c.operands[k];
      in[k] = o.constant || o.convert ? static_cast<const void*>(buffers.rows.converted[k]) : first[k] + i * step[k];
      if (o.convert && !o.constant) o.convert(first[k] + i * step[k], buffers.rows.converted[k], columns);
    }
    char* const place = static_cast<char*>(c.out->data()) + at[0] + i * down.stride[0];
    void* const into = direct && !c.convert_result ? static_cast<void*>(place) : buffers.rows.result;
    failed |= c.kernel(in, into, columns);
    const void* result = into;
    if (c.convert_result) {
      void* const converted = direct ? static_cast<void*>(place) : buffers.rows.converted_result;
      c.convert_result(result, converted, columns);
      result = converted;
    }
    if (!direct) scatter_run(place, across.stride[0], c.out_item, columns, result);
  }
  return failed;
}

bool run_tiles(const Call& c) {
  const Axis &down = c.axes[c.axes.size() - 2], &across = c.axes.back();
  Axes outer = c.axes;
  outer.pop_back(), outer.pop_back();
  const std::int64_t strips = (down.size + kTileRows - 1) / kTileRows;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (kTileRows * across.size));
  std::atomic<bool> failed{false};
  parallel_for(product(outer) * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    TileBuffers buffers;
    for (int k = 0; k < c.count; ++k) {
      const Operand& o = c.operands[k];
      if (o.constant) fill(o.value, o.wanted_item, std::min(kTileColumns, across.size), buffers.rows.converted[k]);
    }
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const Walker corner(outer, c.count + 1, unit / strips);
      const std::int64_t i = unit % strips * kTileRows, rows = std::min(kTileRows, down.size - i);
      for (std::int64_t j = 0; j < across.size; j += kTileColumns) {
        std::int64_t at[kMaxOperands];
        for (int k = 0; k <= c.count; ++k) at[k] = corner.offset(k) + i * down.stride[k] + j * across.stride[k];
        if (run_tile(c, at, rows, std::min(kTileColumns, across.size - j), buffers)) failed = true;
      }
    }
  });
  return failed;
}

bool same_view(const TensorImpl& a, const TensorImpl& b) {
  return a.data() == b.data() && a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides;
}

[[noreturn]] void raise_failure(const Op& op) {
  std::string_view text = "invalid value";
  visit_op(op.id, [&]<class O>(O) {
    if constexpr (CanFail<O>) text = O::failure;
  });
  throw OpError(ErrorKind::Runtime, std::string(text));
}

bool supported(const Op& op, std::span<const Arg> args) {
  if (op.operands > kMostOperands) return false;
  for (int k = 0; k < op.operands; ++k) {
    if (!args[k].is<TensorRef>() && !args[k].is_number()) return false;
  }
  return true;
}

void run_call(Call& c, const Op& op, std::span<TensorImpl* const> tensors) {
  c.axes = make_axes(c.out->sizes, tensors);
  simplify(c.axes, c.count + 1);
  c.out_dense = is_dense(c.axes, 0, c.out_item);
  c.strided = !c.out_dense;
  for (int k = 0; k < c.count; ++k) {
    Operand& o = c.operands[k];
    o.dense = !o.constant && is_dense(c.axes, k + 1, o.item);
    c.strided |= !o.constant && !o.dense;
  }
  const bool copies = (op.id == id::Clone || op.id == id::Compact) && !c.operands[0].constant;
  if (copies && c.strided && !c.operands[0].convert && !c.convert_result &&
      copy_runs(c.axes, c.operands[0].data, static_cast<char*>(c.out->data()), c.out_item))
    return;
  if (c.strided && arrange_tiles(c)) {
    if (run_tiles(c)) raise_failure(op);
    return;
  }
  std::atomic<bool> failed{false};
  parallel_for(c.total, kGrain, [&](std::int64_t begin, std::int64_t end) {
    if (run_range(c, begin, end)) failed.store(true, std::memory_order_relaxed);
  });
  if (failed.load(std::memory_order_relaxed)) raise_failure(op);
}

}  // namespace

bool run_pointwise(const KernelTable& kernels, const Op& op, std::span<const Arg> args, TensorImpl& out) {
  const ComputeTypes types = compute_types(op, args);
  if (!supported(op, args)) return false;
  Call c;
  c.kernel = kernels.pointwise[compute_index(working(types.compute))][op.id];
  if (!c.kernel) return false;
  c.total = out.numel();
  if (c.total == 0) return true;
  c.count = op.operands;
  c.out_item = static_cast<std::int64_t>(item_size(out.dtype));
  c.convert_result = Conversion::store(kernels, types.result, out.dtype);
  const Extent written = extent(out);
  TensorRef kept[kMostOperands + 1];  // copies of operands the result would overwrite
  TensorImpl* tensors[kMaxOperands] = {&out};
  bool inplace = false;
  for (int k = 0; k < c.count; ++k) {
    Operand& o = c.operands[k];
    o.wanted = operand_dtype(op, args, k, types.compute);
    o.wanted_item = static_cast<std::int64_t>(item_size(working(o.wanted)));
    const auto* given = args[k].get_if<TensorRef>();
    if (!given) {
      set_number(kernels, args[k], o);
      tensors[k + 1] = nullptr;
      continue;
    }
    TensorImpl* t = given->get();
    if (written.overlaps(extent(*t))) {
      inplace = true;
      if (!same_view(*t, out)) t = (kept[k] = dense_copy(*t)).get();
    }
    set_tensor(kernels, t, o);
    tensors[k + 1] = t;
  }
  // A failing op must leave its operand as it was.
  TensorRef fresh;
  if (inplace && op.decl->can_fail) {
    fresh = empty_tensor(out.sizes, out.dtype);
    tensors[0] = fresh.get();
  }
  c.out = tensors[0];
  TensorImpl no_tensor(nullptr, DType::Float32, {}, {}, 0);
  for (int k = 1; k <= c.count; ++k) {
    if (!tensors[k]) tensors[k] = &no_tensor;
  }
  run_call(c, op, {tensors, static_cast<std::size_t>(c.count) + 1});
  if (fresh) copy_converted({}, *fresh, out);
  return true;
}

namespace {

// Calls put(dtype, pointer) with the number in the dtype it has by itself.
template <class F>
void with_number(const Arg& number, F&& put) {
  if (const bool* b = number.get_if<bool>()) {
    const std::uint8_t byte = *b;
    put(DType::Bool, &byte);
  } else if (const double* d = number.get_if<double>()) {
    put(DType::Float64, d);
  } else {
    const std::int64_t i = number.get<Size>().value();
    put(DType::Int64, &i);
  }
}
void convert_one(const Conversion& c, const void* from, std::size_t bytes, void* to) {
  if (c) {
    c(from, to, 1);
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace

void convert_number(const KernelTable& kernels, const Arg& number, DType t, void* element) {
  with_number(number, [&](DType own, const void* value) {
    convert_one(Conversion::copy(kernels, own, t), value, item_size(own), element);
  });
}

void load_number(const KernelTable& kernels, const Arg& number, DType t, void* element) {
  with_number(number, [&](DType own, const void* value) {
    convert_one(Conversion::load(kernels, own, t), value, item_size(own), element);
  });
}

TensorRef dense_copy(const TensorImpl& t) {
  TensorRef copy = empty_tensor(t.sizes, t.dtype);
  TensorImpl* const tensors[] = {copy.get(), const_cast<TensorImpl*>(&t)};
  const auto item = static_cast<std::int64_t>(item_size(t.dtype));
  const auto* const from = static_cast<const char*>(t.data());
  Axes axes = make_axes(t.sizes, tensors);
  merge(axes, 2);
  if (!copy_runs(axes, from, static_cast<char*>(copy->data()), item))
    gather(axes, 1, from, item, 0, t.numel(), copy->data());
  return copy;
}

void copy_converted(const Conversion& convert, const TensorImpl& from, TensorImpl& to) {
  TensorImpl* const tensors[] = {&to, const_cast<TensorImpl*>(&from)};
  Axes axes = make_axes(to.sizes, tensors);
  simplify(axes, 2);
  const auto from_item = static_cast<std::int64_t>(item_size(from.dtype));
  const auto to_item = static_cast<std::int64_t>(item_size(to.dtype));
  parallel_for(to.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) unsigned char gathered[kBlock * 8], converted[kBlock * 8];
    for (std::int64_t at = begin; at < end; at += kBlock) {
      const std::int64_t n = std::min(kBlock, end - at);
      gather(axes, 1, static_cast<const char*>(from.data()), from_item, at, n, gathered);
      if (convert) convert(gathered, converted, n);
      scatter(axes, 0, static_cast<char*>(to.data()), to_item, at, n, convert ? converted : gathered);
    }
  });
}

}  // namespace md::blocks
