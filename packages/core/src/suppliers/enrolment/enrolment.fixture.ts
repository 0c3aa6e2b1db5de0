import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectDriver, connectTrust, type IncusTrust } from '@millrace/compute/connect';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid, type EnrolmentId, type OrgId } from '@millrace/platform/ids';
import { createNetGuard } from '@millrace/platform/net';
import { createSealer } from '@millrace/platform/secrets';
import {
  createTenant,
  makeCertificate,
  insertMarketplaceProvider,
  insertSupplier,
  testIds,
  testLog,
} from '@millrace/testing';
import { sql } from 'kysely';
import { createDriverPool, FleetSync } from '../../fleet/index.ts';
import { systemAuditContext } from '../../identity/index.ts';
import type { Enrolment } from './enrolment.ts';
import { startEnrolment, type EnrolmentDeps, type JoinRequest } from './enrolment.service.ts';
import { EnrolmentSweep } from './enrolment.sweep.ts';
import { findEnrolment } from './enrolment.store.ts';

/** Runs enrolment with all its services on a test database. */

export const REGION = 'us-central-1';

export interface EnrolmentHarness {
  /** PEM. The certificate that daemons trust. */
  readonly client: { readonly cert: string; readonly key: string };
  readonly url: string;
  /** Newest first. */
  readonly joinRequests: readonly JoinRequest[];
  newSupplier(): Promise<OrgId>;
  newToken(orgId: OrgId, maxMachines?: number): Promise<string>;
  start(request: JoinRequest): Promise<Enrolment>;
  read(orgId: OrgId, id: EnrolmentId): Promise<Enrolment>;
  /** Two workers sweep concurrently. */
  sweep(): Promise<void>;
  reach(daemon: { readonly endpoint: string; readonly serverCertificate: string }): Promise<IncusTrust>;
  close(): Promise<void>;
}

export async function openEnrolmentHarness(
  db: Db,
  allowedNetworks: readonly string[],
): Promise<EnrolmentHarness> {
  const clock = systemClock;
  const log = testLog('enrolment');
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  const credentials = { suppliers: await writeCredential(folder) };
  const guard = createNetGuard({ allowedNetworks });
  const sealer = createSealer({ keys: [{ id: 'k1', key: randomBytes(32) }], activeId: 'k1' });
  const drivers = createDriverPool({
    db,
    log,
    connect: (cluster) => connectDriver(cluster, { db, clock, log, credentials, guard, opensPorts: false }),
  });
  await insertMarketplaceProvider(db, REGION);
  const reach: EnrolmentHarness['reach'] = (daemon) =>
    connectTrust(daemon, { clock, guard, credentials, credentialRef: 'suppliers' });
  const deps: EnrolmentDeps = {
    db,
    clock,
    log,
    sealer,
    guard,
    drivers: drivers.of.bind(drivers),
    trust: reach,
    providerId: 'marketplace',
    credentialRef: 'suppliers',
  };
  const sweeps = [new EnrolmentSweep(deps), new EnrolmentSweep(deps)];
  const sync = new FleetSync({ db, clock, log, holder: 'test', drivers, tuning: { heartbeatMs: 250 } });
  sync.start();
  const start = (request: JoinRequest): Promise<Enrolment> =>
    db.transaction({ name: 'start enrolment', isolation: 'read committed' }, (tx) =>
      startEnrolment(tx, { sealer, cause: systemAuditContext('test', 'live') }, request),
    );
  const joinRequests: JoinRequest[] = [];
  const server = await listen(start, joinRequests);
  return {
    client: {
      cert: readFileSync(credentials.suppliers.certificateFile, 'utf8'),
      key: readFileSync(credentials.suppliers.keyFile, 'utf8'),
    },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    joinRequests,
    newSupplier: async () => {
      const { orgId } = await createTenant(db);
      await insertSupplier(db, { orgId });
      return orgId;
    },
    newToken: (orgId, maxMachines = 1) => seedToken(db, orgId, maxMachines),
    start,
    read: async (orgId, id) => {
      const found = await findEnrolment(db, orgId, id);
      if (found === null) throw new Error('The enrolment does not exist.');
      return found;
    },
    sweep: async () => {
      await Promise.all(sweeps.map((sweep) => sweep.sweep()));
      await Promise.all(sweeps.map((sweep) => sweep.settled()));
    },
    reach,
    close: async () => {
      server.close();
      await sync.stop();
      await drivers.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function writeCredential(folder: string) {
  const { certificate, key } = await makeCertificate('millrace');
  const [certificateFile, keyFile] = [path.join(folder, 'client.crt'), path.join(folder, 'client.key')];
  writeFileSync(certificateFile, certificate);
  writeFileSync(keyFile, key, { mode: 0o600 });
  return { certificateFile, keyFile, serverCertificateFile: null };
}

async function listen(
  start: (request: JoinRequest) => Promise<Enrolment>,
  joinRequests: JoinRequest[],
): Promise<Server> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const request = JSON.parse(body) as JoinRequest;
      joinRequests.unshift(request);
      start(request).then(
        ({ id, stage }) => response.writeHead(202).end(JSON.stringify({ id, stage })),
        (error: unknown) => response.writeHead(403).end(String(error)),
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function seedToken(db: Db, orgId: OrgId, maxMachines: number): Promise<string> {
  const token = `mrj_${randomBytes(32).toString('hex')}`;
  const hash = createHash('sha256').update(token).digest();
  const at = new Date();
  const expiresAt = new Date(at.getTime() + 3_600_000);
  await db.transaction({ name: 'plant a token', isolation: 'read committed' }, async ({ kysely }) => {
    await sql`
      insert into supplier_join_tokens (id, supplier_id, org_id, description, cluster_name, region, max_machines,
        secret_hash, expires_at, created_by, created_at)
      select ${toUuid(testIds.next('jtk'))}, supplier.id, supplier.org_id, '', 'barn', ${REGION}, ${maxMachines},
             ${hash}, ${expiresAt}, member.user_id, ${at}
        from suppliers as supplier join members as member on member.org_id = supplier.org_id
       where supplier.org_id = ${toUuid(orgId)} limit 1`.execute(kysely);
  });
  return token;
}
