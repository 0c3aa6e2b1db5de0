import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '../../..');

/** Pure files that decide amounts, prices, states and placements; a mistake in them costs money. Add new decision files here. */
export const decisionFiles: readonly string[] = [
  'packages/core/src/fleet/placement/placement.ts',
  'packages/core/src/ledger/batch/draw.ts',
  'packages/core/src/ledger/batch/holds.ts',
  'packages/core/src/ledger/model/periods.ts',
  'packages/core/src/ledger/batch/working-set.ts',
  'packages/core/src/ledger/batch/transfers.ts',
  'packages/core/src/metering/dunning.ts',
  'packages/core/src/metering/meter.ts',
  'packages/core/src/metering/meter-plans.ts',
  'packages/core/src/credit-leases/lender/lease-decisions.ts',
  'packages/core/src/credit-leases/lender/usage-charges.ts',
  'packages/core/src/prices/quote.ts',
  'packages/core/src/prices/resolve-price.ts',
  'packages/credit-leases/src/client/rejection-reasons.ts',
  'packages/credit-leases/src/protocol/lease-model.fixture.ts',
  'packages/platform/src/money/allocate.ts',
  'packages/platform/src/money/exact.ts',
  'packages/platform/src/money/nano-usd.ts',
  'packages/platform/src/money/percentage.ts',
  'packages/platform/src/money/rounding.ts',
  'packages/platform/src/money/units.ts',
  'packages/platform/src/money/usd-number.ts',
];

/** The same function twice, with careless and with careful tests: their scores must differ. */
export const fixtures = {
  careless: 'tests/prove/mutation/fixtures/careless.ts',
  careful: 'tests/prove/mutation/fixtures/careful.ts',
};

/** Unit tests of the feature that contains the folder, or else of the folder. Tests with engines are too slow for mutants. */
export function testsBeside(subFolder: string): readonly string[] {
  const folder = /^packages\/core\/src\/[^/]+/.exec(subFolder)?.[0] ?? subFolder;
  const absolute = join(repositoryRoot, folder);
  if (!existsSync(absolute)) return [];
  return readdirSync(absolute, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !/\.(?:int|slow)\.test\.ts$/u.test(name))
    .toSorted()
    .map((name) => `${folder}/${name}`);
}
