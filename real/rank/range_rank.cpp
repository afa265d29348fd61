#include "real/rank/range_rank.hpp"

namespace twinlink::real {

void RangeRank::verb_begins(std::string_view verb) {
  range_ = sink_.begin(step_words().empty() ? std::string(verb) : step_words() + ": " + std::string(verb));
}

void RangeRank::operation_ended(Op op, bool) {
  const auto known = ranges_.find(op.id);
  if (known == ranges_.end()) return;
  sink_.end(known->second);
  ranges_.erase(known);
}

}  // namespace twinlink::real
