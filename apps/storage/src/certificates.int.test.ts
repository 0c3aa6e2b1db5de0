import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect } from 'node:tls';
import { systemClock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { connectVolumeBackend } from '@millrace/storage';
import { eventually, fingerprintOf, makeCertificate, startStorageNode } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import type { Pair } from './certificates.fixture.ts';
import { neverAborted } from './storage-node.fixture.ts';

// A real agent process and the client of workers, which both compare their files every ten seconds.

const node = await startStorageNode({ poolGb: 4 });
afterAll(() => node[Symbol.asyncDispose]());

const { agentFiles, credential, endpoint } = node;
const { hostname, port } = new URL(endpoint);

async function shownFingerprint(): Promise<string> {
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprintOf(`-----BEGIN CERTIFICATE-----\n${raw.toString('base64')}\n-----END CERTIFICATE-----`);
}

function isAccepted({ certificate: cert, key }: Pair): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({
      ...{ hostname, port, path: '/v1/volumes', cert, key, agent: false, rejectUnauthorized: false },
    });
    call.on('response', (response) => resolve(response.resume().statusCode === 200));
    call.on('error', () => resolve(false));
    call.end();
  });
}

test('a running agent and worker replace their certificates without a failed call', async () => {
  const [nextAgent, earlier, next] = await Promise.all([
    makeCertificate('storage node'),
    makeCertificate('worker'),
    makeCertificate('worker'),
  ]);
  await writeFile(agentFiles.clientsFile, earlier.certificate);
  await writeFile(credential.certificateFile, earlier.certificate);
  await writeFile(credential.keyFile, earlier.key);
  await eventually({ what: 'the client' }, () => isAccepted(earlier));

  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  const log = createLogger({ name: 'worker', level: 'info', destination });
  const reloads = (): number => text.split('credential reloaded').length - 1;
  const backend = await connectVolumeBackend(
    { kind: 'nfs', endpoint, credentialRef: 'node', settings: {} },
    { clock: systemClock, log, credentials: { node: credential } },
  );
  const failures: string[] = [];
  let [calls, isStopped] = [0, false];
  const callers = [1, 2, 3, 4].map(async () => {
    while (!isStopped) {
      await backend.list(neverAborted).catch((error: unknown) => failures.push(String(error)));
      calls += 1;
      await systemClock.sleep(5);
    }
  });
  const pass = (count: number): Promise<unknown> => {
    const enough = calls + count;
    return eventually({ what: 'further calls' }, () => calls >= enough);
  };

  const agent = await readFile(credential.serverCertificateFile, 'utf8');
  await writeFile(credential.serverCertificateFile, agent + nextAgent.certificate);
  await writeFile(agentFiles.clientsFile, earlier.certificate + next.certificate);
  await eventually({ what: 'the worker to pin both' }, () => reloads() === 1);
  await eventually({ what: 'the agent to accept both' }, () => isAccepted(next));

  await writeFile(agentFiles.certificateFile, nextAgent.certificate);
  await writeFile(agentFiles.keyFile, nextAgent.key);
  await writeFile(credential.certificateFile, next.certificate);
  await writeFile(credential.keyFile, next.key);
  await eventually({ what: 'the certificate of the agent' }, async () => {
    return (await shownFingerprint()) === nextAgent.fingerprint;
  });
  await eventually({ what: 'the certificate of the worker' }, () => reloads() === 2);
  await pass(20);

  await writeFile(credential.serverCertificateFile, nextAgent.certificate);
  await writeFile(agentFiles.clientsFile, next.certificate);
  await eventually({ what: 'the worker to pin one' }, () => reloads() === 3);
  await eventually({ what: 'the earlier client to be refused' }, async () => !(await isAccepted(earlier)));
  await pass(20);
  isStopped = true;
  await Promise.all(callers);
  await backend.close();
  expect(failures).toEqual([]);
  expect(calls).toBeGreaterThan(100);
});
