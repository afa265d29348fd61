#include "real/rank/range_rank.hpp"

#include "protocols/core/errors.hpp"
#ifdef TWINLINK_HAS_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

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

#ifdef TWINLINK_HAS_NVTX
namespace {

class NvtxRanges final : public RangeSink {
 public:
  NvtxRanges() : domain_(nvtxDomainCreateA("twinlink")) {}
  ~NvtxRanges() override { nvtxDomainDestroy(domain_); }
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  std::uint64_t begin(const std::string& name) override {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name.c_str();
    return nvtxDomainRangeStartEx(domain_, &attributes);
  }
  void end(std::uint64_t range) override { nvtxDomainRangeEnd(domain_, range); }

 private:
  nvtxDomainHandle_t domain_;
};

}  // namespace

std::unique_ptr<RangeSink> make_nvtx_ranges() { return std::make_unique<NvtxRanges>(); }
#else
std::unique_ptr<RangeSink> make_nvtx_ranges() {
  throw UnavailableError("this program was built without CUDA, and so without the headers of NVTX");
}
#endif

}  // namespace twinlink::real
