// Writes ops, parameters and results as JSON text; the format is read by python/ and tests/.
#include "ir/graph/op_table_json.h"

#include <fmt/format.h>

#include "ir/graph/op_table.h"

namespace md {
namespace {

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string_view kind_name(OpKind k) {
  constexpr std::string_view kNames[] = {"pointwise", "reduction", "view", "create", "random", "kernel", "composite"};
  return kNames[static_cast<std::size_t>(k)];
}

template <class Range, class F>
std::string joined(const Range& range, F&& text_of) {
  std::string out;
  for (const auto& x : range) out += (out.empty() ? "" : ", ") + text_of(x);
  return out;
}

// Type and default are quoted from the signature, where a parameter reads "int[]? dim=None".
std::string param_json(const Op& op, const Param& p) {
  const std::string& text = op.schema.text;
  std::size_t named = text.find(' ' + p.name, text.find('('));
  const auto ends = [&](std::size_t at) {
    return std::string_view("=,)").find(text[at + 1 + p.name.size()]) != std::string_view::npos;
  };
  while (!ends(named)) named = text.find(' ' + p.name, named + 1);  // " dtype" of "dtype dtype" is a type
  const std::size_t start = text.find_last_of(" (", named - 1) + 1;
  std::string out = fmt::format(R"({{"name": {}, "type": {}, "keyword_only": {})", json_text(p.name),
                                json_text(text.substr(start, named - start)), p.keyword_only);
  if (p.has_default) {
    const std::size_t value = text.find('=', named) + 1;
    out += fmt::format(R"(, "default": {})", json_text(text.substr(value, text.find_first_of(",)", value) - value)));
  }
  return out + "}";
}

std::string results_json(const Schema& s) {
  if (s.results < 0) return "\"list\"";
  if (s.result_names.empty()) return "[\"\"]";
  return "[" + joined(s.result_names, [](const std::string& n) { return json_text(n); }) + "]";
}

std::string op_json(const Op& op) {
  const OpDecl& d = *op.decl;
  return fmt::format(
      R"({{"name": {}, "public_name": {}, "also": {}, "kind": {}, "signature": {}, "doc": {}, "function": {}, "method": {}, )"
      R"("inplace": {}, "property": {}, "can_fail": {}, "params": [{}], "results": {}}})",
      json_text(d.name), json_text(op.public_name), json_text(d.also), json_text(kind_name(d.kind)),
      json_text(d.signature), json_text(d.doc), d.function, d.method, d.inplace, d.property, d.can_fail,
      joined(op.schema.params, [&](const Param& p) { return param_json(op, p); }), results_json(op.schema));
}

}  // namespace

std::string op_table_json() {
  std::string out;
  for (const Op& op : all_ops()) out += (out.empty() ? "[" : ",\n") + op_json(op);
  return out + "]\n";
}

}  // namespace md
