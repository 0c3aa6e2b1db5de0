import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { SimulatedClock } from '@millrace/platform/clock';
import { makeAuthority } from '@millrace/testing';
import { expect, onTestFinished, test } from 'vitest';
import { certificatesCheck } from './certificates.check.ts';
import type { CheckContext, Effects } from './check.ts';
import { filesCheck } from './files.check.ts';
import type { Finding } from './finding.ts';
import { readInstallation } from './installation.ts';
import { machineCheck } from './machine.check.ts';
import { natsCheck } from './nats.check.ts';
import { publicAddressCheck } from './public-address.check.ts';
import { runChecks } from './run-checks.ts';
import { systemEffects } from './system-effects.ts';

/** Machines of an installation with several. */

const common = 'MILLRACE_CELL=0\nMILLRACE_NATS_URLS=tls://192.0.2.1:4222\n';

function machine(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-doctor-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

function contextOf(folder: string, effects: Partial<Effects> = {}): CheckContext {
  const unused = { clock: new SimulatedClock(), identityOf: async () => null };
  return { installation: readInstallation(folder), effects: { ...unused, ...effects } as Effects };
}

async function missingFiles(folder: string): Promise<readonly string[]> {
  const found = await filesCheck.run(contextOf(folder));
  return found.flatMap(({ id, component }) =>
    id === 'env-file-missing' ? [component.replace(folder, '')] : [],
  );
}

const idsOf = (findings: readonly Finding[]) => findings.map(({ id, component }) => `${id}@${component}`);

test('a machine with one role needs only the files of that role', async () => {
  expect(await missingFiles(machine({ 'millrace.env': common, 'gateway.env': '' }))).toEqual([]);
  expect(await missingFiles(machine({ 'gateway.env': '' }))).toEqual(['/millrace.env']);
  expect(await missingFiles(machine({ 'millrace.env': common, 'gateway/nats.seed': 'SU' }))).toEqual([
    '/gateway.env',
  ]);
});

test('a machine with only an engine needs no files of settings, and an empty folder has one finding', async () => {
  expect(await missingFiles(machine({ 'nats/nats.conf': '' }))).toEqual([]);
  expect(await missingFiles(machine({}))).toEqual(['/millrace.env']);
  expect(await missingFiles('/missing-folder')).toEqual(['/millrace.env']);
});

test('the monitor of NATS is checked only on its machine', async () => {
  const requested: string[] = [];
  const effects: Partial<Effects> = {
    greeting: async () => 'INFO {}',
    request: async ({ url }) => {
      requested.push(url);
      throw new Error('no answer');
    },
  };
  const files = { 'millrace.env': common };
  expect(idsOf(await natsCheck.run(contextOf(machine(files), effects)))).toEqual([]);
  expect(requested).toEqual([]);
  const withServer = machine({ ...files, 'nats/nats.conf': 'http: "127.0.0.1:8222"' });
  expect(idsOf(await natsCheck.run(contextOf(withServer, effects)))).toEqual([
    'nats-monitor-unreachable@nats',
  ]);
});

test('the certificate of a server on another machine is not compared with a file', async () => {
  const authority = await makeAuthority();
  const [own, other] = [await issue('own'), await issue('other')];
  async function issue(name: string) {
    return authority.issue({ name, addresses: ['192.0.2.1'] });
  }
  const folder = machine({
    'ca.pem': authority.certificate,
    'worker.env': '',
    'nats/server.pem': own.certificate,
    'nats/server.key': own.key,
  });
  writeFileSync(join(folder, 'millrace.env'), `${common}MILLRACE_ENGINE_CA_FILE=${join(folder, 'ca.pem')}\n`);
  const found = async (isHere: boolean) => {
    const effects: Partial<Effects> = {
      clock: systemEffects.clock,
      isThisMachine: async () => isHere,
      servedCertificate: async () => ({ pem: other.certificate, rejection: null }),
    };
    return idsOf(await certificatesCheck.run(contextOf(folder, effects)));
  };
  expect(await found(true)).toContain('certificate-not-loaded@nats');
  expect(await found(false)).not.toContain('certificate-not-loaded@nats');
});

test('on one of three machines, the own Valkey is compared with its file, and not the one in use', async () => {
  const authority = await makeAuthority();
  const issue = (name: string) => authority.issue({ name, addresses: ['192.0.2.1'] });
  const [own, other] = [await issue('own'), await issue('other')];
  const folder = machine({
    'ca.pem': authority.certificate,
    'internal.env': 'SELF=192.0.2.1\n',
    'api.env': 'MILLRACE_VALKEY_URL=rediss://api:secret@127.0.0.1:6390\n',
    'valkey/server.pem': own.certificate,
    'valkey/server.key': own.key,
  });
  writeFileSync(join(folder, 'millrace.env'), `${common}MILLRACE_ENGINE_CA_FILE=${join(folder, 'ca.pem')}\n`);
  const found = async (ownShown: string) => {
    const effects: Partial<Effects> = {
      clock: systemEffects.clock,
      isThisMachine: async () => true,
      servedCertificate: async ({ host }) => ({
        pem: host === '192.0.2.1' ? ownShown : other.certificate,
        rejection: null,
      }),
    };
    return idsOf(await certificatesCheck.run(contextOf(folder, effects)));
  };
  expect(await found(own.certificate)).not.toContain('certificate-not-loaded@valkey');
  expect(await found(other.certificate)).toContain('certificate-not-loaded@valkey');
});

test("Debian's disabled unit of PostgreSQL is a finding only where Patroni does not start PostgreSQL", async () => {
  const effects: Partial<Effects> = {
    freeSpace: async () => null,
    hasSystemd: () => true,
    run: async (_program, [command, unit = '']) => {
      const state = unit === 'postgresql.service' ? 'disabled' : 'enabled';
      const output = `LoadState=loaded\nActiveState=active\nUnitFileState=${state}\n`;
      return { code: 0, output: command === 'show' ? output : '' };
    },
  };
  const found = async (files: Readonly<Record<string, string>>) =>
    idsOf(await machineCheck.run(contextOf(machine({ 'millrace.env': common, ...files }), effects)));
  expect(await found({})).toEqual(['unit-disabled@postgresql']);
  expect(await found({ 'internal.env': 'SELF=192.0.2.1\n' })).toEqual([]);
});

test('a public address that does not answer has another finding if this machine does not have it', async () => {
  const api = ['MILLRACE_HTTP_PUBLIC_URL=https://cloud.example.com', 'MILLRACE_HTTP_PORT=8080'];
  const folder = machine({ 'millrace.env': common, 'api.env': `${api.join('\n')}\n` });
  const fail = () => Promise.reject(new Error('no answer'));
  const found = (isHere: boolean | null) =>
    runChecks(
      contextOf(folder, { servedCertificate: fail, request: fail, isThisMachine: async () => isHere }),
      () => undefined,
      [publicAddressCheck],
    );
  expect(idsOf(await found(true))).toEqual(['public-unreachable@public']);
  expect(idsOf(await found(null))).toEqual(['public-unreachable@public']);
  const [behindNat, ...others] = await found(false);
  expect(others).toEqual([]);
  expect(behindNat).toMatchObject({ id: 'public-unreachable-from-here' });
  expect(behindNat?.remedy).toContain('`127.0.0.1 cloud.example.com`');
});

test('systemEffects knows the addresses of this machine', async () => {
  expect(await systemEffects.isThisMachine('127.0.0.1')).toBe(true);
  expect(await systemEffects.isThisMachine('localhost')).toBe(true);
  expect(await systemEffects.isThisMachine('192.0.2.1')).toBe(false);
  expect(await systemEffects.isThisMachine('name.invalid')).toBeNull();
});
