import type { MachineRef } from '../driver.ts';
import { isDriverError, type ComputeDriver, type DriverErrorKind, type MachineSpec } from '../index.ts';

/** What a driver can get wrong, and the test of the suite that must notice. */
export interface FaultyDriverCase {
  readonly caughtBy: string;
  /** The methods of the broken driver; all others are those of the good one. */
  break(driver: ComputeDriver): Partial<ComputeDriver>;
}

const after = (kind: DriverErrorKind) => (error: unknown) => {
  if (!isDriverError(error, kind)) throw error;
};

/** The keys that machines were made with, whichever connection made them. */
const firstKeys = new Map<string, readonly string[]>();

const reboots = new Map<string, number>();
const cutAccessTestTitle =
  'a cut is for good: create, start, reboot, GPUs, user data and new ports are a conflict, and terminate is done';
const userDataOnce = 'runUserData starts a program once as root, whoever asks how often, also after a reboot';

/** Each is a mistake that somebody who writes a driver makes. */
export const faultyDriverCases: Readonly<Record<string, FaultyDriverCase>> = {
  'takes silence for absence': {
    caughtBy: 'a machine whose member died is never called gone, and the member is named as unseen',
    break: (driver) => ({
      describe: (machine, signal) =>
        driver.describe(machine, signal).catch((error: unknown) => {
          after('unavailable')(error);
          return null;
        }),
    }),
  },
  'calls a machine released that nobody could ask': {
    caughtBy: 'a machine whose member died is never called gone, and the member is named as unseen',
    break: (driver) => ({
      terminate: (machine, signal) => driver.terminate(machine, signal).catch(after('unavailable')),
    }),
  },
  'hides the nodes that it could not ask': {
    caughtBy: 'a machine whose member died is never called gone, and the member is named as unseen',
    break: (driver) => ({
      listOwned: async (signal) => ({ ...(await driver.listOwned(signal)), unreachableNodes: [] }),
    }),
  },
  'answers before the engine is done': {
    caughtBy: 'terminate releases the machine before it answers, and a second one is done too',
    break: (driver) => ({
      terminate: async (machine, signal) => {
        setImmediate(() => void driver.terminate(machine, signal).catch(() => undefined));
      },
    }),
  },
  'takes any machine of the id for the one that was asked for': {
    caughtBy:
      'create with another node, GPU, size or image under the same id is a conflict and changes nothing',
    break: (driver) => ({
      create: (spec, signal) => driver.create(spec, signal).catch(after('conflict')),
    }),
  },
  'calls a machine off that is being started': {
    caughtBy:
      'create gives the machine that was asked for: node, GPUs, ports, labels, and it comes on by itself',
    break: (driver) => ({
      describe: async (machine, signal) => {
        const view = await driver.describe(machine, signal);
        return view?.detail === 'Starting.' ? { ...view, power: 'off' } : view;
      },
    }),
  },
  'makes a second machine when it is asked again': {
    caughtBy: 'create twice at once from two connections is one machine',
    break: (driver) => ({
      create: async (spec, signal) => {
        await driver.create(spec, signal);
        await driver.create(
          { ...spec, orgId: 'org_00000000000000000000000000' as MachineSpec['orgId'] },
          signal,
        );
      },
    }),
  },
  'forgets whose machine it is': {
    caughtBy: "an organisation's reference finds nothing of another's, and harms nothing",
    break: (driver) => {
      const owners = new Map<string, MachineRef['orgId']>();
      const owned = ({ externalId, orgId }: MachineRef): MachineRef => ({
        externalId,
        orgId: owners.get(externalId) ?? orgId,
      });
      return {
        create: (spec, signal) => {
          owners.set(spec.externalId, spec.orgId);
          return driver.create(spec, signal);
        },
        consoleLog: (machine, options, signal) => driver.consoleLog(owned(machine), options, signal),
      };
    },
  },
  'lists what it made itself': {
    caughtBy:
      'listOwned has machines that the caller never heard of, by organisation, and agrees with describe',
    break: (driver) => {
      const made = new Set<string>();
      return {
        create: (spec, signal) => {
          made.add(spec.externalId);
          return driver.create(spec, signal);
        },
        listOwned: async (signal) => {
          const { machines, unreachableNodes } = await driver.listOwned(signal);
          return { unreachableNodes, machines: machines.filter(({ externalId }) => made.has(externalId)) };
        },
      };
    },
  },
  'powers off and leaves the ports': {
    caughtBy: 'cutAccess breaks an open session, refuses new ones, and the machine is off',
    break: (driver) => ({
      cutAccess: (machine, signal) => driver.stop(machine, { graceMs: 0 }, signal).catch(after('not_found')),
    }),
  },
  'lets a late create undo a cut': {
    caughtBy: cutAccessTestTitle,
    break: (driver) => ({
      cutAccess: async (machine, signal) => {
        await driver.setPorts(machine, [], signal);
        await driver.stop(machine, { graceMs: 0 }, signal);
      },
    }),
  },
  'adds keys and takes none away': {
    caughtBy: 'setKeys replaces the keys of a machine that runs: the old is refused, the new gets in',
    break: (driver) => ({
      create: (spec, signal) => {
        firstKeys.set(spec.externalId, spec.sshKeys);
        return driver.create(spec, signal);
      },
      setKeys: (machine, next, signal) =>
        driver.setKeys(machine, [...(firstKeys.get(machine.externalId) ?? []), ...next], signal),
    }),
  },
  'exchanges the GPUs of a machine that runs': {
    caughtBy: 'setGpus of a machine that is on is refused and changes nothing, unless it has them already',
    break: (driver) => ({
      setGpus: async (machine, gpuPciAddresses, signal) => {
        const view = await driver.describe(machine, signal);
        if (view?.power === 'on') await driver.stop(machine, { graceMs: 0 }, signal);
        await driver.setGpus(machine, gpuPciAddresses, signal);
        if (view?.power === 'on') await driver.start(machine, signal);
      },
    }),
  },
  'adds GPUs and takes none away': {
    caughtBy: 'setGpus gives a machine that is off other GPUs, more or none, and inside it sees those',
    break: (driver) => ({
      setGpus: async (machine, gpuPciAddresses, signal) => {
        const had = (await driver.describe(machine, signal))?.gpuPciAddresses ?? [];
        await driver.setGpus(machine, [...new Set([...had, ...gpuPciAddresses])], signal);
      },
    }),
  },
  'takes any GPU, be it there or not': {
    caughtBy:
      'setGpus refuses what is no GPU, and one that is not there at the latest when the machine starts',
    break: (driver) => ({
      setGpus: (machine, gpuPciAddresses, signal) =>
        driver.setGpus(machine, gpuPciAddresses, signal).catch(after('no_capacity')),
    }),
  },
  'takes a late exchange of GPUs after a cut for done': {
    caughtBy: cutAccessTestTitle,
    break: (driver) => ({
      setGpus: (machine, gpuPciAddresses, signal) =>
        driver.setGpus(machine, gpuPciAddresses, signal).catch(after('conflict')),
    }),
  },
  'starts user data whenever it is asked to': {
    caughtBy: userDataOnce,
    break: (driver) => {
      let calls = 0;
      return {
        runUserData: (machine, text, signal) =>
          driver.runUserData(machine, `${text}# ${(calls += 1)}\n`, signal),
      };
    },
  },
  'forgets at a reboot which user data was started': {
    caughtBy: userDataOnce,
    break: (driver) => ({
      reboot: async (machine, options, signal) => {
        reboots.set(machine.externalId, (reboots.get(machine.externalId) ?? 0) + 1);
        await driver.reboot(machine, options, signal);
      },
      runUserData: (machine, text, signal) =>
        driver.runUserData(machine, `${text}# ${reboots.get(machine.externalId) ?? 0}\n`, signal),
    }),
  },
  'waits for the end of what user data started': {
    caughtBy: 'runUserData answers when the program has begun, and does not wait for its end',
    break: (driver) => ({
      runUserData: async (machine, text, signal) => {
        await driver.runUserData(machine, text, signal);
        const command = { argv: ['sleep', '600'], timeoutMs: 900_000, maxBytes: 100 };
        await driver.exec(machine, command, signal);
      },
    }),
  },
  'takes any text for a program': {
    caughtBy: 'runUserData takes no text that nothing could start, and leaves nothing of it in the machine',
    break: (driver) => ({
      runUserData: (machine, text, signal) =>
        driver.runUserData(machine, text.startsWith('#!') ? text : `#!/bin/sh\n${text}`, signal),
    }),
  },
  'loses the user data of a machine that is off': {
    caughtBy: 'runUserData of a machine that is off is not lost: it is unavailable, and started once it runs',
    break: (driver) => ({
      runUserData: (machine, text, signal) =>
        driver.runUserData(machine, text, signal).catch(after('unavailable')),
    }),
  },
  'lets the machine make a host key of its own': {
    caughtBy:
      'a machine identifies itself by the host key that it was given, and a login that expects another is not made',
    break: (driver) => ({
      create: ({ hostKey: _hostKey, ...spec }, signal) => driver.create(spec, signal),
    }),
  },
  'leaves the key of the proof where it was': {
    caughtBy: 'a one-time key proves a machine by its GPUs, and is refused once the tenant has other keys',
    break: (driver) => ({
      setKeys: async (machine, next, signal) => {
        if (next.length > 0) await driver.setKeys(machine, next, signal);
      },
    }),
  },
  'runs commands through a shell': {
    caughtBy:
      'exec runs a command without a shell, and gives its output, its exit code, and no more than asked for',
    break: (driver) => ({
      exec: (machine, command, signal) => {
        const argv = command.argv.flatMap((word) => word.replace('$HOME', '/root').split(' '));
        return driver.exec(machine, { ...command, argv }, signal);
      },
    }),
  },
  'shows the oldest part of the console': {
    caughtBy:
      'consoleLog gives the newest part, no more bytes than asked for, and all of a machine that is off',
    break: (driver) => ({
      consoleLog: async (machine, { maxBytes }, signal) =>
        (await driver.consoleLog(machine, { maxBytes: 65_536 }, signal)).slice(0, maxBytes),
    }),
  },
  'throws what its library throws': {
    caughtBy: 'what needs a machine is refused with not_found when there is none',
    break: (driver) => ({
      reboot: (machine, options, signal) =>
        driver.reboot(machine, options, signal).catch((error: unknown) => {
          throw new Error(String(error));
        }),
    }),
  },
  'does not notice that nobody waits any more': {
    caughtBy: 'a caller that gives up gets its answer at once, before and while the call is under way',
    break: (driver) => ({
      create: (spec) => driver.create(spec, new AbortController().signal),
    }),
  },
  'ends events quietly when the connection is lost': {
    caughtBy: 'events throw unavailable when the connection to the engine is lost',
    break: (driver) => ({
      events: async function* (signal) {
        try {
          yield* driver.events(signal);
        } catch (error) {
          after('unavailable')(error);
        }
      },
    }),
  },
};

/** The driver of which nothing was exchanged: it shows that the way of doing so breaks nothing. */
export const untouched = 'untouched';

/** A driver with some of its methods exchanged. */
export function makeFaultyDriver(driver: ComputeDriver, broken: Partial<ComputeDriver>): ComputeDriver {
  const methods: Partial<Record<PropertyKey, unknown>> = broken;
  return new Proxy(driver, {
    get(good, name) {
      const value: unknown = methods[name] ?? Reflect.get(good, name, good);
      return typeof value === 'function' && !(name in broken) ? value.bind(good) : value;
    },
  });
}
