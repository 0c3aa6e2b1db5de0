import { toUuid } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { startRentalQueryApi } from './rental-queries.fixture.ts';
import type { Tenant } from '../model/rental.fixture.ts';

const api = await startRentalQueryApi();
afterAll(() => api.close());

async function listed(who: Tenant, query: Readonly<Record<string, string>>): Promise<readonly number[]> {
  const seen: number[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const all = new URLSearchParams({ limit: '3', ...query, ...(cursor === '' ? {} : { cursor }) });
    const { status, json } = await api.send(who, 'live', { path: `/v2/admin/rentals?${all.toString()}` });
    expect(status).toBe(200);
    seen.push(...json.items.map(({ id }: { id: number }) => id));
    cursor = json.nextCursor;
  }
  return seen;
}

describe('GET admin/rentals', () => {
  it('lists rentals of all organisations and kinds, newest first, and ended ones only on request', async () => {
    const [operator, first, second] = [
      await api.harness.tenant(),
      await api.harness.tenant(),
      await api.harness.tenant(),
    ];
    const ofFirst = await api.insertRentals(first, { live: 4, ended: 2 });
    const ofSecond = await api.insertRentals(second, { live: 2, kind: 'instance' });
    const tests = await api.insertRentals(second, { live: 1, mode: 'test' });
    const ids = (inserted: readonly { readonly wireId: number }[]) => inserted.map(({ wireId }) => wireId);
    const live = ids(ofFirst.slice(2));
    const everybody = await listed(operator, {});
    expect(everybody).toEqual(expect.arrayContaining([...live, ...ids(ofSecond), ...ids(tests)]));
    expect(everybody).not.toEqual(expect.arrayContaining(ids(ofFirst.slice(0, 1))));
    expect(await listed(operator, { organisationId: first.orgId })).toEqual(live.toReversed());
    expect(await listed(operator, { organisationId: second.orgId, mode: 'test' })).toEqual(ids(tests));
    const ended = await listed(operator, { organisationId: first.orgId, status: 'Terminated' });
    expect(new Set(ended)).toEqual(new Set(ids(ofFirst.slice(0, 2))));
    expect(await listed(operator, { organisationId: testIds.next('org') })).toEqual([]);
  });

  it('filters by the node of their machines', async () => {
    const tenant = await api.harness.tenant();
    const [rental] = await api.insertRentals(tenant, { live: 1 });
    const where = rental === undefined ? expect.fail('No rentals were inserted.') : toUuid(rental.id);
    const machines = await api.harness.rows(
      `select node_id from rental_machines where rental_id = '${where}'`,
    );
    expect(machines.length).toBeGreaterThan(0);
    const { json } = await api.send(tenant, 'live', {
      path: `/v2/admin/rentals?organisationId=${tenant.orgId}`,
    });
    const [nodeId] = json.items[0].nodeIds;
    expect(json.items[0]).toMatchObject({ externalId: where, power: 'on', gpuHeld: true });
    expect(await listed(tenant, { nodeId, organisationId: tenant.orgId })).toEqual([rental?.wireId]);
    expect(await listed(tenant, { nodeId: testIds.next('nod') })).toEqual([]);
  });
});
