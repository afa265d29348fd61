// LedgerRank: knows which operations are still in flight: neither returned by wait_any() nor abandoned.
#pragma once

#include <map>
#include <string>

#include "protocols/trace/observed_rank.hpp"

namespace twinlink {

class LedgerRank final : public ObservedRank {
 public:
  using ObservedRank::ObservedRank;
  /// In words, one a line.
  [[nodiscard]] std::string in_flight() const {
    std::string all;
    for (const auto& [op, words] : operations_) all += words + "\n";
    return all;
  }

 private:
  void verb_begins(std::string_view) override {}
  void call_ended(const Words&) override {}
  void operation_began(Op op, const Words& words) override { operations_[op.id] = step_words() + ": " + words(); }
  void verb_threw() override {}
  void operation_ended(Op op, bool) override { operations_.erase(op.id); }

  std::map<std::uint64_t, std::string> operations_;
};

}  // namespace twinlink
