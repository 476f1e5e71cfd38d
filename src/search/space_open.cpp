// Opening a space: templates of every Einsum, compiled in parallel.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/leave.hpp"
#include "search/space_data.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/model/formula_pool.hpp"

namespace tessera::search {

namespace {

/// Paths and templates of one Einsum.
void enumerate_einsum(const model::Problem& p, const mapspace::MapSpaceOptions& options, int einsum,
                      EinsumData& out) {
    const std::string& name = p.workload->einsums[einsum].name;
    std::string reason, refusals;
    for (const std::string& compute : p.architecture->compute_names()) {
        auto path = std::make_unique<arch::Path>(
            p.architecture->path(*p.workload, einsum, compute, p.compat));
        if (!path->compute().enabled) {
            refusals += (refusals.empty() ? "" : ", ") + path->refusal();
            continue;
        }
        const arch::Path* stable = path.get();
        out.paths.push_back(std::move(path));
        try {
            mapspace::enumerate_templates(*stable, options, [&](mapspace::Template&& tmpl) {
                base::poll_stop();
                out.templates.emplace_back();
                out.templates.back().path = stable;
                out.templates.back().tmpl = std::move(tmpl);
            });
        } catch (const NoLegalMapping& none) {
            reason = none.what();  // unless another compute can run it
        }
    }
    if (out.templates.empty()) {
        throw NoLegalMapping(
            !reason.empty() ? reason : "Einsum " + name + ": no compute may run it: " + refusals);
    }
}

void find_users(OpenSpace::Data& data) {
    const workload::Workload& w = *data.problem.workload;
    data.n_tensors = static_cast<int>(w.tensors.size());
    data.first_user.assign(w.tensors.size(), static_cast<int>(w.einsums.size()));
    data.last_user.assign(w.tensors.size(), -1);
    for (std::size_t e = 0; e < w.einsums.size(); ++e) {
        for (const workload::TensorAccess& a : w.einsums[e].accesses) {
            data.first_user[a.tensor] = std::min(data.first_user[a.tensor], static_cast<int>(e));
            data.last_user[a.tensor] = static_cast<int>(e);
        }
    }
    for (std::size_t e = 0; e < w.einsums.size(); ++e) {
        for (std::size_t t = 0; t < w.tensors.size(); ++t) {
            data.einsums[e].needed_later.push_back(data.last_user[t] > static_cast<int>(e));
        }
    }
}

/// Finite memories of any path; sizes are those that the first path names.
void find_memories(OpenSpace::Data& data) {
    const std::vector<std::string>& names = data.problem.architecture->component_names();
    std::map<int, double> sizes;
    for (const EinsumData& einsum : data.einsums) {
        for (const auto& path : einsum.paths) {
            for (const arch::PathLevel& level : path->levels) {
                if (level.kind == arch::LevelKind::memory && std::isfinite(level.size_bits)) {
                    const auto at = std::find(names.begin(), names.end(), level.name);
                    double& size =
                        sizes.try_emplace(static_cast<int>(at - names.begin()), 0).first->second;
                    size = std::max(size, level.size_bits);
                }
            }
        }
    }
    for (const auto& [component, size] : sizes) {
        data.memories.push_back({component, size});
    }
}

/// Structures of all templates become one list per Einsum without repetitions.
void intern_structures(EinsumData& einsum,
                       std::vector<std::vector<mapspace::GroupStructure>>& found) {
    std::map<mapspace::GroupStructure, int> index;
    for (std::size_t t = 0; t < einsum.templates.size(); ++t) {
        for (Pattern& pattern : einsum.templates[t].patterns) {
            const auto [at, fresh] =
                index.try_emplace(std::move(found[t][pattern.structure]), index.size());
            if (fresh) {
                einsum.structures.push_back(at->first);
            }
            pattern.structure = at->second;
        }
    }
    for (const mapspace::GroupStructure& structure : einsum.structures) {
        einsum.buffers.emplace_back();
        for (const mapspace::BackedTensor& b : structure.tensors) {
            if (b.shares_buffer_of >= 0) {
                einsum.buffers.back().push_back({b.tensor, b.shares_buffer_of});
            }
        }
    }
}

/// Templates that no tile shapes make legal are dropped.
void drop_empty(EinsumData& einsum, std::vector<std::vector<mapspace::GroupStructure>>& found) {
    std::size_t kept = 0;
    for (std::size_t t = 0; t < einsum.templates.size(); ++t) {
        if (einsum.templates[t].patterns.empty()) {
            continue;
        }
        if (kept != t) {
            einsum.templates[kept] = std::move(einsum.templates[t]);
            found[kept] = std::move(found[t]);
        }
        ++kept;
    }
    einsum.templates.resize(kept);
}

struct Job {
    std::size_t einsum = 0, tmpl = 0;
};

/// What one thread compiles templates with.
struct Tools {
    model::FormulaPool pool;
    mapspace::TileShapeExplorer explorer;
};

}  // namespace

OpenSpace::OpenSpace(const model::Problem& problem, const model::CostModel& model,
                     const OpenOptions& options)
    : data_(std::make_unique<Data>()) {
    if (!model.has_formulas()) {
        throw UserError(
            "cost model '" + model.name() +
            "' gives no formulas, which searching the mapspace needs; use --model looptree");
    }
    data_->problem = problem;
    data_->mapspace = options.mapspace;
    data_->mapspace.partial_inner_tiles = problem.compat == arch::Compat::accelforge;
    data_->einsums.resize(problem.workload->einsums.size());
    const base::StopScope scope({options.stop});
    try {
        open(model, options.threads);
    } catch (const base::Stopped&) {
        throw LimitReached("stopped while the mapspace was opened; give more time");
    }
}

void OpenSpace::open(const model::CostModel& model, int threads) {
    const model::Problem& problem = data_->problem;
    std::vector<Job> jobs;
    std::vector<std::vector<std::vector<mapspace::GroupStructure>>> found(data_->einsums.size());
    for (std::size_t e = 0; e < data_->einsums.size(); ++e) {
        base::poll_stop();
        enumerate_einsum(problem, data_->mapspace, static_cast<int>(e), data_->einsums[e]);
        found[e].resize(data_->einsums[e].templates.size());
        for (std::size_t t = 0; t < found[e].size(); ++t) {
            jobs.push_back({e, t});
        }
    }
    find_users(*data_);
    find_memories(*data_);
    std::vector<Tools> tools(static_cast<std::size_t>(std::max(threads, 1)));
    base::parallel_for(jobs.size(), threads, [&](std::size_t i, int thread) {
        EinsumData& einsum = data_->einsums[jobs[i].einsum];
        Tools& own = tools[static_cast<std::size_t>(thread)];
        compile_template(*data_, model, einsum.templates[jobs[i].tmpl],
                         found[jobs[i].einsum][jobs[i].tmpl], own.explorer, own.pool);
    });
    for (std::size_t e = 0; e < data_->einsums.size(); ++e) {
        base::poll_stop();
        drop_empty(data_->einsums[e], found[e]);
        if (data_->einsums[e].templates.empty()) {
            throw NoLegalMapping("Einsum " + problem.workload->einsums[e].name +
                                 ": no tile shapes meet all constraints of any of its templates");
        }
        intern_structures(data_->einsums[e], found[e]);
        data_->einsums[e].relatives.build(data_->einsums[e].templates);
    }
}

OpenSpace::~OpenSpace() {
    base::leave(std::move(data_));
}

std::uint32_t OpenSpace::n_einsums() const {
    return static_cast<std::uint32_t>(data_->einsums.size());
}

std::uint32_t OpenSpace::n_templates(std::uint32_t einsum) const {
    return static_cast<std::uint32_t>(data_->einsums[einsum].templates.size());
}

const mapspace::Template& OpenSpace::tmpl(std::uint32_t einsum, std::uint32_t index) const {
    return data_->einsums[einsum].templates[index].tmpl;
}

}  // namespace tessera::search
