// Where torch's name of a node does not follow from the op's name. Source: derivatives.yaml of torch 2.13 by what
// grad_fn says (tests/tensor/node_names.json).
#include "ir/gradients/node_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "ir/graph/op_ids.h"
#include "ir/tensor/tensor.h"

namespace md {

namespace {

using Args = std::span<const Arg>;

struct Row {
  std::string_view op;
  std::array<std::string_view, 12> names;  // without "Backward", with the number; "": shown as its parts
  int (*which)(Args) = nullptr;            // among `names`
};

int dim_of(const Arg& a) {
  const auto* t = a.get_if<TensorRef>();
  return t ? static_cast<int>((*t)->sizes.size()) : 0;
}

int has_second(Args a) { return a[1].is_none() ? 0 : 1; }
int has_tensor_bound(Args a) { return a[1].is<TensorRef>() || a[2].is<TensorRef>() ? 0 : 1; }
int number_operand(Args a) { return !a[0].is<TensorRef>() ? 1 : !a[1].is<TensorRef>() ? 2 : 0; }
int number_second(Args a) { return a[1].is<TensorRef>() ? 0 : 1; }
int tensor_exponent(Args a) { return a[1].is<TensorRef>() ? 1 : 0; }
int number_base(Args a) { return a[0].is<TensorRef>() ? 0 : 1; }
int has_mode(Args a) { return a[2].is_none() ? 0 : 1; }
int of_matrix(Args a) { return dim_of(a[0]) == 1 ? 0 : 1; }
// The dimensions that windows slide over, by the list of their sizes.
int window_dims(Args a) {
  const auto* sizes = a[1].get_if<ListArg>();
  return sizes ? std::clamp(static_cast<int>(sizes->items.size()), 1, 3) : 1;
}
int vectors(Args a) {
  const int left = dim_of(a[0]), right = dim_of(a[1]);
  return right != 1 ? 0 : left == 1 ? 1 : left == 2 ? 2 : 0;
}
int squeezed(Args a) {
  const auto* l = a[1].get_if<ListArg>();
  return l && l->items.size() != 1 ? 1 : 0;
}
int unbatched_2d(Args a) { return dim_of(a[0]) == 3 ? 1 : 0; }
int unbatched_1d(Args a) { return dim_of(a[0]) == 2 ? 1 : 0; }
int unbatched_3d(Args a) { return dim_of(a[0]) == 4 ? 1 : 0; }

// Three for the mode; nearest, nearest-exact, the linear ones, bicubic.
int resampling(Args a) {
  const auto* mode = a[2].get_if<std::string>();
  const int dims = window_dims(a) - 1;
  if (!mode || *mode == "nearest") return dims;
  return *mode == "nearest-exact" ? 3 + dims : *mode == "bicubic" ? 9 : 6 + dims;
}

// A composite that is not here has the name that follows from its own.
constexpr Row kRows[] = {
    {"add.alpha", {"Add0"}},
    {"sub.alpha", {"Sub0"}},
    {"sub", {"Sub0", "Rsub1"}, number_base},
    {"div", {"Div0", "Mul0"}, number_base},
    {"div.mode", {"Div0", "Div2"}, has_mode},
    {"pow.scalar", {"Pow0"}},
    {"pow", {"Pow1", "Pow2"}, number_base},
    {"square", {"Pow0"}},
    {"float_power", {"Pow0", "Pow1"}, tensor_exponent},
    {"true_divide", {"Div0"}},
    {"divide", {"Div0", "Div2"}, has_mode},
    {"real", {"Select0"}},
    {"imag", {"Select0"}},
    {"_fourier", {"FftC2C0"}},
    {"copy", {"=torch::autograd::CopyBackwards"}},
    {"tile", {"Repeat0"}},
    {"chunk", {"Split0"}},
    {"batched_mm", {"Bmm0"}},
    {"quantile", {"Squeeze4"}},
    {"quantile.scalar", {"Squeeze4"}},
    {"nanquantile", {"Squeeze4"}},
    {"nanquantile.scalar", {"Squeeze4"}},
    {"clamp", {"Clamp0", "Clamp1"}, has_tensor_bound},
    {"round.decimals", {"Round1"}},
    {"copysign", {"Copysign0", "Copysign1"}, number_second},
    {"lerp", {"Lerp1"}},
    {"lerp.scalar", {"Lerp0"}},
    {"xlogy", {"Xlogy0", "Xlogy1", "Xlogy2"}, number_operand},
    {"xlog1py", {"SpecialXlog1Py0"}},
    {"entr", {"SpecialEntr0"}},
    {"selu", {"Elu0"}},
    {"prelu", {"PreluKernel0"}},
    {"gelu_erf", {"Gelu0"}},
    {"gelu_tanh", {"Gelu0"}},
    {"logsigmoid", {"LogSigmoid0"}},
    {"relu6", {"Hardtanh0"}},
    {"convert", {"ToCopy0"}},
    {"compact", {"Clone0"}},
    {"clone.format", {"Clone0"}},
    {"narrow", {"Slice0"}},
    {"squeeze", {"Squeeze0"}},
    {"squeeze.dim", {"Squeeze1", "Squeeze2"}, squeezed},
    {"sum", {"Sum0", "Sum1"}, has_second},
    {"prod", {"Prod0", "Prod1"}, has_second},
    {"mean", {"Mean0", "Mean1"}, has_second},
    {"max", {"Max1"}},
    {"min", {"Min1"}},
    {"max.other", {"Maximum0"}},
    {"min.other", {"Minimum0"}},
    {"var", {"Var0"}},
    {"var.unbiased", {"Var0"}},
    {"var.unbiased_dim", {"Var0"}},
    {"median.dim", {"Median1"}},
    {"nanmedian.dim", {"Nanmedian1"}},
    {"sort.stable", {"Sort1"}},
    {"vector_norm", {"LinalgVectorNorm0"}},
    {"linalg_vector_norm", {"LinalgVectorNorm0"}},
    {"cross", {"LinalgCross0"}},
    {"layer_norm", {"NativeLayerNorm0"}},
    {"diag", {"DiagEmbed0", "=DiagonalBackward0_copy"}, of_matrix},
    {"diagflat", {"DiagEmbed0"}},
    {"split.sizes", {"SplitWithSizes0"}},
    {"max_pool", {"", "Squeeze1", "MaxPool2DWithIndices0", "MaxPool3DWithIndices0"}, window_dims},
    {"max_pool_values", {"", "Squeeze1", "MaxPool2DWithIndices0", "MaxPool3DWithIndices0"}, window_dims},
    {"avg_pool", {"", "Squeeze1", "AvgPool2D0", "AvgPool3D0"}, window_dims},
    {"adaptive_avg_pool", {"", "Squeeze1", "AdaptiveAvgPool2D0", "AdaptiveAvgPool3D0"}, window_dims},
    {"adaptive_max_pool", {"", "Squeeze1", "AdaptiveMaxPool2D0", "AdaptiveMaxPool3D0"}, window_dims},
    {"conv1d", {"Convolution0", "Squeeze1"}, unbatched_1d},
    {"conv2d", {"Convolution0", "Squeeze1"}, unbatched_2d},
    {"conv3d", {"Convolution0", "Squeeze1"}, unbatched_3d},
    {"conv1d.padding", {"Convolution0", "Squeeze1"}, unbatched_1d},
    {"conv2d.padding", {"Convolution0", "Squeeze1"}, unbatched_2d},
    {"conv3d.padding", {"Convolution0", "Squeeze1"}, unbatched_3d},
    {"conv_transpose1d", {"Convolution0", "Squeeze1"}, unbatched_1d},
    {"conv_transpose2d", {"Convolution0", "Squeeze1"}, unbatched_2d},
    {"resample",
     {"UpsampleNearest1D0", "UpsampleNearest2D0", "UpsampleNearest3D0", "UpsampleNearestExact1D0",
      "UpsampleNearestExact2D0", "UpsampleNearestExact3D0", "UpsampleLinear1D0", "UpsampleBilinear2D0",
      "UpsampleTrilinear3D0", "UpsampleBicubic2D0"},
     resampling},
    {"matmul", {"", "Dot0", "Mv0"}, vectors},
    {"linalg_vecdot", {"Sum1"}},
};

// Composites that are several nodes in torch too, or only another spelling of one.
constexpr std::string_view kByParts =
    "positive where_method movedim unflatten ravel broadcast_to broadcast_tensors reshape_as atleast_1d "
    "atleast_1d.list atleast_2d atleast_2d.list atleast_3d atleast_3d.list fill_diagonal fliplr flipud "
    "repeat_interleave repeat_interleave.tensor hstack vstack dstack column_stack tensor_split tensor_split.at "
    "hsplit hsplit.at vsplit vsplit.at dsplit dsplit.at meshgrid cartesian_prod outer inner reshape view_as "
    "expand_as flatten getitem to to.device to.other type_as float double half bfloat16 cpu contiguous "
    "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices "
    "avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d "
    "adaptive_max_pool2d_with_indices interpolate norm norm.scalar linalg_norm linalg_norm.name "
    "linalg_matrix_norm linalg_matrix_norm.name diff trapezoid trapezoid.x msort nanmean take_along_dim "
    "linear tensordot softsign tanhshrink kron einsum chain_matmul linalg_multi_dot matrix_power rms_norm ";

// Words of the op's name with capitals; a letter after a digit begins a word: "max_pool2d" is MaxPool2D.
std::string following(std::string_view name) {
  std::string out;
  bool start = true;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (c == '_' || c == '.')
      start = true;
    else
      out += start ? static_cast<char>(std::toupper(letter)) : c, start = std::isdigit(letter) != 0;
  }
  return out + "Backward0";
}

std::string written_out(std::string_view name) {
  if (name.starts_with('=')) return std::string(name.substr(1));
  return std::string(name.substr(0, name.size() - 1)) + "Backward" + name.back();
}

struct Names {
  std::string own;                 // as it follows from the op's
  std::vector<std::string> names;  // in its place, if there are any
  int (*which)(Args) = nullptr;
};

std::vector<Names> names_of_ops() {
  std::vector<Names> out;
  for (const Op& op : all_ops()) out.push_back({following(op.public_name), {}});
  for (std::string_view rest = kByParts; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    if (const OpId id = find_op(rest.substr(0, end)); id != kNoOp) out[id].names = {""};
    rest.remove_prefix(end + 1);
  }
  for (const Row& row : kRows) {
    const OpId id = find_op(row.op);
    if (id == kNoOp) continue;
    out[id].which = row.which;
    for (const std::string_view name : row.names) out[id].names.push_back(name.empty() ? "" : written_out(name));
  }
  return out;
}

const std::string& torch_name(const Op& op, Args args) {
  static const std::vector<Names>& names = *new std::vector<Names>(names_of_ops());
  const Names& of = names[op.id];
  return of.names.empty() ? of.own : of.names[of.which ? static_cast<std::size_t>(of.which(args)) : 0];
}

}  // namespace

const std::string& node_name(const Op& op, Args args) {
  const std::string& name = torch_name(op, args);
  if (!name.empty()) return name;
  static const std::string& parts = *new std::string("PartsBackward0");
  return parts;
}

const std::string* call_name(const Op& op, Args args) {
  const std::string& name = torch_name(op, args);
  return name.empty() ? nullptr : &name;
}

// A product's result is no view of anything that programs see; of a vector and a matrix it lost a dimension.
const std::string* last_part_name(const Op& op, Args args, std::string_view name) {
  static const std::string& unsafe = *new std::string("UnsafeViewBackward0");
  static const std::string& squeezed = *new std::string("SqueezeBackward4");
  if (op.id == id::Linear && args[2].is_none() && dim_of(args[0]) != 2)
    return name == "ViewBackward0" ? &unsafe : nullptr;
  if (op.id != id::Matmul && op.id != id::Kron) return nullptr;
  if (name == "SelectBackward0") return dim_of(args[1]) == 2 ? &squeezed : &unsafe;
  return name == "ViewBackward0" || name == "BmmBackward0" ? &unsafe : nullptr;
}

}  // namespace md
