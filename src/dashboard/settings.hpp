// The choices of theme and symbols that outlive a session: $XDG_CONFIG_HOME/tessera/dashboard, else
// ~/.config/tessera/dashboard. Lines of `name = value`; what is not understood is ignored.
#pragma once

#include <string>

#include "dashboard/view.hpp"

namespace tessera::dashboard {

/// Empty if no home is known.
std::string settings_file();
void load_settings(View& view);
/// Best effort: a home that cannot be written to is no error.
void save_settings(const View& view);

}  // namespace tessera::dashboard
