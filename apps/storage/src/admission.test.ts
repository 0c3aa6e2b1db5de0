import { copyFile, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import type { VolumeSpec } from '@millrace/storage';
import { testIds } from '@millrace/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Admission } from './admission.ts';
import { bytesOfGb } from './disk.ts';
import type { Pool, Folder } from './pool.ts';

let root: string;
let pool: Pool;
let admission: Admission;
/** Leaves slightly more than 9 GB for volumes and snapshots. */
const totalBytes = Math.ceil(bytesOfGb(9) * 1.0205);

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'millrace-admission-'));
  const volume = (id: string): Folder => {
    const folder = path.join(root, id);
    const at = (name: string): string => path.join(folder, name);
    return {
      ...{ id, path: folder, record: at('volume.json'), image: at('volume.img'), mount: at('mount') },
      ...{
        snapshots: at('snapshots'),
        restores: at('restores'),
        config: at('c'),
        log: at('l'),
        pid: at('p'),
        recovery: at('r'),
      },
    };
  };
  const known = new Set(['one', 'two', 'three']);
  pool = {
    volume,
    snapshot: (id, snapshotId) => path.join(volume(id).snapshots, `${snapshotId}.img`),
    leaving: (name) => path.join(root, 'leaving', name),
    ids: async () => [...known],
    totalBytes: async () => totalBytes,
    close: async () => {},
  };
  admission = new Admission(pool, systemClock);
});

afterEach(() => rm(root, { recursive: true }));

function specFor(externalId: string, sizeGb: number, last: number): VolumeSpec {
  return { externalId, orgId: testIds.next('org'), sizeGb, vip: `10.8.0.${last}`, clients: [] };
}

test('Admission.snapshot does not block requests for other volumes, and reserves its capacity until the copy has failed', async () => {
  await admission.admit(specFor('one', 2, 1));
  const folder = pool.volume('one');
  await writeFile(folder.image, Buffer.alloc(1_048_576, 1));
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
  const { promise: started, resolve: begin } = Promise.withResolvers<void>();
  const taken = admission.snapshot(folder, pool.snapshot('one', 'a'), async () => {
    begin();
    await gate;
    throw new Error('no');
  });
  await started;
  const other = specFor('two', 6, 2);
  expect(await admission.admit(other)).toMatchObject({ sizeGb: 6 });
  await expect(admission.admit({ ...other, sizeGb: 7 })).rejects.toMatchObject({ kind: 'no_capacity' });
  openGate();
  await expect(taken).rejects.toThrow('no');
  expect(await admission.admit({ ...other, sizeGb: 7 })).toMatchObject({ sizeGb: 7 });
});

test('Admission counts the space that an existing snapshot uses', async () => {
  await admission.admit(specFor('one', 2, 1));
  const folder = pool.volume('one');
  const target = pool.snapshot('one', 'a');
  await writeFile(folder.image, Buffer.alloc(1_048_576, 1));
  await mkdir(folder.snapshots);
  await admission.snapshot(folder, target, () => copyFile(folder.image, target));
  const other = specFor('two', 7, 2);
  await expect(admission.admit(other)).rejects.toMatchObject({ kind: 'no_capacity' });
  await rm(target);
  expect(await admission.admit(other)).toMatchObject({ sizeGb: 7 });
});

test('Admission counts the image size of a volume whose record cannot be read', async () => {
  const { path: folder, record, image } = pool.volume('one');
  await mkdir(folder);
  await writeFile(record, '{"externalId":');
  await writeFile(image, '');
  await truncate(image, bytesOfGb(6));
  await expect(admission.admit(specFor('two', 4, 2))).rejects.toMatchObject({ kind: 'no_capacity' });
  expect(await admission.admit(specFor('two', 3, 2))).toMatchObject({ sizeGb: 3 });
});
