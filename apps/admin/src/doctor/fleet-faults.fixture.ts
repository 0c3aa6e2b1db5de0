import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { makeCertificate, startHostileIncus, type HostileIncus } from '@millrace/testing';
import type { TestInstallation } from './doctor.fixture.ts';
import { append, type Fault, type Undo } from './fault.fixture.ts';

/** A double of Incus with the API of a daemon, configured as a cluster of the workers. */
const cluster =
  (change: (incus: HostileIncus, installation: TestInstallation) => unknown = () => undefined) =>
  async (installation: TestInstallation): Promise<Undo> => {
    const incus = await startHostileIncus();
    const client = await makeCertificate('workers');
    incus.trust(client.fingerprint);
    const files: Readonly<Record<string, string>> = {
      'incus-client.pem': client.certificate,
      'incus-client.key': client.key,
      'incus-server.pem': incus.certificate.certificate,
      'providers.json': JSON.stringify(providersAt(incus.url)),
      'credentials.json': JSON.stringify({
        'eu-1': {
          certificateFile: installation.path('incus-client.pem'),
          keyFile: installation.path('incus-client.key'),
          serverCertificateFile: installation.path('incus-server.pem'),
        },
      }),
    };
    for (const [name, text] of Object.entries(files))
      writeFileSync(installation.path(name), text, { mode: 0o640 });
    const settings = [
      `MILLRACE_PROVIDERS_FILE=${installation.path('providers.json')}`,
      `MILLRACE_FLEET_CREDENTIALS_FILE=${installation.path('credentials.json')}`,
    ];
    const undo = append('worker.env', settings.join('\n'))(installation);
    await change(incus, installation);
    return async () => {
      await undo();
      await incus[Symbol.asyncDispose]();
      for (const name of Object.keys(files)) rmSync(installation.path(name));
    };
  };

function providersAt(endpoint: string): object {
  const settings = {
    instanceType: 'container',
    network: 'tenants',
    storagePool: 'default',
    defaultImage: 'ubuntu-24.04',
  };
  const region = 'eu-north-2';
  const own = { name: 'eu-1', region, endpoint, credential: 'eu-1', settings };
  const regions = [{ region, customPorts: true }];
  return [{ id: 'own', variant: 'V8', driver: 'incus', regions, clusters: [own] }];
}

const storageNodes = JSON.stringify([
  {
    ...{ name: 'disks-1', region: 'eu-north-2', endpoint: 'https://127.0.0.1:1', credential: 'eu-1' },
    ...{ vips: '10.8.0.10-10.8.0.20', capacityGb: 1000 },
  },
]);

const respondWith = (path: string, status: number) => (incus: HostileIncus) => {
  incus.misbehaviour = (request) =>
    request.path.startsWith(path)
      ? { do: 'answer', response: { status, body: { type: 'error', error: '' } } }
      : null;
};

export const fleetFaults: readonly Fault[] = [
  { title: 'nothing with a cluster that works', expected: [], make: cluster() },
  {
    title: 'a missing credential of a cluster',
    expected: ['cluster-credential-missing@eu-1'],
    make: cluster((_incus, installation) => writeFileSync(installation.path('credentials.json'), '{}')),
  },
  {
    title: 'a cluster that does not answer',
    expected: ['cluster-unreachable@eu-1'],
    make: cluster((incus) => incus.vanish()),
  },
  {
    title: 'a cluster that does not trust the workers',
    expected: ['cluster-client-refused@eu-1'],
    make: cluster((incus) => incus.fake.trusted.clear()),
  },
  {
    title: 'a cluster with another certificate',
    expected: ['cluster-certificate@eu-1'],
    make: cluster((incus) => incus.showOtherCertificate()),
  },
  {
    title: 'a cluster without the image',
    expected: ['cluster-image-missing@eu-1'],
    make: cluster(respondWith('/1.0/images/aliases/', 404)),
  },
  {
    title: 'a storage agent that does not answer',
    expected: ['storage-unreachable@disks-1'],
    make: cluster((_incus, installation) =>
      appendFileSync(installation.path('worker.env'), `MILLRACE_STORAGE_NODES='${storageNodes}'\n`),
    ),
  },
  {
    title: 'an email server that does not answer',
    expected: ['mail-unreachable@mail'],
    make: append('api.env', 'MILLRACE_SMTP_URL=smtp://127.0.0.1:1\nMILLRACE_MAIL_FROM=notices@example.com'),
  },
];
