import type { IForbiddenRuleType } from 'dependency-cruiser';
import { forbiddenImports, subFolderOrders } from './sub-folders.ts';

// Who may import whom. Package `exports` close each package; these rules hold inside them and between them.
//
// The parser is swc: TypeScript 7 offers no compiler interface to JavaScript, and swc sees type imports too.
// Every rule has a fixture in tools/lint/fixtures that breaks it. The fixtures mirror this tree, so their own
// configuration takes the same rules with another root.
const npm = (names: readonly string[]): string => `(?:^|/)node_modules/(?:${names.join('|')})/`;
// Tests, and what only tests use: x.fixture.ts beside them, or one fixture.ts for a folder.
const tests = '(?:[.]test|[.]fixture|/fixture)[.]ts$';
// Test code that two folders share: what every driver must pass.
const conformance = 'packages/compute/src/conformance/';
const anyFeature = 'packages/core/src/([^/]+)/';

/** Puts a path of the repository's layout below whichever root the rules are read for. */
type At = (path: string) => string;

/** Cycles, and how one feature meets another. */
const betweenFeatures = (at: At): IForbiddenRuleType[] => [
  {
    name: 'no-cycle',
    comment:
      'Two files that import each other cannot be read, tested or started apart. Move what both need into a third (types may point back: they are erased).',
    from: { path: at('(?:apps|packages|tools|tests|bench)/') },
    to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
  },
  {
    name: 'no-feature-cycle',
    comment:
      'Features depend on each other in one direction only. Turn one direction into an event, or pass a function in.',
    scope: 'folder',
    from: { path: at('packages/core/src/[^/]+$') },
    to: { circular: true, path: at('packages/core/src/[^/]+$') },
  },
  {
    name: 'features-meet-at-index',
    comment: "Import the other feature's index.ts; if it lacks what you need, its owner adds it to its face.",
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

/** One rule for each part of each folder, all with the same name. */
const betweenSubFolders = (at: At): IForbiddenRuleType[] =>
  Object.entries(subFolderOrders)
    .flatMap(([folder, order]) => forbiddenImports(folder, order))
    .map(({ from, to }) => ({
      name: 'sub-folders-one-way',
      comment:
        'Imports between sub-folders point one way, in the order of tools/lint/src/sub-folders.ts. Move what both need to the lower one.',
      from: { path: at(from), pathNot: tests },
      to: { path: to.map(at) },
    }));

/** Who speaks to an engine. */
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
      'Only compute/<engine> speaks to its engine. Use the driver interface; a composition root may import a driver by its index.ts.',
    from: { path: at('(?:apps|packages|tools)/'), pathNot: [at('packages/compute/src/[^/]+/'), tests] },
    to: { path: at('packages/compute/src/[^/]+/'), pathNot: at('packages/compute/src/[^/]+/index[.]ts$') },
  },
  {
    name: 'drivers-apart',
    comment:
      'One driver does not know another. What both need belongs to the driver interface; how both are judged, to the conformance suite.',
    from: { path: at('packages/compute/src/([^/]+)/') },
    to: {
      path: at('packages/compute/src/[^/]+/'),
      // Neither the suite nor the proof of a machine is a driver. That only tests lean on the suite is the business of
      // no-test-code-in-product.
      pathNot: [
        at('packages/compute/src/$1/'),
        at('packages/compute/src/(?:conformance|readiness)/index[.]ts$'),
      ],
    },
  },
];

/** The order of layers: contract, platform, credit-leases, core, inference, apps. Clients depend on the contract alone. */
const layers = (at: At): IForbiddenRuleType[] => [
  {
    name: 'contract-imports-zod-only',
    comment: 'The contract runs in a browser and in every client: zod and its own files, nothing else.',
    from: { path: at('packages/contract/'), pathNot: tests },
    to: { pathNot: [at('packages/contract/'), npm(['zod'])] },
  },
  {
    name: 'clients-import-sdk-and-contract-only',
    comment: 'Console, CLI and SDK are clients of the public API. Reach the rest through it, with the SDK.',
    from: { path: at('(?:apps/(?:console|cli)|packages/sdk)/'), pathNot: tests },
    to: {
      path: at('(?:apps|packages|tools)/'),
      pathNot: [at('packages/(?:sdk|contract)/'), at('apps/console/'), at('apps/cli/')],
    },
  },
  {
    name: 'platform-below-core',
    comment: 'The platform knows no feature. Take what varies as an argument.',
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
      'The lender meets gateways by messages and by Valkey: import @millrace/credit-leases/protocol. Tests may run both sides.',
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
    comment: 'Packages are composed by apps, never the reverse. Move the shared part into a package.',
    from: { path: at('packages/') },
    to: { path: at('apps/') },
  },
  {
    name: 'apps-apart',
    comment: 'Each process starts, fails and is deployed alone. Move the shared part into a package.',
    from: { path: at('apps/([^/]+)/') },
    to: { path: at('apps/[^/]+/'), pathNot: at('apps/$1/') },
  },
];

/** What ships stands without tools and test code, and packages meet at their faces. */
const shippedCode = (at: At): IForbiddenRuleType[] => [
  {
    name: 'product-without-tools',
    comment: 'Tools serve developers and are not shipped. Only packages/testing may use the services tool.',
    from: { path: at('(?:apps|packages)/'), pathNot: [tests, at('packages/testing/')] },
    to: { path: at('tools/') },
  },
  {
    name: 'testing-uses-services-only',
    comment: 'Test infrastructure needs the engines, which the services tool starts, and no other tool.',
    from: { path: at('packages/testing/') },
    to: { path: at('tools/'), pathNot: at('tools/services/') },
  },
  {
    name: 'no-test-code-in-product',
    comment:
      'What ships does not lean on test code. Move the helper into the product, or the caller into a test.',
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
      'The import leads nowhere: the file is missing, the package is not installed, or its exports keep it closed.',
    from: {},
    to: { couldNotResolve: true },
  },
];

/** The rules for a tree that stands in `root`, a pattern: empty for the repository itself. */
export function boundaries(root: string): IForbiddenRuleType[] {
  const at: At = (path) => `^${root}${path}`;
  const groups = [betweenFeatures, betweenSubFolders, engineAccess, layers, shippedCode];
  return groups.flatMap((group) => group(at)).map((rule) => ({ ...rule, severity: 'error' }));
}
