// How values of the trace are called in explanations and hints.
#include "frontend/report/plain_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace md {

namespace {

using Text = std::string_view;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string code(Text name) { return "`" + std::string(name) + "`"; }

// What kinds of values are called; a kind that is not here is called by the words of its name.
constexpr std::pair<Text, Text> kKinds[] = {
    {"Tensor", "a tensor"},
    {"TensorWithTFOverride", "a tensor of a subclass"},
    {"NumpyNdarray", "a NumPy array"},
    {"SymNode", "a number that is known only when the compiled code runs"},
    {"ConstDict", "a dict"},
    {"DefaultDict", "a defaultdict"},
    {"Set", "a set"},
    {"Frozenset", "a frozenset"},
    {"Range", "a range"},
    {"Slice", "a slice"},
    {"Deque", "a deque"},
    {"UserFunction", "a Python function"},
    {"NestedUserFunction", "a function defined in the compiled code"},
    {"LocalGeneratorObject", "a generator"},
    {"FunctoolsPartial", "a `functools.partial`"},
    {"StringFormat", "a formatted string"},
    {"Super", "a `super()` object"},
    {"ListIterator", "an iterator"},
    {"Null", "nothing"},
    {"Cell", "a variable of an enclosing function"},
    {"DictKeys", "the keys of a dict"},
    {"DictValues", "the values of a dict"},
    {"DictItems", "the items of a dict"},
    {"GradMode", "a manager of the grad mode"},
    {"AutogradFunctionContext", "the `ctx` of an autograd function"},
};

// Those that say what they are of, behind these words.
constexpr std::pair<Text, Text> kNamed[] = {
    {"UserDefinedObject", "an object of class "},
    {"UserDefinedClass", "the class "},
    {"GenericContextWrapping", "a context manager of class "},
    {"Exception", "an exception of class "},
    {"Builtin", "the builtin "},
    {"TorchInGraphFunction", "the function "},
    {"PythonModule", "the module "},
    {"Itertools", "an object of class "},
};

std::string article(const std::string& words) {
  return (Text("aeiou").find(words[0]) != Text::npos ? "an " : "a ") + words;
}

// "ListIterator" → "a list iterator"
std::string words_of_name(Text kind) {
  std::string words;
  for (char c : kind) {
    if (std::isupper(static_cast<unsigned char>(c)) && !words.empty()) words += ' ';
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return article(words);
}

// Past the bracket that closes the one at `from`; strings inside are skipped. npos: there is none.
std::size_t end_of_brackets(Text s, std::size_t from) {
  const char open = s[from], close = open == '(' ? ')' : '>';
  int depth = 0;
  char quote = 0;
  for (std::size_t i = from; i < s.size(); ++i) {
    if (quote) {
      if (s[i] == '\\')
        ++i;
      else if (s[i] == quote)
        quote = 0;
    } else if (s[i] == '\'' || s[i] == '"') {
      quote = s[i];
    } else if (s[i] == open) {
      ++depth;
    } else if (s[i] == close && --depth == 0) {
      return i + 1;
    }
  }
  return Text::npos;
}

// The name in "<function f at 0x1>", "<built-in method m of T object at 0x1>", "<class 'a.b'>", "<module 'm' from ...>"
// and "<a.b object at 0x1>"; empty: it is none of these.
Text name_in_angles(Text inside) {
  if (inside.starts_with("super: ")) return "super";
  for (Text start : {"class '", "module '", "enum '", "flag '"})
    if (inside.starts_with(start)) return inside.substr(start.size(), inside.find('\'', start.size()) - start.size());
  for (Text start :
       {"built-in function ", "built-in method ", "bound method ", "function ", "method ", "slot wrapper "})
    if (inside.starts_with(start)) {
      Text name = inside.substr(start.size());
      if (name.starts_with('\'')) name = name.substr(1, name.find('\'', 1) - 1);
      return name.substr(0, name.find(' '));
    }
  const std::size_t object = inside.find(" object at 0x");
  return object == Text::npos ? Text() : inside.substr(0, object);
}

// The module of a name in the mirror is torch's: it is what the program wrote.
std::string angles(Text whole) {
  const Text inside = whole.substr(1, whole.size() - 2), name = name_in_angles(inside);
  if (name.empty()) return std::string(whole);
  if (inside.find(" object at 0x") != Text::npos && !inside.starts_with("b")) return "an object of class " + code(name);
  return code(name);
}

// Of the value whose kind is `kind` and whose brackets hold `inside`.
std::string value(Text kind, Text inside) {
  if (kind == "Constant") {
    const std::size_t colon = inside.find(": ");
    if (colon == Text::npos) return "a constant";
    const Text type = inside.substr(0, colon);
    if (type == "NoneType") return "None";
    return "the " + std::string(type) + " " + std::string(inside.substr(colon + 2));
  }
  if (inside.starts_with("length=") && kind.find("Iterator") == Text::npos) {
    const Text n = inside.substr(7, inside.find(',') == Text::npos ? Text::npos : inside.find(',') - 7);
    return words_of_name(kind) + " of " + std::string(n) + (n == "1" ? " item" : " items");
  }
  if (kind == "UserMethod") return "the method " + plain_words(inside.substr(0, inside.find(", ")));
  if (kind == "GetAttr" && inside.rfind(", ") != Text::npos)
    return code(inside.substr(inside.rfind(", ") + 2)) + " of " + plain_words(inside.substr(0, inside.rfind(", ")));
  const auto first = &std::pair<Text, Text>::first;
  if (const auto named = std::ranges::find(kNamed, kind, first); named != std::end(kNamed) && !inside.empty()) {
    const std::string what = plain_words(inside);
    return std::string(named->second) + (what[0] == '`' ? what : code(what));
  }
  const auto known = std::ranges::find(kKinds, kind, first);
  return known != std::end(kKinds) ? std::string(known->second) : words_of_name(kind);
}

// The name in ".name" at `from`; empty: there is none.
Text attribute_at(Text s, std::size_t from) {
  if (from + 1 >= s.size() || s[from] != '.' || !is_word(s[from + 1])) return {};
  std::size_t end = from + 1;
  while (end < s.size() && is_word(s[end])) ++end;
  return s.substr(from + 1, end - from - 1);
}

// The name of a value's kind, "List" of "ListVariable(", at `from`; empty: there is none.
Text kind_at(Text s, std::size_t from) {
  if (from > 0 && (is_word(s[from - 1]) || s[from - 1] == '.')) return {};
  std::size_t end = from;
  while (end < s.size() && is_word(s[end])) ++end;
  const Text word = s.substr(from, end - from);
  if (word == "LazyVariableTracker") return word;
  const bool named = word.size() > 8 && word.ends_with("Variable") && std::isupper(static_cast<unsigned char>(word[0]));
  return named && end < s.size() && s[end] == '(' ? word.substr(0, word.size() - 8) : Text();
}

// What "L['x'].y['z']" and "G['t'][0]" at `from`, the spelling of a place in guards, are in the program: `x.y['z']` and
// `t[0]`; `end` becomes the place behind. What has no name there is a value. Empty: there is none.
std::string place_at(Text s, std::size_t from, std::size_t& end) {
  const Text rest = s.substr(from);
  if ((from > 0 && s[from - 1] != ' ') || !(rest.starts_with("L['") || rest.starts_with("G['"))) return {};
  const auto quoted = [&](std::size_t open) {  // the text in ['text'] at `open`
    const std::size_t close = s.find("']", open);
    if (close == Text::npos || s.substr(open, 2) != "['") return Text();
    end = close + 2;
    return s.substr(open + 2, close - open - 2);
  };
  std::string name(quoted(from + 1));
  if (name.empty() || (!is_word(name[0]) && name[0] != '.')) return {};
  constexpr Text kImport = "__import_", kDot = "_dot_", kDict = ".__dict__['";
  if (name.starts_with(kImport)) {
    name.erase(0, kImport.size());
    for (std::size_t at; (at = name.find(kDot)) != std::string::npos;) name.replace(at, kDot.size(), ".");
    if (const Text attribute = quoted(end); !attribute.empty()) name += "." + std::string(attribute);
  }
  bool named = !name.starts_with("__") && name[0] != '.';
  while (end < s.size()) {
    if (s.substr(end).starts_with(kDict)) {
      name += "." + std::string(quoted(end + kDict.size() - 2));
    } else if (s[end] == '[') {
      const std::size_t open = end, close = s.find(']', open);
      if (close == Text::npos) break;
      name += s.substr(open, close + 1 - open);
      end = close + 1;
    } else if (const Text attribute = attribute_at(s, end); !attribute.empty()) {
      named = named && attribute != "__closure__";
      name += "." + std::string(attribute);
      end += attribute.size() + 1;
    } else {
      break;
    }
  }
  return named ? code(name) : "a value";
}

}  // namespace

std::string plain_words(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    if (s.substr(i).starts_with("<unknown module>.")) {
      i += 17;
      continue;
    }
    std::size_t behind = 0;
    if (const std::string place = place_at(s, i, behind); !place.empty()) {
      out += place;
      i = behind;
      continue;
    }
    const std::size_t closed = s[i] == '<' ? end_of_brackets(s, i) : Text::npos;
    if (closed != Text::npos && !name_in_angles(s.substr(i + 1, closed - i - 2)).empty()) {
      out += angles(s.substr(i, closed - i));
      i = closed;
      continue;
    }
    const Text kind = kind_at(s, i);
    const std::size_t open = kind.empty() ? Text::npos : s.find('(', i);
    const std::size_t end = open == Text::npos ? Text::npos : end_of_brackets(s, open);
    if (end == Text::npos) {
      out += s[i++];
      continue;
    }
    const std::string words =
        kind == "LazyVariableTracker" ? "a value" : value(kind, s.substr(open + 1, end - open - 2));
    i = end;
    if (const Text name = attribute_at(s, i); !name.empty()) {  // "X().y": `y` of an x
      out += code(name) + " of ";
      i += name.size() + 1;
    }
    out += words;
  }
  return out;
}

}  // namespace md
