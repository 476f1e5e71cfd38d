// Run::find_by_parts(): the first mapping of a long cascade.
#include "../run.hpp"
#include "parts.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/select.hpp"

namespace tessera::ffm {
namespace {

/// Einsums of a part, fewer where convolutions overlap; pmappings that one part may look at; and
/// the share of a limit in time that all may take.
constexpr int most_of_part = 18, most_of_windows = 6;
constexpr std::uint64_t rows_of_part = 20'000'000;
constexpr double share_of_parts = 0.2;

/// Each tensor has one reader: joined quickly, however long.
bool is_chain(const workload::Workload& w) {
    return std::ranges::all_of(w.tensors, [](const workload::Tensor& tensor) {
        return tensor.producers.empty() || tensor.consumers.size() <= 1;
    });
}

bool legal(const model::Problem& problem, const mapspace::MapSpaceOptions& space,
           const mapping::Mapping& mapping) {
    return std::ranges::none_of(mapspace::check(problem, mapping, &space), [](const auto& found) {
        return found.severity != mapspace::Severity::warning;
    });
}

}  // namespace

void Run::find_by_parts() {
    const workload::Workload& w = *problem_.workload;
    if (!context_.switches.parts || silent_ || !scalar() || options_.budget.max_evals > 0 ||
        w.einsums.size() < long_cascade || is_chain(w)) {
        return;
    }
    const PhaseTimer timer(*this, "incumbent", "parts");
    const std::vector<Part> parts =
        parts_of(w, w.index.nothing_overlaps ? most_of_part : most_of_windows);
    std::vector<mapping::Mapping> mappings(parts.size());
    std::size_t left = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        left += parts[i].same == i ? 1 : 0;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].same == i && !find_part(einsums_of(w, parts[i]), left--, mappings[i])) {
            return;
        }
    }
    mapper::Solution whole{in_sequence(w, parts, mappings), {}};
    try {
        if (!legal(problem_, options_.mapspace, whole.mapping)) {
            return;
        }
        whole.report = context_.model->evaluate(problem_, whole.mapping);
    } catch (const Error&) {  // what parts share may need more room than one has alone
        return;
    }
    say("parts: " + std::to_string(parts.size()));
    take(whole, "parts");
}

bool Run::find_part(const std::vector<std::string>& einsums, std::size_t left,
                    mapping::Mapping& found) {
    const workload::Workload part = workload::selected(*problem_.workload, einsums);
    model::Problem problem = problem_;
    problem.workload = &part;
    mapper::Options o = options_within();
    o.budget.max_evals = rows_of_part;
    o.budget.max_memory_bytes = options_.budget.max_memory_bytes;
    limit_until(share_of_parts, static_cast<double>(left), o.budget);
    try {
        Run run(problem, *context_.model, o);
        run.silent_ = true;
        const mapper::Result result = run.run();
        result_.statistics.evaluated += result.statistics.evaluated;
        if (result.solutions.empty()) {
            return false;
        }
        found = result.solutions.front().mapping;
        return !watch_.stopped();
    } catch (const LimitReached&) {
    } catch (const NoLegalMapping&) {
    }
    return false;
}

}  // namespace tessera::ffm
