// Parses signatures into schemas and builds the table, once, from every declaration in registry/ops/.
#include "ir/graph/op_table.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_map>

#include "ir/graph/mutation.h"
#include "ir/graph/op_visit.h"
#include "ir/tensor/generator.h"

namespace md {
namespace {

struct TypeName {
  std::string_view name;
  ParamType type;
};
constexpr TypeName kTypeNames[] = {
    {"Tensor", ParamType::Tensor},
    {"Tensor?", ParamType::TensorOpt},
    {"Operand", ParamType::Operand},
    {"Operand?", ParamType::OperandOpt},
    {"Tensor[]", ParamType::TensorList},
    {"Scalar", ParamType::Scalar},
    {"Tensor...", ParamType::TensorRest},
    {"Scalar?", ParamType::ScalarOpt},
    {"int", ParamType::Int},
    {"int?", ParamType::IntOpt},
    {"int[]", ParamType::IntList},
    {"int[]?", ParamType::IntListOpt},
    {"float", ParamType::Float},
    {"float?", ParamType::FloatOpt},
    {"bool", ParamType::Bool},
    {"bool?", ParamType::BoolOpt},
    {"str", ParamType::Str},
    {"str?", ParamType::StrOpt},
    {"dtype", ParamType::DType},
    {"dtype?", ParamType::DTypeOpt},
    {"device?", ParamType::DeviceOpt},
    {"memory_format", ParamType::MemoryFormat},
    {"memory_format?", ParamType::MemoryFormatOpt},
    {"Index", ParamType::Index},
    {"True", ParamType::True},
    {"False", ParamType::False},
    {"Count", ParamType::Count},
};

[[noreturn]] void bad_signature(std::string_view signature, std::string_view what) {
  throw InternalError(fmt::format("op signature '{}': {}", signature, what));
}

ParamType parse_type(std::string_view word, std::string_view signature) {
  for (const TypeName& t : kTypeNames) {
    if (t.name == word) return t.type;
  }
  bad_signature(signature, fmt::format("unknown type '{}'", word));
}

Arg parse_default(std::string_view text, ParamType type, std::string_view signature) {
  if (text == "None") return NoneArg{};
  if (text == "True") return true;
  if (text == "False") return false;
  if (text == "[]") return ListArg{};
  if (type == ParamType::MemoryFormat) {
    if (const auto f = find_memory_format(text)) return *f;
  }
  if (text.front() == '\'') return std::string(text.substr(1, text.size() - 2));
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, whole).ptr == end) {
    if (type == ParamType::IntList) return ListArg{{Arg(whole)}};
    return type == ParamType::Float ? Arg(static_cast<double>(whole)) : Arg(whole);
  }
  double real = 0;
  if (std::from_chars(text.data(), end, real).ptr == end) return real;
  bad_signature(signature, fmt::format("default '{}'", text));
}

// Splits "a, b" at commas; "[]" and "int[]" hold none.
std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(std::min(text.size(), comma + 1));
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  return parts;
}

Param parse_param(std::string_view text, bool keyword_only, std::string_view signature) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) bad_signature(signature, "parameter without a name");
  Param p;
  p.type = parse_type(text.substr(0, space), signature);
  p.keyword_only = keyword_only;
  std::string_view name = text.substr(space + 1);
  if (const std::size_t eq = name.find('='); eq != std::string_view::npos) {
    p.has_default = true;
    p.default_value = parse_default(name.substr(eq + 1), p.type, signature);
    name = name.substr(0, eq);
  }
  p.name = name;
  return p;
}

void parse_results(std::string_view text, Schema& s, std::string_view signature) {
  if (text == "Tensor") return;
  if (text == "Tensor[]") {
    s.results = -1;
    return;
  }
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') bad_signature(signature, "result type");
  for (std::string_view r : split_at_commas(text.substr(1, text.size() - 2))) {
    s.result_names.emplace_back(parse_param(r, false, signature).name);
  }
  s.results = static_cast<int>(s.result_names.size());
}

constexpr std::string_view kGeneratorParam = "Generator? generator=None";

Schema parse_schema(std::string_view signature) {
  Schema s;
  s.text = signature;
  const std::size_t open = signature.find('('), arrow = signature.find(") -> ");
  if (open == std::string_view::npos || arrow == std::string_view::npos)
    bad_signature(signature, "form is f(..) -> ..");
  bool keyword_only = false;
  for (std::string_view part : split_at_commas(signature.substr(open + 1, arrow - open - 1))) {
    if (part == "*") {
      keyword_only = true;
    } else if (part != kGeneratorParam) {  // never bound, see ir/tensor/generator.h
      s.params.push_back(parse_param(part, keyword_only, signature));
    }
  }
  parse_results(signature.substr(arrow + 5), s, signature);
  return s;
}

template <class O>
constexpr OpTraits traits_of() {
  OpTraits t;
  if constexpr (O::decl.kind == OpKind::Pointwise || O::decl.kind == OpKind::Reduction) {
    t.on_floats = computes_in<O>(DTypeCategory::Floating);
    t.on_ints = computes_in<O>(DTypeCategory::Integral);
    t.on_bools = computes_in<O>(DTypeCategory::Bool);
    t.needs_elements = NeedsElements<O>;
    t.finds_position = probe::Wins<O>;
  }
  return t;
}

struct Row {
  const OpDecl* decl;
  OpTraits traits;
};
constexpr Row kRows[] = {
#define MD_OP(S) {&ops::S::decl, traits_of<ops::S>()},
#include "registry/ops.inc"
#undef MD_OP
};

struct Table {
  std::vector<Op> ops;
  std::unordered_map<std::string_view, OpId> by_name;
  std::unordered_map<std::string_view, std::vector<OpId>> by_public_name;
  std::unordered_map<std::string_view, std::string_view> aliases;  // to public names
};

void add_aliases(Table& t, const Op& o) {
  for_each_alias(o, [&](std::string_view alias) {
    if (!t.aliases.emplace(alias, o.public_name).second) bad_signature(o.decl->signature, "alias declared twice");
  });
}

Op make_op(OpId id, const Row& row) {
  Op o{};
  o.id = id;
  o.decl = row.decl;
  o.schema = parse_schema(row.decl->signature);
  o.traits = row.traits;
  o.public_name = row.decl->name.substr(0, row.decl->name.find('.'));
  if (row.decl->signature.substr(0, row.decl->signature.find('(')) != o.public_name) {
    bad_signature(row.decl->signature, fmt::format("is not that of '{}'", row.decl->name));
  }
  o.operands = operand_count(row.decl->signature);
  o.dim = o.schema.find("dim");
  o.keepdim = o.schema.find("keepdim");
  o.dtype = o.schema.find("dtype");
  o.device = o.schema.find("device");
  o.requires_grad = o.schema.find("requires_grad");
  o.placed_by_default = o.device >= 0 && o.operands == 0 && o.decl->function && o.decl->default_device;
  return o;
}

const Table& table() {
  // Never destroyed: graphs and cached calls may outlive static destruction.
  static const Table& t = *[] {
    auto* fresh = new Table;
    for (const Row& row : kRows) fresh->ops.push_back(make_op(static_cast<OpId>(fresh->ops.size()), row));
    for (const Op& o : fresh->ops) {
      if (!fresh->by_name.emplace(o.decl->name, o.id).second) bad_signature(o.decl->signature, "name declared twice");
      fresh->by_public_name[o.public_name].push_back(o.id);
      add_aliases(*fresh, o);
    }
    return fresh;
  }();
  return t;
}

}  // namespace

#ifdef MINIDYNAMO_MUTATE
void check_enabled(const Op& op) {
  if (is_mutated("op", op.name())) throw InternalError("mutation check: op disabled");
}
#endif

bool takes_generator(const Op& op) { return op.schema.text.find(kGeneratorParam) != std::string::npos; }

int Schema::find(std::string_view param) const {
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == param) return static_cast<int>(i);
  }
  return -1;
}

std::span<const Op> all_ops() { return table().ops; }

const Op& op(OpId id) {
  static const Op* const ops = table().ops.data();
  return ops[id];
}

OpId find_op(std::string_view unique_name) {
  const auto& m = table().by_name;
  const auto it = m.find(unique_name);
  return it == m.end() ? kNoOp : it->second;
}

std::span<const OpId> overloads(std::string_view public_name) {
  const Table& t = table();
  auto it = t.by_public_name.find(public_name);
  if (it == t.by_public_name.end()) {
    const auto alias = t.aliases.find(public_name);
    if (alias == t.aliases.end()) return {};
    it = t.by_public_name.find(alias->second);
  }
  return it->second;
}

}  // namespace md
