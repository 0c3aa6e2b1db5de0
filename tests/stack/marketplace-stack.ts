import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ensureUp } from '@millrace/services';
import {
  createTestDatabase,
  startApiProcess,
  startCaddy,
  startSupplierHosts,
  startWorkerProcess,
  testNames,
  type SupplierHost,
  type TestCaddy,
  type TestDatabase,
} from '@millrace/testing';
import { auditAndDrop, defaultLedgerAuditMode, closeAll, type LedgerAuditMode } from './ledger-audit.ts';
import { createRowReader, type ReadRows } from './supervised-process.ts';

/**
 * A marketplace: api and worker as processes, a real Caddy in front of tenants' ports, and supplier hosts with simulated GPUs,
 * each with a real standalone Incus daemon that is not enrolled yet. PostgreSQL, Valkey, NATS and Restate are shared.
 */

export const DOMAIN = 'run.millrace.test';
export const REGION = 'eu-north-2';

export interface MarketplaceStack {
  readonly apiUrl: string;
  readonly database: TestDatabase;
  readonly hosts: readonly SupplierHost[];
  readonly caddy: TestCaddy;
  readonly rows: ReadRows;
  /** Logs of all processes, printed when a test fails. */
  output(): string;
  close(): Promise<void>;
}

const run = promisify(execFile);

export async function openMarketplaceStack(hosts: number): Promise<MarketplaceStack> {
  const closers: (() => Promise<unknown>)[] = [];
  let auditMode: LedgerAuditMode = 'planted';
  const close = async (): Promise<void> => {
    await closeAll(closers.splice(0));
  };
  try {
    await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
    const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
    closers.push(async () => rmSync(folder, { recursive: true, force: true }));
    const [supplied, caddy, database] = await Promise.all([
      startSupplierHosts(hosts),
      startCaddy(DOMAIN),
      createTestDatabase(),
    ]);
    closers.push(
      () => auditAndDrop(database, auditMode),
      () => caddy[Symbol.asyncDispose](),
      async () => supplied[Symbol.asyncDispose](),
    );
    const env = await settingsOf(folder, caddy);
    const program = { database, names: testNames(), env };
    const [worker, api] = await Promise.all([startWorkerProcess(program), startApiProcess(program)]);
    closers.push(() => Promise.all([api.crash(), worker.crash()]));
    auditMode = defaultLedgerAuditMode;
    return {
      apiUrl: api.url,
      database,
      hosts: supplied.hosts,
      caddy,
      rows: createRowReader(database),
      output: () =>
        [api, worker, caddy.process()].map(({ name, output }) => `--- ${name}\n${output()}`).join('\n'),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Settings as an operator would write them. */
async function settingsOf(folder: string, caddy: TestCaddy): Promise<Record<string, string>> {
  const files = {
    certificateFile: path.join(folder, 'suppliers.pem'),
    keyFile: path.join(folder, 'suppliers.key'),
  };
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=millrace', '-keyout', files.keyFile, '-out', files.certificateFile],
  ]);
  const credentials = path.join(folder, 'credentials.json');
  writeFileSync(credentials, JSON.stringify({ suppliers: files }));
  const regions = [{ region: REGION, customPorts: true }];
  return {
    MILLRACE_PROVIDERS: JSON.stringify([{ id: 'marketplace', variant: 'V8', driver: 'incus', regions }]),
    MILLRACE_FLEET_CREDENTIALS_FILE: credentials,
    MILLRACE_FLEET_READ_MS: '1000',
    // The test hosts are on a private bridge, which is not allowed for suppliers by default.
    MILLRACE_MARKETPLACE_ALLOWED_NETWORKS: '198.18.0.0/15',
    MILLRACE_MARKETPLACE_DOMAIN: DOMAIN,
    MILLRACE_CADDY_ADMIN: caddy.admin,
    MILLRACE_CADDY_LISTEN: caddy.listen,
    MILLRACE_CADDY_CERTIFICATE_FILE: caddy.certificateFile,
    MILLRACE_CADDY_KEY_FILE: caddy.keyFile,
  };
}
