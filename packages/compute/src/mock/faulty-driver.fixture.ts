import type { MachineRef } from '../driver.ts';
import { isDriverError, type ComputeDriver, type DriverErrorKind, type MachineSpec } from '../index.ts';

/** A mistake of a driver, and the conformance test that must detect it. */
export interface FaultyDriverCase {
  readonly caughtBy: string;
  /** Overrides of the faulty driver; all other methods work. */
  break(driver: ComputeDriver): Partial<ComputeDriver>;
}

const after = (kind: DriverErrorKind) => (error: unknown) => {
  if (!isDriverError(error, kind)) throw error;
};

/** Keys that machines were created with, from any connection. */
const firstKeys = new Map<string, readonly string[]>();

const reboots = new Map<string, number>();
const cutAccessTestTitle =
  'cutAccess is permanent: create, start, reboot, setGpus, runUserData and new ports fail with conflict, terminate succeeds';
const userDataOnce =
  'runUserData starts a program once as root, however often it is called, also after a reboot';

export const faultyDriverCases: Readonly<Record<string, FaultyDriverCase>> = {
  'reports a machine as absent if the engine does not respond': {
    caughtBy:
      'a machine on a killed node is never reported as deleted, and the node is listed as unreachable',
    break: (driver) => ({
      describe: (machine, signal) =>
        driver.describe(machine, signal).catch((error: unknown) => {
          after('unavailable')(error);
          return null;
        }),
    }),
  },
  'reports a machine as terminated if its node is unreachable': {
    caughtBy:
      'a machine on a killed node is never reported as deleted, and the node is listed as unreachable',
    break: (driver) => ({
      terminate: (machine, signal) => driver.terminate(machine, signal).catch(after('unavailable')),
    }),
  },
  'omits unreachable nodes': {
    caughtBy:
      'a machine on a killed node is never reported as deleted, and the node is listed as unreachable',
    break: (driver) => ({
      listOwned: async (signal) => ({ ...(await driver.listOwned(signal)), unreachableNodes: [] }),
    }),
  },
  'resolves before the engine is done': {
    caughtBy: 'terminate resolves after the machine is released, and can be repeated',
    break: (driver) => ({
      terminate: async (machine, signal) => {
        setImmediate(() => void driver.terminate(machine, signal).catch(() => undefined));
      },
    }),
  },
  'accepts any machine with the id': {
    caughtBy:
      'create with another node, GPU, size or image for an existing id is a conflict and changes nothing',
    break: (driver) => ({
      create: (spec, signal) => driver.create(spec, signal).catch(after('conflict')),
    }),
  },
  'reports a starting machine as off': {
    caughtBy:
      'create makes the machine of the spec, with node, GPUs, ports and labels, and it powers on by itself',
    break: (driver) => ({
      describe: async (machine, signal) => {
        const view = await driver.describe(machine, signal);
        return view?.detail === 'Starting.' ? { ...view, power: 'off' } : view;
      },
    }),
  },
  'creates a second machine on a repeated call': {
    caughtBy: 'concurrent creates from two connections make one machine',
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
  'ignores the organisation of a reference': {
    caughtBy: 'a reference with another organisation finds and changes nothing',
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
  'lists only machines that it created itself': {
    caughtBy: 'listOwned includes machines created by other processes, by organisation, and matches describe',
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
  'powers off without closing the ports': {
    caughtBy: 'cutAccess breaks open sessions, closes all ports and powers off',
    break: (driver) => ({
      cutAccess: (machine, signal) => driver.stop(machine, { graceMs: 0 }, signal).catch(after('not_found')),
    }),
  },
  'lets a late create undo an access cut': {
    caughtBy: cutAccessTestTitle,
    break: (driver) => ({
      cutAccess: async (machine, signal) => {
        await driver.setPorts(machine, [], signal);
        await driver.stop(machine, { graceMs: 0 }, signal);
      },
    }),
  },
  'adds keys and removes none': {
    caughtBy: 'setKeys replaces the keys of a running machine: old keys are rejected, new ones work',
    break: (driver) => ({
      create: (spec, signal) => {
        firstKeys.set(spec.externalId, spec.sshKeys);
        return driver.create(spec, signal);
      },
      setKeys: (machine, next, signal) =>
        driver.setKeys(machine, [...(firstKeys.get(machine.externalId) ?? []), ...next], signal),
    }),
  },
  'replaces the GPUs of a running machine': {
    caughtBy: 'setGpus of a machine that is on is refused and changes nothing, unless it already has them',
    break: (driver) => ({
      setGpus: async (machine, gpuPciAddresses, signal) => {
        const view = await driver.describe(machine, signal);
        if (view?.power === 'on') await driver.stop(machine, { graceMs: 0 }, signal);
        await driver.setGpus(machine, gpuPciAddresses, signal);
        if (view?.power === 'on') await driver.start(machine, signal);
      },
    }),
  },
  'adds GPUs and removes none': {
    caughtBy: 'setGpus replaces the GPUs of a machine that is off, and the machine sees the new ones',
    break: (driver) => ({
      setGpus: async (machine, gpuPciAddresses, signal) => {
        const had = (await driver.describe(machine, signal))?.gpuPciAddresses ?? [];
        await driver.setGpus(machine, [...new Set([...had, ...gpuPciAddresses])], signal);
      },
    }),
  },
  'accepts GPUs that do not exist': {
    caughtBy: 'setGpus refuses invalid addresses, and a missing GPU fails there or at the next start',
    break: (driver) => ({
      setGpus: (machine, gpuPciAddresses, signal) =>
        driver.setGpus(machine, gpuPciAddresses, signal).catch(after('no_capacity')),
    }),
  },
  'accepts setGpus after an access cut': {
    caughtBy: cutAccessTestTitle,
    break: (driver) => ({
      setGpus: (machine, gpuPciAddresses, signal) =>
        driver.setGpus(machine, gpuPciAddresses, signal).catch(after('conflict')),
    }),
  },
  'starts user data at every call': {
    caughtBy: userDataOnce,
    break: (driver) => {
      let calls = 0;
      return {
        runUserData: (machine, text, signal) =>
          driver.runUserData(machine, `${text}# ${(calls += 1)}\n`, signal),
      };
    },
  },
  'starts user data again after a reboot': {
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
  'waits for the end of the user data': {
    caughtBy: 'runUserData resolves when the program has started and does not wait for its end',
    break: (driver) => ({
      runUserData: async (machine, text, signal) => {
        await driver.runUserData(machine, text, signal);
        const command = { argv: ['sleep', '600'], timeoutMs: 900_000, maxBytes: 100 };
        await driver.exec(machine, command, signal);
      },
    }),
  },
  'runs any text as a program': {
    caughtBy: 'runUserData refuses unsupported texts and leaves nothing of them in the machine',
    break: (driver) => ({
      runUserData: (machine, text, signal) =>
        driver.runUserData(machine, text.startsWith('#!') ? text : `#!/bin/sh\n${text}`, signal),
    }),
  },
  'loses the user data of a machine that is off': {
    caughtBy: 'runUserData of a machine that is off is unavailable, and works after a start',
    break: (driver) => ({
      runUserData: (machine, text, signal) =>
        driver.runUserData(machine, text, signal).catch(after('unavailable')),
    }),
  },
  'lets the machine generate its own host key': {
    caughtBy: 'the machine has the host key of its spec, and a login that expects another key fails',
    break: (driver) => ({
      create: ({ hostKey: _hostKey, ...spec }, signal) => driver.create(spec, signal),
    }),
  },
  'keeps the readiness key installed': {
    caughtBy:
      "a one-time key logs in and counts the GPUs, and is rejected after the tenant's keys replaced it",
    break: (driver) => ({
      setKeys: async (machine, next, signal) => {
        if (next.length > 0) await driver.setKeys(machine, next, signal);
      },
    }),
  },
  'runs commands through a shell': {
    caughtBy: 'exec runs a command without a shell and returns exit code and output within the byte limit',
    break: (driver) => ({
      exec: (machine, command, signal) => {
        const argv = command.argv.flatMap((word) => word.replace('$HOME', '/root').split(' '));
        return driver.exec(machine, { ...command, argv }, signal);
      },
    }),
  },
  'returns the beginning of the console output': {
    caughtBy:
      'consoleLog returns the end within the byte limit, and the complete output of a machine that is off',
    break: (driver) => ({
      consoleLog: async (machine, { maxBytes }, signal) =>
        (await driver.consoleLog(machine, { maxBytes: 65_536 }, signal)).slice(0, maxBytes),
    }),
  },
  'throws errors of its library': {
    caughtBy: 'methods that need a machine fail with not_found for an unknown one',
    break: (driver) => ({
      reboot: (machine, options, signal) =>
        driver.reboot(machine, options, signal).catch((error: unknown) => {
          throw new Error(String(error));
        }),
    }),
  },
  'ignores aborted signals': {
    caughtBy: 'an aborted call fails as unavailable at once, before and during the call',
    break: (driver) => ({
      create: (spec) => driver.create(spec, new AbortController().signal),
    }),
  },
  'ends events without an error when the connection is lost': {
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

/** Overrides nothing, to show that the proxy itself breaks nothing. */
export const untouched = 'untouched';

export function makeFaultyDriver(driver: ComputeDriver, broken: Partial<ComputeDriver>): ComputeDriver {
  const methods: Partial<Record<PropertyKey, unknown>> = broken;
  return new Proxy(driver, {
    get(good, name) {
      const value: unknown = methods[name] ?? Reflect.get(good, name, good);
      return typeof value === 'function' && !(name in broken) ? value.bind(good) : value;
    },
  });
}
