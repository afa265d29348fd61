#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/cuda_ipc/ipc_handshake.hpp"

namespace twinlink::model {
namespace {

struct HandshakeOptions {
  std::string fidelity = std::string(handshake::to_string(handshake::Fidelity::design));
  bool dot = false;
  std::filesystem::path json{};
};

nlohmann::json rules_json(handshake::Fidelity fidelity) {
  const std::vector<handshake::TextRow> rows = handshake::table_rows(fidelity);
  nlohmann::json rules = nlohmann::json::array();
  for (std::size_t row = 1; row < rows.size(); ++row) {
    nlohmann::json rule;
    for (std::size_t i = 0; i < rows[row].size(); ++i) rule[rows[0].at(i)] = rows[row].at(i);
    rules.push_back(std::move(rule));
  }
  return {{"fidelity", to_string(fidelity)}, {"description", describe(fidelity)}, {"rules", std::move(rules)}};
}

ExitCode print(const HandshakeOptions& options) {
  bench::require_json_option(options.json);
  const handshake::Fidelity fidelity = handshake::parse_fidelity(options.fidelity);
  std::cout << (options.dot ? handshake::dot_text(fidelity) : handshake::table_text(fidelity));
  bench::write_json_option(options.json, rules_json(fidelity));
  return ExitCode::ok;
}

}  // namespace

void add_handshake_command(Program& program) {
  std::string names;
  for (const handshake::Fidelity fidelity : handshake::kFidelities) {
    names += (names.empty() ? "" : ", ") + std::string(handshake::to_string(fidelity));
  }
  auto* command = program.app.add_subcommand("handshake", "Print the states of the CUDA IPC handshake");
  const auto options = std::make_shared<HandshakeOptions>();
  command->add_option("--fidelity", options->fidelity, "Whose rules: " + names)
      ->type_name("NAME")
      ->capture_default_str();
  command->add_flag("--dot", options->dot, "As a graph in the language of graphviz");
  bench::add_json_option(*command, options->json);
  bench::add_examples(*command, {"twinlink-sim handshake --fidelity openmpi-5",
                                 "twinlink-sim handshake --dot | dot -Tsvg > handshake.svg"});
  command->callback([&program, options] { program.action = [options] { return print(*options); }; });
}

}  // namespace twinlink::model
