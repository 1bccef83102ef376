// Reports go to minidynamo._dynamo.report.on_device_graph.
#include "frontend/driver/replay_reports.h"

#include "frontend/report/events.h"
#include "ir/compile/backend.h"

namespace md {
namespace {

// In the middle of anything: an exception that is on its way stays, and what a log handler raises is nobody's.
void tell(const ReplayReport& r) {
  if (!PyGILState_Check()) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    report("on_device_graph",
           {py_str(r.graph), py_int(static_cast<long long>(r.launches)), py_str(r.why), py_str(r.kernels)});
  } catch (const PythonError&) {
    drop_exception();
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace

void install_replay_reports() { set_replay_observer(tell); }

}  // namespace md
