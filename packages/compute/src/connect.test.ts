import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import type { CredentialSetting } from '@millrace/platform/config';
import { testLog } from '@millrace/testing';
import { expect, it, onTestFinished } from 'vitest';
import {
  connectDriver,
  credentialVersion,
  type ConnectDeps,
  type ClusterConnectionOptions,
} from './connect.ts';

const image = { url: 'https://images.example.com/a.qcow2', sha256: 'a'.repeat(64) };
const cluster: ClusterConnectionOptions = {
  name: 'metal',
  driver: 'ironic',
  endpoint: 'https://ironic.internal:6385',
  credentialRef: 'metal',
  settings: { images: { ubuntu: image }, defaultImage: 'ubuntu' },
};

function depsWith(credentials: Readonly<Record<string, CredentialSetting>>): ConnectDeps {
  return {
    // Neither is asked for by this engine.
    db: undefined as never,
    guard: undefined as never,
    clock: systemClock,
    log: testLog('connect'),
    credentials,
    opensPorts: false,
  };
}

async function secretFile(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mr-connect-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'password');
  await writeFile(file, 'secret\n');
  return file;
}

it('an Ironic is connected with a password from a file, and nothing is asked of it yet', async () => {
  const metal = { username: 'millrace', passwordFile: await secretFile(), serverCertificateFile: null };
  const driver = await connectDriver(cluster, depsWith({ metal }));
  expect(driver).toMatchObject({ kind: 'ironic', can: { mapsPorts: false, sharesNodes: false } });
  await driver.close();
});

it.each<[string, Readonly<Record<string, CredentialSetting>>, string]>([
  ['no credential', {}, 'no credential metal'],
  [
    'a certificate',
    { metal: { certificateFile: '/c', keyFile: '/k', serverCertificateFile: null } },
    'a password',
  ],
  [
    'a file that is not there',
    { metal: { username: 'u', passwordFile: '/no/such', serverCertificateFile: null } },
    'cannot be read',
  ],
])('an Ironic with %s is refused with a reason', async (_title, credentials, reason) => {
  await expect(connectDriver(cluster, depsWith(credentials))).rejects.toThrow(reason);
});

it('an Incus whose credential is a password is refused with a reason', async () => {
  const metal = { username: 'u', passwordFile: '/p', serverCertificateFile: null };
  const incus: ClusterConnectionOptions = {
    ...cluster,
    driver: 'incus',
    settings: { network: 'n', storagePool: 'p' },
  };
  await expect(connectDriver(incus, depsWith({ metal }))).rejects.toThrow('certificate');
});

it('a password that was changed is noticed by its file, and the name of its user is none', async () => {
  const passwordFile = await secretFile();
  const credentials = { metal: { username: '/etc/passwd', passwordFile, serverCertificateFile: null } };
  const before = await credentialVersion(cluster, credentials);
  expect(await credentialVersion(cluster, credentials)).toBe(before);
  await writeFile(passwordFile, 'another\n');
  await utimes(passwordFile, new Date(0), new Date(0));
  expect(await credentialVersion(cluster, credentials)).not.toBe(before);
});
