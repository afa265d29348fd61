// What the reports of a job's operations have to do with each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/engine/sim_rank.hpp"

namespace twinlink::model {

/// The words of its step, unless the program that runs the protocols talks to itself: "program: send".
std::string words_of(const OpReport& report);

/// It takes a control message or a signal, unlike a message.
bool takes_control(const OpReport& report);

/// A message, a control message or a signal, and who took it: places in a list of reports.
struct Exchange {
  std::size_t sent = 0;
  std::size_t taken = 0;
};
/// What goes from one rank to another with one tag stays in order; messages apart from control messages and signals.
std::vector<Exchange> exchanges_of(const std::vector<OpReport>& reports);

}  // namespace twinlink::model
