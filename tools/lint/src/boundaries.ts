import type { IForbiddenRuleType } from 'dependency-cruiser';
import { forbiddenImports, subFolderOrders } from './sub-folders.ts';

// Import rules within and between packages, in addition to package `exports`. The parser is swc, because TypeScript 7 has no
// compiler API for JavaScript; swc also sees type imports. Every rule has a fixture that violates it in tools/lint/fixtures.
// The fixtures mirror this tree, so their configuration uses the same rules with another root.
const npm = (names: readonly string[]): string => `(?:^|/)node_modules/(?:${names.join('|')})/`;
// Tests and their helpers: x.fixture.ts beside a test, or one fixture.ts per folder.
const tests = '(?:[.]test|[.]fixture|/fixture)[.]ts$';
// Test code shared by all drivers.
const conformance = 'packages/compute/src/conformance/';
const anyFeature = 'packages/core/src/([^/]+)/';

/** Prefixes a repository path with the root that the rules are for. */
type At = (path: string) => string;

/** Cycles, and imports between features. */
const betweenFeatures = (at: At): IForbiddenRuleType[] => [
  {
    name: 'no-cycle',
    comment:
      'Two files that import each other cannot be read, tested or started separately. Move the shared code to a third file. Type imports may point back, because they are erased.',
    from: { path: at('(?:apps|packages|tools|tests|bench)/') },
    to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
  },
  {
    name: 'no-feature-cycle',
    comment:
      'Features depend on each other in one direction only. Replace one direction by an event, or pass a function as an argument.',
    scope: 'folder',
    from: { path: at('packages/core/src/[^/]+$') },
    to: { circular: true, path: at('packages/core/src/[^/]+$') },
  },
  {
    name: 'features-meet-at-index',
    comment: "Import the other feature's index.ts. If an export is missing, add it there.",
    from: { path: at(anyFeature) },
    to: {
      path: at('packages/core/src/[^/]+/'),
      pathNot: [at('packages/core/src/$1/'), at('packages/core/src/[^/]+/index[.]ts$')],
    },
  },
  {
    name: 'billing-knows-no-rentals',
    comment:
      'Rentals, volumes and inference call billing, never the reverse: the ledger must not depend on what it charges for.',
    from: { path: at('packages/core/src/(?:ledger|prices|billing|credit-leases|metering|auditor)/') },
    to: { path: at('packages/core/src/(?:rentals|volumes|inference|marketplace)/') },
  },
];

/** One rule per part of each folder, all with the same name. */
const betweenSubFolders = (at: At): IForbiddenRuleType[] =>
  Object.entries(subFolderOrders)
    .flatMap(([folder, order]) => forbiddenImports(folder, order))
    .map(({ from, to }) => ({
      name: 'sub-folders-one-way',
      comment:
        'Imports between sub-folders point one way, in the order of tools/lint/src/sub-folders.ts. Move shared code to the lower one.',
      from: { path: at(from), pathNot: tests },
      to: { path: to.map(at) },
    }));

/** Access to engines. */
const engineAccess = (at: At): IForbiddenRuleType[] => [
  {
    name: 'sql-only-in-stores',
    comment: 'Put the statement into a *.store.ts function that takes the handle first, and call that.',
    from: {
      path: at('(?:apps|packages)/'),
      pathNot: ['[.]store[.]ts$', tests, at('packages/platform/src/(?:db|outbox)/'), at('packages/testing/')],
    },
    to: { path: npm(['kysely', 'pg', '@types/pg', 'postgrator']) },
  },
  {
    name: 'restate-only-in-workflows',
    comment: 'Write the handler in a *.workflow.ts; start it by appending a command to the outbox.',
    from: {
      path: at('(?:apps|packages)/'),
      pathNot: ['[.]workflow[.]ts$', tests, at('packages/platform/src/restate/'), at('packages/testing/')],
    },
    to: { path: npm(['@restatedev']) },
  },
  {
    name: 'engine-clients-in-platform',
    comment:
      'Use @millrace/platform/nats or @millrace/platform/valkey: they own reconnection, headers and limits.',
    from: {
      path: at('(?:apps|packages)/'),
      pathNot: [tests, at('packages/platform/'), at('packages/testing/')],
    },
    to: { path: npm(['redis', '@redis', '@nats-io']) },
  },
  {
    name: 'drivers-closed',
    comment:
      'Only compute/<engine> calls its engine. Use the driver interface; a composition root may import a driver by its index.ts.',
    from: { path: at('(?:apps|packages|tools)/'), pathNot: [at('packages/compute/src/[^/]+/'), tests] },
    to: { path: at('packages/compute/src/[^/]+/'), pathNot: at('packages/compute/src/[^/]+/index[.]ts$') },
  },
  {
    name: 'drivers-apart',
    comment:
      'A driver must not import another driver. Shared code belongs to the driver interface, shared tests to the conformance suite.',
    from: { path: at('packages/compute/src/([^/]+)/') },
    to: {
      path: at('packages/compute/src/[^/]+/'),
      // The conformance suite and the readiness check are not drivers. no-test-code-in-product allows the suite only in tests.
      pathNot: [
        at('packages/compute/src/$1/'),
        at('packages/compute/src/(?:conformance|readiness)/index[.]ts$'),
      ],
    },
  },
];

/** The order of layers: contract, platform, credit-leases, core, inference, apps. Clients depend on the contract only. */
const layers = (at: At): IForbiddenRuleType[] => [
  {
    name: 'contract-imports-zod-only',
    comment:
      'The contract runs in browsers and in every client, so it may import only zod and its own files.',
    from: { path: at('packages/contract/'), pathNot: tests },
    to: { pathNot: [at('packages/contract/'), npm(['zod'])] },
  },
  {
    name: 'clients-import-sdk-and-contract-only',
    comment: 'Console, CLI and SDK are clients of the public API. Call the API through the SDK instead.',
    from: { path: at('(?:apps/(?:console|cli)|packages/sdk)/'), pathNot: tests },
    to: {
      path: at('(?:apps|packages|tools)/'),
      pathNot: [at('packages/(?:sdk|contract)/'), at('apps/console/'), at('apps/cli/')],
    },
  },
  {
    name: 'platform-below-core',
    comment: 'The platform must not depend on features. Take the varying part as an argument.',
    from: { path: at('packages/platform/') },
    to: { path: at('packages/(?:core|compute|credit-leases|inference|storage|sdk)/') },
  },
  {
    name: 'credit-leases-below-core',
    comment:
      'Gateways spend leased credit without a database. Decisions of the lender belong to core/credit-leases.',
    from: { path: at('packages/credit-leases/') },
    to: { path: at('packages/(?:core|compute|inference|storage|sdk)/') },
  },
  {
    name: 'lender-without-client',
    comment:
      'The lender and gateways communicate by messages and Valkey: import @millrace/credit-leases/protocol. Tests may run both.',
    from: { path: at('packages/core/'), pathNot: tests },
    to: { path: at('packages/credit-leases/src/client/') },
  },
  {
    name: 'core-below-inference',
    comment:
      'The data plane of inference depends on core, never the reverse. A test that needs both belongs to packages/inference or tests/.',
    from: { path: at('packages/core/') },
    to: { path: at('packages/inference/') },
  },
  {
    name: 'packages-below-apps',
    comment: 'Apps import packages, never the reverse. Move the shared code to a package.',
    from: { path: at('packages/') },
    to: { path: at('apps/') },
  },
  {
    name: 'apps-apart',
    comment: 'Each process starts, fails and is deployed separately. Move the shared code to a package.',
    from: { path: at('apps/([^/]+)/') },
    to: { path: at('apps/[^/]+/'), pathNot: at('apps/$1/') },
  },
];

/** Product code does not depend on tools or test code, and packages import each other only through their exports. */
const shippedCode = (at: At): IForbiddenRuleType[] => [
  {
    name: 'product-without-tools',
    comment: 'Tools are for developers and not shipped. Only packages/testing may use the services tool.',
    from: { path: at('(?:apps|packages)/'), pathNot: [tests, at('packages/testing/')] },
    to: { path: at('tools/') },
  },
  {
    name: 'testing-uses-services-only',
    comment: 'Test infrastructure may use the services tool, which starts engines, but no other tool.',
    from: { path: at('packages/testing/') },
    to: { path: at('tools/'), pathNot: at('tools/services/') },
  },
  {
    name: 'no-test-code-in-product',
    comment:
      'Product code must not import test code. Move the helper to the product, or the caller to a test.',
    from: { path: at('(?:apps|packages)/'), pathNot: [tests, at('packages/testing/'), at(conformance)] },
    to: {
      path: [tests, at('packages/testing/'), at('tests/'), at(conformance), npm(['vitest', 'fast-check'])],
    },
  },
  {
    name: 'packages-meet-at-exports',
    comment: 'Import the other workspace by its package name, through its package.json exports.',
    from: { path: at('((?:apps|packages|tools)/[^/]+)/') },
    to: {
      dependencyTypesNot: ['aliased-workspace'],
      path: at('(?:apps|packages|tools)/[^/]+/'),
      pathNot: at('$1/'),
    },
  },
  {
    name: 'resolvable',
    comment:
      'The import cannot be resolved: the file is missing, the package is not installed, or its exports do not include it.',
    from: {},
    to: { couldNotResolve: true },
  },
];

/** The rules for a tree below `root`, a pattern; empty for the repository. */
export function boundaries(root: string): IForbiddenRuleType[] {
  const at: At = (path) => `^${root}${path}`;
  const groups = [betweenFeatures, betweenSubFolders, engineAccess, layers, shippedCode];
  return groups.flatMap((group) => group(at)).map((rule) => ({ ...rule, severity: 'error' }));
}
