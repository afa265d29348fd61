// A protocol with the name of one that is there.
#include "protocols/registry.hpp"

namespace {

using namespace twinlink;  // NOLINT: this is what the file is about

class SecondHost final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] std::string_view description() const override { return "a second one"; }
  [[nodiscard]] Memory message_memory() const override { return Memory::pageable; }
  [[nodiscard]] Support supports(const Path&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank&, RankId, const Settings&) const override { return nullptr; }
};

const SecondHost kProtocol;
const AddedProtocol kAdded(kProtocol);

}  // namespace
