import { isKeyRejected, loginAndCountGpus } from '@millrace/compute/readiness';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  createFaultyDriver,
  reconcileToIdle,
  reconcileUntil,
  type InjectedFault,
} from './reconcile.fixture.ts';
import { listMachines } from '../model/machines.store.ts';
import { kinds, rentAs, type Kind } from '../marketplace.fixture.ts';
import { createRentalHarness, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, rentalResourceOf, type Rental } from '../model/rental.ts';
import { listProvisioningSteps } from '../model/provisioning-steps.store.ts';
import { terminateRental } from '../actions/termination.service.ts';

// Rentals stay after each test, and a gang of two takes two nodes.
const harness = await createRentalHarness({ metalFabrics: 12 });
afterAll(() => harness.drop());
afterEach(async () => {
  expect(await harness.violations()).toEqual([]);
});

const never = new AbortController().signal;

const machineOf = async (rental: Rental) => {
  const [machine] = await listMachines(harness.db, rental.orgId, rental.id, 'all');
  return machine ?? expect.fail('The rental has no machine.');
};

/** Machines of the organisation that engines still have. */
const left = async (tenant: Tenant): Promise<number> => {
  const lists = await Promise.all(
    Object.values(harness.engines).map(({ driver }) => driver.listOwned(never)),
  );
  return lists.flatMap(({ machines }) => machines).filter(({ orgId }) => orgId === tenant.orgId).length;
};

async function expectCleanSlate(tenant: Tenant, rental: Rental): Promise<void> {
  expect(await left(tenant)).toBe(0);
  expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(0n);
  expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  const [{ live } = { live: -1 }] = await harness.rows<{ live: number }>(
    `select count(*)::int as live from allocations where state <> 'released' and external_id in
       (select id from rentals where wire_id = ${rental.wireId})`,
  );
  expect(live).toBe(0);
}

const eventsOf = async (rental: Rental): Promise<readonly string[]> => {
  const { kind, id } = rentalResourceOf(rental);
  const events = await harness.rows<{ type: string }>(
    `select type from outbox where kind = 'event' and resource_kind = '${kind}' and resource_id = '${id}' order by seq`,
  );
  return events.map(({ type }) => type);
};

const rentalEvents = ['rental.pending', 'rental.running', 'rental.terminating', 'rental.terminated'];

const expectedEvents: Readonly<Record<Kind, readonly string[]>> = {
  'virtual-machine': rentalEvents,
  'bare-metal': rentalEvents,
  instance: [
    'instance.creating',
    'instance.starting',
    'instance.online',
    'instance.stopping',
    'instance.terminated',
  ],
};

describe.each(kinds)('a $kind rental', ({ kind }) => {
  it('is provisioned, verified, open only to its tenant, and deleted completely', async () => {
    const tenant = await harness.tenant();
    const accepted = await rentAs(harness, kind, tenant, { gpuCount: 2 });
    const rental = await reconcileUntil(harness, accepted, { until: 'Running' });
    expect(rental).toMatchObject({ power: 'on', task: null, gpuHeld: true });
    expect(rental.startedAt).not.toBeNull();
    const machine = await machineOf(rental);
    expect(machine).toMatchObject({ state: 'open', proofKey: null });
    const target = {
      host: machine.address ?? '',
      port: machine.ports[0]?.externalPort ?? 0,
      user: machine.sshUser ?? '',
      privateKey: tenant.ssh.privateKey,
      hostKey: machine.hostKey,
    };
    const gpuCount = rental.gpusPerNode;
    expect(await loginAndCountGpus(target, never)).toMatchObject({ outcome: 'in', gpuCount });
    const steps = await listProvisioningSteps(harness.db, rental.orgId, rental.id);
    expect(steps.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'place done',
      'create done',
      'prove done',
      'open done',
    ]);
    await harness.run((tx) =>
      terminateRental(tx, tenant.orgId, rental.id, {
        reason: 'done',
        actor: tenant.call('live').cause.actor,
      }),
    );
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(await left(tenant)).toBe(0);
    expect(await isKeyRejected(target, never)).toBe('unreachable');
    expect(await eventsOf(rental)).toEqual(expectedEvents[kind]);
  });
});

const commits = ['take proof key', 'advance machine', 'enter running'];
const placesOf = ({ opensPorts }: (typeof kinds)[number]): readonly InjectedFault['at'][] =>
  opensPorts ? ['create', 'describe', 'setKeys', 'setPorts'] : ['create', 'describe', 'setKeys'];

describe.each(kinds)('provisioning a $kind rental', (how) => {
  const { kind, attempts, machines: machineCount } = how;
  const places = placesOf(how);

  it.each(
    [...places, ...commits].flatMap((at) => (['before', 'after'] as const).map((when) => ({ at, when }))),
  )('continues after a failure $when $at', async (sabotage) => {
    const tenant = await harness.tenant();
    const faultyDriver = createFaultyDriver(harness);
    const accepted = await rentAs(harness, kind, tenant, { customPorts: [8080] });
    faultyDriver.plan(sabotage);
    const rental = await reconcileUntil(harness, accepted, { until: 'Running', faultyDriver });
    expect(faultyDriver.spent()).toBe(true);
    expect(await left(tenant)).toBe(machineCount);
    expect(await machineOf(rental)).toMatchObject({ state: 'open', attempt: 1 });
  });

  it.each(places)('ends as Failed without cost if %s fails on every allowed host', async (at) => {
    const tenant = await harness.tenant();
    const faultyDriver = createFaultyDriver(harness);
    const accepted = await rentAs(harness, kind, tenant, { customPorts: [8080] });
    // Each machine of each attempt may fail; remaining faults would delay the deletion.
    faultyDriver.plan({ at, when: 'before', kind: 'failed', times: attempts * machineCount });
    const failed = await reconcileUntil(harness, accepted, { until: 'Failed', faultyDriver });
    expect(failed.statusReason).not.toBeNull();
    const ended = await reconcileUntil(harness, failed, { until: 'Terminated', faultyDriver });
    const machines = await listMachines(harness.db, ended.orgId, ended.id, 'all');
    expect(new Set(machines.map(({ nodeId }) => nodeId)).size).toBe(attempts * machineCount);
    await expectCleanSlate(tenant, ended);
  });

  it('happens once with concurrent workers', async () => {
    const tenant = await harness.tenant();
    const accepted = await rentAs(harness, kind, tenant, { gpuCount: 4 });
    const rental = await reconcileUntil(harness, accepted, { until: 'Running', workers: 4 });
    expect(await left(tenant)).toBe(machineCount);
    const cause = causeOfRental(rental);
    const meters = await harness.rows(
      `select 1 from meters where cause_kind = '${cause.kind}' and cause_id = '${cause.id}'`,
    );
    expect(meters).toHaveLength(1);
  });
});

const movable = kinds.filter(({ attempts }) => attempts > 1);

describe.each(movable)('provisioning a $kind rental that may move', (how) => {
  it.each(placesOf(how))(
    'moves once to other hosts if %s fails permanently, and deletes the first machines',
    async (at) => {
      const tenant = await harness.tenant();
      const faultyDriver = createFaultyDriver(harness);
      const accepted = await rentAs(harness, how.kind, tenant, { customPorts: [8080] });
      faultyDriver.plan({ at, when: 'before', kind: 'failed' });
      const rental = await reconcileUntil(harness, accepted, { until: 'Running', faultyDriver });
      const machines = await listMachines(harness.db, rental.orgId, rental.id, 'all');
      expect(new Set(machines.map(({ nodeId }) => nodeId)).size).toBe(2 * how.machines);
      expect(machines.at(-1)).toMatchObject({ state: 'open', attempt: 2 });
      await reconcileToIdle(harness, rental);
      expect(await left(tenant)).toBe(how.machines);
    },
  );
});
