// The frame hook: frames that compiled code reaches by a plain call are compiled, too.
#pragma once

namespace md {

// False: this interpreter's frames are not as expected; only directly decorated functions are compiled then.
bool install_hook();

class CompileOptions;
// From now on every Python function that runs is compiled under `options`, on this thread and on those that start
// later, also where there is no tensor in sight. Null: no more. For a whole program (`python -m minidynamo run`).
void run_everything(CompileOptions* options);

}  // namespace md
