#include "model/engine/rank/cpu.hpp"

namespace twinlink::model {

void Cpu::be_busy(Seconds duration) {
  if (loop_.aborting() || duration <= Seconds{}) return;
  machine_.leave_messages(rank_);
  begin_work();
  alarm_.sleep_until(loop_.clock().now() + duration);
  end_work();
  machine_.return_to_messages(rank_);
}

void Cpu::be_busy_during(const std::function<void()>& wait) {
  machine_.leave_messages(rank_);
  begin_work();
  wait();
  end_work();
  machine_.return_to_messages(rank_);
}

void Cpu::begin_work() {
  if (works_++ == 0) works_since_ = loop_.clock().now();
}

void Cpu::end_work() {
  if (--works_ == 0) worked_ += loop_.clock().now() - works_since_;
}

Seconds Cpu::worked() const { return works_ == 0 ? worked_ : worked_ + (loop_.clock().now() - works_since_); }

}  // namespace twinlink::model
