// E. A. Dinic, Algorithm for solution of a problem of maximum flow in networks with power estimation, 1970.
#include "ir/compile/min_cut.h"

#include <algorithm>

namespace md {

void MinCut::edge(std::size_t from, std::size_t to, std::int64_t capacity) {
  out_[from].push_back({to, out_[to].size(), capacity});
  out_[to].push_back({from, out_[from].size() - 1, 0});
}

bool MinCut::find_levels() {
  level_.assign(out_.size(), -1);
  std::vector<std::size_t> reached{source()};
  level_[source()] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Edge& e : out_[reached[i]]) {
      if (e.left == 0 || level_[e.to] >= 0) continue;
      level_[e.to] = level_[reached[i]] + 1;
      reached.push_back(e.to);
    }
  }
  return level_[sink()] >= 0;
}

bool MinCut::push_along_one_path() {
  std::vector<Edge*> path;
  std::size_t at = source();
  while (at != sink()) {
    bool stepped = false;
    for (std::size_t& i = next_[at]; i < out_[at].size(); ++i) {
      Edge& e = out_[at][i];
      if (e.left == 0 || level_[e.to] != level_[at] + 1) continue;
      path.push_back(&e);
      at = e.to;
      stepped = true;
      break;
    }
    if (stepped) continue;
    if (path.empty()) return false;
    at = out_[path.back()->to][path.back()->back].to;  // a dead end: back, and past the edge that led here
    ++next_[at];
    path.pop_back();
  }
  const std::int64_t flow = std::ranges::min(path, {}, &Edge::left)->left;
  for (Edge* e : path) {
    e->left -= flow;
    out_[e->to][e->back].left += flow;
  }
  return true;
}

std::vector<std::size_t> MinCut::cut() {
  while (find_levels()) {
    next_.assign(out_.size(), 0);
    while (push_along_one_path()) {
    }
  }
  // What still reaches the sinks by what is left is behind the cut.
  std::vector<bool> behind(out_.size());
  std::vector<std::size_t> reached{sink()};
  behind[sink()] = true;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Edge& e : out_[reached[i]]) {
      if (behind[e.to] || out_[e.to][e.back].left == 0) continue;
      behind[e.to] = true;
      reached.push_back(e.to);
    }
  }
  std::vector<std::size_t> kept;
  for (std::size_t v = 0; entry(v) < out_.size(); ++v)
    if (!behind[entry(v)] && behind[exit(v)]) kept.push_back(v);
  return kept;
}

}  // namespace md
