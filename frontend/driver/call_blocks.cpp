// Blocks of calls that are compiled, or are not, by thread.
#include "frontend/driver/call_blocks.h"

#include <memory>
#include <utility>
#include <vector>

#include "frontend/cpython/frame_access.h"
#include "frontend/driver/run_frame.h"
#include "frontend/entries/compiled_object.h"

namespace md {
namespace {

struct Block {
  CompileOptions* outer;
  PyObject* owner;  // of the options; owned, null in a block of plain calls
  std::unique_ptr<Disarmed> plain;
};

// What a thread leaves open when it ends stays referenced: nothing may be freed then.
struct OpenBlocks {
  std::vector<Block> blocks;
  ~OpenBlocks() {
    for (Block& b : blocks) {
      if (b.owner) end_thread();
      (void)b.plain.release();
    }
  }
};

OpenBlocks& open_blocks() {
  thread_local OpenBlocks open;
  return open;
}

}  // namespace

void begin_block(PyObject* compiled) {
  std::vector<Block>& blocks = open_blocks().blocks;
  if (compiled == Py_None) {
    blocks.push_back({current_options(), nullptr, std::make_unique<Disarmed>()});
    return;
  }
  CompileOptions* const options = reinterpret_cast<CompiledFunctionObject*>(compiled)->options;
  blocks.push_back({std::exchange(current_options(), options), Py_NewRef(compiled), nullptr});
  arm();
}

void end_block() {
  std::vector<Block>& blocks = open_blocks().blocks;
  if (blocks.empty()) {
    PyErr_SetString(PyExc_RuntimeError, "no block of compiled calls is open in this thread");
    throw PythonError{};
  }
  const Block last = std::move(blocks.back());
  blocks.pop_back();
  if (last.owner) disarm();
  current_options() = last.outer;
  Py_XDECREF(last.owner);
}

}  // namespace md
