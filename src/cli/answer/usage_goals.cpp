#include "cli/answer/usage_goals.hpp"

#include <sstream>

#include "cli/output.hpp"

namespace tessera::cli {

std::vector<std::string> listed_metrics(const Arguments& arguments) {
    std::vector<std::string> result;
    std::istringstream list(arguments.text("metric"));
    for (std::string name; std::getline(list, name, ',');) {
        result.push_back(name);
    }
    return result;
}

UsageGoals usage_goals(const Arguments& arguments) {
    UsageGoals goals;
    const std::vector<std::string> listed = listed_metrics(arguments);
    for (const std::string& name : listed) {
        if (const std::optional<std::string> memory = memory_of_usage(name)) {
            goals.memories.push_back(*memory);
        }
    }
    goals.alone = !listed.empty() && goals.memories.size() == listed.size();
    return goals;
}

std::string metric_names(const std::vector<mapper::Metric>& metrics, const UsageGoals& usage) {
    std::string result = usage.alone ? "" : metric_names(metrics);
    for (const std::string& memory : usage.memories) {
        result += (result.empty() ? "" : ",") + usage_metric(memory);
    }
    return result;
}

}  // namespace tessera::cli
