// Small files in the forms of other tools, as these print them; the figures are made up.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace twinlink::validate::test {

/// osu_latency 5.6 to 7.5, each with its own header; three sizes. 7.5 was run under a launcher that prints, too.
std::string osu_latency_5();
std::string osu_latency_75();
/// osu_bw 7.2 -d cuda D D, three sizes.
std::string osu_bw_72();
/// osu_bibw 7.5 -c, two sizes.
std::string osu_bibw_75();
/// osu_mbw_mr 7.4 with that many pairs, two sizes.
std::string osu_mbw_mr_74(int pairs);

/// nvbandwidth 0.8 -j on two GPUs: copies, peer reads and writes by engine and by kernel, a bidirectional test, one
/// that was waived, and one without a counterpart among our probes.
nlohmann::json nvbandwidth_08();

/// sendrecv_perf -g 2 -J FILE, file version 2, two sizes.
nlohmann::json sendrecv_2();

}  // namespace twinlink::validate::test
