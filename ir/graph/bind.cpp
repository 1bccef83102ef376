// Binding the arguments of a call to the parameters of an op, as CPython binds them to a function's.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/core/error.h"
#include "ir/graph/graph.h"
#include "ir/graph/op_table.h"
#include "ir/graph/text.h"
#include "ir/tensor/device_runtime.h"

namespace md {
namespace {

struct Alias {
  std::string_view given, param;
};
// NumPy's and torch's second names for a parameter.
constexpr Alias kAliases[] = {
    {"input", "self"},  {"axis", "dim"},   {"keepdims", "keepdim"}, {"split_size_or_sections", "split_size"},
    {"tensor", "self"}, {"axis0", "dim0"}, {"axis1", "dim1"},       {"indices", "sections"}};

int find_param(const Schema& s, std::string_view name) {
  if (const int at = s.find(name); at >= 0) return at;
  for (const Alias& a : kAliases) {
    if (a.given == name) {
      if (const int at = s.find(a.param); at >= 0) return at;
    }
  }
  return -1;
}

bool is_tensor_arg(const Arg& a) {
  if (a.is<TensorRef>()) return true;
  const auto* n = a.get_if<Node*>();
  return n && !(*n)->multi && !(*n)->types.empty();
}

bool is_int_list(const Arg& a) {
  const auto* l = a.get_if<ListArg>();
  return l && std::ranges::all_of(l->items, [](const Arg& x) { return x.is<Size>(); });
}

bool is_tensor_list(const Arg& a) {
  const auto* l = a.get_if<ListArg>();
  return l && std::ranges::all_of(l->items, is_tensor_arg);
}

bool is_optional(ParamType t) {
  switch (t) {
    case ParamType::TensorOpt:
    case ParamType::OperandOpt:
    case ParamType::ScalarOpt:
    case ParamType::IntOpt:
    case ParamType::IntListOpt:
    case ParamType::FloatOpt:
    case ParamType::BoolOpt:
    case ParamType::StrOpt:
    case ParamType::DTypeOpt:
    case ParamType::DeviceOpt:
    case ParamType::MemoryFormatOpt:
    case ParamType::Count:
      return true;
    default:
      return false;
  }
}

// Whether `a` may stand for a parameter of type `t` that is not None.
bool fits(ParamType t, const Arg& a) {
  switch (t) {
    case ParamType::Tensor:
    case ParamType::TensorOpt:
      return is_tensor_arg(a);
    case ParamType::Operand:
    case ParamType::OperandOpt:
      return is_tensor_arg(a) || a.is_number();
    case ParamType::TensorList:
    case ParamType::TensorRest:
      return is_tensor_list(a);
    case ParamType::Scalar:
    case ParamType::ScalarOpt:
      return a.is_number();
    case ParamType::Int:
    case ParamType::IntOpt:
      return a.is<Size>();
    case ParamType::IntList:
    case ParamType::IntListOpt:
      return a.is<Size>() || is_int_list(a);
    case ParamType::Float:
    case ParamType::FloatOpt:
      return a.is_number() && !a.is<std::complex<double>>();
    case ParamType::Bool:
    case ParamType::BoolOpt:
      return a.is<bool>();
    case ParamType::Str:
    case ParamType::StrOpt:
      return a.is<std::string>();
    case ParamType::DType:
    case ParamType::DTypeOpt:
      return a.is<DType>();
    case ParamType::DeviceOpt:
      return a.is<Device>() || a.is<std::string>() || (a.is<Size>() && a.get<Size>().is_const());
    case ParamType::MemoryFormat:
    case ParamType::MemoryFormatOpt:
      return a.is<MemoryFormat>();
    case ParamType::True:
      return a.is<bool>() && a.get<bool>();
    case ParamType::False:
      return a.is<bool>() && !a.get<bool>();
    case ParamType::Count:
      return a.is<Size>() && !a.get<Size>().is_const();
    case ParamType::Index:
      return true;
  }
  return false;
}

// Whether `t` may stand for a number of this type by its value: a 0-d tensor, for an int one of ints.
bool takes_value_of(ParamType type, const TensorImpl& t) {
  if (!t.sizes.empty() || t.requires_grad) return false;
  switch (type) {
    case ParamType::Scalar:
    case ParamType::ScalarOpt:
    case ParamType::Float:
    case ParamType::FloatOpt:
      return true;
    case ParamType::Int:
    case ParamType::IntOpt:
    case ParamType::IntList:
    case ParamType::IntListOpt:
      return info(t.dtype).category == DTypeCategory::Integral;
    default:
      return false;
  }
}

bool is_list_param(ParamType t) { return t == ParamType::IntList || t == ParamType::IntListOpt; }

Device named_device(const std::string& text) {
  const std::optional<Device> d = parse_device(text);
  if (!d) throw OpError(ErrorKind::Runtime, invalid_device(text));
  return *d;
}

// Brings a fitting argument into the form infer and the engines expect.
Arg normalised(ParamType t, const Arg& a) {
  if (is_list_param(t) && a.is<Size>()) return ListArg{{a}};
  if (t == ParamType::DeviceOpt && a.is<std::string>()) return named_device(a.get<std::string>());
  if (t == ParamType::DeviceOpt && a.is<Size>()) return numbered_device(a.get<Size>().value());
  if ((t == ParamType::Float || t == ParamType::FloatOpt) && a.is<Size>() && a.get<Size>().is_const()) {
    return static_cast<double>(a.get<Size>().value());
  }
  if ((t == ParamType::Float || t == ParamType::FloatOpt) && a.is<bool>()) return a.get<bool>() ? 1.0 : 0.0;
  return a;
}

int positional_count(const Schema& s) {
  return static_cast<int>(std::ranges::count_if(s.params, [](const Param& p) { return !p.keyword_only; }));
}

// Why a call does not fit, remembered instead of thrown: with several overloads most attempts fail.
struct Misfit {
  enum Kind { None, TooMany, Unexpected, Twice, Missing, WrongType } kind = None;
  int param = -1;
  int given = 0;  // position of the wrong argument, or -1 for a keyword
  std::string_view keyword;
  const Arg* value = nullptr;
};

// Ints from the last positional parameter on are that parameter's list: x.view(2, 3). So are tensors: meshgrid(x, y).
bool takes_rest(const Schema& s, std::span<const Arg> args, int positional) {
  const int given = static_cast<int>(args.size());
  if (positional == 0 || given < positional) return false;
  const auto rest = args.subspan(positional - 1);
  if (s.params[positional - 1].type == ParamType::TensorRest) return std::ranges::all_of(rest, is_tensor_arg);
  if (given == positional || s.params[positional - 1].type != ParamType::IntList) return false;
  return std::ranges::all_of(rest, [](const Arg& a) { return a.is<Size>(); });
}

Misfit place(const Schema& s, int param, const Arg& a, int position, BoundArgs& out) {
  const Param& p = s.params[param];
  if (a.is_none() && is_optional(p.type)) {
    out[param] = a;
  } else if (fits(p.type, a)) {
    out[param] = normalised(p.type, a);
  } else {
    return {.kind = Misfit::WrongType, .param = param, .given = position, .value = &a};
  }
  return {};
}

// What calls that make tensors may say besides, of which there is one kind here: `layout` and `pin_memory`.
bool asks_nothing(const Schema& s, std::string_view name, const Arg& value) {
  if (find_param(s, "device") < 0) return false;
  if (name == "layout") return value.is_none() || value == Arg(std::string("torch.strided"));
  return name == "pin_memory" && (value.is_none() || value == Arg(false));
}

Misfit place_keywords(const Schema& s, const KwArgs& kwargs, std::vector<bool>& seen, BoundArgs& out) {
  for (const auto& [name, value] : kwargs) {
    const int at = find_param(s, name);
    if (at < 0 && asks_nothing(s, name, value)) continue;
    if (at < 0) return {.kind = Misfit::Unexpected, .keyword = name};
    if (seen[at]) return {.kind = Misfit::Twice, .param = at, .keyword = name};
    seen[at] = true;
    if (const Misfit m = place(s, at, value, -1, out); m.kind) return m;
  }
  return {};
}

Misfit fill_defaults(const Schema& s, std::size_t from, const std::vector<bool>* seen, BoundArgs& out) {
  for (std::size_t i = from; i < s.params.size(); ++i) {
    if (seen && (*seen)[i]) continue;
    if (!s.params[i].has_default) return {.kind = Misfit::Missing, .param = static_cast<int>(i)};
    out[i] = s.params[i].default_value;
  }
  return {};
}

Misfit attempt(const Op& op, std::span<const Arg> args, const KwArgs& kwargs, BoundArgs& out) {
  const Schema& s = op.schema;
  const int positional = positional_count(s);
  std::size_t given = args.size();
  out.assign(s.params.size(), Arg());
  if (takes_rest(s, args, positional)) {
    given = static_cast<std::size_t>(positional) - 1;
    const auto rest = args.subspan(given);
    out[given] = ListArg{std::vector<Arg>(rest.begin(), rest.end())};
  } else if (static_cast<int>(given) > positional) {
    return {.kind = Misfit::TooMany};
  }
  for (std::size_t i = 0; i < given; ++i) {
    if (const Misfit m = place(s, static_cast<int>(i), args[i], static_cast<int>(i), out); m.kind) return m;
  }
  given = std::min(args.size(), static_cast<std::size_t>(positional));
  if (kwargs.empty()) return fill_defaults(s, given, nullptr, out);
  std::vector<bool> seen(s.params.size());
  std::fill_n(seen.begin(), given, true);
  if (const Misfit m = place_keywords(s, kwargs, seen, out); m.kind) return m;
  return fill_defaults(s, given, &seen, out);
}

// --- Explaining ----------------------------------------------------------------------------------------------------

std::string_view type_name(const Arg& a) {
  struct Namer {
    std::string_view operator()(const NoneArg&) const { return "NoneType"; }
    std::string_view operator()(bool) const { return "bool"; }
    std::string_view operator()(const Size&) const { return "int"; }
    std::string_view operator()(double) const { return "float"; }
    std::string_view operator()(std::complex<double>) const { return "complex"; }
    std::string_view operator()(const std::string&) const { return "str"; }
    std::string_view operator()(DType) const { return "torch.dtype"; }
    std::string_view operator()(Device) const { return "torch.device"; }
    std::string_view operator()(MemoryFormat) const { return "torch.memory_format"; }
    std::string_view operator()(const EllipsisArg&) const { return "ellipsis"; }
    std::string_view operator()(const SliceArg&) const { return "slice"; }
    std::string_view operator()(const ListArg& l) const { return l.tuple ? "tuple" : "list"; }
    std::string_view operator()(const TensorRef&) const { return "Tensor"; }
    std::string_view operator()(Node* n) const { return n->multi ? "list" : "Tensor"; }
  };
  return std::visit(Namer{}, a.v);
}

std::string_view wanted(ParamType t) {
  switch (t) {
    case ParamType::Tensor:
    case ParamType::TensorOpt:
      return "Tensor";
    case ParamType::Operand:
    case ParamType::OperandOpt:
      return "Tensor or Number";
    case ParamType::TensorList:
    case ParamType::TensorRest:
      return "tuple of Tensors";
    case ParamType::Scalar:
    case ParamType::ScalarOpt:
      return "Number";
    case ParamType::Int:
    case ParamType::IntOpt:
      return "int";
    case ParamType::IntList:
    case ParamType::IntListOpt:
      return "tuple of ints";
    case ParamType::Float:
    case ParamType::FloatOpt:
      return "float";
    case ParamType::Bool:
    case ParamType::BoolOpt:
    case ParamType::True:
    case ParamType::False:
      return "bool";
    case ParamType::Count:
      return "a symbol";
    case ParamType::Str:
    case ParamType::StrOpt:
      return "str";
    case ParamType::DType:
    case ParamType::DTypeOpt:
      return "torch.dtype";
    case ParamType::DeviceOpt:
      return "torch.device";
    case ParamType::MemoryFormat:
    case ParamType::MemoryFormatOpt:
      return "torch.memory_format";
    case ParamType::Index:
      return "an index";
  }
  return "";
}

std::string plural(int n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string too_many(const Op& op, std::size_t given) {
  const int most = positional_count(op.schema);
  const int least = static_cast<int>(
      std::ranges::count_if(op.schema.params, [](const Param& p) { return !p.keyword_only && !p.has_default; }));
  const std::string takes = least == most ? plural(most, "positional argument")
                                          : fmt::format("from {} to {}", least, plural(most, "positional argument"));
  return fmt::format("{}() takes {} but {} {} given", op.public_name, takes, given, given == 1 ? "was" : "were");
}

std::string wrong_type(const Op& op, const Misfit& m) {
  const Param& p = op.schema.params[m.param];
  std::string_view name = p.name == "self" ? "input" : std::string_view(p.name);
  const std::string where = m.given < 0 ? "" : fmt::format(" (position {})", m.given + 1);
  const std::string_view given = type_name(*m.value);
  if (const auto* l = m.value->get_if<ListArg>()) {
    const bool tensors = p.type == ParamType::TensorList || p.type == ParamType::TensorRest;
    const ParamType t = tensors ? ParamType::Tensor : ParamType::Int;
    for (std::size_t i = 0; i < l->items.size() && (tensors || is_list_param(p.type)); ++i) {
      if (fits(t, l->items[i])) continue;
      return fmt::format("{}(): argument '{}'{} must be {}, but found element of type {} at pos {}", op.public_name,
                         name, where, wanted(p.type), type_name(l->items[i]), i);
    }
  }
  return fmt::format("{}(): argument '{}'{} must be {}, not {}", op.public_name, name, where, wanted(p.type), given);
}

std::string missing(const Op& op, const Misfit& m) {
  const Param& p = op.schema.params[m.param];
  const std::string_view name = p.name == "self" ? "input" : std::string_view(p.name);
  return fmt::format("{}() missing 1 required {} argument: '{}'", op.public_name,
                     p.keyword_only ? "keyword-only" : "positional", name);
}

std::string explain(const Op& op, const Misfit& m, std::size_t given) {
  switch (m.kind) {
    case Misfit::TooMany:
      return too_many(op, given);
    case Misfit::Unexpected:
      return fmt::format("{}() got an unexpected keyword argument '{}'", op.public_name, m.keyword);
    case Misfit::Twice:
      return fmt::format("{}() got multiple values for argument '{}'", op.public_name, m.keyword);
    case Misfit::Missing:
      return missing(op, m);
    default:
      return wrong_type(op, m);
  }
}

std::string given_types(std::span<const Arg> args, const KwArgs& kwargs) {
  std::string text;
  for (const Arg& a : args) text += fmt::format("{}{}", text.empty() ? "" : ", ", type_name(a));
  for (const auto& [name, value] : kwargs)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, type_name(value));
  return text;
}

// With one overload, or when one got further than the others, its own complaint; else the list of forms.
[[noreturn]] void fail(std::span<const OpId> candidates, std::span<const Arg> args, const KwArgs& kwargs) {
  const Op* best = nullptr;
  int score = -1;
  bool tie = false;
  for (const OpId id : candidates) {
    BoundArgs bound;
    const Misfit m = attempt(op(id), args, kwargs, bound);
    const int s = m.kind == Misfit::WrongType || m.kind == Misfit::Missing ? m.param + 1 : 0;
    tie = s == score;
    if (s > score) best = &op(id), score = s;
  }
  if (candidates.size() == 1 || !tie) {
    BoundArgs bound;
    const Misfit m = attempt(*best, args, kwargs, bound);
    throw OpError(ErrorKind::Type, explain(*best, m, args.size()));
  }
  std::string forms;
  for (const OpId id : candidates) forms += "\n * " + op(id).schema.text;
  throw OpError(ErrorKind::Type, fmt::format("{}() does not take ({}); it is one of:{}", op(candidates[0]).public_name,
                                             given_types(args, kwargs), forms));
}

}  // namespace

// Ints of a list that tensors hold: x.view(n, 1), x.expand([n, 2]). False: there were none.
static bool read_sizes(const Schema& s, const Misfit& m, std::vector<Arg>& args, ReadNumber* read) {
  std::span<Arg> sizes;
  const int positional = positional_count(s);
  if (m.kind == Misfit::TooMany && positional > 0 && is_list_param(s.params[positional - 1].type))
    sizes = std::span(args).subspan(positional - 1);
  else if (m.kind == Misfit::WrongType && m.given >= 0 && is_list_param(s.params[m.param].type))
    if (auto* list = std::get_if<ListArg>(&args[m.given].v)) sizes = list->items;
  bool any = false;
  for (Arg& a : sizes)
    if (const auto* t = a.get_if<TensorRef>(); t && takes_value_of(ParamType::Int, **t)) {
      a = read(**t);
      any = true;
    }
  return any;
}

bool try_bind(const Op& op, std::span<const Arg> args, const KwArgs& kwargs, BoundArgs& out) {
  return attempt(op, args, kwargs, out).kind == Misfit::None;
}

bool try_bind_reading(const Op& op, std::vector<Arg> args, KwArgs kwargs, BoundArgs& out, ReadNumber* read) {
  for (;;) {
    const Misfit m = attempt(op, args, kwargs, out);
    if (m.kind == Misfit::None) return true;
    if (read_sizes(op.schema, m, args, read)) continue;
    const auto* t = m.kind == Misfit::WrongType ? m.value->get_if<TensorRef>() : nullptr;
    if (!t || !takes_value_of(op.schema.params[m.param].type, **t)) return false;
    const Arg number = read(**t);
    if (m.given >= 0) {
      args[m.given] = number;
    } else {
      std::ranges::find_if(kwargs, [&](const auto& given) { return &given.second == m.value; })->second = number;
    }
  }
}

namespace {

// Factors that older programs give by position, before the tensors they multiply: what they are called today.
struct OlderOrder {
  std::string_view op;
  std::size_t tensors;
  std::array<const char*, 2> factors;
};
constexpr OlderOrder kOlderOrders[] = {{"add", 2, {"alpha"}},
                                       {"sub", 2, {"alpha"}},
                                       {"addcmul", 3, {"value"}},
                                       {"addcdiv", 3, {"value"}},
                                       {"addmm", 3, {"beta", "alpha"}},
                                       {"addmv", 3, {"beta", "alpha"}},
                                       {"addr", 3, {"beta", "alpha"}},
                                       {"addbmm", 3, {"beta", "alpha"}},
                                       {"baddbmm", 3, {"beta", "alpha"}}};

// add(x, 0.5, y) as add(x, y, alpha=0.5); false for calls that mean nothing of the kind.
bool in_todays_order(std::string_view name, std::vector<Arg>& args, KwArgs& kwargs) {
  const auto* const order = std::ranges::find(kOlderOrders, name, &OlderOrder::op);
  if (order == std::end(kOlderOrders)) return false;
  std::vector<Arg> tensors, factors;
  for (const Arg& a : args) (a.is_number() ? factors : tensors).push_back(a);
  const std::size_t most = order->factors[1] ? 2 : 1;
  if (tensors.size() != order->tensors || factors.empty() || factors.size() > most || args.back().is_number())
    return false;
  for (std::size_t i = 0; i < factors.size(); ++i) kwargs.emplace_back(order->factors[i], factors[i]);
  args = std::move(tensors);
  return true;
}

bool bind_one_of(std::span<const OpId> candidates, std::span<const Arg> args, const KwArgs& kwargs, BoundCall& call) {
  for (const OpId id : candidates) {
    if (!try_bind(op(id), args, kwargs, call.args)) continue;
    call.op = id;
    return true;
  }
  return false;
}

}  // namespace

BoundCall bind(std::span<const OpId> candidates, std::span<const Arg> args, const KwArgs& kwargs) {
  BoundCall call;
  if (!bind_one_of(candidates, args, kwargs, call)) fail(candidates, args, kwargs);
  return call;
}

BoundCall bind_any_order(std::span<const OpId> candidates, std::span<const Arg> args, const KwArgs& kwargs) {
  std::vector<Arg> todays(args.begin(), args.end());
  KwArgs named = kwargs;
  BoundCall call;
  if (!candidates.empty() && in_todays_order(op(candidates[0]).public_name, todays, named) &&
      bind_one_of(candidates, todays, named, call))
    return call;
  return bind(candidates, args, kwargs);
}

BoundCall bind(std::string_view public_name, std::span<const Arg> args, const KwArgs& kwargs) {
  const auto candidates = overloads(public_name);
  if (candidates.empty()) throw InternalError(fmt::format("no op is called '{}'", public_name));
  return bind(candidates, args, kwargs);
}

}  // namespace md
