/* The stable layer of the plugin interface: plain C structures behind one symbol.
 *
 * A plugin is a shared object that exports `tessera_plugin_entry_v1` and nothing else. The host
 * calls it once; what it returns lives as long as the process. Fields are only ever appended: every
 * structure starts with its own size. Above this layer lie the C++ contracts (CostModel,
 * SearchStrategy, Mapper), which host and plugin share only if the layout fingerprints in section
 * `.tessera.plugin` agree; the host compares them before it loads the file (docs/plugin-abi.md).
 */
#ifndef TESSERA_PLUGIN_ABI_H
#define TESSERA_PLUGIN_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_ABI_MAJOR 1u
#define TESSERA_ABI_MINOR 0u

/* Kinds of components. */
#define TESSERA_COST_MODEL 1u
#define TESSERA_SEARCH_STRATEGY 2u
#define TESSERA_MAPPER 3u

/* Types of knobs. */
#define TESSERA_KNOB_INTEGER 1u
#define TESSERA_KNOB_NUMBER 2u
#define TESSERA_KNOB_FLAG 3u
#define TESSERA_KNOB_TEXT 4u

/* Results of create(). */
#define TESSERA_OK 0
#define TESSERA_USER_ERROR 1
#define TESSERA_PLUGIN_BUG 2
#define TESSERA_NO_MEMORY 3

/* Memory of the host; the plugin fills it. */
typedef struct tessera_error {
    uint32_t struct_size;
    char text[1024]; /* UTF-8, ends with 0 */
} tessera_error;

/* One parameter of a component, declared once. */
typedef struct tessera_knob {
    uint32_t struct_size;
    uint32_t type;
    const char* name;     /* snake_case */
    const char* standard; /* default, as text */
    const char* unit;     /* "" if it has none */
    const char* text;     /* one line of help */
    double lowest;        /* integer, number: inclusive range */
    double highest;
    const char* choices; /* text: allowed values separated by '|', "" for any */
} tessera_knob;

/* The value of a knob. The host has checked it; every knob is given. */
typedef struct tessera_value {
    const char* name;
    const char* text; /* integers and numbers in C notation, flags as 0 or 1 */
} tessera_value;

typedef struct tessera_component {
    uint32_t struct_size;
    uint32_t kind;
    const char* name; /* unique per kind; mappers and strategies share one name space */
    const char* summary;
    const char* citation;
    uint32_t interface_major; /* of the C++ contract that it implements */
    uint32_t interface_minor;
    const tessera_knob* knobs;
    uint32_t n_knobs;
    /* Makes an object and stores a pointer to the contract's base class in *object. Never throws.
     */
    int (*create)(const tessera_value* values, uint32_t n_values, void** object,
                  tessera_error* error);
    /* Ends an object that this component's create() made. Never throws. */
    void (*destroy)(void* object);
} tessera_component;

typedef struct tessera_plugin {
    uint32_t struct_size;
    uint32_t abi_major;
    uint32_t abi_minor;
    const char* name;
    const char* version;
    const char* vendor;
    const char* licence;
    const char* summary;
    const tessera_component* const* components;
    uint32_t n_components;
} tessera_plugin;

typedef struct tessera_host {
    uint32_t struct_size;
    uint32_t abi_major;
    uint32_t abi_minor;
    const char* version; /* of the program */
} tessera_host;

typedef const tessera_plugin* (*tessera_plugin_entry)(const tessera_host*);

#define TESSERA_PLUGIN_ENTRY "tessera_plugin_entry_v1"

#ifdef __cplusplus
}
#endif

#endif
