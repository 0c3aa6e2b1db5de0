import { DriverError, type ComputeDriver, type DriverErrorKind, type MachineRef } from '@millrace/compute';
import { isKeyRejected, type SshTarget } from '@millrace/compute/readiness';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  createFaultyDriver,
  SimulatedCrash,
  reconcileToIdle,
  reconcileUntil,
  reconcileDepsOf,
  withDriver,
} from './reconcile.fixture.ts';
import { expectConsistent, meters } from '../lifecycle.fixture.ts';
import { lockRentalView } from '../actions/termination.service.ts';
import { listMachines } from '../model/machines.store.ts';
import { sshPortOf } from './machine-spec.ts';
import { stopRental } from '../actions/power.service.ts';
import { unsealKey } from './provisioning.steps.ts';
import { createRentalHarness, SECOND_MS, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental, type RentalMachine, rentalsActor } from '../model/rental.ts';
import { listProvisioningSteps } from '../model/provisioning-steps.store.ts';

/** Tests that a tenant has no access before Running, when billing starts. */

const harness = await createRentalHarness();
afterAll(() => harness.drop());
afterEach(() => expectConsistent(harness));

const never = new AbortController().signal;
const program = '#!/bin/sh\nsystemctl stop ssh\n';

const machineOf = async (rental: Rental): Promise<RentalMachine> => {
  const machine = (await listMachines(harness.db, rental.orgId, rental.id, 'all')).at(-1);
  return machine ?? expect.fail('The rental has no machine.');
};

/** The platform's login while the readiness key still works. */
async function platformTarget(rental: Rental): Promise<SshTarget> {
  const machine = await machineOf(rental);
  const key =
    unsealKey(reconcileDepsOf(harness), machine) ?? expect.fail('The readiness key was already deleted.');
  const { address, sshUser, hostKey } = machine;
  return {
    host: address ?? expect.fail('The machine has no address.'),
    port: sshPortOf(machine) ?? 0,
    user: sshUser ?? '',
    privateKey: key.privateKey,
    hostKey,
  };
}

/** Makes the machine unreachable. */
const closePorts = (driver: ComputeDriver, machine: MachineRef) => driver.setPorts(machine, [], never);

const started = async (rental: Rental): Promise<readonly string[]> =>
  (await harness.engines.live.memory.read(await machineOf(rental)))?.machine.userDataRuns ?? [];

const rent = (tenant: Tenant, userData: string | null = program): Promise<Rental> =>
  harness.rent(tenant, 'live', { customPorts: [8080], ...(userData === null ? {} : { userData }) });

describe('before the readiness check has passed', () => {
  it('a machine has only the readiness key, and no key, port or user data of its tenant', async () => {
    const tenant = await harness.tenant();
    const accepted = await rent(tenant);
    const seen: string[] = [];
    const watched = withDriver(harness, (driver) => {
      const look = async (at: string): Promise<void> => {
        const stored = await harness.engines.live.memory.read(await machineOf(accepted));
        if (stored === null) return;
        const { sshKeys, ports, userData, userDataRuns } = stored.machine;
        const isTheirs = sshKeys.some((key) => key.includes(tenant.ssh.publicKey.split(' ')[1] ?? ''));
        seen.push(`${at}: ${ports.length} ${isTheirs} ${userData} ${userDataRuns.length}`);
      };
      return {
        describe: async (machine, signal) => {
          await look('describe');
          return driver.describe(machine, signal);
        },
        setPorts: async (machine, ports, signal) => {
          await look('setPorts');
          await driver.setPorts(machine, ports, signal);
        },
        runUserData: async (machine, text, signal) => {
          await look('runUserData');
          await driver.runUserData(machine, text, signal);
        },
      };
    });
    await reconcileUntil(watched, accepted, { until: 'Running' });
    expect(new Set(seen)).toEqual(
      new Set(['describe: 1 false null 0', 'setPorts: 1 false null 0', 'runUserData: 2 true null 0']),
    );
  });

  it('closed ports of a running machine are opened again', async () => {
    const accepted = await rent(await harness.tenant(), null);
    let isOpen = false;
    // Incus was killed after it started the container and before it listened at the ports. Opening ports that Incus considers
    // open has no effect.
    const interrupted = withDriver(harness, (driver) => ({
      create: async (spec, signal) => {
        await driver.create(spec, signal);
        await closePorts(driver, spec);
      },
      setPorts: async (machine, ports, signal) => {
        if (ports.length === 0) isOpen = true;
        if (isOpen) await driver.setPorts(machine, ports, signal);
      },
    }));
    await reconcileUntil(interrupted, accepted, { until: 'Running', rounds: 60 });
    expect((await machineOf(accepted)).attempt).toBe(1);
  });
});

describe('server with an unexpected host key', () => {
  it('fails the readiness check, gets no tenant keys or user data, and costs nothing', async () => {
    const accepted = await rent(await harness.tenant());
    const answering: MachineRef[] = [];
    const untrusted = withDriver(harness, (driver) => ({
      // Everything else is correct: address, port, readiness key and GPUs.
      create: async ({ hostKey, ...spec }, signal) => {
        expect(hostKey?.publicKey).toMatch(/^ssh-ed25519 /);
        answering.push(spec);
        await driver.create(spec, signal);
      },
      runUserData: async () => expect.fail('User data was sent to another machine.'),
      setKeys: async () => expect.fail("The tenant's keys were sent to another machine."),
    }));
    const failed = await reconcileUntil(untrusted, accepted, { until: 'Failed' });
    for (const machine of await listMachines(harness.db, failed.orgId, failed.id, 'all')) {
      expect(machine).toMatchObject({ hostKey: null });
    }
    for (const machine of answering) {
      const stored = await harness.engines.live.memory.read(machine);
      expect(stored?.machine.userDataRuns ?? []).toEqual([]);
    }
    const steps = await listProvisioningSteps(harness.db, failed.orgId, failed.id);
    expect(steps.filter(({ name }) => name === 'open')).toEqual([]);
    expect(steps.find(({ name }) => name === 'prove')).toMatchObject({
      status: 'failed',
      message: 'The machine presented an unexpected host key.',
    });
    const ended = await reconcileUntil(untrusted, failed, { until: 'Terminated' });
    expect(await harness.paid(ended.orgId, causeOfRental(ended))).toBe(0n);
  });

  it('cannot learn the private host key, which is stored sealed and deleted at the hand-over', async () => {
    const accepted = await rent(await harness.tenant(), null);
    let privateKey = '';
    const watched = withDriver(harness, (driver) => ({
      create: async (spec, signal) => {
        privateKey = spec.hostKey?.privateKey ?? '';
        const { proofKey } = await machineOf(accepted);
        expect(proofKey).not.toBeNull();
        expect(proofKey).not.toContain(privateKey.split('\n')[1]);
        await driver.create(spec, signal);
      },
    }));
    const running = await reconcileUntil(watched, accepted, { until: 'Running' });
    expect(privateKey).toContain('OPENSSH PRIVATE KEY');
    expect(await machineOf(running)).toMatchObject({
      proofKey: null,
      hostKey: expect.stringMatching(/^SHA256:/),
    });
    const stored = await harness.engines.live.memory.read(await machineOf(running));
    expect(JSON.stringify(stored?.machine)).not.toContain(privateKey.split('\n')[1]);
  });
});

describe('server that does not know the readiness key yet', () => {
  it('is retried only several seconds after each refused login', async () => {
    const accepted = await rent(await harness.tenant(), null);
    const logins: number[] = [];
    let key = '';
    const slow = withDriver(harness, (driver) => ({
      // For example, a first boot that installs keys after its SSH server has started.
      create: async (spec, signal) => {
        key = spec.sshKeys[0] ?? '';
        await driver.create({ ...spec, sshKeys: [] }, signal);
      },
      describe: async (machine, signal) => {
        logins.push(harness.clock.nowMs());
        if (logins.length === 8) await driver.setKeys(machine, [key], signal);
        return driver.describe(machine, signal);
      },
    }));
    await reconcileUntil(slow, accepted, { until: 'Running' });
    // Only a connection failure may be retried sooner.
    const gaps = logins.slice(-5).map((ms, index, all) => ms - (all[index - 1] ?? ms - 6_000));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(6_000);
  });
});

describe('when the rental is Running', () => {
  it('the readiness key is deleted, and was refused before anything of the tenant ran', async () => {
    const accepted = await rent(await harness.tenant());
    let target: SshTarget | undefined;
    const results: string[] = [];
    const watched = withDriver(harness, (driver) => ({
      setKeys: async (machine, keys, signal) => {
        target = await platformTarget(accepted);
        results.push(await isKeyRejected(target, never));
        await driver.setKeys(machine, keys, signal);
      },
      runUserData: async (machine, text, signal) => {
        results.push(await isKeyRejected(target ?? expect.fail('No keys were set.'), never));
        await driver.runUserData(machine, text, signal);
      },
    }));
    const rental = await reconcileUntil(watched, accepted, { until: 'Running' });
    results.push(await isKeyRejected(target ?? expect.fail('No keys were set.'), never));
    expect(results).toEqual(['accepted', 'refused', 'refused']);
    expect(await machineOf(rental)).toMatchObject({ state: 'open', proofKey: null });
  });

  it('its user data was started once and is deleted', async () => {
    const rental = await reconcileUntil(harness, await rent(await harness.tenant()), { until: 'Running' });
    expect(rental.userData).toBeNull();
    expect(await started(rental)).toHaveLength(1);
  });
});

describe('user data that locks the platform out', () => {
  it.each(['note let in', 'enter running'])(
    'does not delay Running if the process crashes around %s',
    async (at) => {
      const accepted = await rent(await harness.tenant());
      const hostile = withDriver(harness, (driver) => ({
        runUserData: async (machine, text, signal) => {
          await driver.runUserData(machine, text, signal);
          await closePorts(driver, machine);
        },
      }));
      const faultyDriver = createFaultyDriver(hostile);
      faultyDriver.plan({ at, when: at === 'note let in' ? 'after' : 'before' });
      const rental = await reconcileUntil(hostile, accepted, { until: 'Running', faultyDriver });
      expect(faultyDriver.spent()).toBe(true);
      expect(await machineOf(rental)).toMatchObject({ attempt: 1, state: 'open' });
      const [meter] = await meters(harness, rental);
      expect(meter).toMatchObject({ name: 'gpu', state: 'open', openedAt: rental.startedAt });
    },
  );

  it.each<DriverErrorKind>(['unavailable', 'busy', 'failed', 'refused'])(
    'and fails as %s is billed from its first try',
    async (kind) => {
      const accepted = await rent(await harness.tenant());
      let calls = 0;
      const hostile = withDriver(harness, (driver) => ({
        runUserData: async (machine, text, signal) => {
          calls += 1;
          if (calls === 1) await driver.runUserData(machine, text, signal);
          throw new DriverError(kind, 'The shell does not respond.');
        },
      }));
      const rental = await reconcileUntil(hostile, accepted, { until: 'Running' });
      expect(calls).toBe(1);
      expect(await meters(harness, rental)).toMatchObject([{ state: 'open', openedAt: rental.startedAt }]);
      const settled = await reconcileToIdle(hostile, rental);
      expect(settled).toMatchObject({
        status: 'Running',
        userData: null,
        statusReason: 'The user data could not be started.',
      });
    },
  );

  it('that was lost before the start is started after Running', async () => {
    const accepted = await rent(await harness.tenant());
    let calls = 0;
    const lossy = withDriver(harness, (driver) => ({
      runUserData: async (machine, text, signal) => {
        calls += 1;
        if (calls <= 2) throw new DriverError('unavailable', 'Lost.');
        await driver.runUserData(machine, text, signal);
      },
    }));
    const rental = await reconcileUntil(lossy, accepted, { until: 'Running' });
    expect(rental.userData).toBe(program);
    expect(await reconcileToIdle(lossy, rental)).toMatchObject({ userData: null, statusReason: null });
    expect(await started(rental)).toHaveLength(1);
  });

  it('is started over SSH if the engine cannot, and the status reason says so if both fail', async () => {
    const accepted = await rent(await harness.tenant());
    const without = withDriver(harness, (driver) => ({
      can: { ...driver.can, runUserData: false },
      runUserData: async () => {
        throw new DriverError('unsupported', 'This engine cannot run user data.');
      },
    }));
    const rental = await reconcileUntil(without, accepted, { until: 'Running' });
    expect(await meters(harness, rental)).toMatchObject([{ state: 'open', openedAt: rental.startedAt }]);
    expect(await reconcileToIdle(without, rental)).toMatchObject({
      userData: null,
      statusReason: 'The user data could not be started.',
    });
  });

  it('that the image cannot run fails the rental without cost', async () => {
    const accepted = await rent(await harness.tenant());
    const without = withDriver(harness, () => ({
      runUserData: async () => {
        throw new DriverError('unsupported', 'The image has no cloud-init.');
      },
    }));
    const failed = await reconcileUntil(without, accepted, { until: 'Failed' });
    expect(failed.statusReason).toBe(
      'The image cannot run this user data. Choose another image or other user data.',
    );
    const ended = await reconcileUntil(without, failed, { until: 'Terminated' });
    expect(await harness.paid(ended.orgId, causeOfRental(ended))).toBe(0n);
  });
});

describe('tenant with access that is not recorded yet', () => {
  it('loses the machine within seconds if it locks the platform out, not at the end of the attempt', async () => {
    const accepted = await rent(await harness.tenant(), null);
    let isClosed = false;
    const hostile = withDriver(harness, (driver) => ({
      setKeys: async (machine, keys, signal) => {
        if (isClosed) throw new DriverError('unavailable', 'The tenant refuses the login.');
        await driver.setKeys(machine, keys, signal);
        isClosed = true;
        await closePorts(driver, machine);
        throw new SimulatedCrash('after the keys were set');
      },
      // The other host works.
      create: async (spec, signal) => {
        isClosed = false;
        await driver.create(spec, signal);
      },
    }));
    const failed = await reconcileUntil(hostile, accepted, { until: 'Failed' });
    const steps = await listProvisioningSteps(harness.db, failed.orgId, failed.id);
    for (const { name, startedAt, endedAt } of steps) {
      if (name !== 'open') continue;
      expect((endedAt?.getTime() ?? 0) - startedAt.getTime()).toBeLessThan(45 * SECOND_MS);
    }
    expect(steps.filter(({ name }) => name === 'open')).toHaveLength(2);
    const ended = await reconcileUntil(hostile, failed, { until: 'Terminated' });
    expect(await harness.paid(ended.orgId, causeOfRental(ended))).toBe(0n);
  });
});

describe('machine that accepts logins before its engine has completed the start', () => {
  /** The engine reports `changing` until Running; the test defines its later reports. */
  const starting = (after: (driver: ComputeDriver) => Partial<ComputeDriver>) => {
    let isRunning = false;
    const wrapped = withDriver(harness, (driver) => ({
      start: driver.start,
      ...after(driver),
      describe: async (machine, signal) => {
        const view = await driver.describe(machine, signal);
        if (isRunning || view === null)
          return (after(driver).describe ?? driver.describe).call(driver, machine, signal);
        return { ...view, power: 'changing', privateIps: [] };
      },
    }));
    const run = async (): Promise<Rental> => {
      const rental = await reconcileUntil(wrapped, await rent(await harness.tenant(), null), {
        until: 'Running',
      });
      expect(await machineOf(rental)).toMatchObject({ starting: true, privateIp: null });
      isRunning = true;
      return rental;
    };
    return { wrapped, run };
  };

  it('becomes Running and billed at once, and its address is stored when the start completes', async () => {
    const { wrapped, run } = starting(() => ({}));
    const rental = await reconcileToIdle(wrapped, await run());
    expect(rental).toMatchObject({ status: 'Running', power: 'on', task: null });
    const machine = await machineOf(rental);
    expect(machine.starting).toBe(false);
    expect(machine.privateIp).not.toBeNull();
  });

  it('is handed over only after the deploy if it is a whole node', async () => {
    const rented = await rent(await harness.tenant(), null);
    const tries: number[] = [];
    const wrapped = withDriver(harness, (driver) => ({
      can: { ...driver.can, sharesNodes: false },
      describe: async (machine, signal) => {
        const view = await driver.describe(machine, signal);
        tries.push((await machineOf(rented)).tries);
        return view === null || tries.length > 3 ? view : { ...view, power: 'changing' };
      },
    }));
    const rental = await reconcileUntil(wrapped, rented, { until: 'Running' });
    // Checks during the deploy are not counted, because GPUs may be missing for a while after it.
    expect(tries.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(await machineOf(rental)).toMatchObject({ starting: false });
  });

  it('is started again if the start failed', async () => {
    const { wrapped, run } = starting(() => ({}));
    const rental = await run();
    await harness.engines.live.driver.stop(await machineOf(rental), { graceMs: 0 }, never);
    await reconcileToIdle(wrapped, rental);
    expect(await machineOf(rental)).toMatchObject({ starting: false });
    expect((await harness.engines.live.driver.describe(await machineOf(rental), never))?.power).toBe('on');
  });

  it('fails without cost if its host cannot start it', async () => {
    const { wrapped, run } = starting(() => ({
      start: async () => {
        throw new DriverError('no_capacity', 'No such device.');
      },
    }));
    const rental = await run();
    await harness.engines.live.driver.stop(await machineOf(rental), { graceMs: 0 }, never);
    await harness.advance(5 * SECOND_MS);
    const failed = await reconcileUntil(wrapped, rental, { until: 'Failed' });
    expect(failed.statusReason).toBe('The host could not complete the start of the machine.');
    const ended = await reconcileUntil(wrapped, failed, { until: 'Terminated' });
    expect(await harness.paid(ended.orgId, causeOfRental(ended))).toBe(0n);
    expect((await harness.balance(ended.orgId)).held).toBe(0n);
  });

  it('stays off if its tenant stops it before the start was confirmed', async () => {
    const { wrapped, run } = starting(() => ({}));
    const rental = await run();
    await harness.run(async (tx) =>
      stopRental(tx, await lockRentalView(tx, rental.orgId, rental.id), {
        release: false,
        actor: rentalsActor,
      }),
    );
    expect(await reconcileToIdle(wrapped, rental)).toMatchObject({ power: 'off', task: null });
    expect(await machineOf(rental)).toMatchObject({ starting: false });
  });
});

describe('tenant keys', () => {
  it('are set again if the process crashed before it stored that they were set', async () => {
    const tenant = await harness.tenant();
    const accepted = await rent(tenant, null);
    const faultyDriver = createFaultyDriver(harness);
    faultyDriver.plan({ at: 'enter running', when: 'before' });
    const rental = await reconcileUntil(harness, accepted, { until: 'Running', faultyDriver });
    const stored = await harness.engines.live.memory.read(await machineOf(rental));
    expect(stored?.machine.sshKeys).toEqual([tenant.ssh.publicKey]);
    expect(rental.attempt).toBe(1);
  });
});
