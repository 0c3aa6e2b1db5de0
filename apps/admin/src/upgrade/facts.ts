import { readFileSync } from 'node:fs';
import { cellConfig, healthConfig, postgresConfig, restateConfig } from '@millrace/platform/config';
import { systemClock } from '@millrace/platform/clock';
import {
  createDb,
  migrationsDirectory,
  processRoles,
  readMigrations,
  readProcessSessions,
  schemaVersion,
  type Db,
  type ProcessSession,
} from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { readBuildInfo, releaseNameOf } from '@millrace/platform/release';
import { createRestateConnection, readDeployments, type RestateDeployment } from '@millrace/platform/restate';
import type { Effects } from '../doctor/check.ts';
import type { Finding } from '../doctor/finding.ts';
import { settingsOf, type Installation } from '../doctor/installation.ts';
import { readGateways } from './gateways.ts';
import type { UpgradeFacts } from './plan.ts';

export interface FactSources {
  readonly installation: Installation;
  readonly effects: Effects;
  readonly findings: readonly Finding[];
  /** Addresses of other machines, whose gateways use the port and certificate name of this one. */
  readonly machines: readonly string[];
}

type AppliedMigration = Pick<Awaited<ReturnType<typeof readMigrations>>[number], 'version' | 'contracts'>;

/** An upgrade itself causes these findings of `doctor`. */
const ofUpgrades: ReadonlySet<string> = new Set([
  'schema-old',
  'schema-new',
  'process-version',
  'restate-deployment-missing',
]);

export async function readUpgradeFacts(
  sources: FactSources,
): Promise<UpgradeFacts & { readonly applied: readonly AppliedMigration[] }> {
  const { installation, findings } = sources;
  const commit = settingsOf([healthConfig], installation, 'api')?.health.commit ?? null;
  const migrations = await readMigrations(migrationsDirectory);
  const version = (await withDatabase(installation, 'admin', schemaVersion)) ?? 0;
  const sessions = await Promise.all(
    (['api', 'worker'] as const).map(async (role) => {
      // PostgreSQL shows a login the sessions of this login only.
      const found: readonly ProcessSession[] =
        (await withDatabase(installation, role, readProcessSessions)) ?? [];
      return found.filter((each) => each.role === role);
    }),
  );
  return {
    installed: releaseNameOf(readBuildInfo(commit)),
    problems: findings.flatMap(({ id, component, problem }) =>
      ofUpgrades.has(id) ? [] : [`${component}: ${problem}`],
    ),
    pending: migrations.filter((each) => each.version > version),
    applied: migrations.filter((each) => each.version <= version),
    sessions: sessions.flat(),
    gateways: await readGateways(sources),
    deployments: await readDeploymentsOf(installation).catch(() => null),
  };
}

async function withDatabase<T>(
  installation: Installation,
  role: 'api' | 'worker' | 'admin',
  read: (db: Db) => Promise<T>,
): Promise<T | null> {
  const settings = settingsOf([postgresConfig, cellConfig], installation, role);
  if (settings === null) return null;
  const { url, ca } = settings.postgres;
  const db = createDb({
    ...{
      url,
      ca,
      poolSize: 1,
      role: processRoles[role],
      applicationName: 'millrace-upgrade',
      guardClock: false,
    },
    ids: createIdSource({ clock: systemClock, cell: settings.cell.id }),
    log: createLogger({ name: 'upgrade', level: 'silent' }),
  });
  try {
    return await read(db);
  } finally {
    await db.close();
  }
}

async function readDeploymentsOf(installation: Installation): Promise<readonly RestateDeployment[] | null> {
  const restate = settingsOf([restateConfig], installation, 'worker')?.restate;
  if (restate === undefined) return null;
  const { adminUrl, ca, clientCertFile, clientKeyFile, prefix } = restate;
  const client =
    clientCertFile === null || clientKeyFile === null
      ? null
      : { certificate: readFileSync(clientCertFile, 'utf8'), key: readFileSync(clientKeyFile, 'utf8') };
  const connection = createRestateConnection({
    ca,
    client: client === null ? null : { latest: async () => client, recheck: () => undefined },
    log: { error: () => undefined },
  });
  try {
    return await readDeployments({ url: adminUrl, connection }, (name) => name.startsWith(prefix));
  } finally {
    await connection.close();
  }
}
