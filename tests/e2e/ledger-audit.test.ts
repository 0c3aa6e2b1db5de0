import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

/** Tests without an audit of the ledger at their end, and the reason. */
const withoutAudit: Readonly<Record<string, string>> = {
  'access.int.test.ts': 'It inserts invoices, payments and volumes without ledger transfers.',
  'access-sessions.int.test.ts': 'It inserts invoices, payments and volumes without ledger transfers.',
  'health.int.test.ts': 'It starts processes and spends nothing.',
  'public-proxy.int.test.ts': 'it has no database: servers that record requests stand behind the proxy',
  'public-proxy-limits.int.test.ts':
    'it has no database: servers that record requests stand behind the proxy',
  'readme.int.test.ts': 'The commands of the README store their data in a clone.',
  'ironic-redfish.slow.test.ts': 'It has no database.',
  'ironic-rentals.slow.test.ts': 'It tests the driver; rental-incus and volume-bare-metal audit rentals.',
};

/** Stacks audit the ledger when they are closed; other tests call ledger-audit.ts or the auditor. */
const audits =
  /\bopen(?:Mock|Inference|Rental|Metal|Marketplace)Stack\(|\b(?:auditAndDrop|auditLedger|runAudit|auditFindings)\(/;

test('every end-to-end test audits its ledger or has a reason not to', () => {
  const files = globSync(join(import.meta.dirname, '*.{int,slow}.test.ts'));
  expect(files.length).toBeGreaterThan(15);
  const missing = files
    .filter((file) => !audits.test(readFileSync(file, 'utf8')))
    .map((file) => basename(file));
  expect(missing.toSorted()).toEqual(Object.keys(withoutAudit).toSorted());
});
