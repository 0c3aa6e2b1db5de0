import { execFileSync } from 'node:child_process';
import { access, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SimulatedClock } from '@millrace/platform/clock';
import { failingLoop, testIds, testLog, type ItemPoison } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pool, Folder } from './pool.ts';
import { writeRecord, type VolumeRecord } from './record.ts';
import { Volumes } from './volumes.ts';

let root: string;
let clock: SimulatedClock;
let volumes: Volumes;
let ids: string[];
/** Named pipes. A read of one waits until the pipe is opened for writing. */
let pipes: string[];

function folderOf(id: string): Folder {
  const folder = path.join(root, id);
  const at = (name: string): string => path.join(folder, name);
  return {
    ...{ id, path: folder, record: at('volume.json'), image: at('volume.img'), mount: at('mount') },
    ...{ snapshots: at('snapshots'), restores: at('restores'), recovery: at('recovery') },
    ...{ config: at('ganesha.conf'), log: at('ganesha.log'), pid: at('ganesha.pid') },
  };
}

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'millrace-supervision-'));
  await mkdir(path.join(root, 'leaving'));
  clock = new SimulatedClock();
  ids = [];
  pipes = [];
  const pool: Pool = {
    volume: folderOf,
    snapshot: (id, snapshotId) => path.join(folderOf(id).snapshots, `${snapshotId}.img`),
    leaving: (name) => path.join(root, 'leaving', name),
    ids: async () => ids.toSorted(),
    totalBytes: async () => 0,
    close: async () => undefined,
  };
  volumes = new Volumes({
    pool,
    clock,
    log: testLog(),
    settings: {} as never,
    onEnd: () => undefined,
    isVip: () => true,
  });
});

afterEach(async () => {
  for (const pipe of pipes) await (await open(pipe, 'r+')).close();
  await volumes.settle();
  await rm(root, { recursive: true, force: true });
});

async function addFolder(id: string): Promise<Folder> {
  const folder = folderOf(id);
  await mkdir(folder.path);
  ids.push(id);
  return folder;
}

/** Creates a volume that its next check removes. */
async function addHealthy(id: string): Promise<Folder> {
  const folder = await addFolder(id);
  const record: VolumeRecord = {
    ...{ externalId: id, orgId: testIds.next('org'), sizeGb: 1, madeGb: 0, vip: '10.8.0.1', clients: [] },
    ...{ generation: 1, sequence: 1, restore: null, restored: [], isLeaving: true },
  };
  await writeRecord(folder, record);
  return folder;
}

/** Creates a volume whose record cannot be parsed, or blocks every reader like a hanging disk. */
async function addFailing(id: string, how: ItemPoison): Promise<void> {
  const { record } = await addFolder(id);
  if (how === 'throws') return writeFile(record, 'no record');
  execFileSync('mkfifo', [record]);
  pipes.push(record);
}

const isDeleted = ({ path: folder }: Folder): Promise<boolean> =>
  access(folder).then(
    () => false,
    () => true,
  );

/** Runs one round. Time passes only after all healthy volumes were checked. */
async function supervise(healthy: readonly Folder[]): Promise<void> {
  let isOver = false;
  const round = volumes.supervise().finally(() => (isOver = true));
  await expect.poll(async () => (await Promise.all(healthy.map(isDeleted))).every(Boolean)).toBe(true);
  for (const { id } of healthy) ids.splice(ids.indexOf(id), 1);
  while (!isOver) {
    await clock.advance(1_000);
    await new Promise(setImmediate);
  }
  await round;
}

describe(failingLoop('supervise volumes'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'delays no check of another volume when it %s, in this and the next rounds',
    async (how) => {
      await addFailing('a-poisoned', how);
      for (const id of ['b-one', 'c-two', 'd-three']) await supervise([await addHealthy(id)]);
    },
  );

  it('delays no check of later volumes when one item hangs and another throws', async () => {
    await addFailing('a-hangs', 'hangs');
    await addFailing('b-throws', 'throws');
    const healthy = [];
    for (const id of ['c', 'd', 'e', 'f', 'g', 'h']) healthy.push(await addHealthy(id));
    await supervise(healthy);
  });

  it('refuses other work when it hangs, and other volumes are checked after its deadline', async () => {
    await addFailing('a-hangs', 'hangs');
    await supervise([await addHealthy('b')]);
    await clock.advance(600_000);
    await expect(volumes.remove('a-hangs')).rejects.toThrow('hangs');
    await supervise([await addHealthy('c')]);
  });
});
