// Chains of matrix products on one buffer, mapped on model `traffic`.
#pragma once

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/tessera.hpp"

namespace fusecu_test {

using namespace tessera;

inline const char* const one_buffer = R"(
variables: {BUFFER: 100, BANKS: inf}
arch:
  nodes:
  - !Memory
    name: MainMemory
    size: inf
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: Buffer
    size: BUFFER * 8
    banks: BANKS
    actions: [{name: read, energy: 0, throughput: inf}, {name: write, energy: 0, throughput: inf}]
    tensors: {keep: All}
  - !Compute {name: MAC, actions: [{name: compute, energy: 0, throughput: inf}]}
)";

/// X_i[m, d_i] = X_{i-1}[m, d_{i-1}] * W_i[d_{i-1}, d_i]
inline std::string chain_text(std::int64_t m, const std::vector<std::int64_t>& d) {
    std::ostringstream text;
    text << "workload:\n  iteration_space_shape: {m: 0 <= m < " << m;
    for (std::size_t i = 0; i < d.size(); ++i) {
        text << ", d" << i << ": 0 <= d" << i << " < " << d[i];
    }
    text << "}\n  bits_per_value: {All: 8}\n  einsums:\n";
    for (std::size_t i = 1; i < d.size(); ++i) {
        text << "  - {name: E" << i << ", einsum: \"X" << i << "[m, d" << i << "] = X" << i - 1
             << "[m, d" << i - 1 << "] * W" << i << "[d" << i - 1 << ", d" << i << "]\"}\n";
    }
    return text.str();
}

inline tessera::Result mapped(const std::string& workload, std::int64_t buffer,
                              const std::string& mapper,
                              const std::map<std::string, std::string>& knobs = {}) {
    const Problem problem =
        Problem::parse(one_buffer, workload, {{"BUFFER", std::to_string(buffer)}});
    Options options;
    options.mapper = mapper;
    options.model = "traffic";
    options.metrics = {mapper::Metric::traffic};
    options.mapspace.imperfect_temporal = true;
    options.mapspace.imperfect_spatial = true;
    options.threads = 1;
    if (!knobs.empty()) {
        options.knobs[mapper] = knobs;
    }
    return tessera::map(problem, options);
}

inline std::int64_t words(const tessera::Result& result) {
    return static_cast<std::int64_t>(result.best().report.traffic_words().value());
}

}  // namespace fusecu_test
