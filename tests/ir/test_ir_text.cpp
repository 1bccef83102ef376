// Our graph text: it reads back as the same graph, and bad text is told where and why.
#include <gtest/gtest.h>

#include "ir/core/error.h"
#include "ir/graph/graph.h"
#include "ir/infer/verify.h"
#include "ir/sizes/shape_env.h"
#include "tests/ir/traced_builder.h"

namespace md {
namespace {

// `text` reads, prints as itself, and so does its clone.
void expect_round_trip(const std::string& text) {
  const auto g = parse_ir(text);
  EXPECT_EQ(print_ir(*g), text);
  EXPECT_EQ(print_ir(*clone(*g)), text);
}

TEST(IrText, TracedDialect) {
  expect_round_trip(R"(traced graph "__compiled_fn_1" {
  %l_x_ = input "L_x_" : f32[2, 3]{1, 2}+(4) $0 grad
  %l_y_ = input "L_y_" : f64[] $1 number
  stack 0 "/tmp/a \"b\".py":4 "fn" "y = x + 1" "/tmp/c.py":9 "inner" ""
  %y = add(%l_x_, 1) as operator "add" : f32[2, 3]{1, 2} $2 grad computed @0
  %_set_grad_enabled = state "_C._set_grad_enabled"(False)
  %item = getitem(%y, (slice(None, -1, 2), ..., None, 0)) as operator "getitem" : f32[1, 1] grad leaf_view @0
  %sum_1 = sum(%y, dim=[0, -1], dtype=f64) as method "sum" : f64[]
  %itruediv = div(%y, -2.5e-07) as inplace "itruediv" : f32[2, 3]{1, 2}
  %full = full([2], inf, device=device "cpu") : f32[2] untracked_view
  %max_1 = max.dim(%y, 0) as method "max" : (f32[3], i64[3], )
  %getitem = item 1 of %max_1 : i64[3]
  %c = attr "_tensor_constant0" f32[2, 2] [1.0, -0.0, nan, -inf] : f32[2, 2]
  %d = attr "_tensor_constant1" b8[2] [0, 1] : b8[2]
  %getattr_1 = T(%y) as attribute "T" : f32[3, 2]
  %output = output (%getitem,)
}
)");
}

TEST(IrText, FunctionalDialectAndSymbols) {
  expect_round_trip(R"(functional graph "" {
  symbol s0 = 8 in [2, inf] from "L['x'].size()[0]"
  symbol s1 = 4 in [2, 64] from "L['x'].size()[1]"
  symbol u0 in [-inf, inf]
  divisible {s0} by {4}
  %x = input "L_x_" : f32[s0, s1] $0
  %y = view(%x, [{s0*s1}]) : f32[s0*s1] $0
  %z = slice(%y, 0, 0, {((s0*s1 + 1)//2)}, 1) : f32[((s0*s1 + 1)//2)] $0
  %w = full([{min(s0, u0)}, {((u0**2 + 3*s1) % 5)}, 2], 1) : f32[min(s0, u0), ((u0**2 + 3*s1) % 5), 2]{2*((u0**2 + 3*s1) % 5), 2, 1}
  %commit = commit 0 (%w)
  %output = output (%z, %x)
}
)");
}

TEST(IrText, Regions) {
  expect_round_trip(R"(traced graph "outer" {
  %p = input "L_p_" : b8[]
  %cond = _(%p) as function "cond" : f32[] with
    traced graph "true" {
      %a = input "a" : f32[]
      %output = output (%a,)
    }
    traced graph "false" {
      %output = output ()
    }
  end
  %output = output (%cond,)
}
)");
}

TEST(IrText, BuiltGraphsReadBack) {
  TracedBuilder b;
  Node* x = b.input({4, 5});
  Node* y = b.call("mul", {x, 2.5});
  b.call("add_", {b.getitem(y, ListArg{{make_slice({}, {}, {}), 1}, true}), 1});
  b.setitem(y, EllipsisArg{}, 0);
  Node* top = b.call("max", {y, 1});
  b.output({b.item(top, 0), b.item(top, 1), b.call("reshape", {y, -1})});
  const std::string text = print_ir(*b.graph);
  EXPECT_EQ(print_ir(*parse_ir(text)), text);
  verify(*parse_ir(text));
}

void expect_error(const std::string& text, const std::string& message) {
  try {
    parse_ir(text);
    FAIL() << "no error for: " << text;
  } catch (const OpError& e) {
    EXPECT_EQ(e.kind, ErrorKind::Value);
    EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
  }
}

TEST(IrText, ErrorsNameThePlace) {
  const std::string head = "traced graph \"g\" {\n  %x = input \"L_x_\" : f32[3]\n";
  expect_error("", "line 1, column 1: expected 'traced'");
  expect_error(head, "expected '}'");
  expect_error(head + "  %y = add(%z, 1)\n}", "line 3, column 14: %z is not defined above");
  expect_error(head + "  %x = add(%x, 1)\n}", "line 3, column 6: %x is defined twice");
  expect_error(head + "  %y = nonsense(%x)\n}", "unknown op nonsense");
  expect_error(head + "  %y = add(%x 1)\n}", "expected ','");
  expect_error(head + "  %y = add(%x, what)\n}", "unknown argument 'what'");
  expect_error(head + "  %y = add(%x, 1) : q7[3]\n}", "unknown dtype");
  expect_error(head + "  %y = add(%x, 1) : f32[t]\n}", "unknown symbol t");
  expect_error(head + "  %y = add(%x, 1) : f32[3]{1, 1}\n}", "as many strides");
  expect_error(head + "  %y = add(%x, 1) @0\n}", "no such stack");
  expect_error(head + "  %sum = add(%x, 1)\n}", "%sum is a reserved name");
  expect_error(head + "  %y = add(%x, 99999999999999999999)\n}", "does not fit 64 bits");
  expect_error(head + "  %y = add(%x, \"abc\n}", "the string does not end");
  expect_error(head + "} x", "text after the graph");
  expect_error("traced graph \"g\" { symbol s in [0, 1] symbol s in [0, 1] }", "declared twice");
  expect_error(head + "  %c = attr \"c\" i64[2] [1, 2.5] : i64[2]\n}", "whole number");
}

// Any prefix and any one-character damage either reads or is refused; it never crashes.
TEST(IrText, DamagedTextIsRefused) {
  const std::string text = R"(functional graph "g" {
  symbol s0 = 8 in [2, inf] from "x"
  stack 0 "a.py":1 "f" "x"
  %x = input "L_x_" : f32[s0, 2]{2, 1} $0
  %y = add(%x, {s0 % 3}) : f32[s0, 2] @0
  %c = attr "c" f32[2] [1.0, 2e-05] : f32[2]
  %output = output (%y, %c)
}
)";
  int read = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char* damage : {"", "%", "(", "\"", "9", "}", "-", "\n"}) {
      std::string bad = text.substr(0, i) + damage;
      if (*damage) bad += text.substr(i + 1);
      try {
        parse_ir(bad);
        ++read;
      } catch (const OpError&) {
      }
    }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace md
