// What all CSV files share.
#pragma once

#include <string>
#include <string_view>

namespace twinlink::bench {

/// RFC 4180: quoted where the text would break the row.
std::string csv_cell(std::string_view text);

}  // namespace twinlink::bench
