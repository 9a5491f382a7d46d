/** The arrows of docs/adr/0011: a folder may import only what it stands on. Tests beside the sources may bring what they test with. */
const only = (name, from, to) => ({
  name,
  severity: "error",
  from: { path: from, pathNot: "\\.test\\.ts$" },
  to: { path: "^src/", pathNot: to },
});
const onlyIn = (name, pkg, places) => ({
  name,
  severity: "error",
  from: { path: "^src/", pathNot: places },
  to: { path: pkg },
});

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    only("events-stand-alone", "^src/events/", "^src/events/"),
    only("projections-know-events", "^src/projections/", "^src/(events|projections)/"),
    only("engine-knows-no-store", "^src/engine/", "^src/(events|projections|engine)/"),
    only("store-memory-knows-events", "^src/store-memory/", "^src/(events|store-memory)/"),
    only("store-sqlite-knows-events", "^src/store-sqlite/", "^src/(events|store-sqlite)/"),
    only("store-eventstore-knows-events", "^src/store-eventstore/", "^src/(events|store-eventstore)/"),
    only("threads-stand-on-the-engine", "^src/threads/", "^src/(events|projections|engine|threads)/"),
    only("executor-stands-on-the-engine", "^src/executor/", "^src/(events|projections|engine|executor)/"),
    only(
      "workflow-sdk-composes",
      "^src/integrations/workflow-sdk/",
      "^src/(events|projections|engine|store-[a-z]+|embedded|executor|integrations/workflow-sdk)/",
    ),
    onlyIn("eventstore-client-in-its-store", "node_modules/@eventstore", "^src/store-eventstore/"),
    only("testing", "^src/testing/", "^src/(events|projections|engine|store-memory|embedded|testing)/"),
    only(
      "embedded-composes",
      "^src/embedded/",
      "^src/(events|projections|engine|store-memory|store-sqlite|embedded)/",
    ),
    only("cli-is-a-root", "^src/cli/", "^src/(?!testing/)"),
    onlyIn("sqlite-in-its-places", "^(node:)?sqlite$", "^src/(store-sqlite|projections/run-index)"),
    onlyIn(
      "rxjs-in-its-places",
      "node_modules/rxjs",
      "^src/(events/event-log|store-[a-z]+/|engine/(pipeline|deliveries|timers)|embedded/|testing/|cli/|integrations/workflow-sdk/)",
    ),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    parser: "swc",
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "node"] },
  },
};
