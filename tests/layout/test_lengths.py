"""Files, functions and classes are short: what outgrows a limit has taken on a second thing."""

import ast
import functools

import pytest

from layout.cpp_scan import scan
from layout.tree import sources, text_of

MAX_FILE, MAX_FUNCTION, MAX_CLASS = 500, 80, 300  # lines
# Tables may be as long as they have rows: one struct or body per op.
TABLES = ("registry/ops/",)
# Classes of before there was a limit, with the lines they may have. Only ever shortened: a row whose class keeps the
# limit has to go.
LONG_CLASSES = {}


def test_files_are_short():
    counted = {n: text_of(n).count("\n") for n in sources(".h", ".cpp", ".c", ".py") if not n.startswith(TABLES)}
    assert {n: lines for n, lines in counted.items() if lines > MAX_FILE} == {}


def python_definitions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            yield kind, node.name, node.end_lineno - node.lineno + 1


@functools.cache
def definitions():
    """(kind, file, head, lines) of every function and class."""
    cpp = [
        (f.kind, name, f.head, f.length) for name in sources(".h", ".cpp", ".c", ".inc") for f in scan(text_of(name))
    ]
    python = [
        (kind, name, head, length)
        for name in sources(".py")
        for kind, head, length in python_definitions(text_of(name))
    ]
    return cpp + python


def test_functions_are_short():
    found = [(f"{name}: {head}", lines) for kind, name, head, lines in definitions() if kind == "function"]
    assert len(found) > 5000
    assert [f"{where} ({lines})" for where, lines in found if lines > MAX_FUNCTION] == []


def test_classes_are_short():
    long = {(name, head): n for kind, name, head, n in definitions() if kind == "class" and n > MAX_CLASS}
    assert {where: n for where, n in long.items() if n > LONG_CLASSES.get(where, MAX_CLASS)} == {}
    assert [where for where in LONG_CLASSES if where not in long] == [], "no longer too long: delete the row"


def lines_of(kind, text):
    return [(found.head, found.length) for found in scan(text) if found.kind == kind]


def test_functions_are_measured():
    text = """
namespace md {
template <class T>
int f(
    int x, std::vector<int> y = {1},
    const char* z = "}") noexcept {  // {
  if (x) { /* } */
    auto g = [](int a) { return '}'; };
    struct Local { void h() {} };
  }
  return 1'000;
}
#define OPEN {
PyObject* const table[] = {{"f", [](PyObject*) -> PyObject* {
  return nullptr;
}}, {R"x({)" {)x", nullptr}};
}  // namespace md
"""
    assert lines_of("function", text) == [
        ('int f( int x, std::vector<int> y = {1}, const char* z = " ") noexcept', 10),
        ('" ", [](PyObject*) -> PyObject*', 3),
    ]
    assert lines_of("class", text) == []


def test_classes_and_their_methods_are_measured():
    text = """
template <class T, class = std::enable_if_t<(sizeof(T) > 1)>>
struct alignas(64) S final : Base<T>,
                             std::array<int, 2> {
 public:
  explicit S(int a)
      : a_{a}, b_(std::max({a, 2})), Base<T>{a} {
    run();
  }
  S() noexcept : b_(1) {}
  bool operator()(int x) const override { return x < 1; }
  T& operator[](int i) && { return a[i]; }
  bool operator==(const S&) const = default;
  auto end() -> T*
    requires(!kInteger)
  {
    return nullptr;
  }
  enum class Kind { A, B };
  struct Inner {
    std::function<int()> f = [] { return 1; };
  };
  std::atomic<int> a_{0}, b_[2]{};
};
struct S<int> make(int x) { return {x}; }
template <class O>
concept Float = requires(O& o) { o.f(); } && requires { typename O::V; };
extern "C" {
struct C { int a; };
}
"""
    names = ["explicit S(int a)", "S() noexcept", "bool operator()(int x) const override", "T& operator[](int i) &&"]
    found = lines_of("function", text)
    assert [length for _, length in found] == [4, 1, 1, 1, 5, 1, 1]
    assert [head.partition(" :")[0] for head, _ in found[:4]] == names
    assert found[6][0] == "struct S<int> make(int x)"
    assert [(head.split()[-1], length) for head, length in lines_of("class", text)] == [
        ("Inner", 3),
        ("2>", 23),
        ("C", 1),
    ]


def test_braces_of_both_branches_are_refused():
    text = "#if A\nint f(int x) {\n#else\nint f() {\n#endif\n  return 1;\n}\n"
    with pytest.raises(ValueError, match="closes"):
        scan(text)
    with pytest.raises(ValueError, match="line 2"):
        scan("int x;\n}")
