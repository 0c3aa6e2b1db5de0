import { seedOrganisation, type SeededOrganisation } from '@millrace/core/fixture';
import {
  applyStorageConfig,
  createBackendPool,
  createVolumeReconciler,
  defaultVolumePolicy,
  checkDueNodes,
} from '@millrace/core/volumes';
import { systemClock } from '@millrace/platform/clock';
import { defaultStorage } from '@millrace/platform/config';
import { connectVolumeBackend } from '@millrace/storage';
import { eventually, testLog, uniqueId } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApiFixture, type ApiFixture } from './api.fixture.ts';

let fixture: ApiFixture;
let own: SeededOrganisation;
let key: string;
let work: () => Promise<void>;
const never = new AbortController().signal;

beforeAll(async () => {
  fixture = await startApiFixture();
  own = await seedOrganisation(fixture.db);
  key = (await own.ownerKey('test')).key;
  const { db } = fixture;
  await applyStorageConfig(db, defaultStorage);
  const clock = systemClock;
  const log = testLog();
  const backends = createBackendPool({
    log,
    connect: (node) => connectVolumeBackend(node, { clock, log, credentials: {} }),
  });
  const deps = { db, clock, log, backends, policy: defaultVolumePolicy };
  await checkDueNodes(deps, never);
  const converger = createVolumeReconciler(deps, { atOnce: 8, atOncePerNode: 8 });
  work = async () => {
    await converger.step(never);
    await converger.ended();
  };
});
afterAll(() => fixture[Symbol.asyncDispose]());

const volumes = '/v2/alpha/on-demand/storage-volumes';
const newVolume = (fields: object = {}) => ({
  region: 'mock-region',
  label: `data-${uniqueId()}`,
  sizeInGb: 256,
  ...fields,
});
const create = (body: object, headers: Readonly<Record<string, string>> = {}) =>
  fixture.call({ method: 'POST', path: volumes, key, body, headers });
const list = (query = '', base = volumes) => fixture.call({ method: 'GET', path: `${base}${query}`, key });

async function active(fields: object = {}): Promise<number> {
  const { json, text } = await create(newVolume(fields));
  if (json.storageVolumeId === undefined) throw new Error(text);
  const id = json.storageVolumeId as number;
  await eventually({ what: 'an active volume' }, async () => {
    await work();
    const { json: all } = await list();
    return all.some((one: { id: number; status: string }) => one.id === id && one.status === 'active');
  });
  return id;
}

describe('volume API', () => {
  it('returns the closed record of the API reference under both paths', async () => {
    const id = await active({ label: 'datasets', name: 'Data sets', tags: { team: 'a' } });
    const { json } = await list();
    const record = json.find((one: { id: number }) => one.id === id);
    expect(Object.keys(record).toSorted()).toEqual(
      [
        ...['id', 'createdAt', 'updatedAt', 'deletedAt', 'userId', 'orgId', 'startedAt', 'terminatedAt'],
        ...['externalId', 'sizeGb', 'label', 'costPerHour', 'region', 'storageVolumeId', 'meta', 'status'],
        ...['attachedRentals', 'sizeInGb', 'vip'],
      ].toSorted(),
    );
    expect(record).toMatchObject({ label: 'datasets', sizeGb: 256, sizeInGb: 256, costPerHour: 0, meta: {} });
    expect((await list('', '/v2/on-demand/storage-volumes')).json).toEqual(json);
  });

  it('creates one volume per idempotency key and refuses another body under it', async () => {
    const body = newVolume();
    const headers = { 'idempotency-key': uniqueId() };
    const [first, second] = [await create(body, headers), await create(body, headers)];
    expect(second.json).toEqual(first.json);
    expect(second.headers['idempotent-replayed']).toBe('true');
    const other = await create({ ...body, sizeInGb: 512 }, headers);
    expect(other).toMatchObject({ status: 400, json: { reason: 'IDEMPOTENCY_KEY_REUSED' } });
  });

  it('accepts the sizes and labels that the API reference allows', async () => {
    for (const wrong of [
      { sizeInGb: 300 },
      { sizeInGb: 64_256 },
      { label: 'abc' },
      { label: 'a b c d' },
      { region: 'private-cloud' },
    ]) {
      expect(await create(newVolume(wrong))).toMatchObject({
        status: 400,
        json: { reason: 'VALIDATION_FAILED' },
      });
    }
    expect(await create(newVolume({ region: 'jp-east-1' }))).toMatchObject({
      status: 400,
      json: { reason: 'REGION_DISABLED' },
    });
    expect(await create(newVolume({ rentalIds: [7] }))).toMatchObject({
      status: 400,
      json: { reason: 'RENTAL_NOT_FOUND' },
    });
  });

  it('quotes a price before creation, and refuses an unavailable size or region', async () => {
    const quote = (query: string) => fixture.call({ method: 'GET', path: `${volumes}/quote?${query}`, key });
    const nothing = { costPerHourNanoUsd: '0', costPer30DaysNanoUsd: '0', holdNanoUsd: '0' };
    const quoted = await quote('region=mock-region&sizeInGb=512');
    expect(quoted).toMatchObject({ status: 200, json: { costPerHour: 0, ...nothing } });
    expect(quoted.json).not.toHaveProperty('liveCostPerHourNanoUsd');
    for (const wrong of ['region=mock-region&sizeInGb=300', 'region=nowhere&sizeInGb=256', 'sizeInGb=256']) {
      expect(await quote(wrong)).toMatchObject({ status: 400, json: { reason: 'VALIDATION_FAILED' } });
    }
  });

  it('lists each volume once over all pages', async () => {
    for (let made = 0; made < 5; made += 1) await create(newVolume());
    const all = (await list()).json.map((one: { id: number }) => one.id);
    const seen: number[] = [];
    for (let next: string | null = '?limit=2'; next !== null;) {
      const page = await list(next);
      seen.push(...page.json.map((one: { id: number }) => one.id));
      const link = /\?([^>]*)>; rel="next"/.exec(String(page.headers['link'] ?? ''));
      next = link === null ? null : `?${link[1]}`;
    }
    expect(seen).toEqual(all);
    expect(await list('?cursor=nonsense')).toMatchObject({ status: 400, json: { reason: 'INVALID_CURSOR' } });
  });

  it('restores a snapshot once per Idempotency-Key, under both paths, into a new volume or the same', async () => {
    const id = await active();
    const at = `${volumes}/${id}`;
    const taken = await fixture.call({ method: 'POST', path: `${at}/snapshots`, key, body: {} });
    const snapshot = `${at}/snapshots/${taken.json.id}`;
    const restore = (
      body: object,
      headers: Readonly<Record<string, string>> = {},
      path = `${snapshot}/restore`,
    ) => fixture.call({ method: 'POST', path, key, body, headers });
    await eventually({ what: 'a snapshot that is ready' }, async () => {
      await work();
      const { json } = await fixture.call({ method: 'GET', path: `${at}/snapshots`, key });
      return json.items[0].status === 'ready';
    });
    const order = { into: 'new-volume', label: `data-${uniqueId()}` };
    const once = { 'idempotency-key': uniqueId() };
    const first = await restore(order, once);
    expect(first).toMatchObject({
      status: 202,
      json: {
        status: 'inactive',
        label: order.label,
        sizeInGb: 256,
        restoring: { snapshotId: taken.json.id, storageVolumeId: id },
      },
    });
    const stable = `${snapshot.replace('/v2/alpha/', '/v2/')}/restore`;
    expect((await restore(order, once, stable)).json.id).toBe(first.json.id);
    expect(await restore({ into: 'new-volume' })).toMatchObject({ status: 400 });
    expect(await restore({ into: 'same-volume', label: 'data-other' })).toMatchObject({ status: 400 });
    const busy = await fixture.call({ method: 'DELETE', path: snapshot, key });
    expect(busy).toMatchObject({ status: 409, json: { reason: 'SNAPSHOT_IN_USE' } });
    expect((await restore({ into: 'same-volume' })).json).toMatchObject({ id, status: 'inactive' });
    await eventually({ what: 'restored volumes' }, async () => {
      await work();
      const { json } = await list();
      const restored = json.filter((one: { id: number }) => [id, first.json.id].includes(one.id));
      return restored.length === 2 && restored.every((one: { status: string }) => one.status === 'active');
    });
  });

  it('changes, snapshots and deletes a volume by extension operations', async () => {
    const id = await active();
    const at = `${volumes}/${id}`;
    const patch = (body: object) => fixture.call({ method: 'PATCH', path: at, key, body });
    expect(await patch({ label: 'renamed', sizeInGb: 512 })).toMatchObject({
      status: 200,
      json: { label: 'renamed', sizeInGb: 256, growingToGb: 512, purgeAt: null },
    });
    const read = () => fixture.call({ method: 'GET', path: at, key });
    expect(await read()).toMatchObject({ status: 200, json: { id, sizeInGb: 256, growingToGb: 512 } });
    await work();
    expect(await patch({})).toMatchObject({ json: { sizeInGb: 512, growingToGb: null } });
    expect(await patch({ sizeInGb: 256 })).toMatchObject({
      status: 422,
      json: { reason: 'VOLUME_SHRINK_NOT_SUPPORTED' },
    });
    const taken = await fixture.call({
      method: 'POST',
      path: `${at}/snapshots`,
      key,
      body: { label: 'first' },
    });
    expect(taken).toMatchObject({ status: 202, json: { status: 'creating', label: 'first' } });
    await work();
    const listed = await fixture.call({ method: 'GET', path: `${at}/snapshots`, key });
    expect(listed).toMatchObject({ status: 200, json: { items: [{ status: 'ready' }], nextCursor: null } });
    const snapshot = `${at}/snapshots/${taken.json.id}`;
    expect(await fixture.call({ method: 'DELETE', path: snapshot, key })).toMatchObject({ status: 204 });
    const remove = () => fixture.call({ method: 'DELETE', path: at, key });
    const [first, second] = [await remove(), await remove()];
    expect(first).toMatchObject({ status: 202, json: { status: 'inactive' } });
    expect(second.json).toEqual(first.json);
    expect(first.json.purgeAt).not.toBeNull();
    expect(await patch({ label: 'too-late' })).toMatchObject({
      status: 400,
      json: { reason: 'VOLUME_NOT_ACTIVE' },
    });
  });

  it('hides a volume from all other organisations and keys in every operation', async () => {
    const id = await active();
    const theirs = (await (await seedOrganisation(fixture.db)).ownerKey('test')).key;
    const attach = (storageVolumeId: number) =>
      fixture.call({
        method: 'POST',
        path: `${volumes}/attach`,
        key: theirs,
        body: { storageVolumeId, rentalIds: [-1] },
      });
    const [foreign, absent] = [await attach(id), await attach(2_000_000_000)];
    expect(foreign).toMatchObject({ status: 400, json: { reason: 'VOLUME_NOT_FOUND' } });
    const { requestId: _one, ...one } = foreign.json;
    const { requestId: _other, ...other } = absent.json;
    expect(one).toEqual(other);
    // Live keys of the same organisation do not see it either.
    const { json } = await fixture.call({ method: 'GET', path: volumes, key: own.owner.key });
    expect(json).toEqual([]);
  });
});
