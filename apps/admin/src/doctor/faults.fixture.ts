import { chmodSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { systemClock } from '@millrace/platform/clock';
import { makeCertificate } from '@millrace/testing';
import type { Effects } from './check.ts';
import { testEffects, type TestInstallation } from './doctor.fixture.ts';
import { append, changeJson, edit, inDays, type Fault, type Undo } from './fault.fixture.ts';

/** Faults of files, certificates, processes, the machine and clusters. */

const otherKey = Buffer.alloc(32, 9).toString('base64');

/** Replaces a file and its key with a certificate of the authority that the test has added, and loads both into Valkey. */
const valkeyCertificate =
  (
    issue: (
      installation: TestInstallation,
    ) => Promise<{ readonly certificate: string; readonly key: string }>,
  ) =>
  async (installation: TestInstallation): Promise<Undo> => {
    const files = ['valkey/server.pem', 'valkey/server.key'] as const;
    const before = files.map((file) => installation.read(file));
    const load = (): Promise<unknown> =>
      installation.valkey(
        ...['CONFIG', 'SET', 'tls-cert-file', installation.path(files[0])],
        ...['tls-key-file', installation.path(files[1])],
      );
    const { certificate, key } = await issue(installation);
    installation.write(files[0], certificate);
    installation.write(files[1], key);
    await load();
    return async () => {
      files.forEach((file, index) => installation.write(file, before[index] ?? ''));
      await load();
    };
  };

export const fileFaults: readonly Fault[] = [
  {
    title: 'a missing file of settings',
    expected: ['env-file-missing@FOLDER/gateway.env'],
    make: (installation) => {
      const [file, moved] = [installation.path('gateway.env'), installation.path('gateway.env.aside')];
      renameSync(file, moved);
      return () => renameSync(moved, file);
    },
  },
  {
    title: 'a file of settings that cannot be read',
    expected: ['env-file-unreadable@FOLDER/admin.env'],
    make: (installation) => {
      const [file, moved] = [installation.path('admin.env'), installation.path('admin.env.aside')];
      renameSync(file, moved);
      mkdirSync(file);
      return () => {
        rmSync(file, { recursive: true });
        renameSync(moved, file);
      };
    },
  },
  {
    title: 'an invalid setting',
    expected: ['setting-invalid@FOLDER/api.env'],
    make: append('api.env', 'MILLRACE_LOG_LEVEL=loud'),
  },
  {
    title: 'a missing secret',
    expected: ['file-missing@FOLDER/api/auth.secret'],
    make: (installation) => {
      const [file, moved] = [installation.path('api/auth.secret'), installation.path('auth.aside')];
      renameSync(file, moved);
      return () => renameSync(moved, file);
    },
  },
  {
    title: 'an empty secret',
    expected: ['file-empty@FOLDER/worker/key-feed.keys'],
    make: edit('worker/key-feed.keys', /^[^]*$/, ''),
  },
  {
    title: 'a secret that all users can read',
    expected: ['file-exposed@FOLDER/gateway/nats.seed'],
    make: (installation) => {
      const file = installation.path('gateway/nats.seed');
      const { mode } = statSync(file);
      chmodSync(file, 0o644);
      return () => chmodSync(file, mode);
    },
  },
  {
    title: 'a secret in a file of settings that all users can read',
    expected: ['secret-in-settings@FOLDER/api.env'],
    make: append('api.env', `MILLRACE_AUTH_OTHER_SECRETS=${'x'.repeat(40)}`),
  },
  {
    title: 'a secret that the user of the process cannot read (injected user)',
    expected: ['file-unreadable-by-user@FOLDER/worker/sealing.keys'],
    make: (installation) => {
      const file = installation.path('worker/sealing.keys');
      const { mode } = statSync(file);
      chmodSync(file, 0o040);
      return () => chmodSync(file, mode);
    },
  },
  {
    title: 'different sealing keys',
    expected: ['sealing-keys-differ@worker'],
    make: edit('worker/sealing.keys', /:.*$/m, `:${otherKey}`),
  },
  {
    title: 'an unknown active sealing key',
    expected: ['sealing-key-active-unknown@FOLDER/worker.env'],
    make: edit('worker.env', /^MILLRACE_SEALING_KEY_ACTIVE=.*$/m, 'MILLRACE_SEALING_KEY_ACTIVE=2001-01'),
  },
  {
    title: 'different keys of the key feed',
    expected: ['key-feed-keys-differ@gateway'],
    make: edit('gateway/key-feed.keys', /:.*$/m, `:${otherKey}`),
  },
  {
    title: 'a missing secret of sessions',
    expected: ['auth-secret-missing@FOLDER/api.env'],
    make: edit('api.env', /^MILLRACE_AUTH_SECRET_FILE=.*$/m, ''),
  },
];

export const certificateFaults: readonly Fault[] = [
  {
    title: 'an authority that is no certificate',
    expected: ['ca-invalid@FOLDER/ca.pem'],
    make: edit('ca.pem', /^[^]*$/, 'not a certificate\n'),
  },
  {
    title: 'an authority that has expired',
    expected: ['ca-expired@FOLDER/ca.pem'],
    make: async (installation) => {
      const dates = { notBefore: inDays(-20), notAfter: inDays(-2) };
      const { certificate } = await installation.authority.issue({ name: 'old', ...dates });
      return append('ca.pem', certificate)(installation);
    },
  },
  {
    title: 'an authority that expires soon',
    expected: ['ca-expires-soon@FOLDER/ca.pem'],
    make: async (installation) => append('ca.pem', (await makeCertificate('new')).certificate)(installation),
  },
  {
    title: 'a file without a certificate',
    expected: ['certificate-invalid@nats'],
    make: edit('nats/server.pem', /^[^]*$/, 'not a certificate\n'),
  },
  {
    title: 'an expired certificate',
    expected: ['certificate-expired@valkey'],
    make: valkeyCertificate(({ authority }) =>
      authority.issue({ name: 'valkey', notBefore: inDays(-9), notAfter: inDays(-1) }),
    ),
  },
  {
    title: 'a certificate that expires soon',
    expected: ['certificate-expires-soon@valkey'],
    make: valkeyCertificate(({ authority }) => authority.issue({ name: 'valkey', notAfter: inDays(20) })),
  },
  {
    title: 'a certificate with another address',
    expected: ['certificate-name@valkey'],
    make: valkeyCertificate(({ authority }) =>
      authority.issue({ name: 'valkey', addresses: ['10.9.8.7'], notAfter: inDays(400) }),
    ),
  },
  {
    title: 'a certificate of another authority',
    expected: ['certificate-issuer@valkey'],
    make: valkeyCertificate(({ otherAuthority }) =>
      otherAuthority.issue({ name: 'valkey', notAfter: inDays(400) }),
    ),
  },
  {
    title: 'a key of another certificate',
    expected: ['certificate-key-mismatch@nats'],
    make: async (installation) => {
      const { key } = await installation.authority.issue({ name: 'other' });
      return edit('nats/server.key', /^[^]*$/, key)(installation);
    },
  },
  {
    title: 'a certificate that was not loaded',
    expected: ['certificate-not-loaded@postgres'],
    make: async (installation) => {
      const issued = await installation.authority.issue({ name: 'postgres', notAfter: inDays(400) });
      const undoKey = edit('postgres/server.key', /^[^]*$/, issued.key)(installation);
      const undo = edit('postgres/server.pem', /^[^]*$/, issued.certificate)(installation);
      return async () => {
        await undoKey();
        await undo();
      };
    },
  },
  {
    title: 'a public address that its certificate does not contain',
    expected: ['certificate-name@public'],
    make: edit('millrace.env', 'https://localhost:', 'https://127.0.0.1:'),
  },
];

const proxyWith =
  (from: RegExp, to: (installation: TestInstallation) => string) =>
  async (installation: TestInstallation): Promise<Undo> => {
    const undo = edit('proxy.env', from, to(installation))(installation);
    await installation.restartEngine('proxy');
    return async () => {
      await undo();
      await installation.restartEngine('proxy');
    };
  };

export const processFaults: readonly Fault[] = [
  {
    title: 'an api that hangs',
    expected: ['process-not-running@api'],
    make: (installation) => {
      installation.processes.get('api')?.freeze();
      return () => installation.processes.get('api')?.thaw();
    },
  },
  {
    title: 'a stopped gateway',
    expected: ['process-not-running@gateway'],
    make: async (installation) => {
      await installation.processes.get('gateway')?.crash();
      return () => installation.startProcess('gateway');
    },
  },
  {
    title: 'a process that is not ready (injected answer)',
    expected: ['process-not-ready@worker'],
    inject: ({ ports }) =>
      changeJson(`:${ports.workerHealth}/readyz`, (body: { readonly checks: object }) => {
        return { ...body, checks: { ...body.checks, 'event relay': { ok: false, required: true } } };
      })(),
  },
  {
    title: 'a process of another commit',
    expected: ['process-version@gateway'],
    make: append('gateway.env', 'MILLRACE_COMMIT=abcdef1'),
  },
  {
    title: 'a changed health token',
    expected: ['health-token-refused@gateway'],
    make: edit('gateway/health.token', /^[^]*$/, `${'a'.repeat(32)}\n`),
  },
  {
    title: 'a stopped proxy',
    expected: ['public-unreachable@public'],
    make: async (installation) => {
      await installation.engines.get('proxy')?.crash();
      return () => installation.startEngine('proxy');
    },
  },
  {
    title: 'a public address that is not of this machine, and does not answer (injected addresses)',
    expected: ['public-unreachable-from-here@public'],
    make: async (installation) => {
      await installation.engines.get('proxy')?.crash();
      return () => installation.startEngine('proxy');
    },
    inject: () => ({ isThisMachine: async (host) => host !== 'localhost' }),
  },
  {
    title: 'a wrong port of the redirect',
    expected: ['public-redirect@public'],
    make: edit('proxy.env', /^HTTP_BIND=.*$/m, 'HTTP_BIND=127.0.0.1:1'),
  },
  {
    title: 'inference that goes to the api',
    expected: ['public-route-gateway@public'],
    make: proxyWith(/^(GATEWAY_[12])=.*$/gm, ({ ports }) => `$1=127.0.0.1:${ports.api}`),
  },
  {
    title: 'other requests that go to the gateway',
    expected: ['public-route-api@public'],
    make: proxyWith(/^(API_[12])=.*$/gm, ({ ports }) => `$1=127.0.0.1:${ports.gateway}`),
  },
];

const systemd =
  (output: string, unit = 'millrace-nats.service') =>
  (): Partial<Effects> => ({
    run: async (file, args) => {
      if (file !== 'systemctl' || !args.includes(unit)) return testEffects.run(file, args);
      return { code: 0, output: `LoadState=loaded\n${output}\n` };
    },
  });

export const machineFaults: readonly Fault[] = [
  {
    title: 'a wrong clock (injected)',
    expected: ['clock-wrong@machine'],
    inject: () => ({ clock: { ...systemClock, nowMs: () => systemClock.nowMs() + 2_000 } }),
  },
  {
    title: 'a clock without synchronisation (injected)',
    expected: ['clock-not-synchronised@machine'],
    inject: () => ({
      run: async (file, args) =>
        file === 'timedatectl' ? { code: 0, output: 'no\n' } : testEffects.run(file, args),
    }),
  },
  {
    title: 'a full disk (injected)',
    expected: ['disk-full@FOLDER'],
    inject: () => ({
      freeSpace: async () => ({ freeBytes: 500_000_000, totalBytes: 100_000_000_000, device: 1 }),
    }),
  },
  {
    title: 'a failed unit (injected)',
    expected: ['unit-failed@millrace-nats'],
    inject: systemd('ActiveState=failed\nUnitFileState=enabled\nLimitNOFILE=65536'),
  },
  {
    title: 'a unit that does not start at boot (injected)',
    expected: ['unit-disabled@millrace.target'],
    inject: systemd('ActiveState=active\nUnitFileState=disabled', 'millrace.target'),
  },
  {
    title: 'a low limit of open files (injected)',
    expected: ['file-limit@millrace-nats'],
    inject: systemd('ActiveState=active\nUnitFileState=enabled\nLimitNOFILE=1024'),
  },
];
