#include "tests/protocols/handshake_exploration.hpp"

#include <algorithm>

namespace twinlink::handshake {
namespace {

/// Rank `who` reacts. Appends what it does to the words, and collects the rows if asked.
void react(Configuration& config, const Scenario& scenario, std::size_t who, HandshakeEvent event, bool gpu_buffer,
           std::string& words, std::set<const Row*>* rows) {
  const Facts facts{.gpu_buffer = gpu_buffer, .cuda_in_use = config.cuda_in_use[who]};
  const Reaction reaction = config.ends[who].react(event, facts);
  if (rows != nullptr && reaction.row != nullptr) rows->insert(reaction.row);
  std::deque<HandshakeEvent>& out = config.queue[1 - who];
  for (const Action action : reaction.actions) {
    words += ", " + std::string(to_string(action));
    switch (action) {
      case Action::send_request:
        out.push_back(HandshakeEvent::request);
        break;
      case Action::send_ack:
        out.push_back(HandshakeEvent::ack);
        break;
      case Action::send_not_ready:
        out.push_back(HandshakeEvent::not_ready);
        break;
      case Action::send_refusal:
        out.push_back(HandshakeEvent::refusal);
        break;
      case Action::enable_get:
        break;
      case Action::check_access: {
        const HandshakeEvent answer =
            scenario.peer_access ? HandshakeEvent::access_granted : HandshakeEvent::access_refused;
        words += ": " + std::string(to_string(answer));
        react(config, scenario, who, answer, gpu_buffer, words, rows);
        break;
      }
    }
  }
}

Step make_step(const Configuration& from, const Scenario& scenario, std::size_t who, std::string words,
               HandshakeEvent event, bool gpu_buffer, std::set<const Row*>* rows) {
  Step step{"rank " + std::to_string(who) + ": " + std::move(words), from};
  react(step.to, scenario, who, event, gpu_buffer, step.words, rows);
  return step;
}

std::vector<Step> all_steps(const Configuration& from, const Scenario& scenario, std::set<const Row*>* rows) {
  std::vector<Step> steps;
  for (const std::size_t who : {std::size_t{0}, std::size_t{1}}) {
    if (from.sends_left[who] > 0) {
      for (const bool gpu_buffer : {true, false}) {
        if (gpu_buffer && !from.cuda_in_use[who]) continue;
        steps.push_back(make_step(from, scenario, who, gpu_buffer ? "sends a GPU buffer" : "sends a host buffer",
                                  HandshakeEvent::send, gpu_buffer, rows));
        --steps.back().to.sends_left[who];
      }
    }
    if (!from.cuda_in_use[who]) {
      steps.push_back({"rank " + std::to_string(who) + ": begins to use CUDA", from});
      steps.back().to.cuda_in_use[who] = true;
    }
    if (!from.queue[who].empty()) {
      Configuration taken = from;
      const HandshakeEvent event = taken.queue[who].front();
      taken.queue[who].pop_front();
      steps.push_back(make_step(taken, scenario, who, "receives " + std::string(to_string(event)), event, false, rows));
    }
  }
  return steps;
}

bool waits(const Configuration& config, std::size_t who) {
  return config.ends[who].state() == State::sent || config.ends[who].state() == State::acking;
}

}  // namespace

std::vector<Step> steps_from(const Configuration& from, const Scenario& scenario) {
  return all_steps(from, scenario, nullptr);
}

Exploration::Exploration(const Scenario& scenario) : scenario_(scenario) {
  const Configuration start{.ends = {Endpoint(scenario.fidelity, false), Endpoint(scenario.fidelity, true)},
                            .cuda_in_use = {!scenario.late[0], !scenario.late[1]},
                            .sends_left = {scenario.sends, scenario.sends}};
  order_.push_back(&parents_.emplace(start, Origin{nullptr, ""}).first->first);
  for (std::size_t next = 0; next < order_.size(); ++next) {
    const Configuration* const from = order_[next];
    for (Step& step : all_steps(*from, scenario_, &rows_used_)) {
      const auto [found, fresh] = parents_.emplace(std::move(step.to), Origin{from, std::move(step.words)});
      if (fresh) order_.push_back(&found->first);
    }
  }
}

std::set<std::pair<State, State>> Exploration::endings() const {
  std::set<std::pair<State, State>> pairs;
  for (const Configuration* config : order_) {
    if (config->quiet()) pairs.emplace(config->ends[0].state(), config->ends[1].state());
  }
  return pairs;
}

std::set<std::pair<State, State>> Exploration::disagreements() const {
  std::set<std::pair<State, State>> pairs;
  for (const Configuration* config : order_) {
    if (config->quiet() && config->ends[0].get_enabled() != config->ends[1].get_enabled()) {
      pairs.emplace(config->ends[0].state(), config->ends[1].state());
    }
  }
  return pairs;
}

std::vector<std::string> Exploration::story(State rank0, State rank1) const {
  for (const Configuration* config : order_) {
    if (!config->quiet() || config->ends[0].state() != rank0 || config->ends[1].state() != rank1) continue;
    std::vector<std::string> lines;
    for (const Origin* origin = &parents_.at(*config); origin->from != nullptr; origin = &parents_.at(*origin->from)) {
      lines.push_back(origin->words);
    }
    std::ranges::reverse(lines);
    return lines;
  }
  return {};
}

bool Exploration::somebody_stops_waiting() const {
  // Whoever waits while nothing is under way keeps waiting through every next step, so by induction for ever.
  std::set<std::pair<const Configuration*, std::size_t>> seen;
  std::vector<std::pair<const Configuration*, std::size_t>> open;
  for (const Configuration* config : order_) {
    for (const std::size_t who : {std::size_t{0}, std::size_t{1}}) {
      if (config->quiet() && waits(*config, who) && seen.emplace(config, who).second) open.emplace_back(config, who);
    }
  }
  while (!open.empty()) {
    const auto [config, who] = open.back();
    open.pop_back();
    for (const Step& step : steps_from(*config, scenario_)) {
      if (!waits(step.to, who)) return true;
      const Configuration* const to = &parents_.find(step.to)->first;
      if (seen.emplace(to, who).second) open.emplace_back(to, who);
    }
  }
  return false;
}

std::string to_text(const std::set<std::pair<State, State>>& endings) {
  std::string text;
  for (const auto& [a, b] : endings) {
    if (!text.empty()) text += " ";
    text += "(" + std::string(to_string(a)) + ", " + std::string(to_string(b)) + ")";
  }
  return text;
}

}  // namespace twinlink::handshake
