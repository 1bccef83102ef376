// Several pointwise ops and reductions of rows, run together on one row after the other: what is between them stays in
// the first-level cache. Reductions fold in the defined order (docs/numerics.md).
#include "backend/blocks/sweep.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/blocks/iteration.h"
#include "backend/blocks/normalize.h"
#include "backend/machine/thread_pool.h"
#include "registry/reduction_order.h"

namespace md::blocks {
namespace {

constexpr std::int64_t kShortestRow = 128;  // below, calls of kernels cost more than memory
constexpr std::int64_t kLongestRow = 1 << 14;
constexpr std::int64_t kRepeated = kBlock / 4;  // a value of a row is written so often, and read more often
constexpr int kMostOperands = 3;

struct Operand {
  // An element of the tensor for each of the result; one row for all; what another op left, for the row or as one
  // value of it; one value for all. The last two are read from blocks that are full of the value.
  enum class Kind : std::uint8_t { Tensor, Row, Result, RowValue, Constant } kind = Kind::Constant;
  const char* data = nullptr;  // Tensor, Row
  int at = 0;                  // of the op's buffer, or of the block
  std::int64_t item = 0;
};

struct RowOp {
  PointwiseKernel pointwise = nullptr;  // null: a reduction
  ReductionKernels fold;
  int count = 0;
  Operand operands[kMostOperands];
  bool row_value = false;
  int at = 0;  // of the buffer or block for the result; -1: the result of all
  std::int64_t item = 0;
};

struct Constant {
  int block;
  std::int64_t item;
  alignas(8) unsigned char value[8];
};

// Rows are of `length` elements; the last may be shorter if nothing tells rows apart.
struct Sweep {
  std::vector<RowOp> row_ops;
  std::vector<Constant> constants;
  std::int64_t elements = 0, length = 0;
  int buffers = 0, blocks = 0;
  char* out = nullptr;

  std::int64_t buffer_bytes() const { return (length * 8 + 63) / 64 * 64; }
  std::int64_t workspace() const { return buffers * buffer_bytes() + blocks * kBlock * 8; }
};

// Makes a Sweep of recorded parts; `fits` becomes false at the first that is none.
class Builder {
 public:
  Builder(const KernelTable& kernels, std::span<const std::unique_ptr<Node>> parts, TensorImpl& out)
      : kernels_(kernels), parts_(parts), out_(out), last_use_(parts.size(), 0), row_ops_(parts.size()) {}

  bool build(Sweep& s) {
    s.out = static_cast<char*>(out_.data());
    s.elements = out_.numel();
    if (out_.dim() == 0 || s.elements == 0) return false;
    s.length = out_.sizes.back();
    by_rows_ = false;
    for (std::size_t i = 0; i < parts_.size(); ++i) note_uses(i);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!add(i, s)) return false;
    }
    if (s.row_ops.back().row_value) return false;
    if (!by_rows_) s.length = std::min(s.elements, kBlock);
    return !by_rows_ || (s.length >= kShortestRow && s.length <= kLongestRow);
  }

 private:
  std::size_t number_of(const Node* n) const {
    const auto at = std::find_if(parts_.begin(), parts_.end(), [&](const auto& p) { return p.get() == n; });
    return static_cast<std::size_t>(at - parts_.begin());
  }
  void note_uses(std::size_t i) {
    for (const Arg& a : parts_[i]->args) {
      if (const auto* n = a.get_if<Node*>()) last_use_[number_of(*n)] = i;
    }
  }

  // Whether a part has an element for each of the result's, or one for each row.
  bool is_whole(const TensorType& t) const { return same_sizes(t, out_.sizes.back()); }
  bool is_row_value(const TensorType& t) const { return out_.sizes.back() != 1 && same_sizes(t, 1); }
  bool same_sizes(const TensorType& t, std::int64_t last) const {
    if (t.dim() != out_.dim()) return false;
    for (std::size_t d = 0; d < t.sizes.size(); ++d) {
      if (!(t.sizes[d] == (d + 1 < t.sizes.size() ? out_.sizes[d] : last))) return false;
    }
    return true;
  }

  bool add(std::size_t i, Sweep& s) {
    const Node& n = *parts_[i];
    RowOp row_op;
    row_op.item = static_cast<std::int64_t>(item_size(n.type().dtype));
    row_op.row_value = is_row_value(n.type());
    if (!row_op.row_value && !is_whole(n.type())) return false;
    if (!(op(n.op).kind() == OpKind::Pointwise ? pointwise(n, row_op, s) : reduction(n, row_op))) return false;
    by_rows_ |= row_op.row_value;
    // A buffer read for the last time may be the result's, element for element, if elements are of one size.
    release(row_op, i, [&](const Operand& o) { return o.item == row_op.item; });
    if (i + 1 == parts_.size()) {
      row_op.at = -1;
    } else {
      row_op.at = row_op.row_value ? s.blocks++ : take(s);
    }
    release(row_op, i, [&](const Operand& o) { return o.item != row_op.item; });
    row_ops_[i] = row_op;
    s.row_ops.push_back(row_op);
    return true;
  }
  int take(Sweep& s) {
    if (free_.empty()) return s.buffers++;
    const int b = free_.back();
    free_.pop_back();
    return b;
  }
  template <class F>
  void release(const RowOp& row_op, std::size_t i, F&& which) {
    for (int k = 0; k < row_op.count; ++k) {
      const Operand& o = row_op.operands[k];
      if (o.kind != Operand::Kind::Result || ends_[k] != i || !which(o)) continue;
      if (std::find(free_.begin(), free_.end(), o.at) == free_.end()) free_.push_back(o.at);
    }
  }

  bool pointwise(const Node& n, RowOp& row_op, Sweep& s) {
    const Op& o = op(n.op);
    const ComputeTypes types = compute_types(o, n.args);
    if (o.decl->can_fail || o.operands > kMostOperands || types.compute != working(types.compute)) return false;
    row_op.pointwise = kernels_.pointwise[compute_index(types.compute)][n.op];
    if (!row_op.pointwise || types.result != n.type().dtype) return false;
    if (is_storage_only(types.result) || Conversion::store(kernels_, types.result, types.result)) return false;
    row_op.count = o.operands;
    for (int k = 0; k < row_op.count; ++k) {
      const DType wanted = operand_dtype(o, n.args, k, types.compute);
      if (!operand(n.args[static_cast<std::size_t>(k)], wanted, k, row_op, s)) return false;
    }
    return true;
  }

  bool reduction(const Node& n, RowOp& row_op) {
    const Op& o = op(n.op);
    const ComputeTypes types = compute_types(o, n.args);
    const auto* x = n.args[0].get_if<Node*>();
    const auto* tensor = n.args[0].get_if<TensorRef>();
    const DType t = x ? (*x)->type().dtype : tensor ? (*tensor)->dtype : DType::Bool;
    if (!row_op.row_value || !is_floating(t) || types.compute != t || types.result != t || working(t) != t)
      return false;
    row_op.fold = kernels_.reductions[compute_index(t)][n.op];
    if (!row_op.fold.fold_inner || o.traits.finds_position) return false;
    Sweep unused;
    row_op.count = 1;
    // Of a whole operand, so that only the last dimension can be the one that is gone.
    if (x && !is_whole((*x)->type())) return false;
    return operand(n.args[0], t, 0, row_op, unused) && row_op.operands[0].kind != Operand::Kind::Constant &&
           row_op.operands[0].kind != Operand::Kind::Row;
  }

  bool operand(const Arg& a, DType wanted, int k, RowOp& row_op, Sweep& s) {
    Operand& o = row_op.operands[k];
    o.item = static_cast<std::int64_t>(item_size(wanted));
    if (working(wanted) != wanted) return false;
    if (const auto* n = a.get_if<Node*>()) return result_of(**n, wanted, k, row_op, o);
    if (const auto* t = a.get_if<TensorRef>()) return tensor(**t, wanted, row_op, o, s);
    if (!a.is_number()) return false;
    Constant c{s.blocks, o.item, {}};
    load_number(kernels_, a, wanted, c.value);
    return constant(c, o, s);
  }
  bool result_of(const Node& n, DType wanted, int k, const RowOp& row_op, Operand& o) {
    const std::size_t i = number_of(&n);
    const RowOp& from = row_ops_[i];
    if (n.type().dtype != wanted || (row_op.row_value && row_op.pointwise && !from.row_value)) return false;
    o.kind = from.row_value ? Operand::Kind::RowValue : Operand::Kind::Result;
    o.at = from.at;
    ends_[k] = last_use_[i];
    return true;
  }
  bool tensor(const TensorImpl& t, DType wanted, const RowOp& row_op, Operand& o, Sweep& s) {
    if (t.dtype != wanted || !t.is_contiguous()) return false;
    const auto* const data = static_cast<const char*>(t.data());
    if (t.numel() == 1) {
      Constant c{s.blocks, o.item, {}};
      std::memcpy(c.value, data, static_cast<std::size_t>(o.item));
      return constant(c, o, s);
    }
    if (row_op.row_value && row_op.pointwise) return false;
    o.data = data;
    if (t.sizes == out_.sizes) {
      o.kind = Operand::Kind::Tensor;
      return true;
    }
    o.kind = Operand::Kind::Row;
    by_rows_ = true;
    return t.numel() == out_.sizes.back() && t.sizes.back() == out_.sizes.back();
  }
  static bool constant(const Constant& c, Operand& o, Sweep& s) {
    o.kind = Operand::Kind::Constant;
    o.at = s.blocks++;
    s.constants.push_back(c);
    return true;
  }

  const KernelTable& kernels_;
  std::span<const std::unique_ptr<Node>> parts_;
  TensorImpl& out_;
  std::vector<std::size_t> last_use_;
  std::vector<RowOp> row_ops_;
  std::vector<int> free_;
  std::size_t ends_[kMostOperands] = {};
  bool by_rows_ = false;
};

// Runs rows in one thread's workspace.
class Runner {
 public:
  Runner(const Sweep& s, char* workspace)
      : s_(s), buffers_(workspace), blocks_(workspace + s.buffers * s.buffer_bytes()) {
    for (const Constant& c : s.constants) fill(c.value, c.item, std::min(s.length, kBlock), block(c.block));
  }

  void row(std::int64_t r) {
    first_ = r * s_.length;
    const std::int64_t n = std::min(s_.length, s_.elements - first_);
    for (const RowOp& row_op : s_.row_ops) {
      if (!row_op.pointwise) {
        fold(row_op, n);
      } else if (row_op.row_value) {
        apply(row_op, 0, 1, block(row_op.at));
        repeat(row_op, n);
      } else {
        const std::int64_t most = reads_row_value(row_op) ? kRepeated : kBlock;
        for (std::int64_t at = 0; at < n; at += most) apply(row_op, at, std::min(most, n - at), place(row_op, at));
      }
    }
  }

 private:
  char* block(int i) { return blocks_ + i * kBlock * 8; }
  char* place(const RowOp& row_op, std::int64_t at) {
    return row_op.at < 0 ? s_.out + (first_ + at) * row_op.item
                         : buffers_ + row_op.at * s_.buffer_bytes() + at * row_op.item;
  }
  const char* read(const Operand& o, std::int64_t at) {
    switch (o.kind) {
      case Operand::Kind::Tensor:
        return o.data + (first_ + at) * o.item;
      case Operand::Kind::Row:
        return o.data + at * o.item;
      case Operand::Kind::Result:
        return buffers_ + o.at * s_.buffer_bytes() + at * o.item;
      default:
        return block(o.at);
    }
  }
  static bool reads_row_value(const RowOp& row_op) {
    return std::any_of(row_op.operands, row_op.operands + row_op.count,
                       [](const Operand& o) { return o.kind == Operand::Kind::RowValue; });
  }
  void apply(const RowOp& row_op, std::int64_t at, std::int64_t n, char* to) {
    const void* in[kMostOperands];
    for (int k = 0; k < row_op.count; ++k) in[k] = read(row_op.operands[k], at);
    row_op.pointwise(in, to, n);
  }
  // A value of the row, wherever it is read.
  void repeat(const RowOp& row_op, std::int64_t n) {
    alignas(8) unsigned char value[8];
    std::memcpy(value, block(row_op.at), static_cast<std::size_t>(row_op.item));
    fill(value, row_op.item, std::min(n, kRepeated), block(row_op.at));
  }
  void fold(const RowOp& row_op, std::int64_t n) {
    alignas(64) char values[kLongestRow / kBlock * 8];
    static_assert(kReductionChunk == kBlock);
    const std::int64_t chunks = (n + kBlock - 1) / kBlock, item = row_op.item;
    for (std::int64_t c = 0; c < chunks; ++c) {
      row_op.fold.fold_inner(read(row_op.operands[0], c * kBlock), std::min(kBlock, n - c * kBlock), values + c * item);
    }
    for (std::int64_t apart = 1; apart < chunks; apart *= 2) {
      for (std::int64_t i = 0; i + apart < chunks; i += 2 * apart) {
        row_op.fold.combine(values + i * item, values + (i + apart) * item, 1);
      }
    }
    fill(values, item, std::min(n, kRepeated), block(row_op.at));
  }

  const Sweep& s_;
  char* buffers_;
  char* blocks_;
  std::int64_t first_ = 0;
};

}  // namespace

bool run_sweep(std::span<const std::unique_ptr<Node>> parts, TensorImpl& out) {
  if (run_normalize(parts, out)) return true;
  Sweep s;
  if (!Builder(kernel_table(), parts, out).build(s)) return false;
  const std::int64_t rows = (s.elements + s.length - 1) / s.length;
  parallel_for(rows, std::max<std::int64_t>(1, kGrain / s.length), [&](std::int64_t begin, std::int64_t end) {
    const Ref<Storage> workspace = allocate_storage(static_cast<std::size_t>(s.workspace()) + 64);
    Runner runner(s, static_cast<char*>(workspace->data()));
    for (std::int64_t r = begin; r < end; ++r) runner.row(r);
  });
  return true;
}

}  // namespace md::blocks
