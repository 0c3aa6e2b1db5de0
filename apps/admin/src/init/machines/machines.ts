import { isIPv4 } from 'node:net';
import { CommandError } from '../../command.ts';
import type { InstallationFiles } from '../installation-files.ts';
import type { Machine, MachineFacts } from '../layout.ts';

/** The three machines of an installation. Each has every engine and every process. */

export const MACHINE_COUNT = 3;

/** Ports beside those of an installation on one machine. Those of `loopback` are of the internal proxy. */
export const machinePorts = {
  etcdClients: 2379,
  etcdPeers: 2380,
  patroni: 8008,
  natsRoutes: 6222,
  restateIngress: 8443,
  restateAdmin: 9443,
  workerHandlers: 9444,
  loopback: {
    restateIngress: 8181,
    restateAdmin: 9071,
    workerHandlers: 9081,
    /** Of the first of the two other machines; that of the second follows. */
    workerHealth: 9181,
    gatewayHealth: 9183,
  },
} as const;

const fileName = 'machines.json';
const example = 'a=10.0.0.11,b=10.0.0.12,c=10.0.0.13';

/** Returns the problem with the value of `--machines`, or null. */
export function problemWithMachines(text: string): string | null {
  const machines = parseMachines(text);
  const isValid = machines.every(
    ({ name, address }) => /^[a-z][a-z0-9-]{0,30}$/.test(name) && isIPv4(address),
  );
  const areDistinct =
    new Set(machines.map(({ name }) => name)).size === MACHINE_COUNT &&
    new Set(machines.map(({ address }) => address)).size === MACHINE_COUNT;
  if (isValid && areDistinct && machines.length === MACHINE_COUNT) return null;
  return `is not a list of three machines with different names (lower-case letters and digits) and IPv4 addresses, as ${example}`;
}

export function parseMachines(text: string): readonly Machine[] {
  return text.split(',').map((part) => {
    const [name = '', address = ''] = part.trim().split('=');
    return { name, address };
  });
}

export function machineNamed(all: readonly Machine[], name: string): Machine {
  const found = all.find((machine) => machine.name === name);
  if (found !== undefined) return found;
  const names = all.map((machine) => machine.name).join(', ');
  throw new CommandError(`--machine is ${JSON.stringify(name)}; use ${names}.`);
}

/** Null: the installation is on one machine, or there is none. */
export async function readMachines(files: InstallationFiles): Promise<MachineFacts | null> {
  const text = await files.read(fileName);
  // Only this command writes the file.
  return text === null ? null : (JSON.parse(text) as MachineFacts);
}

/** Refuses other machines than those of an earlier run, because every engine has them in its state. */
export async function checkMachines(files: InstallationFiles, facts: MachineFacts): Promise<void> {
  const stored = await readMachines(files);
  const isSame = (other: MachineFacts): boolean =>
    JSON.stringify([other.all, other.self]) === JSON.stringify([facts.all, facts.self]);
  if (stored !== null && !isSame(stored)) {
    throw new CommandError(
      `${files.pathOf(fileName)} has other machines, and this command does not change them.`,
    );
  }
  if (stored === null && (await files.read('millrace.env')) !== null) {
    throw new CommandError(
      'This machine has an installation on one machine. Prepare three machines without an installation, and restore its backup there.',
    );
  }
}

export async function storeMachines(files: InstallationFiles, facts: MachineFacts): Promise<void> {
  await files.ensure(fileName, { group: null, mode: 0o644 }, () => `${JSON.stringify(facts, null, 2)}\n`);
}

/** The other machines, in the order of the list. */
export const peersOf = ({ all, self }: MachineFacts): readonly Machine[] =>
  all.filter(({ name }) => name !== self.name);

export const addressesOf = ({ all }: Pick<MachineFacts, 'all'>): readonly string[] =>
  all.map(({ address }) => address);
