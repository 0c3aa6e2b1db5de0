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

/** What a tenant can do before a rental is Running, which is from when on it is paid for: nothing. */

const harness = await createRentalHarness();
afterAll(() => harness.drop());
afterEach(() => expectConsistent(harness));

const never = new AbortController().signal;
const program = '#!/bin/sh\nsystemctl stop ssh\n';

const machineOf = async (rental: Rental): Promise<RentalMachine> => {
  const machine = (await listMachines(harness.db, rental.orgId, rental.id, 'all')).at(-1);
  return machine ?? expect.fail('There is no machine.');
};

/** As the platform itself would log in, while it still could. */
async function platformTarget(rental: Rental): Promise<SshTarget> {
  const machine = await machineOf(rental);
  const key = unsealKey(reconcileDepsOf(harness), machine) ?? expect.fail('Its key is forgotten already.');
  const { address, sshUser, hostKey } = machine;
  return {
    host: address ?? expect.fail('It has no address.'),
    port: sshPortOf(machine) ?? 0,
    user: sshUser ?? '',
    privateKey: key.privateKey,
    hostKey,
  };
}

/** Its system lets nobody in any more. */
const closePorts = (driver: ComputeDriver, machine: MachineRef) => driver.setPorts(machine, [], never);

const started = async (rental: Rental): Promise<readonly string[]> =>
  (await harness.engines.live.memory.read(await machineOf(rental)))?.machine.userDataRuns ?? [];

const rent = (tenant: Tenant, userData: string | null = program): Promise<Rental> =>
  harness.rent(tenant, 'live', { customPorts: [8080], ...(userData === null ? {} : { userData }) });

describe('until it is proven', () => {
  it('a machine has the platform’s key and nothing of its tenant’s: no key, no port, no user data', async () => {
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

  it('a machine that runs with closed ports has them opened again', async () => {
    const accepted = await rent(await harness.tenant(), null);
    let isOpen = false;
    // Incus was killed after it had started the container and before it listened at the ports: to open what counts as open
    // changes nothing.
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

describe('a server that shows another host key than the platform put into the machine', () => {
  it('fails the proof: no key of the tenant, no user data, no host key on record, nothing to pay', async () => {
    const accepted = await rent(await harness.tenant());
    const answering: MachineRef[] = [];
    const untrusted = withDriver(harness, (driver) => ({
      // Everything else is right: address, port, the platform's login key, and the GPUs that were sold.
      create: async ({ hostKey, ...spec }, signal) => {
        expect(hostKey?.publicKey).toMatch(/^ssh-ed25519 /);
        answering.push(spec);
        await driver.create(spec, signal);
      },
      runUserData: async () => expect.fail('User data was handed to another machine.'),
      setKeys: async () => expect.fail('The keys of the tenant were handed to another machine.'),
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
      message: 'The machine shows another host key.',
    });
    const ended = await reconcileUntil(untrusted, failed, { until: 'Terminated' });
    expect(await harness.paid(ended.orgId, causeOfRental(ended))).toBe(0n);
  });

  it('the private host key is stored sealed until the tenant is let in, and then not at all', async () => {
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

describe('a server that does not know the key yet', () => {
  it('is left alone for some seconds after each login that it refused', async () => {
    const accepted = await rent(await harness.tenant(), null);
    const logins: number[] = [];
    let key = '';
    const slow = withDriver(harness, (driver) => ({
      // As where a first boot installs the keys after its server is up.
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
    // The last of those that met nobody may be followed soon; every one that was refused is not.
    const gaps = logins.slice(-5).map((ms, index, all) => ms - (all[index - 1] ?? ms - 6_000));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(6_000);
  });
});

describe('once it is Running', () => {
  it('the platform’s key is refused and forgotten, and was refused before anything of the tenant’s ran', async () => {
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

  it('its user data was started once, and is forgotten', async () => {
    const rental = await reconcileUntil(harness, await rent(await harness.tenant()), { until: 'Running' });
    expect(rental.userData).toBeNull();
    expect(await started(rental)).toHaveLength(1);
  });
});

describe('user data that shuts everybody out', () => {
  it.each(['note let in', 'enter running'])(
    'does not hold Running up, though the process dies around %s',
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
    'and answers that it is %s is paid for from its first try on',
    async (kind) => {
      const accepted = await rent(await harness.tenant());
      let calls = 0;
      const hostile = withDriver(harness, (driver) => ({
        runUserData: async (machine, text, signal) => {
          calls += 1;
          if (calls === 1) await driver.runUserData(machine, text, signal);
          throw new DriverError(kind, 'Its shell does not answer.');
        },
      }));
      const rental = await reconcileUntil(hostile, accepted, { until: 'Running' });
      expect(calls).toBe(1);
      expect(await meters(harness, rental)).toMatchObject([{ state: 'open', openedAt: rental.startedAt }]);
      const settled = await reconcileToIdle(hostile, rental);
      expect(settled).toMatchObject({
        status: 'Running',
        userData: null,
        statusReason: 'The machine did not take its user data.',
      });
    },
  );

  it('but was only lost on the way is started after Running', async () => {
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

  it('on an engine that starts nothing inside is left to our session, and where that has no shell the tenant is told', async () => {
    const accepted = await rent(await harness.tenant());
    const without = withDriver(harness, (driver) => ({
      can: { ...driver.can, runUserData: false },
      runUserData: async () => {
        throw new DriverError('unsupported', 'This engine starts nothing inside.');
      },
    }));
    const rental = await reconcileUntil(without, accepted, { until: 'Running' });
    expect(await meters(harness, rental)).toMatchObject([{ state: 'open', openedAt: rental.startedAt }]);
    expect(await reconcileToIdle(without, rental)).toMatchObject({
      userData: null,
      statusReason: 'The machine did not take its user data.',
    });
  });

  it('in an image that cannot start it at all leaves a rental that failed and costs nothing', async () => {
    const accepted = await rent(await harness.tenant());
    const without = withDriver(harness, () => ({
      runUserData: async () => {
        throw new DriverError('unsupported', 'The image has no cloud-init.');
      },
    }));
    const failed = await reconcileUntil(without, accepted, { until: 'Failed' });
    expect(failed.statusReason).toBe('The image cannot carry out this user data.');
    const ended = await reconcileUntil(without, failed, { until: 'Terminated' });
    expect(await harness.paid(ended.orgId, causeOfRental(ended))).toBe(0n);
  });
});

describe('a tenant who is in before it was written down', () => {
  it('and shuts the platform out is left in there for seconds, not until the attempt is over', async () => {
    const accepted = await rent(await harness.tenant(), null);
    let isClosed = false;
    const hostile = withDriver(harness, (driver) => ({
      setKeys: async (machine, keys, signal) => {
        if (isClosed) throw new DriverError('unavailable', 'Its tenant does not let us.');
        await driver.setKeys(machine, keys, signal);
        isClosed = true;
        await closePorts(driver, machine);
        throw new SimulatedCrash('after the keys were in');
      },
      // Of the other host nothing is wrong.
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

describe('a machine that lets us in before its engine has ended its start', () => {
  /** Its engine is at work on it until it runs; what it says then is for the test. */
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

  it('runs and is paid for at once, and its address is written down when the start has ended', async () => {
    const { wrapped, run } = starting(() => ({}));
    const rental = await reconcileToIdle(wrapped, await run());
    expect(rental).toMatchObject({ status: 'Running', power: 'on', task: null });
    const machine = await machineOf(rental);
    expect(machine.starting).toBe(false);
    expect(machine.privateIp).not.toBeNull();
  });

  it('is handed over only after the deploy has ended if it is a whole node', async () => {
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
    // Checks during the deploy are not counted: GPUs may still be missing for a while after it.
    expect(tries.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(await machineOf(rental)).toMatchObject({ starting: false });
  });

  it('is started once more if that came to nothing', async () => {
    const { wrapped, run } = starting(() => ({}));
    const rental = await run();
    await harness.engines.live.driver.stop(await machineOf(rental), { graceMs: 0 }, never);
    await reconcileToIdle(wrapped, rental);
    expect(await machineOf(rental)).toMatchObject({ starting: false });
    expect((await harness.engines.live.driver.describe(await machineOf(rental), never))?.power).toBe('on');
  });

  it('fails and costs nothing if its host cannot start it', async () => {
    const { wrapped, run } = starting(() => ({
      start: async () => {
        throw new DriverError('no_capacity', 'No such device.');
      },
    }));
    const rental = await run();
    await harness.engines.live.driver.stop(await machineOf(rental), { graceMs: 0 }, never);
    await harness.advance(5 * SECOND_MS);
    const failed = await reconcileUntil(wrapped, rental, { until: 'Failed' });
    expect(failed.statusReason).toBe('The host could not start the machine to the end.');
    const ended = await reconcileUntil(wrapped, failed, { until: 'Terminated' });
    expect(await harness.paid(ended.orgId, causeOfRental(ended))).toBe(0n);
    expect((await harness.balance(ended.orgId)).held).toBe(0n);
  });

  it('and is switched off by its tenant before that was seen stays off', async () => {
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

describe('keys', () => {
  it('are in again though whoever put them in died before anybody knew', async () => {
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
