import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { systemClock } from '@millrace/platform/clock';
import { connectVolumeBackend, exportPath, type VolumeBackend, type VolumeSpec } from '@millrace/storage';
import { isNfsError, Nfs41Client, type Nfs41Options, type OpenFile } from '@millrace/storage/nfs41';
import { eventually, startStorageNode, testIds, testLog, type StorageNode } from '@millrace/testing';

/** A storage node with its backend client and NFS clients in place of tenants' machines. */
export interface StorageHarness extends AsyncDisposable {
  readonly node: StorageNode;
  readonly backend: VolumeBackend;
  /** The spec of a new volume on the next address of the node. */
  spec(changes?: Partial<VolumeSpec>): VolumeSpec;
  ensure(spec: VolumeSpec): ReturnType<VolumeBackend['ensure']>;
  /** An NFS client with the given source address. */
  machine(vip: string, from: string, options?: Partial<Nfs41Options>): Promise<Nfs41Client>;
}

export const neverAborted = new AbortController().signal;
const timeoutMs = 120_000;

export async function openStorageHarness(
  options: Parameters<typeof startStorageNode>[0] = {},
): Promise<StorageHarness> {
  const node = await startStorageNode(options);
  const reach = { kind: 'nfs', endpoint: node.endpoint, credentialRef: 'node', settings: {} } as const;
  const backend = await connectVolumeBackend(reach, {
    clock: systemClock,
    log: testLog('storage backend'),
    credentials: { node: node.credential },
  });
  const clients: Nfs41Client[] = [];
  let count = 0;
  return {
    node,
    backend,
    spec: (changes = {}) => {
      const vip = node.vip(count);
      count += 1;
      const externalId = `vol-${randomBytes(6).toString('hex')}`;
      return { externalId, orgId: testIds.next('org'), sizeGb: 1, vip, clients: [], ...changes };
    },
    ensure: (spec) => backend.ensure(spec, neverAborted),
    machine: async (vip, from, extra = {}) => {
      const client = await Nfs41Client.connect({
        ...{ host: vip, port: node.nfsPort, localAddress: from, clock: systemClock, timeoutMs },
        ...extra,
      });
      clients.push(client);
      return client;
    },
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) client.drop();
      await backend.close();
      await node[Symbol.asyncDispose]();
    },
  };
}

/** Opens a file and retries during the grace period, in which a restarted server accepts only reclaims. */
export async function openIn(client: Nfs41Client, name: string): Promise<OpenFile> {
  await client.reclaimComplete().catch((error: unknown) => {
    if (!isNfsError(error, 'COMPLETE_ALREADY')) throw error;
  });
  const what = 'the server to let files be opened';
  const opened = await eventually({ what, timeoutMs: 30_000, intervalMs: 100 }, async () => {
    try {
      return { file: await client.open(exportPath, name, true) };
    } catch (error) {
      if (isNfsError(error, 'GRACE', 'DELAY')) return undefined;
      return { error };
    }
  });
  if ('error' in opened) throw opened.error;
  return opened.file;
}

/** `ok` or the NFS error code; a lost connection throws. */
export async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (isNfsError(error)) return error.code;
    throw error;
  }
}

export async function statusOf(pid: number): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8');
  return new Map(
    text.split('\n').map((line) => [line.split(':')[0] ?? '', line.split(':')[1]?.trim() ?? '']),
  );
}
