#include "support/transfusion_reference.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/paths.hpp"

namespace tessera::test {

namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells(const std::string& line) {
    std::vector<std::string> found;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) {
        found.push_back(cell);
    }
    return found;
}

std::vector<Row> rows(const std::string& name) {
    std::ifstream in(test_folder() + "/reference/transfusion/" + name);
    std::string line;
    if (!std::getline(in, line)) {
        throw std::runtime_error("cannot read " + name);
    }
    const std::vector<std::string> header = cells(line);
    std::vector<Row> found;
    while (std::getline(in, line)) {
        const std::vector<std::string> values = cells(line);
        found.emplace_back();
        for (std::size_t i = 0; i < header.size(); ++i) {
            found.back()[header[i]] = values.at(i);
        }
    }
    return found;
}

std::int64_t tokens(const std::string& length) {
    for (const std::int64_t one : transfusion::lengths()) {
        if (transfusion::length_name(one) == length) {
            return one;
        }
    }
    throw std::runtime_error("unknown length " + length);
}

std::vector<PublishedCase> read() {
    const std::map<std::string, transfusion::Method> names = {
        {"Unfused", transfusion::Method::unfused},
        {"FLAT", transfusion::Method::flat},
        {"FuseMax", transfusion::Method::fusemax},
        {"FM+LF", transfusion::Method::fusemax_layerfuse},
        {"TF", transfusion::Method::transfusion}};
    std::vector<PublishedCase> cases;
    const std::vector<Row> results = rows("published_results.csv");
    for (const Row& row : rows("tile_factors.csv")) {
        PublishedCase one;
        one.problem.accelerator = transfusion::accelerator(row.at("arch"));
        one.problem.model = transfusion::transformer(row.at("model"));
        one.problem.tokens = tokens(row.at("seq"));
        const auto factor = [&](const char* column) { return std::stoll(row.at(column)); };
        one.tiles = {factor("DRAM_B"), factor("DRAM_D"), factor("DRAM_M"), factor("DRAM_P"),
                     factor("DRAM_S")};
        one.layerfuse_tiles.d = factor("FMLF_QKV_DRAM_D");
        for (const Row& result : results) {
            if (result.at("arch") != row.at("arch") || result.at("model") != row.at("model") ||
                result.at("seq") != row.at("seq")) {
                continue;
            }
            auto& columns = one.results[names.at(result.at("method"))];
            for (const auto& [column, value] : result) {
                if (column != "arch" && column != "model" && column != "seq" &&
                    column != "method") {
                    columns[column] = std::stod(value);
                }
            }
        }
        cases.push_back(std::move(one));
    }
    return cases;
}

}  // namespace

std::string PublishedCase::text() const {
    return problem.accelerator.name + " " + problem.model.name + " " +
           transfusion::length_name(problem.tokens);
}

const std::vector<PublishedCase>& published_cases() {
    static const std::vector<PublishedCase> cases = read();
    return cases;
}

}  // namespace tessera::test
