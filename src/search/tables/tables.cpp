// Map:
//   make_groups()  the tables of mapspace/pmapping_tables.hpp, row by row as the joiner sees them
//   Tables         makes them, translates points
#include "tessera/search/tables.hpp"

#include <algorithm>
#include <tuple>

#include "base/leave.hpp"
#include "mapspace/pmapping_tables.hpp"
#include "search/tables/table_space.hpp"
#include "search/tables/table_worker.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::search {
namespace {

constexpr std::uint64_t most_rows = 50'000'000;

mapspace::EinsumTemplates templates_of(const EinsumData& einsum) {
    mapspace::EinsumTemplates out;
    for (const auto& path : einsum.paths) {
        out.paths.push_back(path.get());
    }
    for (const TemplateData& t : einsum.templates) {
        out.templates.push_back({t.path, &t.tmpl});
    }
    return out;
}

/// A row of a table, where it stands and what the joiner sees of it.
struct Found {
    int structure = 0;
    std::vector<std::int64_t> trips;
    double cost = 0;
    std::uint32_t tmpl = 0;
    const std::int32_t* tiles = nullptr;
    std::size_t n_tiles = 0;
    const double* evaluated_for = nullptr;

    bool alike(const Found& o) const {
        return structure == o.structure && trips == o.trips;
    }
    bool operator<(const Found& o) const {
        return std::tie(structure, trips, cost, tmpl) !=
                       std::tie(o.structure, o.trips, o.cost, o.tmpl)
                   ? std::tie(structure, trips, cost, tmpl) <
                         std::tie(o.structure, o.trips, o.cost, o.tmpl)
                   : std::lexicographical_compare(tiles, tiles + n_tiles, o.tiles,
                                                  o.tiles + o.n_tiles);
    }
};

std::vector<Found> find_rows(const EinsumData& einsum, const mapspace::EinsumTable& table) {
    std::vector<Found> found;
    std::vector<double> values;
    for (const mapspace::PmappingGroup& group : table.groups) {
        const auto& evaluated = table.evaluated_for.at(group.structure);
        for (std::size_t r = 0; r < group.rows(); ++r) {
            base::poll_stop();
            Found& row = found.emplace_back();
            row.tmpl = group.source_template[r];
            const TemplateData& t = einsum.templates[row.tmpl];
            row.n_tiles = t.symbols.size();
            row.tiles = table.tiles[row.tmpl].data() + group.source_row[r] * row.n_tiles;
            values.assign(row.tiles, row.tiles + row.n_tiles);
            const std::uint32_t running = running_loops(t, values.data());
            const Pattern* const pattern = find_pattern(t, running);
            if (pattern == nullptr) {
                throw Bug("a row of a pmapping table is no point of the space of templates");
            }
            row.structure = pattern->structure;
            trips_of(t, running, values.data(), row.trips);
            row.cost = 1;
            for (int k = 0; k < group.n_objectives; ++k) {
                row.cost *= group.row(r)[k];
            }
            const std::int64_t* const trips = group.trips_of(r);
            row.evaluated_for = &evaluated.at({trips, trips + group.n_loops()});
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// `evaluated`: rows looked at for all tables.
EinsumRows make_groups(const EinsumData& einsum, const mapspace::EinsumTable& table,
                       double evaluated) {
    const std::vector<Found> found = find_rows(einsum, table);
    EinsumRows out;
    for (std::size_t i = 0; i < found.size();) {
        const Found& first = found[i];
        CompatibilityGroup& group = out.groups.emplace_back();
        group.structure = first.structure;
        group.trips = first.trips;
        group.first = static_cast<std::uint32_t>(i);
        std::vector<const double*> sources;  // several where tile shapes have to agree, too
        for (; i < found.size() && found[i].alike(first); ++i) {
            const Found& row = found[i];
            if (std::find(sources.begin(), sources.end(), row.evaluated_for) == sources.end()) {
                sources.push_back(row.evaluated_for);
            }
            out.rows.push_back({row.tmpl, out.tiles.size(), row.cost});
            out.tiles.insert(out.tiles.end(), row.tiles, row.tiles + row.n_tiles);
        }
        group.rows = static_cast<std::uint32_t>(i) - group.first;
        for (const double* const source : sources) {
            group.charge += *source / evaluated / group.rows;
        }
    }
    std::size_t g = 0;
    for (int s = 0; s <= static_cast<int>(einsum.structures.size()); ++s) {
        while (g < out.groups.size() && out.groups[g].structure < s) {
            ++g;
        }
        out.begin.push_back(static_cast<std::uint32_t>(g));
    }
    return out;
}

}  // namespace

Tables::Tables(const OpenSpace& space, const model::CostModel& model, const TablesOptions& options)
    : data_(std::make_unique<Data>(space)) {
    const OpenSpace::Data& open = space.data();
    std::vector<mapspace::EinsumTemplates> einsums;
    for (const EinsumData& einsum : open.einsums.all()) {
        einsums.push_back(templates_of(einsum));
    }
    mapspace::ShapeContext context;
    context.problem = &open.problem;
    context.mapspace = &open.mapspace;
    context.tracked = mapspace::tracked_memories(einsums);
    context.want_energy = options.want_energy;
    context.want_latency = options.want_latency;
    const base::StopScope scope({options.stop});
    try {
        const std::vector<mapspace::EinsumTable> tables =
            mapspace::pmapping_tables(context, model, einsums, {options.threads, most_rows});
        double evaluated = 0;
        for (const mapspace::EinsumTable& table : tables) {
            evaluated += table.evaluated;
        }
        for (std::size_t e = 0; e < tables.size(); ++e) {
            data_->space.einsums.push_back(make_groups(open.einsums[e], tables[e], evaluated));
            data_->rows += data_->space.einsums.back().rows.size();
            const std::string& name = open.problem.workload->einsums[e].name;
            for (const char* const what : {"group ", "row ", "way "}) {
                data_->space.names.push_back(what + name);
            }
        }
    } catch (const LimitReached& many) {
        throw UserError(std::string(many.what()) +
                        "; search the space of templates (search.space=templates), or a smaller "
                        "one (--max-fused-loops, constraints)");
    } catch (const base::Stopped&) {
        throw LimitReached("stopped while the pmapping tables were made; give more time");
    }
}

Tables::~Tables() {
    base::leave(std::move(data_));
}

const Space& Tables::space() const {
    return data_->space;
}

std::unique_ptr<SpaceWorker> Tables::make_worker() const {
    return std::make_unique<TableWorker>(data_->space);
}

Point Tables::point_of(const Point& rows) const {
    Point point;
    data_->space.translate(rows, point);
    return point;
}

bool Tables::rows_of(const Point& point, Point& rows) const {
    const OpenSpace::Data& open = data_->space.data();
    rows = {};
    std::size_t at = 0;
    std::vector<double> values;
    std::vector<std::int64_t> trips;
    for (std::size_t e = 0; e < open.einsums.size(); ++e) {
        const auto [tmpl, join] = point.choices[e];
        const TemplateData& t = open.einsums[e].templates[tmpl];
        const std::int64_t* const tiles = point.tiles.data() + at;
        at += t.symbols.size();
        values.assign(tiles, tiles + t.symbols.size());
        const std::uint32_t running = running_loops(t, values.data());
        const Pattern* const pattern = find_pattern(t, running);
        trips_of(t, running, values.data(), trips);
        const EinsumRows& own = data_->space.einsums[e];
        bool found = false;
        for (std::uint32_t g = pattern == nullptr ? 0 : own.begin[pattern->structure];
             pattern != nullptr && !found && g < own.begin[pattern->structure + 1]; ++g) {
            const CompatibilityGroup& group = own.groups[g];
            for (std::uint32_t r = 0; group.trips == trips && !found && r < group.rows; ++r) {
                const TableRow& row = own.rows[group.first + r];
                found = row.tmpl == tmpl &&
                        std::equal(tiles, tiles + t.symbols.size(), own.tiles.begin() + row.tiles);
                if (found) {
                    rows.choices.push_back({g, join});
                    rows.tiles.push_back(r);
                }
            }
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

std::uint64_t Tables::rows() const {
    return data_->rows;
}

}  // namespace tessera::search
