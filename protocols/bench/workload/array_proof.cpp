#include "protocols/bench/workload/array_proof.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>
#include <span>

#include <fmt/format.h>

namespace twinlink::bench {
namespace {

using workloads::Box;
using workloads::FftPlan;
using workloads::Global;
using workloads::Index;
using workloads::ReshapePlan;

/// Calls `visit(index)` for every element, in the order of memory.
void each_element(const Box& box, const std::function<void(const Index&)>& visit) {
  for (std::uint64_t i = box.lower[0]; i < box.upper[0]; ++i) {
    for (std::uint64_t j = box.lower[1]; j < box.upper[1]; ++j) {
      for (std::uint64_t k = box.lower[2]; k < box.upper[2]; ++k) visit({i, j, k});
    }
  }
}

/// What an element of 4, 8 or 16 B holds that knows its index.
std::array<std::uint64_t, 2> told(std::uint64_t index) { return {index + 1, ~index}; }

std::vector<std::byte> array_bytes(const Global& global, const Box& box, Bytes element) {
  std::vector<std::byte> bytes(element.count() * box.elements());
  std::size_t at = 0;
  each_element(box, [&](const Index& index) {
    const auto words = told(global_index(global, index));
    std::memcpy(bytes.data() + at, words.data(), element.count());
    at += element.count();
  });
  return bytes;
}

/// Of a stretch between two ranks: the piece's first element, and the stretch's number in it.
Payload stretch_payload(const Global& global, const Box& piece, std::size_t number) {
  constexpr unsigned kNumberBits = 20;
  return {(global_index(global, piece.lower) << kNumberBits) + number + 1};
}

/// Calls `visit(piece, blocks)` for what a rank sends or receives, what stays with it included.
void each_piece(const ReshapePlan& plan, bool outgoing,
                const std::function<void(const Box&, const std::vector<Block>&)>& visit) {
  for (const workloads::Share& share : outgoing ? plan.sends : plan.receives) {
    if (!plan.rows_told) {
      visit(share.piece, {{.to = share.place, .from = share.place, .length = share.bytes}});
    } else if (outgoing) {
      visit(share.piece, blocks_between(share.theirs, plan.from, share.piece, plan.element));
    } else {
      visit(share.piece, blocks_between(plan.to, share.theirs, share.piece, plan.element));
    }
  }
  if (plan.own.empty()) return;
  visit(intersection(plan.from, plan.to), plan.own);
}

std::uint64_t last_length(const FftPlan& plan) { return plan.global().lengths[2]; }

/// Of half of a spectrum, how often each number counts: those in between stand for their mirrors too.
double weight_of(const FftPlan& plan, std::uint64_t k) {
  if (!plan.is_real()) return 1;
  return k == 0 || 2 * k == last_length(plan) ? 1 : 2;
}

/// A row's numbers from a padded row of a box; real ones are the parts of complex ones.
double* reals_of(std::vector<Complex>& numbers, std::uint64_t row, std::uint64_t length) {
  return static_cast<double*>(static_cast<void*>(numbers.data() + row * length));
}

}  // namespace

std::uint64_t global_index(const Global& global, const Index& index) {
  return (index[0] * global.lengths[1] + index[1]) * global.lengths[2] + index[2];
}

void fill_array(MeasuredRank& rank, const Global& global, const ReshapePlan& plan, const View& from, const View& to) {
  rank.fill(to, kSentinel);
  if (rank.has_bytes()) {
    const std::vector<std::byte> bytes = array_bytes(global, plan.from, plan.element);
    if (!bytes.empty()) rank.write(from.slice(Bytes{}, Bytes{bytes.size()}), bytes);
    return;
  }
  each_piece(plan, true, [&](const Box& piece, const std::vector<Block>& blocks) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      rank.fill(from.slice(blocks[i].from, blocks[i].length), stretch_payload(global, piece, i));
    }
  });
}

std::string fault_in_array(MeasuredRank& rank, const Global& global, const ReshapePlan& plan, const View& to) {
  std::string fault;
  if (rank.has_bytes()) {
    const std::vector<std::byte> expected = array_bytes(global, plan.to, plan.element);
    std::vector<std::byte> there(expected.size());
    if (!there.empty()) rank.read(to.slice(Bytes{}, Bytes{there.size()}), there);
    const auto [mine, theirs] = std::ranges::mismatch(there, expected);
    if (mine == there.end()) return {};
    const auto element = static_cast<std::uint64_t>(mine - there.begin()) / plan.element.count();
    return fmt::format("element {} of its box {} holds another one", element, describe(plan.to, global));
  }
  each_piece(plan, false, [&](const Box& piece, const std::vector<Block>& blocks) {
    for (std::size_t i = 0; i < blocks.size() && fault.empty(); ++i) {
      const Verdict verdict = rank.check(to.slice(blocks[i].to, blocks[i].length), stretch_payload(global, piece, i));
      if (!verdict.intact())
        fault = fmt::format("{} of stretch {} of {}", to_string(verdict), i, describe(piece, global));
    }
  });
  return fault;
}

Complex input_at(std::uint64_t index, bool real) {
  const auto number = [](std::uint64_t seed) {
    std::uint64_t mixed = seed * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 32U) * 0xd6e8feb86659fd93U;
    constexpr unsigned kUsed = 53;
    return static_cast<double>(mixed >> (64 - kUsed)) / static_cast<double>(std::uint64_t{1} << kUsed) - 0.5;
  };
  return {number(2 * index + 1), real ? 0 : number(2 * index + 2)};
}

std::vector<Complex> input_of(const FftPlan& plan, const Box& box) {
  std::vector<Complex> numbers(box.elements());
  if (!plan.is_real()) {
    std::size_t at = 0;
    each_element(box, [&](const Index& index) { numbers[at++] = input_at(global_index(plan.global(), index), false); });
    return numbers;
  }
  // Rows are whole, and padded.
  std::uint64_t row = 0;
  for (std::uint64_t i = box.lower[0]; i < box.upper[0]; ++i) {
    for (std::uint64_t j = box.lower[1]; j < box.upper[1]; ++j, ++row) {
      double* const reals = reals_of(numbers, row, box.length(2));
      for (std::uint64_t k = 0; k < last_length(plan); ++k) {
        reals[k] = input_at(global_index(plan.global(), {i, j, k}), true).real();
      }
    }
  }
  return numbers;
}

double input_power(const FftPlan& plan, const Box& box, const std::vector<Complex>& numbers) {
  static_cast<void>(plan);
  static_cast<void>(box);
  double power = 0;
  for (const Complex& number : numbers) power += std::norm(number);  // padding is zero
  return power;
}

double spectrum_power(const FftPlan& plan, const Box& box, const std::vector<Complex>& numbers) {
  double power = 0;
  std::size_t at = 0;
  each_element(box, [&](const Index& index) { power += weight_of(plan, index[2]) * std::norm(numbers[at++]); });
  return power;
}

double direct_error(const FftPlan& plan, const Box& box, const std::vector<Complex>& spectrum) {
  const Global& global = plan.global();
  const std::uint64_t all = global.box().elements();
  std::vector<Complex> input;
  for (std::uint64_t i = 0; i < all; ++i) input.push_back(input_at(i, plan.is_real()));
  std::array<std::vector<Complex>, workloads::kAxes> turns;
  for (std::size_t axis = 0; axis < workloads::kAxes; ++axis) {
    const std::uint64_t n = global.lengths[axis];
    for (std::uint64_t i = 0; i < n; ++i) {
      turns[axis].push_back(std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n)));
    }
  }
  double worst = 0;
  std::size_t at = 0;
  each_element(box, [&](const Index& k) {
    Complex sum = 0;
    std::size_t from = 0;
    each_element(global.box(), [&](const Index& j) {
      Complex turn = 1;
      for (std::size_t axis = 0; axis < workloads::kAxes; ++axis) {
        turn *= turns[axis][k[axis] * j[axis] % global.lengths[axis]];
      }
      sum += input[from++] * turn;
    });
    worst = std::max(worst, std::abs(sum - spectrum[at++]));
  });
  return worst;
}

double return_error(const FftPlan& plan, const Box& box, const std::vector<Complex>& numbers) {
  const auto all = static_cast<double>(plan.global().box().elements());
  const std::vector<Complex> input = input_of(plan, box);
  double worst = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Complex difference = numbers[i] / all - input[i];
    const std::uint64_t k = i % std::max<std::uint64_t>(1, box.length(2));
    // What fills padded rows up is nobody's.
    const bool first = !plan.is_real() || 2 * k < last_length(plan);
    const bool second = !plan.is_real() || 2 * k + 1 < last_length(plan);
    if (first) worst = std::max(worst, std::abs(difference.real()));
    if (second) worst = std::max(worst, std::abs(difference.imag()));
  }
  return worst;
}

}  // namespace twinlink::bench
