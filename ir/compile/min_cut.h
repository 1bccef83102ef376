// The cheapest set of values that separates what cannot be computed again from what asks for it.
#pragma once

#include <cstdint>
#include <vector>

namespace md {

// A network of values, each with what it costs to keep. Dinic's algorithm on the network with every value split in two.
class MinCut {
 public:
  static constexpr std::int64_t kNever = std::int64_t{1} << 60;  // too dear to be cut

  explicit MinCut(std::size_t values) : out_(2 * values + 2) {}

  void set_cost(std::size_t value, std::int64_t cost) { edge(entry(value), exit(value), cost); }
  void add_source(std::size_t value) { edge(source(), entry(value), kNever); }
  void add_sink(std::size_t value) { edge(exit(value), sink(), kNever); }
  void add_use(std::size_t value, std::size_t user) { edge(exit(value), entry(user), kNever); }

  // The values to keep, in order. What lies nearest to the sinks is preferred among equals.
  std::vector<std::size_t> cut();

 private:
  struct Edge {
    std::size_t to, back;  // `back`: the place of the reverse edge among those of `to`
    std::int64_t left;
  };
  static std::size_t entry(std::size_t v) { return 2 * v + 2; }
  static std::size_t exit(std::size_t v) { return 2 * v + 3; }
  static std::size_t source() { return 0; }
  static std::size_t sink() { return 1; }
  void edge(std::size_t from, std::size_t to, std::int64_t capacity);
  bool find_levels();
  bool push_along_one_path();

  std::vector<std::vector<Edge>> out_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

}  // namespace md
