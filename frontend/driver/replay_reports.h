// What becomes of launches of compiled graphs on a GPU, as Python hears of it.
#pragma once

namespace md {

void install_replay_reports();

}  // namespace md
