// The way back through recorded calls, as minidynamo/_aten/gradients.py shows it to handlers.
#pragma once

namespace md {

void init_shown_gradients();  // once, with the handlers

}  // namespace md
