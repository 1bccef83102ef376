#pragma once

namespace md {

// False: this interpreter's frames are not as expected; only directly decorated functions are compiled then.
bool install_hook();

}  // namespace md
