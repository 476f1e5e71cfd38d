// Cases with the lines of Timeloop's stats.txt, compared with ours.
#pragma once

#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.hpp"
#include "support/reference_cases.hpp"
#include "support/timeloop_figures.hpp"
#include "timeloop/write.hpp"

namespace tessera::testing {

/// The lines that say something, with one blank between words.
inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string squeezed;
        for (std::string word; words >> word;) {
            squeezed += (squeezed.empty() ? "" : " ") + word;
        }
        if (!squeezed.empty()) {
            lines.push_back(squeezed);
        }
    }
    return lines;
}

/// A case has `stats`, the lines of Timeloop's file, or `refused` where it found no way to map.
inline void compare_stats(const std::string& file, timeloop::Dialect dialect, int mapped_at_least,
                          int refused_at_least) {
    int mapped = 0, refused = 0;
    for_each_case(test::test_folder() + "/reference/timeloop/" + file, [&](const YAML::Node& node) {
        const std::string name = node["name"].as<std::string>();
        const TimeloopInput input = timeloop_input(node["input"].as<std::string>(), dialect);
        const timeloop::Evaluation evaluation = timeloop::evaluate(
            input.problem, input.architecture, input.mapping, {.dialect = dialect});
        if (!node["stats"]) {
            BOOST_CHECK_MESSAGE(!evaluation.fit.ok(), name << " must not fit");
            ++refused;
            return;
        }
        BOOST_CHECK_MESSAGE(
            evaluation.fit.ok(),
            name << ": " << describe(evaluation.fit, input.problem, input.architecture));
        std::ostringstream text;
        timeloop::write_stats(
            text, {input.problem, input.architecture, input.mapping, evaluation.stats}, dialect);
        const std::vector<std::string> ours = lines_of(text.str());
        const auto theirs = node["stats"].as<std::vector<std::string>>();
        BOOST_CHECK_EQUAL(ours.size(), theirs.size());
        for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
            BOOST_CHECK_MESSAGE(ours[i] == theirs[i], name << ", line " << i << "\n  Timeloop "
                                                           << theirs[i] << "\n  ours     "
                                                           << ours[i]);
        }
        ++mapped;
    });
    BOOST_CHECK_GE(mapped, mapped_at_least);
    BOOST_CHECK_GE(refused, refused_at_least);
}

}  // namespace tessera::testing
