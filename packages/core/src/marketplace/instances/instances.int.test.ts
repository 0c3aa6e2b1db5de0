import { toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd, ppm } from '@millrace/platform/money';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { supplierRate } from '../../suppliers/index.ts';
import {
  CREATE,
  GPU_HOUR,
  HISTORY,
  INSTANCES,
  openMarketplaceHarness,
  OWN_GPU_HOUR_USD,
  TERMINATE,
  type MarketplaceHarness,
  type MarketTenant,
} from './instances.fixture.ts';
import { createInstance } from './instances.service.ts';

const market = await openMarketplaceHarness();
afterAll(() => market.close());
afterEach(async () => {
  expect(await market.violations()).toEqual([]);
});

const list = async (who: MarketTenant, method: 'GET' | 'POST' = 'GET') =>
  (await market.send(who, { path: INSTANCES, method })).json.instances;

const countOf = async (who: MarketTenant): Promise<number> => {
  const [row] = await market.rows<{ count: number }>(
    `select count(*)::int as count from rentals where org_id = '${toUuid(who.orgId)}'`,
  );
  return row?.count ?? -1;
};

/** Sets the final state of an instance without an engine. */
const markEnded = (name: string): Promise<unknown> =>
  market.rows(
    `update rentals set status = 'Terminated', task = null, task_deadline_at = null, next_action_at = null,
            deadline_at = null, end_accepted_at = now(), ended_at = now()
      where id = (select rental_id from instances where name = '${name}')`,
  );

/** Ledger entries name an instance by number; other callers must not find it by that. */
async function byNumber(tenant: MarketTenant, name: string): Promise<void> {
  const [row] = await market.rows<{ wire_id: number }>(
    `select wire_id from rentals join instances on instances.rental_id = rentals.id where instances.name = '${name}'`,
  );
  const path = `/v2/marketplace/instances/${String(row?.wire_id)}`;
  expect((await market.send(tenant, { path, method: 'GET' })).json).toMatchObject({ name });
  const others = [
    await market.send(await market.tenant(), { path, method: 'GET' }),
    await market.send(tenant, { path, method: 'GET', mode: 'test' }),
    await market.send(tenant, { path: '/v2/marketplace/instances/2147483647', method: 'GET' }),
    await market.send(tenant, { path: '/v2/marketplace/instances/9999999999', method: 'GET' }),
  ];
  for (const { status, json } of others) {
    expect({ status, reason: json.reason }).toEqual({ status: 404, reason: 'INSTANCE_NOT_FOUND' });
  }
}

describe('creating an instance', () => {
  it('returns the name and lists the instance with its machine, by GET and POST', async () => {
    const tenant = await market.tenant();
    const machine = await market.machine();
    const created = await market.create(tenant, machine, { gpu_count: 2, image: { name: 'x', port: 8080 } });
    expect(created).toMatchObject({ status: 200, json: { status: 'success' } });
    const { instance_name: name, instance_id: id, message } = created.json;
    expect(id).toBe(name);
    expect(message).toBe('Instance is being created');
    expect(name).toMatch(/^[a-z]+-[a-z]+-[a-z]+$/);
    const [shown, ...others] = await list(tenant);
    expect(others).toEqual([]);
    expect(shown).toMatchObject({ id: name, start: null, end: null, sshCommand: null, portMappings: [] });
    expect(shown.instance).toMatchObject({
      id: machine.node_name,
      status: 'creating',
      cluster_name: 'c1',
      gpu_count: 2,
      owner: tenant.orgId,
      gpus_total: 8,
      pricing: { price: { amount: Number(GPU_HOUR) / 1e9, period: 'hourly', agent: 'platform' } },
    });
    expect(shown.instance.instances).toEqual([
      { id: name, status: 'creating', hardware: [expect.anything(), expect.anything()] },
    ]);
    expect(await list(tenant, 'POST')).toEqual([shown]);
    expect(await list(await market.tenant())).toEqual([]);
  });

  it('makes the instance readable by name with its price, cost and steps, also after its end', async () => {
    const tenant = await market.tenant();
    const machine = await market.machine();
    const { json } = await market.create(tenant, machine, { gpu_count: 2, tags: { team: 'mill' } });
    const one = async (who: MarketTenant) =>
      market.send(who, { path: `/v2/marketplace/instances/${json.instance_name}`, method: 'GET' });
    const created = await one(tenant);
    expect(created.status).toBe(200);
    expect(created.json).toMatchObject({
      name: json.instance_name,
      status: 'creating',
      nodeName: machine.node_name,
      clusterName: 'c1',
      gpuCount: 2,
      costPerHourNanoUsd: String(GPU_HOUR * 2n),
      costSoFarNanoUsd: '0',
      startedAt: null,
      endedAt: null,
      sshCommand: null,
      ports: [],
      tags: { team: 'mill' },
    });
    expect(created.json.steps).not.toEqual([]);
    expect((await one(await market.tenant())).status).toBe(404);
    await byNumber(tenant, json.instance_name);
    await markEnded(json.instance_name);
    expect((await one(tenant)).json).toMatchObject({ status: 'terminated', endedAt: expect.any(String) });
  });

  it('freezes price, fee and supplier share, and holds money at that price', async () => {
    const tenant = await market.tenant();
    const machine = await market.machine();
    const { json } = await market.create(tenant, machine, { gpu_count: 3 });
    await market.rows(
      `update supplier_machines set price_nano_usd_per_gpu_hour = 9000000000 where node_id = '${toUuid(machine.node_name)}'`,
    );
    await market.rows(
      `update suppliers set fee_ppm = 990000 where org_id = '${toUuid(machine.supplierOrgId ?? expect.fail())}'`,
    );
    const [row] = await market.rows<{
      price: bigint;
      fee_ppm: number;
      rate: bigint;
      supplier_org_id: string;
      term: { rateNanoUsdPerHour: string };
    }>(
      `select instance.price_nano_usd_per_gpu_hour as price, instance.fee_ppm, rental.supplier_org_id,
              rental.supplier_rate_nano_usd_per_hour as rate, term.price as term
         from instances as instance join rentals as rental on rental.id = instance.rental_id
         join rental_terms as term on term.rental_id = rental.id where instance.name = '${json.instance_name}'`,
    );
    const rate = nanoUsd(GPU_HOUR * 3n);
    expect(row).toMatchObject({
      price: GPU_HOUR,
      fee_ppm: 100_000,
      supplier_org_id: toUuid(machine.supplierOrgId ?? expect.fail()),
      rate: supplierRate(rate, ppm(100_000)),
      term: { rateNanoUsdPerHour: String(rate) },
    });
    const [hold] = await market.rows<{ held: bigint }>(
      `select sum(held_nano_usd)::bigint as held from ledger_holds where org_id = '${toUuid(tenant.orgId)}'`,
    );
    expect(hold?.held).toBeGreaterThanOrEqual(meteredTotal(rate, 3_600_000));
  });

  it('uses the recently shown price if the supplier has just raised it', async () => {
    const tenant = await market.tenant();
    const machine = await market.machine();
    await market.rows(
      `update supplier_machines set price_nano_usd_per_gpu_hour = 9000000000, recent_price_until = now() + interval '1 minute',
              recent_price_nano_usd_per_gpu_hour = ${GPU_HOUR} where node_id = '${toUuid(machine.node_name)}'`,
    );
    await market.create(tenant, machine);
    const [shown] = await list(tenant);
    expect(shown.instance.pricing.price.amount).toBe(Number(GPU_HOUR) / 1e9);
    const [row] = await market.rows<{ rate: string; supplier: bigint }>(
      `select term.price ->> 'rateNanoUsdPerHour' as rate, rental.supplier_rate_nano_usd_per_hour as supplier
         from rental_terms as term join rentals as rental on rental.id = term.rental_id
        where rental.org_id = '${toUuid(tenant.orgId)}'`,
    );
    expect(row).toEqual({ rate: String(GPU_HOUR), supplier: supplierRate(nanoUsd(GPU_HOUR), ppm(100_000)) });
  });

  it("on the operator's machine uses the price and images of the cluster, without a supplier share", async () => {
    const tenant = await market.tenant();
    const machine = await market.ownMachine('live');
    const image = { name: 'pytorch', tag: '2.8', port: 8888, ports: [8888, 6006] };
    const { json } = await market.create(tenant, machine, { image });
    const [row] = await market.rows(
      `select image, custom_ports, supplier_org_id from rentals
        where id = (select rental_id from instances where name = '${json.instance_name}')`,
    );
    expect(row).toEqual({ image: 'pytorch:2.8', custom_ports: [8888, 6006], supplier_org_id: null });
    const [shown] = await list(tenant);
    expect(shown.instance.pricing.price.amount).toBe(OWN_GPU_HOUR_USD);
  });

  it('is free in test mode and limited to mock machines', async () => {
    const tenant = await market.tenant({ balanceUsd: 0 });
    const machine = await market.ownMachine('test');
    const made = await market.create(tenant, machine, {}, 'test');
    expect(made).toMatchObject({ status: 200 });
    const path = `/v2/marketplace/instances/${made.json.instance_name}`;
    const one = await market.send(tenant, { path, method: 'GET', mode: 'test' });
    expect(one.json).toMatchObject({ costPerHourNanoUsd: '0' });
    expect(await market.create(tenant, machine)).toMatchObject({
      status: 404,
      json: { reason: 'MACHINE_NOT_FOUND' },
    });
    const live = await market.machine();
    expect(await market.create(tenant, live, {}, 'test')).toMatchObject({ status: 404 });
  });

  it('creates one instance per idempotency key', async () => {
    const tenant = await market.tenant();
    const { cluster_name, node_name } = await market.machine();
    const request = {
      path: CREATE,
      body: { cluster_name, node_name, gpu_count: 1 },
      headers: { 'idempotency-key': 'once' },
    };
    const first = await market.send(tenant, request);
    const second = await market.send(tenant, request);
    expect(second.json).toEqual(first.json);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(await countOf(tenant)).toBe(1);
  });

  it("emits an event with the instance's name", async () => {
    const tenant = await market.tenant();
    const machine = await market.machine();
    const { json } = await market.create(tenant, machine);
    const events = await market.rows(
      `select type, resource_kind, resource_id, payload from outbox
        where kind = 'event' and org_id = '${toUuid(tenant.orgId)}' and type like 'instance.%'`,
    );
    expect(events).toEqual([
      {
        type: 'instance.creating',
        resource_kind: 'instance',
        resource_id: json.instance_name,
        payload: expect.objectContaining({
          instanceId: json.instance_name,
          clusterName: 'c1',
          nodeName: machine.node_name,
          gpuCount: 1,
        }),
      },
    ]);
  });
});

describe('a refused order', () => {
  it('gives the same response for absent, unlisted and invalid machines, and for another cluster', async () => {
    const tenant = await market.tenant();
    const good = await market.machine();
    const unlisted = await market.machine({ listed: false });
    const unapproved = await market.machine({ approval: 'pending' });
    const wrong = [
      { ...good, cluster_name: 'c2' },
      { ...good, node_name: 'nod_00000000000000000000000000' },
      { ...good, node_name: 'nowhere' },
      unlisted,
      unapproved,
    ];
    const responses = await Promise.all(
      wrong.map((machine) => market.create(tenant, machine as typeof good)),
    );
    for (const { status, json } of responses) {
      expect(status).toBe(404);
      expect({ ...json, request_id: null }).toEqual({ ...responses[0]?.json, request_id: null });
    }
    expect(responses[0]?.json).toMatchObject({ error_code: 404, reason: 'MACHINE_NOT_FOUND' });
    expect(await countOf(tenant)).toBe(0);
  });

  it.each([
    ['more GPUs than the machine has', { gpu_count: 9 }, 400, 'GPU_COUNT_EXCEEDS_AVAILABLE'],
    ['user data that cannot be run', { user_data: 'hello' }, 400, 'VALIDATION_FAILED'],
    ['a spending limit that is too low', { max_usd: 0.000001 }, 402, 'MAX_USD_EXCEEDED'],
    ['unknown SSH keys', { ssh_key_ids: ['ssh_00000000000000000000000000'] }, 404, 'SSH_KEY_NOT_FOUND'],
    ['an image that is a path', { image: { name: '../etc' } }, 400, 'IMAGE_NOT_FOUND'],
    [
      'an idle rule with the action stop',
      { idle: { afterSeconds: 300, action: 'stop' } },
      400,
      'VALIDATION_FAILED',
    ],
  ])('for %s leaves nothing', async (_what, more, status, reason) => {
    const tenant = await market.tenant();
    const response = await market.create(tenant, await market.machine(), more);
    expect([response.status, response.json.reason]).toEqual([status, reason]);
    expect(await countOf(tenant)).toBe(0);
  });

  it('responds 402 without money, 400 without an SSH key, and 400 while the machine drains', async () => {
    const machine = await market.machine();
    const poor = await market.create(await market.tenant({ balanceUsd: 0 }), machine);
    expect(poor).toMatchObject({ status: 402, json: { error_code: 402, reason: 'INSUFFICIENT_BALANCE' } });
    const locked = await market.create(await market.tenant({ ssh: 'none' }), machine);
    expect(locked).toMatchObject({ status: 400, json: { reason: 'NO_PUBLIC_KEY' } });
    await market.rows(`update nodes set status = 'node_draining' where id = '${toUuid(machine.node_name)}'`);
    await market.rows(
      `update node_capacity set ready = false where node_id = '${toUuid(machine.node_name)}'`,
    );
    const draining = await market.create(await market.tenant(), machine);
    expect(draining).toMatchObject({ status: 400, json: { reason: 'MACHINE_NOT_READY' } });
  });

  it('responds 402 for a supplier’s machine with only promotional credit, and says why; the operator’s machines accept it', async () => {
    const tenant = await market.tenant({ balanceUsd: 0 });
    await market.give(tenant, 100);
    const refused = await market.create(tenant, await market.machine());
    expect(refused).toMatchObject({ status: 402, json: { reason: 'INSUFFICIENT_BALANCE' } });
    expect(refused.json.message).toMatch(/without promotional credit/);
    expect(await countOf(tenant)).toBe(0);
    expect(await market.create(tenant, await market.ownMachine('live'))).toMatchObject({ status: 200 });
  });

  it('with only an id refers to the terminate path', async () => {
    const tenant = await market.tenant();
    const response = await market.send(tenant, { path: CREATE, body: { id: 'quiet-river-otter' } });
    expect(response).toMatchObject({ status: 400, json: { reason: 'WRONG_MARKETPLACE_PATH' } });
  });
});

describe('concurrent orders', () => {
  it('64 creates on a machine with 8 free GPUs sell exactly 8 and refuse the others', async () => {
    const machine = await market.machine();
    const tenants = await Promise.all(Array.from({ length: 16 }, () => market.tenant()));
    // On a slow machine some calls get 503 while waiting for a connection, and retry as clients do.
    const createAtLast = async (tenant: MarketTenant): ReturnType<MarketplaceHarness['create']> => {
      const response = await market.create(tenant, machine);
      return response.status === 503 ? createAtLast(tenant) : response;
    };
    const responses = await Promise.all(
      Array.from({ length: 64 }, (_, nth) => createAtLast(tenants[nth % 16] ?? expect.fail())),
    );
    const outcomes = Map.groupBy(responses, ({ status, json }) => (status === 200 ? 'sold' : json.reason));
    expect(outcomes.get('sold')).toHaveLength(8);
    expect(outcomes.get('GPU_COUNT_EXCEEDS_AVAILABLE')).toHaveLength(56);
    const names = new Set(responses.flatMap(({ json }) => json.instance_name ?? []));
    expect(names.size).toBe(8);
    const [sold] = await market.rows<{ gpus: number; rentals: number }>(
      `select count(distinct gpu_id)::int as gpus, count(distinct allocation_id)::int as rentals from allocated_gpus
        where node_id = '${toUuid(machine.node_name)}' and released_at is null`,
    );
    expect(sold).toEqual({ gpus: 8, rentals: 8 });
  });

  it('orders that draw the same name get different names', async () => {
    const machine = await market.machine();
    const random = (): number => 0;
    const names = await Promise.all(
      [await market.tenant(), await market.tenant(), await market.tenant()].map((tenant, nth) =>
        market.db.transaction({ name: 'create instance', isolation: 'read committed' }, async (tx) => {
          const body = { cluster_name: machine.cluster_name, node_name: machine.node_name, gpu_count: 1 };
          const { name } = await createInstance(tx, tenant.call('live'), body, 2_000_000 + nth, { random });
          return name;
        }),
      ),
    );
    expect(new Set(names).size).toBe(3);
    const words = names.map((name) => name.split('-').slice(0, 3).join('-'));
    expect(new Set(words).size).toBe(1);
  });
});

describe('terminating an instance', () => {
  it('stops the instance and succeeds again when repeated', async () => {
    const tenant = await market.tenant();
    const { json } = await market.create(tenant, await market.machine());
    const body = { id: json.instance_name };
    const first = await market.send(tenant, { path: TERMINATE, body });
    expect(first).toMatchObject({
      status: 200,
      json: { status: 'success', message: 'Instance terminated' },
    });
    expect((await list(tenant))[0].instance.status).toBe('stopping');
    expect((await market.send(tenant, { path: TERMINATE, body })).json).toEqual(first.json);
    await markEnded(json.instance_name);
    expect((await market.send(tenant, { path: TERMINATE, body })).json).toEqual(first.json);
    expect(await list(tenant)).toEqual([]);
    const audited = await market.rows(
      `select action, resource_kind, resource_id from audit_log
        where org_id = '${toUuid(tenant.orgId)}' and resource_kind = 'instance' order by id`,
    );
    expect(audited).toEqual([
      { action: 'instance.created', resource_kind: 'instance', resource_id: json.instance_name },
      { action: 'instance.terminated', resource_kind: 'instance', resource_id: json.instance_name },
    ]);
  });

  it('gives the same response for instances of others, of the other mode, and unknown ones', async () => {
    const tenant = await market.tenant();
    const { json } = await market.create(tenant, await market.machine());
    const end = (who: MarketTenant, id: string, mode: 'live' | 'test' = 'live') =>
      market.send(who, { path: TERMINATE, body: { id }, mode });
    const other = await market.tenant();
    const responses = [
      await end(other, json.instance_name),
      await end(tenant, json.instance_name, 'test'),
      await end(tenant, 'no-such-instance'),
      await end(tenant, '1'),
    ];
    for (const response of responses) {
      expect(response.status).toBe(404);
      expect({ ...response.json, request_id: null }).toEqual({ ...responses[0]?.json, request_id: null });
    }
    expect((await list(tenant))[0].instance.status).toBe('creating');
  });
});

describe('instance history', () => {
  it("lists the organisation's ended instances, most recent first, page by page", async () => {
    const tenant = await market.tenant();
    const machine = await market.machine();
    const names: string[] = [];
    for (let nth = 0; nth < 3; nth += 1) {
      const { json } = await market.create(tenant, machine);
      await market.send(tenant, { path: TERMINATE, body: { id: json.instance_name } });
      await markEnded(json.instance_name);
      names.push(json.instance_name);
    }
    await market.create(tenant, machine);
    const whole = await market.send(tenant, { path: HISTORY });
    expect(
      whole.json.instance_history.map((entry: { instance_name: string }) => entry.instance_name),
    ).toEqual(names.toReversed());
    expect(whole.json.instance_history[0]).toMatchObject({
      started_at: null,
      terminated_at: expect.any(String),
      price: { amount: Number(GPU_HOUR) / 1e9, period: 'hourly', agent: 'platform' },
      hardware: { gpus: expect.any(Array) },
      gpu_count: 1,
      cost_nano_usd: '0',
    });
    const first = await market.send(tenant, { path: `${HISTORY}?limit=2` });
    expect(first.json.instance_history).toHaveLength(2);
    const next =
      /^<([^>]+)>; rel="next"$/.exec(String(first.headers['link']))?.[1] ??
      expect.fail('There is no link header.');
    const second = await market.send(tenant, { path: next });
    expect(second.json.instance_history).toEqual(whole.json.instance_history.slice(2));
    expect(second.headers['link']).toBeUndefined();
    expect((await market.send(await market.tenant(), { path: HISTORY })).json).toEqual({
      instance_history: [],
    });
  });
});
