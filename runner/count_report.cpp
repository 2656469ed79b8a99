#include "count_report.hpp"

namespace sgemm {

std::vector<std::string> count_report(const Record&, std::size_t) { return {}; }

}  // namespace sgemm
