import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { SimulatedClock } from '@millrace/platform/clock';
import { freePort, freePorts } from '@millrace/testing';
import ssh2, { type Client, type ClientChannel } from 'ssh2';
import { afterEach, describe, expect, it } from 'vitest';
import { newSshKeyPair } from '../ssh-key-pair.ts';
import { PortListeners } from './port-listeners.ts';
import { createInMemoryStore } from './index.ts';
import { defaultLayout } from './layout.ts';
import type { MachineStore } from './machine-store.ts';
import { makeMachine, type MockMachine } from './mock-machine.ts';
import { mockEngine, longTimeout, machineSpecFor } from './mock-engine.fixture.ts';

const host = '127.0.0.1';
const pair = newSshKeyPair('test');

let open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  const left = open;
  open = [];
  for (const one of left.toReversed()) await one.close();
});

/** A booted machine with one port that maps to `internalPort`. */
async function machineBehind(internalPort: number, memory?: MachineStore) {
  const engine = mockEngine(memory);
  const driver = engine.connect({ bind: host });
  open.push(driver);
  const port = await freePort();
  const ports = [{ internalPort, externalPort: port, protocol: 'tcp' as const }];
  const spec = machineSpecFor({ ports, sshKeys: [pair.public.trim()] });
  await driver.create(spec, longTimeout());
  await engine.clock.advance(10_000);
  return { ...engine, driver, spec: spec, port };
}

async function connectTo(port: number): Promise<Socket> {
  const socket = connect({ host, port });
  socket.on('error', () => undefined);
  open.push({ close: async () => socket.destroy() });
  await once(socket, 'connect');
  return socket;
}

async function login(port: number): Promise<Client> {
  const client = new ssh2.Client();
  open.push({ close: async () => client.destroy() });
  const ready = new Promise<Client>((resolve, reject) => {
    client.once('ready', () => resolve(client));
    client.on('error', reject);
    client.once('close', () => reject(new Error('The connection was closed before the login.')));
  });
  client.connect({ host, port, username: 'ubuntu', privateKey: pair.private });
  return ready;
}

function execOver(client: Client, command: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.exec(command, (error, channel) => (error === undefined ? resolve(channel) : reject(error)));
  });
}

async function runCommand(client: Client, command: string): Promise<{ code: unknown; stdout: string }> {
  const channel = await execOver(client, command);
  let [stdout, code] = ['', null as unknown];
  channel.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
  channel.stderr.resume();
  channel.once('exit', (status: unknown) => (code = status));
  await once(channel, 'close');
  return { code, stdout };
}

function shellOver(client: Client): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.shell(false, (error, channel) => (error === undefined ? resolve(channel) : reject(error)));
  });
}

/** Requests of the SSH protocol that the client does not offer. */
interface Wire {
  readonly _protocol: {
    exec(channel: number, command: string, wantReply: boolean): void;
    shell(channel: number, wantReply: boolean): void;
  };
}
const wireOf = (client: Client): Wire['_protocol'] => (client as unknown as Wire)._protocol;
const idOf = (channel: ClientChannel): number =>
  (channel as unknown as { readonly outgoing: { readonly id: number } }).outgoing.id;

describe('port listeners of mock machines', () => {
  it('disconnect a client that does not log in in time', async () => {
    const { clock, port } = await machineBehind(22);
    const socket = await connectTo(port);
    await once(socket, 'data');
    const closed = once(socket, 'close');
    await clock.advance(31_000);
    await closed;
  });

  it('serve any number of clients on a non-SSH port, also those that send first and never disconnect', async () => {
    const { clock, port } = await machineBehind(8_080);
    for (let turn = 0; turn < 130; turn += 1) {
      const socket = await connectTo(port);
      socket.write('GET / HTTP/1.1\r\nhost: mock\r\n\r\n');
      const [line] = (await once(socket, 'data')) as [Buffer];
      expect(line.toString()).toContain('port 8080');
      if (turn % 2 === 0) socket.destroy();
      if (turn % 50 === 49) await clock.advance(60_000);
    }
  });

  it('limit the connections of a machine over all its ports', async () => {
    const { driver, spec } = await machineBehind(22);
    const more = await freePort();
    const ports = [...spec.ports, { internalPort: 22, externalPort: more, protocol: 'tcp' as const }];
    await driver.setPorts(spec, ports, longTimeout());
    const sockets = await Promise.all(
      ports.flatMap(({ externalPort }) => Array.from({ length: 40 }, () => connectTo(externalPort))),
    );
    await expect.poll(() => sockets.filter(({ closed }) => !closed).length).toBe(64);
  });

  it('do not resolve names of object properties as commands or files', async () => {
    const { port } = await machineBehind(22);
    const client = await login(port);
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      for (const command of [`ls ${name}`, `cat ${name}`, name]) {
        expect((await runCommand(client, command)).code, command).not.toBe(0);
      }
    }
    expect((await runCommand(client, 'hostname')).stdout).toBe('tester\n');
  });

  it('refuse a second request on a channel that already runs one', async () => {
    const { port } = await machineBehind(22);
    const client = await login(port);
    const channel = await execOver(client, 'sleep 1000');
    wireOf(client).exec(idOf(channel), 'hostname', true);
    wireOf(client).shell(idOf(channel), true);
    expect((await runCommand(await login(port), 'hostname')).stdout).toBe('tester\n');
  });

  it('allow ten sessions per connection', async () => {
    const { port } = await machineBehind(22);
    const client = await login(port);
    const channels = await Promise.all(Array.from({ length: 10 }, () => execOver(client, 'sleep 1000')));
    await expect(execOver(client, 'sleep 1000')).rejects.toThrow();
    const [first] = channels;
    first?.close();
    await expect.poll(() => execOver(client, 'hostname').then(Boolean, () => false)).toBe(true);
  });

  it('stop the work of a session that has ended', async () => {
    const { clock, port } = await machineBehind(22);
    const client = await login(port);
    const before = clock.sleeping;
    for (let turn = 0; turn < 5; turn += 1) {
      const channel = await execOver(client, 'sleep 86000');
      channel.resume();
      channel.close();
      await once(channel, 'close');
    }
    await execOver(client, 'sleep 86000');
    client.end();
    await expect.poll(() => clock.sleeping).toBeLessThanOrEqual(before);
  });

  it('stop responding to a client that does not read', async () => {
    let reads = 0;
    const memory = createInMemoryStore();
    const counting: MachineStore = { ...memory, read: (machine) => ((reads += 1), memory.read(machine)) };
    const { port } = await machineBehind(22, counting);
    const client = await login(port);
    const channel = await shellOver(client);
    channel.pause();
    reads = 0;
    channel.write('seq 1 999999999\n'.repeat(2_000));
    await expect.poll(() => reads).toBeGreaterThan(3);
    await settled(() => reads);
    // Each line reads the record before its response, so few reads show that unread responses block further lines.
    expect(reads).toBeLessThan(500);
  });

  it('answer a prompt line by line and end it with its input', async () => {
    const { port } = await machineBehind(22);
    const channel = await shellOver(await login(port));
    let text = '';
    channel.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    channel.end('hostname\nnproc\n');
    await once(channel, 'close');
    expect(text).toMatch(/^This machine is a mock.*\n\$ tester\n\$ 8\n\$ $/);
  });

  it('read the record one at a time for many concurrent clients', async () => {
    let [underWay, most] = [0, 0];
    const memory = createInMemoryStore();
    const slow: MachineStore = {
      ...memory,
      async read(machine) {
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise(setImmediate);
        underWay -= 1;
        return memory.read(machine);
      },
    };
    const { port } = await machineBehind(22, slow);
    const clients = await Promise.all(Array.from({ length: 8 }, () => login(port)));
    most = 0;
    const responses = await Promise.all(
      clients.flatMap((client) => Array.from({ length: 5 }, () => runCommand(client, 'hostname'))),
    );
    expect(responses.map(({ stdout }) => stdout)).toEqual(responses.map(() => 'tester\n'));
    expect(most).toBe(1);
  });

  it('reopen the ports of a machine that is deleted and created again at once, and can close them', async () => {
    const [first, second] = await freePorts(2);
    const at = (externalPort = 0): MockMachine =>
      makeMachine(
        machineSpecFor({ ...ref, ports: [{ internalPort: 80, externalPort, protocol: 'tcp' }] }),
        'seed',
        0,
      );
    const ref = machineSpecFor();
    let record: MockMachine | null = at(first);
    let hold: Promise<void> = Promise.resolve();
    const memory: MachineStore = {
      ...createInMemoryStore(),
      async read() {
        const found = record === null ? null : { machine: record, version: 1n };
        await hold;
        return found;
      },
    };
    const nodes = new Map(defaultLayout.nodes.map((node) => [node.name, node]));
    const ports = new PortListeners({ memory, nodes, clock: new SimulatedClock(), seed: 'x', bind: host });
    open.push(ports);
    await ports.sync(ref, record);
    for (const next of [at(second), at(first)]) {
      // The read that finds the machine deleted is slow, and the machine exists again before it ends.
      let release = (): void => undefined;
      hold = new Promise((resolve) => (release = resolve));
      record = null;
      const removed = ports.sync(ref, null);
      await new Promise(setImmediate);
      record = next;
      const back = ports.sync(ref, next);
      release();
      await Promise.all([removed, back]);
      const port = next.ports[0]?.externalPort ?? 0;
      expect(await isOpen(port)).toBe(true);
      record = null;
      await ports.sync(ref, null);
      expect(await isOpen(port)).toBe(false);
    }
  });
});

async function isOpen(port: number): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Waits until the value stops changing. */
async function settled(figure: () => number): Promise<void> {
  for (let last = -1; last !== figure();) {
    last = figure();
    for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
  }
}
