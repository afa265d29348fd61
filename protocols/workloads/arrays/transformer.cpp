#include "protocols/workloads/arrays/transformer.hpp"

#include <array>
#include <functional>
#include <string>

#include "protocols/core/errors.hpp"

namespace twinlink::workloads {
namespace {

constexpr Stream kTransformStream{13};

std::vector<Box> parts_of(const Distribution& distribution, std::uint64_t part, std::uint64_t parts) {
  std::vector<Box> boxes;
  for (const Box& box : distribution.boxes) boxes.push_back(part_of_box(box, part, parts));
  return boxes;
}

}  // namespace

FftRun::FftRun(ConcurrentRank& rank, const FftPlan& fft, std::uint64_t parts, const ReshapeWish& wish)
    : rank_(rank), fft_(fft), parts_(parts) {
  const std::vector<Distribution>& layouts = fft.layouts();
  const int self = rank.id().value;
  for (std::size_t i = 0; i + 1 < layouts.size(); ++i) {
    std::vector<ReshapePlan>& there = forward_.emplace_back();
    std::vector<ReshapePlan>& back = backward_.emplace_back();
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::vector<Box> pieces = parts == 1 ? layouts[i].boxes : parts_of(layouts[i], part, parts);
      there.push_back(plan_reshape(layouts[i], pieces, layouts[i + 1], layouts[i + 1].boxes, self, wish));
      back.push_back(plan_reshape(layouts[i + 1], layouts[i + 1].boxes, layouts[i], pieces, self, wish));
    }
  }
}

std::vector<const ReshapePlan*> FftRun::plans(bool forward) const {
  std::vector<const ReshapePlan*> all;
  for (const auto& parts : forward ? forward_ : backward_) {
    for (const ReshapePlan& plan : parts) all.push_back(&plan);
  }
  return all;
}

std::vector<const ReshapePlan*> FftRun::plans() const {
  std::vector<const ReshapePlan*> all = plans(true);
  for (const ReshapePlan* plan : plans(false)) all.push_back(plan);
  return all;
}

Bytes FftRun::sent() const {
  Bytes all{};
  for (const ReshapePlan* plan : plans(true)) all += plan->sent();
  return all;
}

Outcome FftRun::transform(std::size_t layout, bool forward, std::uint64_t part, std::uint64_t parts,
                          const View& numbers, Seconds timeout, FftTimes& times) {
  const auto work = fft_.work(layout, rank_.id().value, forward, part, parts);
  if (!work) return {};
  const Seconds begin = rank_.now();
  const Bytes offset = kComplex * work->begin;
  rank_.step("transform");
  const Op op = rank_.transform(numbers.slice(offset, numbers.length - offset), work->transform, kTransformStream);
  const Status status = wait(rank_, op, rank_.now() + timeout);
  times.transforms += rank_.now() - begin;
  return status == Status::delivered ? Outcome{} : Outcome{status, "step 'transform'"};
}

Outcome FftRun::stage(std::size_t layout, bool forward, Mover& mover, RowPacking packing,
                      const std::array<ReshapeMemory, 2>& memory, Seconds timeout, FftTimes& times) {
  const std::size_t at = layout % 2;  // the buffer of this layout
  const View numbers = memory[at].from;
  const auto move_part = [&](std::uint64_t part) {
    return mover.run(forward ? forward_[layout][part] : backward_[layout][part], packing, memory[forward ? at : 1 - at],
                     times.reshapes);
  };
  const auto transform_part = [&](std::uint64_t part) {
    return transform(layout, forward, part, parts_, numbers, timeout, times);
  };
  Outcome first;
  Outcome second;
  std::uint64_t ready = 0;  // parts that have gone through the first of the two
  const std::array<std::function<void()>, 2> works{[&] {
                                                     for (; ready < parts_ && first.ok(); ++ready)
                                                       first = forward ? transform_part(ready) : move_part(ready);
                                                   },
                                                   [&] {
                                                     for (std::uint64_t part = 0; part < parts_ && second.ok();
                                                          ++part) {
                                                       if (parts_ > 1)
                                                         rank_.wait_until([&] { return ready > part || !first.ok(); });
                                                       if (!first.ok()) return;
                                                       second = forward ? move_part(part) : transform_part(part);
                                                     }
                                                   }};
  if (parts_ > 1) {
    rank_.run(works);
  } else {
    for (const auto& work : works) work();
  }
  return first.ok() ? second : first;
}

Outcome FftRun::run(bool forward, Mover& mover, RowPacking packing, const std::array<ReshapeMemory, 2>& memory,
                    Seconds timeout, FftTimes& times) {
  const std::size_t last = fft_.layouts().size() - 1;
  const auto all_of_last = [&] { return transform(last, forward, 0, 1, memory[last % 2].from, timeout, times); };
  if (!forward) {
    if (Outcome outcome = all_of_last(); !outcome.ok()) return outcome;
  }
  for (std::size_t i = 0; i < last; ++i) {
    const std::size_t layout = forward ? i : last - 1 - i;
    Outcome outcome = stage(layout, forward, mover, packing, memory, timeout, times);
    if (!outcome.ok()) return outcome;
  }
  return forward ? all_of_last() : Outcome{};
}

}  // namespace twinlink::workloads
