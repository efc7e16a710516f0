// The API that a plugin registers with, as OpenClaw 2026.9 has it; everything is recorded.

import { absent, resolvePath, stateDir } from "./sdk.mjs";

// Calls of no use to a host of memory: they are taken, as a host takes them, and nothing comes of it.
const TAKEN = [
  "registerHttpRoute",
  "registerHostedMediaResolver",
  "registerWidgetPresenter",
  "registerMcpServerConnectionResolver",
  "registerChannel",
  "registerGatewayMethod",
  "registerGatewayAccessPolicy",
  "registerBoardWidgetContentKind",
  "registerSessionCatalog",
  "registerCli",
  "registerNodeCliFeature",
  "registerReload",
  "registerNodeHostCommand",
  "registerNodeInvokePolicy",
  "registerSecurityAuditCollector",
  "registerGatewayDiscoveryService",
  "registerCliBackend",
  "registerTextTransforms",
  "registerConfigMigration",
  "registerMigrationProvider",
  "registerAutoEnableProbe",
  "registerProvider",
  "registerWorkerProvider",
  "registerModelCatalogProvider",
  "registerEmbeddingProvider",
  "registerMemoryEmbeddingProvider",
  "registerSpeechProvider",
  "registerRealtimeTranscriptionProvider",
  "registerRealtimeVoiceProvider",
  "registerMediaUnderstandingProvider",
  "registerTranscriptSourceProvider",
  "registerImageGenerationProvider",
  "registerVideoGenerationProvider",
  "registerMusicGenerationProvider",
  "registerWebFetchProvider",
  "registerWebSearchProvider",
  "registerInteractiveHandler",
  "onConversationBindingResolved",
  "registerCommand",
  "registerContextEngine",
  "registerDecisionProvider",
  "registerCompactionProvider",
  "registerAgentHarness",
  "registerCodexAppServerExtensionFactory",
  "registerAgentToolResultMiddleware",
  "registerSessionExtension",
  "registerTrustedToolPolicy",
  "registerToolMetadata",
  "registerControlUiDescriptor",
  "registerRuntimeLifecycle",
  "registerAgentEventSubscription",
  "registerSessionSchedulerJob",
  "registerSessionAction",
  "registerDetachedTaskRuntime",
  "registerMemoryPromptPreparation",
  "registerMemoryCorpusSupplement",
  "registerMemoryFlushPlan",
];

// Everything that a plugin registered.
export class Registrations {
  hooks = new Map();
  events = new Map();
  tools = [];
  services = [];
  prompts = [];
  memory = null;
  taken = [];

  has(...names) {
    return names.some((name) => this.hooks.has(name));
  }

  // The handlers of a hook, the highest priority first.
  of(name) {
    return this.hooks.get(name) ?? [];
  }

  on(name, handler, options = {}) {
    if (typeof handler !== "function") throw new TypeError(`api.on("${name}") got no function`);
    const priority = Number(options?.priority ?? 0) || 0;
    const all = [...this.of(name), { handler, priority, options: options ?? {} }];
    this.hooks.set(name, all.sort((one, other) => other.priority - one.priority));
  }

  // The older way: `message:received` is one event, and `message` all of that kind.
  listen(names, handler, options = {}) {
    if (!options?.name && !options?.entry) throw new Error("hook registration missing name");
    if (options.register === false) return;
    for (const name of [names].flat()) this.events.set(name, [...this.listening(name), handler]);
  }

  listening(...names) {
    return names.flatMap((name) => this.events.get(name) ?? []);
  }
}

function grouped(taken) {
  return { registerSessionExtension: taken, registerSessionSchedulerJob: taken };
}

// The API object of one plugin. `log` gets a level and a text.
export function apiOf({ plugin, pluginConfig, config, log, registered }) {
  const logger = {
    debug: (...told) => log("debug", told),
    info: (...told) => log("info", told),
    warn: (...told) => log("warning", told),
    error: (...told) => log("error", told),
  };
  const taken = Object.fromEntries(
    TAKEN.map((name) => [name, (first) => void registered.taken.push([name, first])]),
  );
  const noted = (first) => void registered.taken.push(["", first]);
  const runtime = {
    version: plugin.hostVersion,
    config: { loadConfig: () => config, current: () => config },
    state: { resolveStateDir: stateDir },
    logging: { shouldLogVerbose: () => false, getChildLogger: () => logger },
    agent: {
      resolveAgentDir: () => config.agents.defaults.agentDir,
      resolveAgentWorkspaceDir: () => config.agents.defaults.workspace,
    },
  };
  return {
    id: plugin.id,
    name: plugin.name,
    version: plugin.version,
    description: plugin.description,
    source: plugin.entries[0],
    rootDir: plugin.directory,
    registrationMode: "full",
    config,
    pluginConfig,
    logger,
    runtime: standing(runtime, "api.runtime"),
    resolvePath,
    ...taken,
    on: (name, handler, options) => registered.on(name, handler, options),
    registerHook: (names, handler, options) => registered.listen(names, handler, options),
    registerTool: (tool, options) => void registered.tools.push({ tool, options: options ?? {} }),
    registerService: (service) => void registered.services.push(service),
    registerMemoryCapability: (capability) => {
      registered.memory = { ...registered.memory, ...capability };
    },
    registerMemoryRuntime: (found) => {
      registered.memory = { ...registered.memory, runtime: found };
    },
    registerMemoryPromptSection: (builder) => void registered.prompts.push(builder),
    registerMemoryPromptSupplement: (builder) => void registered.prompts.push(builder),
    session: {
      state: grouped(noted),
      workflow: standing(grouped(noted), "api.session.workflow"),
      controls: { registerSessionAction: noted, registerControlUiDescriptor: noted },
    },
    agent: { events: { registerAgentEventSubscription: noted, emitAgentEvent: noted } },
    lifecycle: { registerRuntimeLifecycle: noted },
    runContext: contextOfRuns(),
    enqueueNextTurnInjection: absent("api.enqueueNextTurnInjection"),
  };
}

function contextOfRuns() {
  const kept = new Map();
  const place = ({ runId, namespace }) => JSON.stringify([runId, namespace ?? ""]);
  return {
    setRunContext: (patch) => kept.set(place(patch), patch.value) !== undefined,
    getRunContext: (given) => kept.get(place(given)),
    clearRunContext: (given) => void kept.delete(place(given)),
  };
}

// An object with these parts; another one says that it is absent when it is used.
function standing(parts, name) {
  return new Proxy(parts, {
    get(target, key) {
      if (typeof key === "symbol" || key === "then" || key === "toJSON") return target[key];
      if (!(key in target)) return absent(`${name}.${key}`);
      const found = target[key];
      const isGroup = found !== null && typeof found === "object";
      return isGroup ? standing(found, `${name}.${key}`) : found;
    },
  });
}
