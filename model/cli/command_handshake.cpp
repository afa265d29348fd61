#include <iostream>
#include <memory>

#include "model/cli/commands.hpp"
#include "protocols/cuda_ipc/ipc_handshake.hpp"

namespace twinlink::model {
namespace {

struct Options {
  std::string fidelity = std::string(handshake::to_string(handshake::Fidelity::design));
  bool dot = false;
};

ExitCode print(const Options& options) {
  const handshake::Fidelity fidelity = handshake::parse_fidelity(options.fidelity);
  std::cout << (options.dot ? handshake::dot_text(fidelity) : handshake::table_text(fidelity));
  return ExitCode::ok;
}

}  // namespace

void add_handshake_command(Program& program) {
  std::string names;
  for (const handshake::Fidelity fidelity : handshake::kFidelities) {
    names += (names.empty() ? "" : "|") + std::string(handshake::to_string(fidelity));
  }
  auto* command = program.app.add_subcommand("handshake", "Print the states of the CUDA IPC handshake");
  const auto options = std::make_shared<Options>();
  command->add_option("--fidelity", options->fidelity, "Whose rules: " + names)->capture_default_str();
  command->add_flag("--dot", options->dot, "As a graph in the language of graphviz");
  command->callback([&program, options] { program.action = [options] { return print(*options); }; });
}

}  // namespace twinlink::model
