// Writes of a functional graph become launches: write_view copies its base, a commit copies its value into the input,
// and where nothing stands against it the nest that computes the value stores it there itself.
#pragma once

#include "backend/executable/direct_commits.h"
#include "backend/executable/value_places.h"

namespace md {

// Adds launches and commits to `executable`.
class WriteLowering {
 public:
  WriteLowering(const Graph& functional, const std::vector<FusionGroup>& groups, const TargetOf& target_of,
                ValuePlaces& places, Executable& executable);

  // To be asked in the order of the groups, before their nests are added. Some nests of `lowered` now store values of
  // commits into inputs; whether any does.
  bool store_into_inputs(std::vector<LoweredGroup>& lowered, const FusionGroup& group);
  // Results of `l` that only a write_view reads now go straight into its result, which gets its copy of the base.
  void store_into_writes(LoweredGroup& l, const FusionGroup& group);

  void add_write_view(const Node& n);
  void add_commit(const Node& n);

 private:
  bool store_into(LoweredGroup& l, const FusionGroup& group, const Node& value, const Place& to);
  Place target_of(const Node& commit) const;
  Place copy_base(const Node& write);
  void add_copy(const Place& from, const Place& to);
  Launch copy_launch(const Place& from, const Place& to) const;

  const TargetOf& target_of_;
  ValuePlaces& places_;
  Executable& executable_;
  DirectCommits direct_;
  std::unordered_map<const Node*, const Node*> written_by_;  // source -> the write_view that alone reads it
};

}  // namespace md
