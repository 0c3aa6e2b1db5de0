import { appendFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { systemClock } from '@millrace/platform/clock';
import { createNatsKey } from '@millrace/platform/nats';
import { eventually } from '@millrace/testing';
import type { TestInstallation } from './doctor.fixture.ts';
import { changeJson, edit, inDays, type Fault, type Undo } from './fault.fixture.ts';

/** Faults of PostgreSQL, NATS, Valkey and Restate. */

const sql =
  (make: string, undo: string) =>
  async (installation: TestInstallation): Promise<Undo> => {
    for (const statement of make.split('; ')) await installation.sql(statement);
    return async () => {
      for (const statement of undo.split('; ')) await installation.sql(statement);
    };
  };

/** Waits until the worker has noticed the restore: otherwise it would notice it after the test. */
const restored =
  (make: NonNullable<Fault['make']>) =>
  async (installation: TestInstallation): Promise<Undo> => {
    const undo = await make(installation);
    await eventually({ what: 'the worker to notice the restore', intervalMs: 200 }, async () => {
      return (await installation.failingChecks('worker', installation.ports.workerHealth)).includes(
        'newest database',
      );
    });
    return undo;
  };

const serverSetting = (name: string) =>
  sql(
    `alter system set ${name} = off; select pg_reload_conf()`,
    `alter system reset ${name}; select pg_reload_conf()`,
  );

const valkeySetting =
  (name: string, value: string, usual: string) =>
  async (installation: TestInstallation): Promise<Undo> => {
    await installation.valkey('CONFIG', 'SET', name, value);
    return () => installation.valkey('CONFIG', 'SET', name, usual);
  };

const hang =
  (name: 'nats' | 'valkey') =>
  (installation: TestInstallation): Undo => {
    installation.engines.get(name)?.freeze();
    return () => installation.engines.get(name)?.thaw();
  };

export const postgresFaults: readonly Fault[] = [
  {
    title: 'a PostgreSQL that hangs',
    expected: ['postgres-unreachable@postgres'],
    make: async (installation) => {
      const pid = await installation.postmaster();
      process.kill(pid, 'SIGSTOP');
      return () => process.kill(pid, 'SIGCONT');
    },
  },
  {
    title: 'a wrong password of PostgreSQL',
    expected: ['postgres-login-refused@api'],
    make: edit('api/postgres.url', /:[^:@]+@/, ':wrong-password@'),
  },
  {
    title: 'a login without its role',
    expected: ['postgres-role-missing@api'],
    make: sql('revoke millrace_api from millrace_api_1', 'grant millrace_api to millrace_api_1'),
  },
  {
    title: 'a connection without TLS',
    expected: ['postgres-tls@postgres'],
    make: edit('worker/postgres.url', 'sslmode=verify-full', 'sslmode=disable'),
  },
  {
    title: 'a read-only database',
    expected: ['postgres-read-only@postgres'],
    make: sql(
      'alter role millrace_admin_1 set default_transaction_read_only = on',
      'alter role millrace_admin_1 reset default_transaction_read_only',
    ),
  },
  {
    title: 'a database without a schema',
    expected: ['schema-missing@postgres'],
    make: sql(
      'alter table schema_migrations rename to aside',
      'alter table aside rename to schema_migrations',
    ),
  },
  {
    title: 'an old schema',
    expected: ['schema-old@postgres'],
    make: sql(
      'create table newest as select * from schema_migrations order by version desc limit 1; delete from schema_migrations where version = (select version from newest)',
      'insert into schema_migrations select * from newest; drop table newest',
    ),
  },
  {
    title: 'a new schema',
    expected: ['schema-new@postgres'],
    make: sql(
      "insert into schema_migrations (version, name, sha256) values (9999, 'later', '')",
      'delete from schema_migrations where version = 9999',
    ),
  },
  {
    title: 'a login that may create roles',
    expected: ['postgres-rights@worker'],
    make: sql('alter role millrace_worker_1 createrole', 'alter role millrace_worker_1 nocreaterole'),
  },
  { title: 'fsync off', expected: ['postgres-fsync@postgres'], make: serverSetting('fsync') },
  {
    title: 'synchronous_commit off for one login',
    expected: ['postgres-synchronous-commit@postgres'],
    make: sql(
      'alter role millrace_worker_1 set synchronous_commit = off',
      'alter role millrace_worker_1 reset synchronous_commit',
    ),
  },
  {
    title: 'full_page_writes off',
    expected: ['postgres-full-page-writes@postgres'],
    make: serverSetting('full_page_writes'),
  },
  {
    title: 'few free connections',
    expected: ['postgres-connections@postgres'],
    make: (installation) => installation.useConnections(50),
  },
  {
    title: 'a restored database',
    expected: ['restore-unconfirmed@postgres'],
    make: restored(
      sql(
        "update restore_state set state = 'restored', found_at = now(), outside = jsonb_build_object('generation', generation, 'mark', mark, 'at', marked_at, 'counters', jsonb_build_object('invoices', 0, 'wireIds', jsonb_build_object()))",
        "update restore_state set state = 'normal', found_at = null, outside = null, report = null, reported_at = null",
      ),
    ),
  },
  {
    title: 'no backup',
    expected: ['backup-missing@backups'],
    make: ({ backup }) => {
      renameSync(backup, `${backup}.aside`);
      return () => renameSync(`${backup}.aside`, backup);
    },
  },
  {
    title: 'an old backup',
    expected: ['backup-old@backups'],
    make: ({ backup }) => {
      const { atime, mtime } = statSync(backup);
      utimesSync(backup, inDays(-1.2), inDays(-1.2));
      return () => utimesSync(backup, atime, mtime);
    },
  },
  {
    title: 'an empty backup',
    expected: ['backup-empty@backups'],
    make: ({ backup }) => {
      writeFileSync(backup, '');
      return () => appendFileSync(backup, 'PGDMP');
    },
  },
];

export const natsFaults: readonly Fault[] = [
  { title: 'a NATS that hangs', expected: ['nats-unreachable@nats'], make: hang('nats') },
  {
    title: 'a wrong key of NATS',
    expected: ['nats-credentials-refused@gateway'],
    make: (installation) => edit('gateway/nats.seed', /^SU\w+/, createNatsKey().seed)(installation),
  },
  {
    title: 'addresses of NATS without TLS',
    expected: ['nats-tls@nats'],
    make: edit('millrace.env', 'tls://', 'nats://'),
  },
  {
    title: 'a missing permission of NATS',
    expected: ['nats-permission-missing@api'],
    make: edit('nats/users.conf', /^ +"\$KV\.[^\n]*\n/m, ''),
  },
  {
    title: 'a configuration of NATS that was not loaded',
    expected: ['nats-config-not-loaded@FOLDER/nats/users.conf'],
    make: (installation) => {
      const file = installation.path('nats/users.conf');
      const { atime, mtime } = statSync(file);
      utimesSync(file, systemClock.now(), systemClock.now());
      return () => utimesSync(file, atime, mtime);
    },
  },
  {
    title: 'a wrong port of the monitor',
    expected: ['nats-monitor-unreachable@nats'],
    make: edit('nats/nats.conf', /http: "127\.0\.0\.1:\d+"/, 'http: "127.0.0.1:1"'),
  },
  {
    title: 'a NATS that does not sync each write',
    expected: ['nats-not-synced@nats'],
    make: async (installation) => {
      const undo = edit('nats/nats.conf', 'sync_interval: always', 'sync_interval: "2m"')(installation);
      await installation.restartEngine('nats');
      return async () => {
        await undo();
        await installation.restartEngine('nats');
      };
    },
  },
  {
    title: 'an old version of NATS (injected answer)',
    expected: ['nats-version@nats'],
    inject: changeJson('/varz', (body: object) => ({ ...body, version: '2.10.29' })),
  },
  {
    title: 'JetStream off (injected answer)',
    expected: ['nats-jetstream-off@nats'],
    inject: changeJson('/jsz', () => ({ disabled: true })),
  },
  {
    title: 'a full store (injected answer)',
    expected: ['nats-store-full@nats'],
    inject: changeJson('/jsz', (body: object) => ({ ...body, storage: 9_000_000_000 * 10 })),
  },
  {
    title: 'a missing stream (injected answer)',
    expected: ['nats-stream-missing@nats'],
    inject: changeJson('/jsz', (body: object) => ({ ...body, account_details: [] })),
  },
];

export const valkeyFaults: readonly Fault[] = [
  { title: 'a Valkey that hangs', expected: ['valkey-unreachable@valkey'], make: hang('valkey') },
  {
    title: 'a wrong password of Valkey',
    expected: ['valkey-credentials-refused@worker'],
    make: edit('worker/valkey.url', /:[^:@]+@/, ':wrong-password@'),
  },
  {
    title: 'an address of Valkey without TLS',
    expected: ['valkey-tls@valkey'],
    make: edit('api/valkey.url', 'rediss:', 'redis:'),
  },
  {
    title: 'a Valkey that saves',
    expected: ['valkey-persistence@valkey'],
    make: valkeySetting('save', '3600 1', ''),
  },
  {
    title: 'a Valkey that evicts keys',
    expected: ['valkey-eviction@valkey'],
    make: valkeySetting('maxmemory-policy', 'allkeys-lru', 'noeviction'),
  },
  {
    title: 'a user of Valkey without its rules',
    expected: ['valkey-rules-missing@worker'],
    make: async (installation) => {
      await installation.valkey('ACL', 'SETUSER', 'millrace-worker', 'clearselectors');
      return () => installation.valkey('ACL', 'LOAD');
    },
  },
  {
    title: 'the configuration of a Valkey that saves, without the user of admin.env',
    expected: ['valkey-persistence@valkey'],
    make: async (installation) => {
      const undoUrl = edit('admin.env', /^MILLRACE_VALKEY_URL_FILE=.*$/m, '')(installation);
      const undo = edit('valkey/valkey.conf', 'appendonly no', 'appendonly yes')(installation);
      return async () => {
        await undo();
        await undoUrl();
      };
    },
  },
  {
    title: 'little free memory of Valkey',
    expected: ['valkey-memory@valkey'],
    make: async (installation) => {
      const info = String(await installation.valkey('INFO', 'memory'));
      const used = Number(/used_memory:(\d+)/.exec(info)?.[1]);
      await installation.valkey('CONFIG', 'SET', 'maxmemory', String(Math.round(used * 1.05)));
      return () => installation.valkey('CONFIG', 'SET', 'maxmemory', '512mb');
    },
  },
];

export const restateFaults: readonly Fault[] = [
  {
    title: 'a stopped Restate',
    expected: ['restate-ingress-unreachable@restate'],
    make: async (installation) => {
      await installation.engines.get('restate')?.crash();
      return () => installation.startEngine('restate');
    },
  },
  {
    title: 'a wrong address of the admin API',
    expected: ['restate-admin-unreachable@restate'],
    make: edit('worker.env', /^(MILLRACE_RESTATE_ADMIN_URL=http:\/\/127\.0\.0\.1):\d+/m, '$1:1'),
  },
  {
    title: 'an old version of Restate (injected answer)',
    expected: ['restate-version@restate'],
    inject: changeJson('/version', (body: object) => ({ ...body, version: '1.6.2' })),
  },
  {
    title: 'another key of Restate',
    expected: ['restate-identity@restate'],
    make: edit(
      'worker.env',
      /^MILLRACE_RESTATE_IDENTITY_KEYS=.*$/m,
      'MILLRACE_RESTATE_IDENTITY_KEYS=publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f',
    ),
  },
  {
    title: 'an unregistered address of the handlers',
    expected: ['restate-deployment-missing@restate'],
    make: edit('worker.env', /^MILLRACE_RESTATE_ENDPOINT_PORT=\d+/m, 'MILLRACE_RESTATE_ENDPOINT_PORT=1'),
  },
];
