#include "tessera/describe.hpp"

#include "io/description.hpp"
#include "io/looptree_svg.hpp"
#include "model/overflow.hpp"
#include "tessera/mapping/assemble.hpp"

namespace tessera {

std::string to_json(const Problem& problem, const mapper::Solution& solution) {
    const io::Description description =
        io::describe(problem.view(), solution.mapping, solution.report);
    return io::solution_json(solution.mapping, solution.report, description).dump();
}

std::string to_json(const model::Report& report) {
    return io::report_json(report).dump();
}

std::string to_text(const Problem& problem, const mapper::Solution& solution) {
    const io::Description description =
        io::describe(problem.view(), solution.mapping, solution.report);
    return io::to_text(solution.mapping, description.notes);
}

std::string to_svg(const Problem& problem, const mapper::Solution& solution) {
    const io::Description description =
        io::describe(problem.view(), solution.mapping, solution.report);
    return io::looptree_svg(problem.view(), solution.mapping, description.notes,
                            description.summary);
}

mapping::Mapping as_run(const Problem& problem, const mapping::Mapping& mapping) {
    return model::settle_overflow(problem.view(), mapping).mapping;
}

std::string to_accelforge_yaml(const Problem& problem, const mapping::Mapping& mapping) {
    return mapping::to_accelforge_yaml(mapping, problem.workload(), problem.architecture());
}

}  // namespace tessera
