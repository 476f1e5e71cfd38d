// The summary of a mapping as text: what every report ends its totals with, and the tables of --by.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "io/description.hpp"

namespace tessera::cli {

/// --by, --top and --tree: of all commands that print a mapping.
void add_summary_options(options::Description& description);

/// Which tables are asked for, and how many of their rows.
struct SummaryTables {
    bool component = false, einsum = false, tensor = false;
    bool memory = false, traffic = false, spatial = false;
    std::size_t top = 0;  ///< 0: all
    bool any() const {
        return component || einsum || tensor || memory || traffic || spatial;
    }
};

/// \throws UserError for a table that does not exist
SummaryTables summary_tables(const Arguments& arguments);

/// What limits the time, where the energy goes, compute use, memories, traffic and fusion: a line
/// each, at most.
void print_summary(std::ostream& out, const arch::Architecture& architecture,
                   const io::Description& description);
void print_summary_tables(std::ostream& out, const arch::Architecture& architecture,
                          const io::Summary& summary, const SummaryTables& tables);

}  // namespace tessera::cli
