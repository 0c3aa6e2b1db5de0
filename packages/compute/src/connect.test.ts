import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import type { CredentialSetting } from '@millrace/platform/config';
import { testLog } from '@millrace/testing';
import { expect, it, onTestFinished } from 'vitest';
import { connectDriver, type ConnectDeps, type ClusterConnectionOptions } from './connect.ts';

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
    // Ironic needs neither.
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

it('connectDriver connects to Ironic with a password from a file, without calling it', async () => {
  const metal = { username: 'millrace', passwordFile: await secretFile(), serverCertificateFile: null };
  const driver = await connectDriver(cluster, depsWith({ metal }));
  expect(driver).toMatchObject({ kind: 'ironic', can: { mapsPorts: false, sharesNodes: false } });
  await driver.close();
});

it.each<[string, Readonly<Record<string, CredentialSetting>>, string]>([
  ['no known credential', {}, 'no credential metal'],
  [
    'a certificate as credential',
    { metal: { certificateFile: '/c', keyFile: '/k', serverCertificateFile: null } },
    'a password',
  ],
  [
    'a missing credential file',
    { metal: { username: 'u', passwordFile: '/no/such', serverCertificateFile: null } },
    'Cannot read',
  ],
])('connectDriver refuses Ironic with %s and gives the reason', async (_title, credentials, reason) => {
  await expect(connectDriver(cluster, depsWith(credentials))).rejects.toThrow(reason);
});

it('connectDriver refuses Incus with a password as credential', async () => {
  const metal = { username: 'u', passwordFile: '/p', serverCertificateFile: null };
  const incus: ClusterConnectionOptions = {
    ...cluster,
    driver: 'incus',
    settings: { network: 'n', storagePool: 'p' },
  };
  await expect(connectDriver(incus, depsWith({ metal }))).rejects.toThrow('certificate');
});
