import { basename, dirname } from 'node:path';

/** Folders with their parts, lowest first. */
type SubFolderOrders = Readonly<Record<string, readonly string[]>>;

/**
 * A part may import only the parts to its left. A part is a sub-folder, a file with its extension, or `.` for all other files of
 * the folder. `index.ts` is above all parts and not listed. The order of parts that do not import each other may be changed.
 */
const orders = {
  'apps/admin/src': '. < init < doctor < restore-check < upgrade < commands.ts < app.ts < main.ts',
  'apps/admin/src/init': 'env-text.ts < layout.ts < system-groups.ts < installation-files.ts < machines < .',
  'apps/cli/src': `
    . < framework < text < progress < completion < ssh < money < generated < account < admin < chat
    < events < market < operations < volumes < rentals < webhooks < commands < manifest.generated.ts
    < system.ts < main.ts`,
  'apps/console/src': 'api < ui < app < features < design < .',
  'apps/console/src/app': '. < live < shortcuts < palette < shell.tsx < root-routes.tsx',
  'apps/console/src/features': `
    rentals < volumes < playground < money < usage < supplier < operator < models < catalog < create
    < marketplace < progress < webhooks < team < keys < audit < account < overview`,
  'apps/console/src/features/operator': `
    common < providers < maintenance < rentals < fleet < prices < organisations < suppliers < models
    < auditor < health < overview < .`,
  'apps/console/src/features/rentals': '. < dialogs < list < detail < routes.tsx',
  'apps/console/src/features/supplier': 'application < . < overview < routes.tsx',
  'apps/console/src/ui': 'logic < chart < .',
  'packages/compute/src': '. < readiness < incus < ironic < mock < conformance < connect.ts',
  'packages/compute/src/incus': 'api < .',
  'packages/contract/src': `
    errors < errors.ts < bidi-text.ts < event-types.ts < notices.ts < scopes.ts < operation.ts
    < operation-builders.ts < states < states.ts < records < events.ts < operations < . < openapi
    < conformance`,
  'packages/contract/src/operations': `
    baseline-schemas.ts < node-schemas.ts < v2 < supplier < admin < v1 < .`,
  'packages/core/src/auditor': 'checks < probes < .',
  'packages/core/src/credit-leases': 'lender',
  'packages/core/src/fleet': 'inventory < placement < offers < maintenance < admin',
  'packages/core/src/identity': 'model < . < ssh < keys < organisations < sessions < identity.routes.ts',
  'packages/core/src/inference': '. < catalog < usage < key-feed',
  'packages/core/src/ledger': 'model < batch < .',
  'packages/core/src/marketplace': 'listing < hostnames < instances',
  'packages/core/src/rentals': 'model < money < read < order < actions < reconcile < monitor < inventory',
  'packages/core/src/suppliers': '. < account < reliability < machines < enrolment < earnings',
  'packages/core/src/volumes': 'model < money < actions < reconcile',
  'packages/credit-leases/src': 'protocol < client',
  'packages/inference/src': 'key-feed < routing < usage < wire < adapters < gateway',
  'packages/inference/src/adapters': 'text < media',
  'packages/inference/src/gateway': 'http < requests < upstream < gateway-deps.ts < text < media < .',
  'packages/platform/src': `
    files < secrets < fault < log < money < telemetry < clock < ids < release < lifecycle < tls < db < wire-ids < valkey
    < envelope < restate < outbox < limiter < http < net < nats < mail < loops < config < auth`,
  'packages/platform/src/db': 'servers < .',
  'packages/platform/src/telemetry': 'catalogue < .',
  'packages/platform/src/http': 'response < body < idempotency < input < .',
  'packages/sdk/src': '. < text',
  'packages/storage/src': '. < nfs41',
  'packages/testing/src': `
    . < time < network < messaging < postgres < processes < patroni < incus < rows < scenarios < doubles
    < emulators < ironic < inference < global-setup.ts`,
};

export const subFolderOrders: SubFolderOrders = Object.fromEntries(
  Object.entries(orders).map(([folder, order]) => [folder, order.trim().split(/\s+<\s+/)]),
);

/** no-feature-cycle covers features, and commands do not import each other. */
const unordered = /^packages\/core\/src$|^apps\/cli\/src\/commands(?:\/|$)/;

const escaped = (name: string): string => name.replaceAll('.', '[.]');

/** For each part, a pattern of its paths and the patterns of the paths that it must not import. */
export function forbiddenImports(
  folder: string,
  order: readonly string[],
): readonly { readonly from: string; readonly to: readonly string[] }[] {
  const named = [...order.filter((part) => /[^.][.]/.test(part)), 'index.ts'];
  const otherFiles = `(?!(?:${named.map(escaped).join('|')})$)[^/]+$`;
  const pathOf = (part: string): string => {
    if (part === '.') return `${folder}/${otherFiles}`;
    return `${folder}/${escaped(part)}${named.includes(part) ? '$' : '/'}`;
  };
  const paths = [...order, 'index.ts'].map(pathOf);
  return order.map((_, index) => ({ from: paths[index] ?? '', to: paths.slice(index + 1) }));
}

/** Sub-folders without a place in an order, and places without a sub-folder or file. `files` are source files. */
export function orderMismatches(files: readonly string[], orders = subFolderOrders): string[] {
  const held = new Set(files);
  const folders = new Set<string>();
  for (const file of files) {
    for (let folder = dirname(file); basename(folder) !== 'src'; folder = dirname(folder))
      folders.add(folder);
  }
  const unlisted = [...folders].filter((folder) => {
    const parent = dirname(folder);
    return !unordered.test(parent) && orders[parent]?.includes(basename(folder)) !== true;
  });
  const absent = Object.entries(orders).flatMap(([folder, order]) =>
    order
      .filter((part) => part !== '.')
      .map((part) => `${folder}/${part}`)
      .filter((path) => !folders.has(path) && !held.has(path)),
  );
  return [...unlisted.map((folder) => `no place for ${folder}`), ...absent.map((path) => `no such ${path}`)];
}
