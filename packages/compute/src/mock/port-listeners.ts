import { createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '@millrace/platform/clock';
import type { MachineRef, PortMapping } from '../driver.ts';
import type { CommandContext } from './commands.ts';
import { hostKeyOf } from './host-key.ts';
import type { MockNode } from './layout.ts';
import type { StoredMachine, MachineStore } from './machine-store.ts';
import { stateAt, type MockMachine } from './mock-machine.ts';
import { destroyAfter, serveSsh } from './ssh-server.ts';
import { CoalescingRunner } from './coalescing-runner.ts';

export interface PortListenersOptions {
  readonly memory: MachineStore;
  readonly clock: Clock;
  readonly seed: string;
  readonly nodes: ReadonlyMap<string, MockNode>;
  readonly bind: string | null;
}

interface PortListener {
  readonly mapping: PortMapping;
  readonly server: Server;
  readonly sockets: Set<Socket>;
}

type ListenerContext = Omit<CommandContext, 'maxBytes'>;

interface MachineListeners {
  readonly ref: MachineRef;
  readonly listeners: Map<string, PortListener>;
  /** The boot to which open connections belong; a reboot breaks them. */
  boots: number;
  /** Reads of the record, coalesced over all connections. */
  readonly looks: CoalescingRunner<StoredMachine | null>;
  /** Opens and closes listeners to match the record. */
  readonly work: CoalescingRunner<void>;
}

const sshPort = 22;
const watchMs = 1_000;
/** Per machine, over all its ports. */
const maxSockets = 64;
/** How long a client may take to disconnect after the one line that it gets. */
const hangUpMs = 5_000;
const nameOf = ({ internalPort, externalPort }: PortMapping): string => `${externalPort}:${internalPort}`;

/**
 * Opens the ports of mock machines in this process. Ports are synchronised whenever the process reads a machine, and every
 * connection reads the record again, so an access cut by another process takes effect at the next input and within a second. A
 * port that is in use, as by another process that serves the same machine, is skipped. UDP is listed and not served.
 */
export class PortListeners {
  readonly #options: PortListenersOptions;
  readonly #doorways = new Map<string, MachineListeners>();
  #stopWatching: (() => void) | null = null;
  #isClosed = false;

  constructor(options: PortListenersOptions) {
    this.#options = options;
  }

  /** Opens and closes ports to match the machine. */
  async sync(ref: MachineRef, machine: MockMachine | null): Promise<void> {
    const key = `${ref.orgId} ${ref.externalId}`;
    const known = this.#doorways.get(key);
    const wanted = this.#wantedOf(machine);
    if (known === undefined && wanted.length === 0) return;
    const isInLine =
      known?.work.isIdle === true &&
      known.boots === machine?.boots &&
      known.listeners.size === wanted.length &&
      wanted.every((port) => known.listeners.has(nameOf(port)));
    if (this.#isClosed || isInLine) return;
    // Runs one at a time, each with the current record, so the last run has read the newest one.
    await (known ?? this.#add(key, ref, machine?.boots ?? 0)).work.run();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWatching?.();
    const doorways = [...this.#doorways.values()];
    await Promise.all(doorways.map(({ work }) => work.settled()));
    await Promise.all(doorways.flatMap(({ listeners }) => [...listeners.values()].map(closeListener)));
    this.#doorways.clear();
  }

  #add(key: string, ref: MachineRef, boots: number): MachineListeners {
    const doorway: MachineListeners = {
      ref,
      boots,
      listeners: new Map(),
      looks: new CoalescingRunner(() => this.#options.memory.read(ref)),
      work: new CoalescingRunner(() => this.#apply(key, doorway)),
    };
    this.#doorways.set(key, doorway);
    return doorway;
  }

  #wantedOf(machine: MockMachine | null): readonly PortMapping[] {
    if (machine === null) return [];
    const { isWired } = stateAt(machine, this.#options.seed, this.#options.clock.nowMs());
    return isWired ? machine.ports.filter(({ protocol }) => protocol === 'tcp') : [];
  }

  async #apply(key: string, doorway: MachineListeners): Promise<void> {
    const stored = await doorway.looks.run().catch(() => undefined);
    if (this.#isClosed || stored === undefined) return;
    const machine = stored?.machine ?? null;
    const wanted = new Map(this.#wantedOf(machine).map((port) => [nameOf(port), port]));
    if (machine === null || machine.boots !== doorway.boots) {
      for (const { sockets } of doorway.listeners.values()) for (const socket of sockets) socket.destroy();
      doorway.boots = machine?.boots ?? 0;
    }
    const surplus = [...doorway.listeners].filter(([name]) => !wanted.has(name));
    for (const [name] of surplus) doorway.listeners.delete(name);
    await Promise.all(surplus.map(([, listener]) => closeListener(listener)));
    const node = machine === null ? undefined : this.#options.nodes.get(machine.nodeName);
    for (const [name, mapping] of wanted) {
      if (doorway.listeners.has(name) || node === undefined) continue;
      const listener = await this.#open(doorway, mapping, this.#options.bind ?? node.address);
      if (listener !== null) doorway.listeners.set(name, listener);
    }
    // If a run is waiting, deleting the entry would let it open listeners that nothing tracks.
    if (wanted.size === 0 && !doorway.work.hasWaiting) this.#doorways.delete(key);
  }

  async #open(doorway: MachineListeners, mapping: PortMapping, host: string): Promise<PortListener | null> {
    const sockets = new Set<Socket>();
    // SSH exchanges small packets, which Nagle's algorithm would delay.
    const server = createServer({ noDelay: true }, (socket) => {
      socket.on('error', () => socket.destroy());
      if (socketsOf(doorway) >= maxSockets) {
        socket.destroy();
        return;
      }
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      this.#watch();
      // A machine whose record cannot be read must not end the process.
      this.#welcome(socket, doorway, mapping).catch(() => socket.destroy());
    });
    const isOpen = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen({ host, port: mapping.externalPort }, () => resolve(true));
    });
    // The next read of the machine opens a failed listener again.
    server.on('error', () => doorway.listeners.delete(nameOf(mapping)));
    return isOpen ? { mapping, server, sockets } : null;
  }

  async #welcome(socket: Socket, doorway: MachineListeners, mapping: PortMapping): Promise<void> {
    const { seed, clock } = this.#options;
    const look = (): Promise<ListenerContext | null> => this.#look(doorway, mapping);
    const isSsh = mapping.internalPort === sshPort;
    // Unread input would keep the connection open after the client has closed it.
    if (!isSsh) socket.resume();
    const inside = await look().catch(() => null);
    if (inside === null || socket.destroyed) socket.destroy();
    else if (isSsh) serveSsh(socket, { hostKey: hostKeyOf(seed, inside.machine), clock, look });
    else {
      destroyAfter(hangUpMs, socket, clock);
      socket.end(`millrace mock: port ${mapping.internalPort} of ${inside.machine.hostname}\r\n`);
    }
  }

  /** The machine behind the port; null if the port must be closed. */
  async #look(doorway: MachineListeners, mapping: PortMapping): Promise<ListenerContext | null> {
    const { seed, clock, nodes } = this.#options;
    const machine = (await doorway.looks.run())?.machine;
    const node = nodes.get(machine?.nodeName ?? '');
    const nowMs = clock.nowMs();
    if (machine === undefined || node === undefined || machine.boots !== doorway.boots) return null;
    const isOpen = machine.ports.some((port) => nameOf(port) === nameOf(mapping));
    return isOpen && stateAt(machine, seed, nowMs).isUp ? { machine, node, seed, nowMs } : null;
  }

  /** Polls the machine while clients are connected. */
  #watch(): void {
    if (this.#isClosed || this.#stopWatching !== null) return;
    this.#stopWatching = this.#options.clock.after(watchMs, () => {
      this.#stopWatching = null;
      void this.#syncAll();
    });
  }

  async #syncAll(): Promise<void> {
    const visited = [...this.#doorways.values()].filter((doorway) => socketsOf(doorway) > 0);
    for (const doorway of visited) {
      const stored = await doorway.looks.run().catch(() => undefined);
      if (stored !== undefined) await this.sync(doorway.ref, stored?.machine ?? null);
    }
    if (visited.length > 0) this.#watch();
  }
}

function socketsOf({ listeners }: MachineListeners): number {
  return [...listeners.values()].reduce((sum, { sockets }) => sum + sockets.size, 0);
}

async function closeListener({ server, sockets }: PortListener): Promise<void> {
  for (const socket of sockets) socket.destroy();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}
