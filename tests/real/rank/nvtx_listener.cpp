// A profiler for tests: NVTX finds it by NVTX_INJECTION64_PATH. It writes each range to standard output when it ends.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

std::vector<std::string>& names() {
  static std::vector<std::string> all;
  return all;
}

nvtxRangeId_t begin(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  names().emplace_back(attributes->message.ascii);
  return names().size() - 1;
}

void end(nvtxDomainHandle_t, nvtxRangeId_t range) { std::printf("range %s\n", names().at(range).c_str()); }

template <class Function>
NvtxFunctionPointer pointer(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  if (size <= NVTX_CBID_CORE2_DomainRangeEnd) return 0;
  *table[NVTX_CBID_CORE2_DomainRangeStartEx] = pointer(&begin);
  *table[NVTX_CBID_CORE2_DomainRangeEnd] = pointer(&end);
  return 1;
}
