#include "tessera/workload/operations.hpp"

#include "tessera/spec/value.hpp"

namespace tessera::workload {

const std::vector<std::string>& operation_kinds() {
    static const std::vector<std::string> kinds = {
        "abs",        "add",   "compare", "copy", "divide",   "erf",    "exp",
        "log",        "mac",   "max",     "min",  "multiply", "negate", "power",
        "reciprocal", "rsqrt", "sigmoid", "sqrt", "subtract", "tanh"};
    return kinds;
}

std::string operations_text(const std::vector<OperationCount>& operations) {
    std::string text;
    for (const OperationCount& operation : operations) {
        text += (text.empty() ? "" : " + ") +
                (operation.count == 1 ? "" : spec::number_text(operation.count) + " ") +
                operation.kind;
    }
    return text;
}

}  // namespace tessera::workload
