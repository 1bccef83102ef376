// One spelling for equal sizes.
#pragma once

namespace md {

class Tracer;
struct Graph;

// What was learnt after a node was made holds for it too: equal sizes are spelt alike throughout the finished graph.
void respell_sizes(Tracer& t, Graph& g);

}  // namespace md
