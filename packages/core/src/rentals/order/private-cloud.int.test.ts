import { toUuid } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { findingsOf, runAudit } from '../../auditor/index.ts';
import { reconcileToIdle, reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { startRentalQueryApi } from '../read/rental-queries.fixture.ts';
import { DAY_MS, type Tenant } from '../model/rental.fixture.ts';
import { findRentalByWireId } from '../model/rentals.store.ts';

const api = await startRentalQueryApi({ variant: 'private-cloud' });
afterAll(() => api.close());

const cloudOf = (tenant: Tenant, fields: object = {}) => ({
  organisationId: tenant.orgId,
  name: 'apollo',
  gpuType: 'h100',
  gpuCount: 13,
  nodes: [{ privateIp: '10.1.0.1' }],
  sshUser: 'ada',
  reason: 'contract',
  ...fields,
});

const post = (tenant: Tenant, path: string, body: object) =>
  api.send(tenant, 'live', { path, method: 'POST', body });
const handOver = (tenant: Tenant, fields: object = {}) =>
  post(tenant, '/v2/admin/private-cloud-rentals', cloudOf(tenant, fields));

const rentalOf = async (tenant: Tenant, wireId: number) =>
  (await findRentalByWireId(api.harness.db, tenant.orgId, 'live', wireId)) ??
  expect.fail('The rental does not exist.');

describe('private cloud', () => {
  it('has no meter, and the audit does not report that as an error', async () => {
    const tenant = await api.harness.tenant();
    const { json } = await handOver(tenant);
    expect(json.status).toBe('Running');
    const report = await runAudit(api.harness.db, { kind: 'organisation', orgId: tenant.orgId });
    const found = report === null ? expect.fail('The audit did not run.') : findingsOf(report, 'error');
    expect(found.filter(({ subject }) => subject.id === `rental:${json.id}`)).toEqual([]);
  });

  it('with a later start date is Pending until then', async () => {
    const { harness } = api;
    const tenant = await harness.tenant();
    const startsAt = new Date(harness.clock.nowMs() + 3 * DAY_MS).toISOString();
    const { status, json } = await handOver(tenant, { startsAt });
    expect({ status, is: json.status }).toEqual({ status: 201, is: 'Pending' });
    expect(json.providerData.sshNetworking).toBeUndefined();
    const rental = await rentalOf(tenant, json.id);
    expect((await reconcileToIdle(harness, rental)).status).toBe('Pending');
    await harness.advance(3 * DAY_MS);
    const running = await reconcileUntil(harness, rental, { until: 'Running' });
    expect(running.startedAt?.toISOString()).toBe(startsAt);
  });

  it('cannot be stopped, terminated or limited by its tenant, but renamed', async () => {
    const { harness } = api;
    const tenant = await harness.tenant();
    const { json } = await handOver(tenant);
    const path = `/v2/on-demand/rentals/${json.id}`;
    const refused = [
      post(tenant, '/v2/on-demand/bare-metal-rentals/terminate', { rentalId: json.id }),
      post(tenant, `${path}/stop`, {}),
      post(tenant, `${path}/reboot`, {}),
      post(tenant, `${path}/extend`, { ttlSeconds: 3_600 }),
      api.send(tenant, 'live', { path, body: { ttlSeconds: 60 } }),
    ];
    for (const response of await Promise.all(refused)) {
      expect(response).toMatchObject({ status: 400, json: { reason: 'PRIVATE_CLOUD_UNDER_CONTRACT' } });
    }
    const renamed = await api.send(tenant, 'live', { path, body: { name: 'artemis' } });
    expect(renamed).toMatchObject({ status: 200, json: { name: 'artemis', status: 'Running' } });
  });

  it('ends without cost when the operator terminates it', async () => {
    const { harness } = api;
    const tenant = await harness.tenant({ balanceUsd: 0 });
    const { json } = await handOver(tenant);
    const rental = await rentalOf(tenant, json.id);
    await harness.advance(30 * DAY_MS);
    expect((await reconcileToIdle(harness, rental)).status).toBe('Running');
    const ended = await post(tenant, `/v2/admin/rentals/${json.id}/terminate`, { reason: 'contract ended' });
    expect(ended).toMatchObject({ status: 200, json: { finalCost: { nanoUsd: '0' } } });
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(await harness.rows(`select 1 from ledger_holds where org_id = '${toUuid(tenant.orgId)}'`)).toEqual(
      [],
    );
  });

  it('requires an existing organisation', async () => {
    const tenant = await api.harness.tenant();
    const absent = await handOver(tenant, { organisationId: testIds.next('org') });
    expect(absent).toMatchObject({ status: 404, json: { reason: 'ORGANISATION_NOT_FOUND' } });
    const path = '/v2/on-demand/bare-metal-rentals';
    expect((await api.send(tenant, 'live', { path })).json).toEqual([]);
  });

  it('is visible only to its organisation', async () => {
    const [owner, outsider] = [await api.harness.tenant(), await api.harness.tenant()];
    const { json } = await handOver(owner);
    const path = `/v2/on-demand/rentals/${json.id}`;
    expect((await api.send(owner, 'live', { path })).status).toBe(200);
    expect((await api.send(outsider, 'live', { path })).status).toBe(404);
    expect((await api.send(owner, 'test', { path })).status).toBe(404);
  });
});
