import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { natsPermissions, renderNatsUsers } from '@millrace/core/nats-permissions';
import { SimulatedClock, systemClock } from '@millrace/platform/clock';
import { renderValkeyUsers } from '@millrace/platform/valkey';
import { describe, expect, onTestFinished, test } from 'vitest';
import { valkeyGrants } from '../valkey-grants.ts';
import type { CheckContext, Effects } from './check.ts';
import { findProblems, formatFindings, toJson } from './doctor.command.ts';
import { canOthersRead, filesCheck } from './files.check.ts';
import { findingKinds, findingSections } from './finding-kinds.ts';
import { finding, withoutConsequences, type Finding } from './finding.ts';
import { readInstallation } from './installation.ts';
import { machineCheck } from './machine.check.ts';
import { parseNatsUsers } from './nats-users.ts';
import { backupCheck } from './postgres.check.ts';
import { runChecks } from './run-checks.ts';
import { hideSecrets, secretsOf } from './secrets.ts';
import { run, systemEffects } from './system-effects.ts';
import { missingRulesOf, parseAclUsers } from './valkey-users.ts';
import { isOlder } from '@millrace/platform/release';

const page = join(import.meta.dirname, '../../../../docs/runbooks/doctor.md');

test('docs/runbooks/doctor.md has the id, meaning and remedy of each finding', () => {
  const rows = readFileSync(page, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));
  const expected = Object.values(findingSections).flatMap((kinds) =>
    Object.entries(kinds).map(([id, { meaning, remedy }]) => [`\`${id}\``, meaning, remedy]),
  );
  expect(rows).toEqual(expected);
  expect(expected.map(([id]) => id)).toEqual(Object.keys(findingKinds).map((id) => `\`${id}\``));
});

describe('withoutConsequences', () => {
  const unreachable = finding('postgres-unreachable', 'postgres', 'No answer.');

  test('leaves out a finding that another one explains', () => {
    const consequence = finding('process-not-ready', 'api', 'postgres', {}, ['postgres-*']);
    expect(withoutConsequences([consequence, unreachable])).toEqual([unreachable]);
    expect(withoutConsequences([consequence])).toEqual([consequence]);
  });

  test('compares the component where a cause names it', () => {
    const consequence = finding('nats-tls', 'nats', 'refused', {}, ['certificate-*@nats']);
    const other = finding('certificate-expired', 'valkey', 'expired');
    expect(withoutConsequences([consequence, other])).toHaveLength(2);
  });

  test('reports equal findings of several roles once', () => {
    expect(withoutConsequences([unreachable, { ...unreachable }])).toHaveLength(1);
  });
});

test('finding fills the values into the remedy', () => {
  const { remedy } = finding('file-exposed', '/x', 'mode', { path: '/x' });
  expect(remedy).toBe('`chmod o-rwx /x`. Replace the secret if another user may have read it.');
});

describe('runChecks', () => {
  const context = (): CheckContext & { readonly clock: SimulatedClock } => {
    const clock = new SimulatedClock();
    const effects = { clock } as unknown as CheckContext['effects'];
    return { clock, effects, installation: readInstallation('/nowhere') };
  };
  const healthy = { id: 'healthy', title: 'Healthy', run: async () => [] };

  test('reports a check that fails or does not end, and runs the others', async () => {
    const { clock, ...deps } = context();
    const done: string[] = [];
    const failing = { id: 'failing', title: 'Failing', run: () => Promise.reject(new Error('broken')) };
    const endless = { id: 'endless', title: 'Endless', run: () => new Promise<never>(() => undefined) };
    const run = runChecks(deps, ({ id }) => void done.push(id), [endless, failing, healthy]);
    await clock.advance(60_000);
    const found = await run;
    expect(found.map(({ id, component }) => `${id}@${component}`)).toEqual([
      'check-failed@endless',
      'check-failed@failing',
    ]);
    expect(done.toSorted()).toEqual(['endless', 'failing', 'healthy']);
  });
});

describe('a folder that does not respond', () => {
  const effectsWith = (effects: Partial<Effects>): Effects =>
    ({ clock: new SimulatedClock(), hasSystemd: () => false, ...effects }) as Effects;
  const idsOf = (findings: readonly Finding[]) => findings.map(({ id, component }) => `${id}@${component}`);

  test('is one finding if it has the settings, and no check runs', async () => {
    const effects = effectsWith({ freeSpace: async () => 'unresponsive' });
    const done: string[] = [];
    const found = await findProblems('/mnt/etc', effects, (title) => void done.push(title));
    expect(idsOf(found)).toEqual(['folder-unresponsive@/mnt/etc']);
    expect(done).toEqual([]);
  });

  test('is one finding if it has the backups', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-doctor-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'admin.env'), 'MILLRACE_BACKUP_FOLDER=/mnt/backups\n');
    const effects = effectsWith({
      freeSpace: async (path) => (path.startsWith('/mnt') ? 'unresponsive' : null),
      dumpsIn: async () => 'unresponsive',
    });
    const context = { effects, installation: readInstallation(folder) };
    const found = await runChecks(context, () => undefined, [backupCheck, machineCheck]);
    expect(idsOf(found)).toEqual(['folder-unresponsive@/mnt']);
  });

  test('does not delay the command, although the child process ignores signals', async () => {
    const started = systemClock.monotonicMs();
    const result = await run('sh', ['-c', 'trap "" TERM INT; sleep 30'], 50);
    expect(result).toMatchObject({ code: 124 });
    expect(systemClock.monotonicMs() - started).toBeLessThan(10_000);
  });
});

test('systemEffects reads the size of a disk and the backups of a folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-doctor-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'one.dump'), 'PGDMP');
  utimesSync(join(folder, 'one.dump'), 1_700_000_000, 1_700_000_000);
  writeFileSync(join(folder, 'notes.txt'), '');
  const { bsize, blocks } = statfsSync(folder);
  expect(await systemEffects.freeSpace(folder)).toMatchObject({
    ...{ totalBytes: bsize * blocks, device: statSync(folder).dev },
  });
  expect(await systemEffects.dumpsIn(folder)).toEqual([
    { name: 'one.dump', bytes: 5, modifiedMs: 1_700_000_000_000 },
  ]);
  expect(await systemEffects.freeSpace(join(folder, 'missing'))).toBeNull();
  expect(await systemEffects.dumpsIn(join(folder, 'missing'))).toEqual([]);
});

test('hideSecrets replaces every secret in a text', () => {
  expect(hideSecrets('refused s3cret-word twice: s3cret-word', ['s3cret-word'])).toBe(
    'refused (secret) twice: (secret)',
  );
});

describe('secrets in files of settings', () => {
  const key = Buffer.alloc(32, 1).toString('base64');
  const settings = {
    MILLRACE_AUTH_SECRET: 'a-secret-of-sessions-with-40-characters',
    MILLRACE_SEALING_KEYS: `2026-08:${key},2026-09:${key}`,
    MILLRACE_VALKEY_URL: 'rediss://api:p%40ssword-1@valkey:6379',
    MILLRACE_NATS_URLS: 'tls://one-long-token@nats:4222,tls://api:password-2@nats:4222',
    MILLRACE_OIDC_PROVIDERS: '[{"id":"example","clientSecret":"client-secret"}]',
  };
  const folderWith = (file: string, variables: Readonly<Record<string, string>>, mode: number): string => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-doctor-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(join(folder, file), lines.join(''));
    chmodSync(join(folder, file), mode);
    return folder;
  };

  test('are hidden', () => {
    const secrets = secretsOf(readInstallation(folderWith('api.env', settings, 0o600)));
    const texts = [settings.MILLRACE_AUTH_SECRET, key, 'p%40ssword-1', 'p@ssword-1'];
    for (const text of [...texts, 'one-long-token', 'password-2', 'client-secret']) {
      expect(hideSecrets(`wrong: ${text}!`, secrets)).toBe('wrong: (secret)!');
    }
    expect(hideSecrets('https://cloud.example.com 2026-08', secrets)).toBe(
      'https://cloud.example.com 2026-08',
    );
  });

  const exposedIn = async (folder: string) => {
    const effects = { identityOf: async () => null } as unknown as Effects;
    const found = await filesCheck.run({ effects, installation: readInstallation(folder) });
    return found.filter(({ id }) => id === 'secret-in-settings').map(({ problem }) => problem);
  };

  test('are a finding only if other users can read them', async () => {
    const secret = { MILLRACE_AUTH_SECRET: settings.MILLRACE_AUTH_SECRET };
    const exposed = folderWith('api.env', secret, 0o644);
    expect(await exposedIn(exposed)).toEqual([
      `${join(exposed, 'api.env')} contains MILLRACE_AUTH_SECRET, and its mode is 0644.`,
    ]);
    expect(await exposedIn(folderWith('api.env', secret, 0o600))).toEqual([]);
    const plain = { MILLRACE_NATS_URLS: 'tls://nats:4222', MILLRACE_AUTH_SECRET_FILE: '/secret' };
    expect(await exposedIn(folderWith('api.env', plain, 0o644))).toEqual([]);
  });

  test('may be readable by root and the groups of the process', () => {
    expect(canOthersRead({ mode: 0o640, gid: 0 }, [])).toBe(false);
    expect(canOthersRead({ mode: 0o640, gid: 7 }, [7])).toBe(false);
    expect(canOthersRead({ mode: 0o640, gid: 7 }, [8])).toBe(true);
    expect(canOthersRead({ mode: 0o604, gid: 7 }, [7])).toBe(true);
    expect(canOthersRead({ mode: 0o600, gid: 7 }, [8])).toBe(false);
  });
});

test('formatFindings and toJson have id, problem and remedy', () => {
  const findings = [finding('backup-old', 'backups', 'The newest backup is old.')];
  expect(formatFindings([])).toContain('No problems found.');
  expect(formatFindings(findings)).toContain('Id:      backup-old');
  expect(toJson(findings)).toMatchObject({ findings: [{ id: 'backup-old', component: 'backups' }] });
});

test('isOlder compares versions by their numbers', () => {
  expect(isOlder('2.9.1', '2.15')).toBe(true);
  expect(isOlder('2.15', '2.15')).toBe(false);
  expect(isOlder('v2.15.1', '2.15')).toBe(false);
  expect(isOlder('8.0.1', '8')).toBe(false);
  expect(isOlder('unknown', '8')).toBe(false);
  expect(isOlder('0.3.0-307b39282919', '0.3.1')).toBe(true);
  expect(isOlder('0.3.1-307b39282919', '0.3.1')).toBe(false);
});

test('parseNatsUsers reads what renderNatsUsers writes', () => {
  const permissions = natsPermissions('worker', { prefix: 'own', cell: 1 });
  const text = renderNatsUsers([
    { name: 'worker', publicKeys: ['UAAA', 'UBBB'], permissions },
    { name: 'all', publicKeys: ['UCCC'], permissions: null },
  ]);
  expect(parseNatsUsers(text)).toEqual([
    { publicKey: 'UAAA', permissions },
    { publicKey: 'UBBB', permissions },
    { publicKey: 'UCCC', permissions: null },
  ]);
});

test('missingRulesOf finds the commands and keys that an ACL file lacks', () => {
  const grants = valkeyGrants('gateway', 'own');
  const text = renderValkeyUsers([{ name: 'millrace-gateway', passwordHashes: ['a'.repeat(64)], grants }]);
  const [, user] = parseAclUsers(text.split('\n'));
  expect(user?.name).toBe('millrace-gateway');
  if (user === undefined) return;
  expect(grants.flatMap((grant) => missingRulesOf(user, grant))).toEqual([]);
  const other = { commands: ['flushall'], keys: ['other:*'] };
  expect(missingRulesOf(user, other)).toEqual(['flushall', '~other:*']);
});
