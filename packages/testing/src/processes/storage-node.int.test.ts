import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { request } from 'node:https';
import { expect, test } from 'vitest';
import { testIds } from '../rows/builders.ts';
import { eventually } from '../time/eventually.ts';
import { startProcess } from './processes.ts';
import { clearStorageNodes } from './storage-node.ts';

interface NodeOutput {
  readonly endpoint: string;
  readonly folder: string;
  readonly vip: string;
  readonly credential: Readonly<Record<'certificateFile' | 'keyFile' | 'serverCertificateFile', string>>;
}

test('clearStorageNodes removes the storage node of a killed run', async () => {
  const run = await startProcess({
    name: 'a run',
    entry: 'packages/testing/src/processes/storage-node.fixture.ts',
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' },
  });
  try {
    const line = await eventually({ what: 'a storage node', timeoutMs: 60_000 }, () => {
      if (!run.running()) return run.output();
      return run.output().split('\n', 1)[0]?.startsWith('{') === true ? run.output() : undefined;
    });
    const output = JSON.parse(line) as NodeOutput;
    expect(await makeVolume(output)).toBe(200);
    await run.crash();
    const before = leftOf(output.folder);
    expect(before.servers).toBe(1);
    // The mounts of the pool, whose device is removed with it, and of the volume.
    expect([before.mounts, before.loops]).toEqual([2, 1]);
    await clearStorageNodes({ own: false });
    expect(leftOf(output.folder)).toEqual({ servers: 0, mounts: 0, loops: 0 });
    expect(existsSync(output.folder)).toBe(false);
  } finally {
    await run.crash();
    await clearStorageNodes({ own: false });
  }
});

function makeVolume({ endpoint, credential, vip }: NodeOutput): Promise<number> {
  const { hostname, port } = new URL(endpoint);
  const tls = {
    cert: readFileSync(credential.certificateFile),
    key: readFileSync(credential.keyFile),
    ca: readFileSync(credential.serverCertificateFile),
  };
  return new Promise((resolve, reject) => {
    const call = request({ ...tls, hostname, port, method: 'PUT', path: '/v1/volumes/left', agent: false });
    call.on('error', reject);
    call.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.end(JSON.stringify({ orgId: testIds.next('org'), sizeGb: 1, vip, clients: [] }));
  });
}

function leftOf(folder: string): { servers: number; mounts: number; loops: number } {
  const textOf = (file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return '';
    }
  };
  const lines = readdirSync('/proc').map((name) =>
    /^\d+$/.test(name) ? textOf(`/proc/${name}/cmdline`) : '',
  );
  const devices = readdirSync('/sys/block').map((name) => {
    const isAutoclear = textOf(`/sys/block/${name}/loop/autoclear`).trim() === '1';
    return isAutoclear ? '' : textOf(`/sys/block/${name}/loop/backing_file`);
  });
  return {
    servers: lines.filter((line) => line.startsWith('ganesha.nfsd') && line.includes(`${folder}/`)).length,
    mounts: textOf('/proc/self/mountinfo')
      .split('\n')
      .filter((line) => line.includes(` ${folder}/`)).length,
    loops: devices.filter((file) => file.startsWith(`${folder}/`)).length,
  };
}
