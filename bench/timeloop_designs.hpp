// The six designs of bench/timeloop, with what timeloop-mapper found for them.
#pragma once

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/data_path.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/constraints.hpp"
#include "timeloop/model.hpp"
#include "timeloop/read.hpp"

namespace tessera::bench {

/// Of this process, so that other jobs on the machine matter little.
inline double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct TimeloopDesign {
    timeloop::Problem problem;
    timeloop::Architecture architecture;
    timeloop::Constraints constraints;
};

/// A file of bench/timeloop in the checkout.
inline std::string timeloop_file(const std::string& name) {
    return (data_folders().back() / "bench" / "timeloop" / name).string();
}

inline TimeloopDesign timeloop_design(const std::string& name) {
    using namespace timeloop;
    const std::vector<std::string> files = {timeloop_file(name + ".yaml")};
    const Document document = read_document(files);
    Warnings warnings;
    TimeloopDesign design;
    design.problem = read_problem(document, warnings);
    design.architecture = read_architecture(document, warnings);
    if (const auto ert = read_ert(document, warnings)) {
        apply_ert(design.architecture, *ert, Dialect::v3_0_3);
    }
    design.constraints = read_constraints(document, design.problem, design.architecture, warnings);
    return design;
}

struct RecordedDesign {
    std::string name;
    double best_60 = 0,
           best_300 = 0;  ///< EDP of its best algorithm after so many seconds; 0: not run
};

/// What recorded.txt says.
inline std::vector<RecordedDesign> recorded_designs() {
    std::vector<RecordedDesign> designs;
    std::ifstream file(timeloop_file("recorded.txt"));
    for (std::string line; std::getline(file, line);) {
        std::istringstream row(line);
        std::string name, best_60, best_300;
        if (!line.starts_with("#") && row >> name >> best_60 >> best_300) {
            designs.push_back({name, std::atof(best_60.c_str()),
                               best_300 == "-" ? 0 : std::atof(best_300.c_str())});
        }
    }
    return designs;
}

}  // namespace tessera::bench
