import { systemClock } from '@millrace/platform/clock';
import { createDb, processRoles } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { startTelemetry } from '@millrace/platform/telemetry';
import { createTestDatabase } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { recordInstallation } from './installation-metrics.ts';

const database = await createTestDatabase();
const telemetry = await startTelemetry({ service: 'worker', version: '0', cell: 0, prometheusPort: 0 });
const db = createDb({
  ...{ url: database.url, poolSize: 3, role: processRoles.worker, applicationName: 'millrace-worker' },
  ids: createIdSource({ clock: systemClock, cell: 0 }),
  log: createLogger({ name: 'metrics', level: 'silent' }),
});
afterAll(async () => {
  await db.close();
  await telemetry.shutdown();
  await database.drop();
});

async function scrape(): Promise<string> {
  return (await fetch(`http://127.0.0.1:${telemetry.prometheusPort}/metrics`)).text();
}

test('recordInstallation records amounts although the state of replication cannot be read', async () => {
  await database.query('revoke execute on function pg_walfile_name(pg_lsn) from public');
  await db.ping();
  await expect(recordInstallation(db)).rejects.toThrow('pg_walfile_name');
  const metrics = await scrape();
  expect(metrics).toMatch(/^millrace_credit_leased_nano_usd 0/m);
  expect(metrics).toMatch(/^millrace_operator_absorbed_nano_usd 0/m);
  expect(metrics).not.toMatch(/^millrace_db_timeline /m);
});
