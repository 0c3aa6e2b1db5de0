import { openContainerHost, type ContainerHost } from '../container-host.ts';
import { downloadFiles, readGuide } from '../guide-machine.ts';
import { importDebian, startMachine, waitUntilBooted, type Machine } from '../machine.ts';

/** Three Debian machines with addresses of their own, in a network that exists only for the test. */

export const machineNames = ['a', 'b', 'c'] as const;
export type MachineName = (typeof machineNames)[number];

export interface ClusterMachine extends Machine {
  readonly name: MachineName;
  readonly address: string;
  /** Cuts the network, then kills every process, so that the others get no packet of a closing connection. */
  readonly kill: () => Promise<void>;
  /** Starts the machine after a kill, with its disk. */
  readonly boot: () => Promise<void>;
  /** The same with a new disk, on which steps 1 and 2 of the guide are done. */
  readonly replace: () => Promise<void>;
}

export interface ThreeMachines {
  readonly host: ContainerHost;
  /** A folder that all machines can read, and in which their scripts run. */
  readonly shared: string;
  readonly machines: readonly ClusterMachine[];
  [Symbol.asyncDispose](): Promise<void>;
}

const BRIDGE = 'machines';
const PREPARED = 'localhost/prepared-machine:1';
const FIRST_ADDRESS = 11;
const guide = readGuide('three-machines.md');

/** Steps 1 and 2 of the guide, which are the same on each machine, are done once. */
export async function openThreeMachines(): Promise<ThreeMachines> {
  const host = await openContainerHost();
  try {
    const shared = await downloadFiles(host);
    await prepareImage(host, shared);
    await makeBridge(host);
    const machines = await Promise.all(machineNames.map((name) => startOne(host, shared, name)));
    return { host, shared, machines, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
  } catch (error) {
    await host[Symbol.asyncDispose]();
    throw error;
  }
}

async function prepareImage(host: ContainerHost, shared: string): Promise<void> {
  const name = 'prepared';
  const machine = await startMachine(host, { name, shared, image: await importDebian(host) });
  await guide.follow(machine, '1. Engines');
  await guide.follow(machine, '2. Millrace');
  // Each machine gets an id of its own.
  await machine.must('truncate --size 0 /etc/machine-id');
  await host.must('podman', 'stop', '--time', '60', name);
  await host.must('podman', 'commit', '--quiet', name, PREPARED);
  await host.must('podman', 'rm', '--force', name);
}

async function makeBridge({ must }: ContainerHost): Promise<void> {
  // Other programs must not see the names of these networks.
  await must('mkdir', '-p', '/run/netns');
  await must('mount', '-t', 'tmpfs', 'tmpfs', '/run/netns');
  await must('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
  await must('ip', 'address', 'add', '10.77.0.1/24', 'dev', BRIDGE);
  await must('ip', 'link', 'set', BRIDGE, 'up');
}

async function startOne(host: ContainerHost, shared: string, name: MachineName): Promise<ClusterMachine> {
  const { must } = host;
  const address = `10.77.0.${FIRST_ADDRESS + machineNames.indexOf(name)}`;
  const veth = `veth-${name}`;
  await must('ip', 'netns', 'add', name);
  await must('ip', 'link', 'add', veth, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  await must('ip', '-netns', name, 'link', 'set', 'lo', 'up');
  await must('ip', '-netns', name, 'address', 'add', `${address}/24`, 'dev', 'eth0');
  await must('ip', '-netns', name, 'link', 'set', 'eth0', 'up');
  await must('ip', 'link', 'set', veth, 'master', BRIDGE, 'up');
  // Each machine reaches the public address through its own proxy, as the guide says.
  const names = ['--hostname', name, '--add-host', 'cloud.example.com:127.0.0.1'];
  const flags = [`--network=ns:/run/netns/${name}`, ...names];
  const start = (): Promise<Machine> => startMachine(host, { name, shared, image: PREPARED, flags });
  const machine = await start();
  return {
    ...machine,
    name,
    address,
    kill: async () => {
      await must('ip', 'link', 'set', veth, 'down');
      await must('podman', 'kill', '--signal', 'KILL', name);
      await must('podman', 'wait', name);
    },
    boot: async () => {
      await must('ip', 'link', 'set', veth, 'up');
      await must('podman', 'start', name);
      await waitUntilBooted(machine);
    },
    replace: async () => {
      await must('podman', 'rm', '--force', name);
      await must('ip', 'link', 'set', veth, 'up');
      await start();
    },
  };
}
