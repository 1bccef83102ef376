// Operands as fake tensors, targets as the repr of the public function: the form of the reference's errors.
#include "frontend/report/call_text.h"

#include <fmt/format.h>

#include <memory>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_text.h"
#include "frontend/cpython/py_ref.h"
#include "ir/graph/text.h"

namespace md {

namespace {

// "minidynamo.nn.functional.relu" of the path behind the package's name; null if there is no such function.
PyRef public_function(const std::string& path) {
  PyRef o = PyRef::steal(import_module("minidynamo"));
  for (std::size_t at = 0; o && at != std::string::npos;) {
    const std::size_t dot = path.find('.', at);
    o = PyRef::steal(PyObject_GetAttrString(o.get(), path.substr(at, dot - at).c_str()));
    at = dot == std::string::npos ? dot : dot + 1;
  }
  PyErr_Clear();
  return o;
}

std::string fake_tensor(const TensorType& t) {
  std::string sizes;
  for (const Size& s : t.sizes) sizes += (sizes.empty() ? "" : ", ") + to_string(s);
  if (t.dim() == 1) sizes += ",";
  const std::string device = t.device.is_cpu() ? "" : fmt::format("device='{}', ", to_string(t.device));
  return fmt::format("FakeTensor(..., {}size=({}){}{})", device, sizes,
                     t.dtype == DType::Float32 ? "" : fmt::format(", dtype=torch.{}", info(t.dtype).name),
                     t.requires_grad ? ", requires_grad=True" : "");
}

}  // namespace

std::string operand_text(Arg a) {
  std::vector<std::unique_ptr<Node>> shown;
  for_each_node(a, [&](Node*& n) {
    shown.push_back(std::make_unique<Node>(Node{.kind = NodeKind::Placeholder, .name = fake_tensor(n->type())}));
    n = shown.back().get();
  });
  return python_repr(a);
}

std::string call_target(const Node& n) {
  switch (n.spelling) {
    case Spelling::Method:
      return n.target;
    case Spelling::Attribute:
      return "<built-in function getattr>";
    case Spelling::Operator:
    case Spelling::Inplace:
      return fmt::format("<built-in function {}>", n.target);
    case Spelling::Function:
    case Spelling::Name:
      break;
  }
  PyRef function = public_function(n.target);
  return function ? repr_of(function.get()) : n.target;
}

std::string call_text(const Node& n) {
  std::string args, kwargs;
  for (const Arg& a : n.args) args += (args.empty() ? "" : ", ") + operand_text(a);
  if (n.args.size() == 1) args += ",";
  for (const auto& [name, a] : n.kwargs)
    kwargs += fmt::format("{}{}: {}", kwargs.empty() ? "" : ", ", python_repr(std::string_view(name)), operand_text(a));
  return fmt::format("{} {}(*({}), **{{{}}})", n.spelling == Spelling::Method ? "call_method" : "call_function",
                     call_target(n), args, kwargs);
}

}  // namespace md
