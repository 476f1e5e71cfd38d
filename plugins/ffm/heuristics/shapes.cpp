#include "shapes.hpp"

namespace tessera::ffm {
namespace {

telemetry::Reason reason_of(mapspace::LimitKind kind) {
    switch (kind) {
        case mapspace::LimitKind::capacity:
            return telemetry::Reason::capacity;
        case mapspace::LimitKind::fanout:
            return telemetry::Reason::fanout;
        default:
            return telemetry::Reason::constraint;
    }
}

}  // namespace

mapspace::TileShapeProblem tile_shape_problem(const ExploreContext& c, const TemplateEntry& t,
                                              const model::TemplateFormulas& f,
                                              const mapspace::TabulateContext& table,
                                              std::vector<telemetry::Reason>& reasons) {
    std::vector<mapspace::LimitKind> kinds;
    mapspace::TileShapeProblem problem =
        mapspace::tile_shape_problem(c, *t.path, t.tmpl, f, table, kinds);
    reasons.clear();
    for (const mapspace::LimitKind kind : kinds) {
        reasons.push_back(reason_of(kind));
    }
    return problem;
}

}  // namespace tessera::ffm
