// The table of counts per function, as Python gets it for the report of a whole program.
#include "frontend/entries/frame_counts.h"

#include <deque>
#include <map>
#include <tuple>

#include "frontend/cpython/object_text.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/report/events.h"

namespace md {

struct FrameCounts {
  std::string file, name;
  int line = 0;
  long whole = 0, partly = 0, skipped = 0;
  std::map<std::string, long> breaks, skips, details;
};

namespace {

constexpr std::size_t kMaxContext = 160;

struct Table {  // used with the GIL held
  bool on = false;
  std::deque<FrameCounts> rows;
  std::map<std::tuple<std::string, int, std::string>, FrameCounts*> by_place;
};

Table& table() {
  static auto* t = new Table();
  return *t;
}

FrameCounts& row_of(PyCodeObject* code, FrameNotes& notes) {
  if (notes.counts) return *notes.counts;
  Table& t = table();
  auto key = std::make_tuple(text_of(code->co_filename), code->co_firstlineno, text_of(code->co_qualname));
  FrameCounts*& row = t.by_place[key];
  if (!row) {
    row = &t.rows.emplace_back();
    std::tie(row->file, row->line, row->name) = key;
  }
  notes.counts = row;
  return *row;
}

// Runs `act` on the row of `code`. Whatever fails on the way is no business of the program.
template <class F>
void with_row(PyCodeObject* code, F&& act) {
  if (!table().on) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    FrameNotes& notes = frame_notes(code);
    act(notes, row_of(code, notes));
  } catch (const PythonError&) {
    PyErr_Clear();
  } catch (const std::bad_alloc&) {
  }
  PyErr_Restore(type, value, traceback);
}

std::string label(const GraphBreak& b) { return b.code < 0 ? b.type.substr(0, kMaxContext) : break_code_name(b.code); }

PyRef count_dict(const std::map<std::string, long>& counts) {
  PyRef d = checked(PyDict_New());
  for (auto& [key, n] : counts) checked(PyDict_SetItem(d.get(), py_str(key).get(), py_int(n).get()));
  return d;
}

}  // namespace

bool counting_frames() { return table().on; }
void count_frames(bool on) { table().on = on; }

void count_replaced(PyCodeObject* code, bool broke) {
  with_row(code, [&](FrameNotes& notes, FrameCounts& row) {
    if (!notes.is_split) ++(broke ? row.partly : row.whole);
  });
}

void count_skipped(PyCodeObject* code) {
  with_row(code, [&](FrameNotes& notes, FrameCounts& row) {
    if (notes.is_split) return;
    ++row.skipped;
    ++row.skips[notes.plain_reason];
  });
}

void count_break(PyCodeObject* code, const GraphBreak& b) {
  with_row(code, [&](FrameNotes&, FrameCounts& row) {
    ++row.breaks[label(b)];
    ++row.details[label(b) + " " + b.context.substr(0, kMaxContext)];
  });
}

void count_break(PyCodeObject* code, const GraphBreak& b, const std::string& place) {
  count_break(code, b);
  note_plain_reason(code, label(b) + (place.empty() ? "" : " in " + place));
}

void note_plain_reason(PyCodeObject* code, const std::string& reason) {
  with_row(code, [&](FrameNotes& notes, FrameCounts&) { notes.plain_reason = reason; });
}

void share_counts(PyCodeObject* from, FrameNotes& with) {
  with_row(from, [&](FrameNotes&, FrameCounts& row) { with.counts = &row; });
}

PyRef frame_counts_list() {
  PyRef list = checked(PyList_New(0));
  for (const FrameCounts& row : table().rows) {
    PyRef d = checked(PyDict_New());
    const auto set = [&](const char* key, PyRef v) { checked(PyDict_SetItemString(d.get(), key, v.get())); };
    set("file", py_str(row.file)), set("name", py_str(row.name)), set("line", py_int(row.line));
    set("whole", py_int(row.whole)), set("partly", py_int(row.partly)), set("skipped", py_int(row.skipped));
    set("breaks", count_dict(row.breaks)), set("skips", count_dict(row.skips)), set("details", count_dict(row.details));
    checked(PyList_Append(list.get(), d.get()));
  }
  return list;
}

}  // namespace md
