#include "support/timeloop_design.hpp"

#include "support/paths.hpp"
#include "timeloop/read.hpp"

namespace tessera::testing {

TimeloopDesign timeloop_design(const std::string& name) {
    using namespace timeloop;
    const Document document =
        read_document({test::test_folder() + "/../bench/timeloop/" + name + ".yaml"});
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

}  // namespace tessera::testing
