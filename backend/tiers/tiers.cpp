// Kernels that change their engine: to machine code when it comes, or to the faster of two.
#include "backend/tiers/tiers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>

namespace md {
namespace {

std::unique_ptr<Kernel> block_kernel(std::shared_ptr<const Graph> functional) {
  return find_backend("blocks")->compile(std::move(functional));
}

// What a kernel shares with the job that makes its machine code.
class Tiers final : public BackgroundJob {
 public:
  Tiers(std::shared_ptr<const Graph> functional, KernelMaker make)
      : graph_(std::move(functional)), make_(std::move(make)), blocks_(block_kernel(graph_)) {}

  void run(const Checkpoint& checkpoint) override {
    const Checkpoint wanted = [&] {
      checkpoint();
      if (abandoned_.load(std::memory_order_relaxed)) throw BackgroundStopped{};
    };
    try {
      wanted();
      compiled_ = make_(graph_, wanted);
      ready_.store(compiled_.get());
    } catch (const BackgroundStopped&) {
      throw;
    } catch (const std::bad_alloc&) {
    } catch (...) {
      failure_ = std::current_exception();
      failed_.store(true);
    }
  }

  Kernel* ready() const { return ready_.load(std::memory_order_acquire); }
  void abandon() { abandoned_.store(true, std::memory_order_relaxed); }
  void throw_failure() {
    if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
  }
  // True for one caller.
  bool first_to_ask() { return !asked_.load(std::memory_order_relaxed) && !asked_.exchange(true); }

  // False: machine code has come meanwhile.
  bool run_blocks(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) {
    struct Inside {
      std::atomic<int>& count;
      explicit Inside(std::atomic<int>& c) : count(c) { count.fetch_add(1); }
      ~Inside() { count.fetch_sub(1); }
    } inside(inside_);
    if (ready_.load()) return false;
    blocks_->run(inputs, outputs);
    return true;
  }
  // Once there is machine code nobody enters the block kernels any more; who saw the last one leave frees them.
  void drop_blocks() {
    if (dropped_.load(std::memory_order_relaxed) || inside_.load() || dropped_.exchange(true)) return;
    blocks_ = nullptr;
  }

 private:
  const std::shared_ptr<const Graph> graph_;  // kept here, so that it does not die in the background
  const KernelMaker make_;
  std::unique_ptr<Kernel> blocks_, compiled_;
  std::atomic<Kernel*> ready_{nullptr};
  std::atomic<int> inside_{0};  // calls on block kernels
  std::atomic<bool> asked_{false}, abandoned_{false}, failed_{false}, dropped_{false};
  std::exception_ptr failure_;
};

class TieredKernel final : public Kernel {
 public:
  explicit TieredKernel(std::shared_ptr<Tiers> tiers) : tiers_(std::move(tiers)) {}
  ~TieredKernel() override { tiers_->abandon(); }

  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    if (Kernel* const compiled = tiers_->ready()) [[likely]] {
      tiers_->drop_blocks();
      return compiled->run(inputs, outputs);
    }
    tiers_->throw_failure();
    if (!tiers_->run_blocks(inputs, outputs)) return tiers_->ready()->run(inputs, outputs);
    if (tiers_->first_to_ask()) submit(tiers_);
  }

 private:
  const std::shared_ptr<Tiers> tiers_;
};

class MeasuredKernel final : public Kernel {
 public:
  MeasuredKernel(std::shared_ptr<const Graph> functional, std::unique_ptr<Kernel> compiled)
      : kernels_{std::move(compiled), block_kernel(std::move(functional))} {}

  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    if (Kernel* const chosen = chosen_.load(std::memory_order_acquire)) [[likely]]
      return chosen->run(inputs, outputs);
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || chosen_.load()) return kernels_[0]->run(inputs, outputs);
    const int which = calls_++ % 2;
    const auto start = std::chrono::steady_clock::now();
    kernels_[which]->run(inputs, outputs);
    best_[which] = std::min(best_[which], std::chrono::steady_clock::now() - start);
    if (calls_ == kTrials) chosen_.store(kernels_[best_[1] < best_[0] ? 1 : 0].get(), std::memory_order_release);
  }

 private:
  static constexpr int kTrials = 12;
  const std::unique_ptr<Kernel> kernels_[2];
  std::atomic<Kernel*> chosen_{nullptr};
  std::mutex mutex_;  // of what follows; nobody waits for it
  int calls_ = 0;
  std::chrono::steady_clock::duration best_[2]{std::chrono::steady_clock::duration::max(),
                                               std::chrono::steady_clock::duration::max()};
};

}  // namespace

std::unique_ptr<Kernel> tiered_kernel(std::shared_ptr<const Graph> functional, KernelMaker make) {
  return std::make_unique<TieredKernel>(std::make_shared<Tiers>(std::move(functional), std::move(make)));
}
std::unique_ptr<Kernel> measured_kernel(std::shared_ptr<const Graph> functional, std::unique_ptr<Kernel> compiled) {
  return std::make_unique<MeasuredKernel>(std::move(functional), std::move(compiled));
}

}  // namespace md
