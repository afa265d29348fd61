// Proof that an array is where it belongs, and that its transform is one.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "protocols/core/measured_rank.hpp"
#include "protocols/workloads/arrays/boxes.hpp"
#include "protocols/workloads/arrays/fourier.hpp"
#include "protocols/workloads/arrays/reshape.hpp"

namespace twinlink::bench {

/// Where an element is in the whole array: its global index.
std::uint64_t global_index(const workloads::Global& global, const workloads::Index& index);

/// Fills what a rank has before a reshape: each element tells its global index. Memory without bytes tells for each
/// stretch that goes from one rank to another where it begins. `other` is filled with what was never written.
void fill_array(MeasuredRank& rank, const workloads::Global& global, const workloads::ReshapePlan& plan,
                const View& from, const View& to);
/// What is wrong behind it, with the element; empty: each is where it belongs.
std::string fault_in_array(MeasuredRank& rank, const workloads::Global& global, const workloads::ReshapePlan& plan,
                           const View& to);

using Complex = std::complex<double>;

/// The numbers that transforms begin with: of each global index another one, between -0.5 and 0.5.
Complex input_at(std::uint64_t index, bool real);
/// A rank's box of the complex array filled with them: real ones in padded rows.
std::vector<Complex> input_of(const workloads::FftPlan& plan, const workloads::Box& box);

/// Sums that Parseval's theorem makes equal, but for N: of squares of the input, and of those of the spectrum.
double input_power(const workloads::FftPlan& plan, const workloads::Box& box, const std::vector<Complex>& numbers);
double spectrum_power(const workloads::FftPlan& plan, const workloads::Box& box, const std::vector<Complex>& numbers);

/// As many numbers as are transformed directly, which takes their square.
inline constexpr std::uint64_t kMostDirect = 4096;
/// The largest difference between a rank's spectrum and the sum that defines it.
double direct_error(const workloads::FftPlan& plan, const workloads::Box& box, const std::vector<Complex>& spectrum);
/// The largest difference between what came back and N times the input, by N.
double return_error(const workloads::FftPlan& plan, const workloads::Box& box, const std::vector<Complex>& numbers);

}  // namespace twinlink::bench
