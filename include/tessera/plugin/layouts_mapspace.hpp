// Layouts of what all roles share: templates of mappings.
#pragma once

#include "tessera/mapspace/template.hpp"
#include "tessera/plugin/layout.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

TESSERA_LAYOUT(Position)
TESSERA_FIELD(file, std::string)
TESSERA_FIELD(line, int)
TESSERA_FIELD(column, int)
TESSERA_END

TESSERA_LAYOUT(mapping::PmappingNode)
TESSERA_FIELD(kind, mapping::NodeKind)
TESSERA_FIELD(tensor, std::int8_t)
TESSERA_FIELD(level, std::int8_t)
TESSERA_FIELD(dim, std::int8_t)
TESSERA_FIELD(rank_variable, std::int8_t)
TESSERA_FIELD(symbol, std::int16_t)
TESSERA_FIELD(tile, std::int64_t)
TESSERA_FIELD(backing, bool)
TESSERA_FIELD(persistent, bool)
TESSERA_FIELD(lower, bool)
TESSERA_FIELD(open_order, bool)
TESSERA_FIELD(imperfect, bool)
TESSERA_FIELD(sliding, bool)
TESSERA_FIELD(lead, std::int32_t)
TESSERA_FIELD(base, std::int32_t)
TESSERA_FIELD(origin, std::int32_t)
TESSERA_END

TESSERA_LAYOUT(mapspace::TileSymbol)
TESSERA_FIELD(rank_variable, int)
TESSERA_FIELD(node, int)
TESSERA_FIELD(outer, int)
TESSERA_FIELD(inner, int)
TESSERA_FIELD(fused, bool)
TESSERA_FIELD(spatial, bool)
TESSERA_FIELD(imperfect, bool)
TESSERA_END

TESSERA_LAYOUT(mapspace::TemplateConstraint)
TESSERA_FIELD(kind, mapspace::TemplateConstraint::Kind)
TESSERA_FIELD(loops, std::vector<int>)
TESSERA_FIELD(op, arch::LoopBound::Op)
TESSERA_FIELD(value, double)
TESSERA_FIELD(level, int)
TESSERA_FIELD(dim, int)
TESSERA_FIELD(where, Position)
TESSERA_END

TESSERA_LAYOUT(mapspace::Template)
TESSERA_FIELD(nodes, mapping::Pmapping)
TESSERA_FIELD(symbols, std::vector<mapspace::TileSymbol>)
TESSERA_FIELD(constraints, std::vector<mapspace::TemplateConstraint>)
TESSERA_FIELD(n_fused_nodes, int)
TESSERA_END

namespace tessera::plugin {

using MapspaceTypes = TypeList<Position, mapping::PmappingNode, mapspace::TileSymbol,
                               mapspace::TemplateConstraint, mapspace::Template>;

}  // namespace tessera::plugin

#pragma GCC diagnostic pop
