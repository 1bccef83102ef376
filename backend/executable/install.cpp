#include "backend/executable/install.h"

#include "backend/blocks/engine.h"
#include "backend/blocks/sweep.h"
#include "backend/machine/allocator.h"
#include "backend/machine/thread_pool.h"
#include "backend/tiers/compile_queue.h"
#include "ir/reference/engine.h"

namespace md {

void install_block_engine() {
  static blocks::BlockEngine* const engine = [] {
    auto* e = new blocks::BlockEngine(blocks::kernel_table());
    set_engine(e);
    set_allocator(&allocate_cached_storage);
    set_sweep_runner(&blocks::run_sweep);
    return e;
  }();
  (void)engine;
}

void shut_down_block_engine() {
  shut_down_background();
  shut_down_thread_pool();
}

}  // namespace md
