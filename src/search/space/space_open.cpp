// Opening a space: templates of every Einsum, compiled in parallel.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>

#include "base/leave.hpp"
#include "einsum_orders.hpp"
#include "search/space_data.hpp"
#include "space_family.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/model/formula_pool.hpp"
#include "tessera/workload/workload.hpp"

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
    std::vector<int> last_user(w.tensors.size(), -1);  // place in the order
    for (std::size_t i = 0; i < data.order.size(); ++i) {
        for (const workload::TensorAccess& a : w.einsums[data.order[i]].accesses) {
            last_user[a.tensor] = static_cast<int>(i);
        }
    }
    data.needed_later.assign(data.order.size(), {});
    for (std::size_t i = 0; i < data.order.size(); ++i) {
        for (std::size_t t = 0; t < w.tensors.size(); ++t) {
            data.needed_later[i].push_back(last_user[t] > static_cast<int>(i));
        }
    }
}

/// Finite memories of any path; of several sizes the largest.
void find_memories(OpenSpace::Data& data) {
    const std::vector<std::string>& names = data.problem.architecture->level_names();
    std::map<int, double> sizes;
    for (const EinsumData& einsum : data.einsums.all()) {
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
                     const OpenOptions& options) {
    if (!model.has_formulas()) {
        throw UserError(
            "cost model '" + model.name() +
            "' gives no formulas, which searching the mapspace needs; use --model looptree");
    }
    family_ = std::make_unique<Family>(model, options);
    data_.push_back(std::make_unique<Data>());
    Data& data = *data_.front();
    data.problem = problem;
    data.mapspace = options.mapspace;
    data.mapspace.partial_inner_tiles = problem.convention().partial_inner_tiles;
    for (std::size_t e = 0; e < problem.workload->einsums.size(); ++e) {
        data.einsums.add(std::make_shared<EinsumData>());
        data.order.push_back(static_cast<int>(e));
    }
    const base::StopScope scope(options.stop != nullptr ? base::StopToken{options.stop}
                                                        : base::current_stop());
    try {
        open(model, options.threads);
    } catch (const base::Stopped&) {
        if (options.stop == nullptr) {
            throw;  // whoever asks has set the stop, and knows what it means
        }
        throw LimitReached("stopped while the mapspace was opened; give more time");
    }
}

void OpenSpace::open(const model::CostModel& model, int threads) {
    Data& data = *data_.front();
    const model::Problem& problem = data.problem;
    std::vector<Job> jobs;
    std::vector<std::vector<std::vector<mapspace::GroupStructure>>> found(data.einsums.size());
    for (std::size_t e = 0; e < data.einsums.size(); ++e) {
        base::poll_stop();
        enumerate_einsum(problem, data.mapspace, static_cast<int>(e), data.einsums[e]);
        found[e].resize(data.einsums[e].templates.size());
        for (std::size_t t = 0; t < found[e].size(); ++t) {
            jobs.push_back({e, t});
        }
    }
    find_users(data);
    find_memories(data);
    std::vector<std::atomic<bool>> some_fit(data.einsums.size());
    std::vector<Tools> tools(static_cast<std::size_t>(std::max(threads, 1)));
    base::parallel_for(jobs.size(), threads, [&](std::size_t i, int thread) {
        EinsumData& einsum = data.einsums[jobs[i].einsum];
        Tools& own = tools[static_cast<std::size_t>(thread)];
        compile_template(data, model, einsum.templates[jobs[i].tmpl],
                         found[jobs[i].einsum][jobs[i].tmpl], own.explorer, own.pool,
                         some_fit[jobs[i].einsum]);
    });
    for (std::size_t e = 0; e < data.einsums.size(); ++e) {
        base::poll_stop();
        drop_empty(data.einsums[e], found[e]);
        if (data.einsums[e].templates.empty() || !some_fit[e]) {
            throw NoLegalMapping("Einsum " + problem.workload->einsums[e].name +
                                 ": no tile shapes meet all constraints of any of its templates");
        }
        intern_structures(data.einsums[e], found[e]);
        data.einsums[e].relatives.build(data.einsums[e].templates);
    }
    if (data.mapspace.all_einsum_orders) {
        add_orders();
    }
}

/// The same Einsums in other orders.
void OpenSpace::add_orders() {
    constexpr std::size_t most_orders = 16;  // each is remembered by itself
    const Data& first = *data_.front();
    const EinsumOrders all = einsum_orders(*first.problem.workload, most_orders);
    has_all_orders_ = all.complete;
    for (std::size_t k = 1; k < all.orders.size(); ++k) {
        auto other = std::make_unique<Data>(first);
        other->order = all.orders[k];
        other->einsums = {};
        for (const int e : other->order) {
            other->einsums.add(first.einsums.shared(static_cast<std::size_t>(e)));
        }
        find_users(*other);
        data_.push_back(std::move(other));
    }
}

OpenSpace::~OpenSpace() {
    base::leave(std::move(data_));
}

std::uint32_t OpenSpace::n_einsums() const {
    return static_cast<std::uint32_t>(data_.front()->einsums.size());
}

std::uint32_t OpenSpace::n_templates(std::uint32_t einsum) const {
    return static_cast<std::uint32_t>(data_.front()->einsums[einsum].templates.size());
}

const mapspace::Template& OpenSpace::tmpl(std::uint32_t einsum, std::uint32_t index) const {
    return data_.front()->einsums[einsum].templates[index].tmpl;
}

std::uint32_t OpenSpace::n_orders() const {
    return static_cast<std::uint32_t>(data_.size());
}

}  // namespace tessera::search
