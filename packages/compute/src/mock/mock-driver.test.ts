import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDriverError } from '../driver-error.ts';
import type { ComputeDriver, MachineRef, MachineView } from '../driver.ts';
import { runCommand, splitLine } from './commands.ts';
import { createInMemoryStore } from './index.ts';
import { hostKeyOf } from './host-key.ts';
import { defaultLayout } from './layout.ts';
import { makeMachine, metricsAt, stateAt } from './mock-machine.ts';
import { faultySpec, mockEngine, longTimeout, machineSpecFor } from './mock-engine.fixture.ts';

const faults = ['', 'boot-fails', 'host-dies', 'engine-silent', 'stuck-terminate', 'flaky', 'lost-events'];
const nodes = ['mock-01', 'mock-02'];

/** One step of a random history: a call on one of three machines through one of two connections, or an injected fault. */
const someStep = fc.record({
  what: fc.constantFrom(
    ...[
      'create',
      'create',
      'create elsewhere',
      'start',
      'stop',
      'reboot',
      'cutAccess',
      'setPorts',
      'terminate',
    ],
    ...['two at once', 'die', 'silence', 'heal', 'wait'],
  ),
  machine: fc.integer({ min: 0, max: 2 }),
  connection: fc.integer({ min: 0, max: 1 }),
});
const someHistory = fc.record({
  steps: fc.array(someStep, { minLength: 1, maxLength: 40 }),
  faults: fc.array(fc.constantFrom(...faults), { minLength: 3, maxLength: 3 }),
});

type Seen = { readonly view: MachineView | null } | 'unavailable';

/** The view, null, or `unavailable`; any other error is a bug. */
async function look(driver: ComputeDriver, machine: MachineRef): Promise<Seen> {
  try {
    return { view: await driver.describe(machine, longTimeout()) };
  } catch (error) {
    if (isDriverError(error, 'unavailable')) return 'unavailable';
    throw error;
  }
}

async function tolerate(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (isDriverError(error)) return false;
    throw error;
  }
}

describe('mock engine under random calls', () => {
  it('never has two machines with one id, never restores a terminated one, and lists what it describes', async () => {
    await fc.assert(
      fc.asyncProperty(someHistory, async (history) => {
        const { clock, controls, connect } = mockEngine();
        const drivers = [connect(), connect()];
        const requests = history.faults.map((fault) => (fault === '' ? machineSpecFor() : faultySpec(fault)));
        const ended = new Set<string>();
        for (const step of history.steps) {
          const driver = drivers[step.connection] ?? expect.fail('There are two connections.');
          const spec = requests[step.machine] ?? expect.fail('There are three machines.');
          const calls: Record<string, () => Promise<unknown>> = {
            create: () => driver.create(spec, longTimeout()),
            'create elsewhere': () => driver.create({ ...spec, nodeName: 'mock-02' }, longTimeout()),
            'two at once': () => both(drivers.map((each) => each.create(spec, longTimeout()))),
            start: () => driver.start(spec, longTimeout()),
            stop: () => driver.stop(spec, { graceMs: 0 }, longTimeout()),
            reboot: () => driver.reboot(spec, { graceMs: 0 }, longTimeout()),
            cutAccess: () => driver.cutAccess(spec, longTimeout()),
            setPorts: () => driver.setPorts(spec, [], longTimeout()),
            terminate: () => driver.terminate(spec, longTimeout()),
            die: async () => controls.dieDuringNextCreate(),
            silence: async () => controls.silenceNode(nodes[step.connection] ?? ''),
            heal: async () => controls.heal(),
            wait: () => clock.advance(45_000),
          };
          const isDone = await tolerate(calls[step.what]?.() ?? expect.fail(step.what));
          const key = spec.externalId;
          if (step.what.startsWith('create') || step.what === 'two at once') ended.delete(key);
          else if (step.what === 'terminate' && isDone) ended.add(key);
          await agree(driver, requests, ended);
        }
      }),
      { numRuns: 150 },
    );
  });
});

/** Waits for both, because a call in progress would change the state between two reads. */
async function both(calls: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(calls);
  await Promise.all(calls);
}

/** Checks the invariants at this instant. */
async function agree(
  driver: ComputeDriver,
  requests: readonly MachineRef[],
  ended: ReadonlySet<string>,
): Promise<void> {
  const { machines, unreachableNodes } = await driver.listOwned(longTimeout());
  const ids = machines.map(({ externalId }) => externalId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const request of requests) {
    const seen = await look(driver, request);
    const listed = machines.find(({ externalId }) => externalId === request.externalId);
    if (seen === 'unavailable') {
      const isAccountedFor = listed !== undefined || unreachableNodes.length > 0;
      expect(isAccountedFor, 'an unavailable machine is listed, or its node is unreachable').toBe(true);
    } else expect(listed ?? null).toEqual(seen.view);
    const isEnded = ended.has(request.externalId);
    if (isEnded && seen !== 'unavailable') expect(seen.view, 'terminated and back').toBeNull();
  }
}

describe('nodes of the mock engine', () => {
  it('list a silenced node as unreachable with its machines unavailable, and recover when it heals', async () => {
    const { controls, connect } = mockEngine();
    const driver = connect();
    const [here, there] = [machineSpecFor(), machineSpecFor({ nodeName: 'mock-02' })];
    for (const spec of [here, there]) await driver.create(spec, longTimeout());
    controls.silenceNode('mock-02');
    expect(await look(driver, there)).toBe('unavailable');
    const during = await driver.listOwned(longTimeout());
    expect([during.machines.map(({ externalId }) => externalId), during.unreachableNodes]).toEqual([
      [here.externalId],
      ['mock-02'],
    ]);
    const inventory = await driver.readInventory(longTimeout());
    expect(inventory.nodes[1]).toMatchObject({ name: 'mock-02', reachable: false, hardware: null });
    controls.heal();
    expect((await driver.listOwned(longTimeout())).machines).toHaveLength(2);
  });

  it('end events with unavailable if the machine store fails, and leave no timer', async () => {
    const memory = createInMemoryStore();
    const engine = mockEngine({ ...memory, changesSince: () => Promise.reject(new Error('no database')) });
    const driver = engine.connect();
    const received = driver.events(new AbortController().signal)[Symbol.asyncIterator]().next();
    await expect(received).rejects.toMatchObject({ name: 'DriverError', kind: 'unavailable' });
    expect(engine.clock.sleeping).toBe(0);
  });

  it('abort calls that wait for the clock when the connection is closed', async () => {
    const { clock, connect } = mockEngine();
    const [first, second] = [connect(), connect()];
    const late = first.create(faultySpec('create-late', { after_ms: 80_000_000 }), longTimeout());
    const spec = machineSpecFor();
    await first.create(spec, longTimeout());
    await clock.advance(10_000);
    const command = { argv: ['sleep', '80000'], timeoutMs: 86_400_000, maxBytes: 10 };
    const slow = second.exec(spec, command, longTimeout());
    await expect.poll(() => clock.sleeping).toBe(2);
    await Promise.all([first.close(), second.close()]);
    await expect(late).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(slow).rejects.toMatchObject({ kind: 'unavailable' });
    expect(clock.sleeping).toBe(0);
  });

  it('remove a removed node from the inventory together with its machines', async () => {
    const { controls, connect } = mockEngine();
    const driver = connect();
    const spec = machineSpecFor({ nodeName: 'mock-02' });
    await driver.create(spec, longTimeout());
    controls.removeNode('mock-02');
    expect(await look(driver, spec)).toEqual({ view: null });
    expect(await driver.listOwned(longTimeout())).toEqual({ machines: [], unreachableNodes: [] });
    const { nodes: left } = await driver.readInventory(longTimeout());
    expect(left.map(({ name }) => name)).toEqual(
      defaultLayout.nodes.map(({ name }) => name).filter((name) => name !== 'mock-02'),
    );
    await expect(driver.create(machineSpecFor({ nodeName: 'mock-02' }), longTimeout())).rejects.toMatchObject(
      {
        kind: 'not_found',
      },
    );
  });

  it('are 16 nodes with 8 GPUs by default, each GPU with its own id', async () => {
    const { nodes: all } = await mockEngine().connect().readInventory(longTimeout());
    const gpus = all.flatMap(({ hardware }) => hardware?.gpus ?? []);
    expect([all.length, gpus.length, new Set(gpus.map(({ uuid }) => uuid)).size]).toEqual([16, 128, 128]);
    expect(
      Object.entries(Object.groupBy(gpus, ({ model }) => model)).map(([model, of]) => [model, of?.length]),
    ).toEqual([
      ['NVIDIA H100 80GB HBM3', 64],
      ['NVIDIA H200', 32],
      ['NVIDIA B200', 32],
    ]);
    expect(gpus.slice(0, 8).map(({ numaNode }) => numaNode)).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
  });
});

describe('a mock machine', () => {
  const startMs = Date.UTC(2026, 0, 1);

  it('is a function of its record, the seed and the time', () => {
    const spec = machineSpecFor();
    const [one, same] = [makeMachine(spec, 'seed', startMs), makeMachine({ ...spec }, 'seed', startMs)];
    for (const afterMs of [0, 1_999, 3_000, 6_000, 3_600_000]) {
      expect(stateAt(one, 'a', startMs + afterMs)).toEqual(stateAt(same, 'a', startMs + afterMs));
      expect(metricsAt(one, 'a', startMs + afterMs)).toEqual(metricsAt(same, 'a', startMs + afterMs));
    }
    expect(hostKeyOf('a', { externalId: 'x', sealedHostKey: null })).toBe(
      hostKeyOf('a', { externalId: 'x', sealedHostKey: null }),
    );
    expect(
      new Set([
        hostKeyOf('a', { externalId: 'x', sealedHostKey: null }),
        hostKeyOf('b', { externalId: 'x', sealedHostKey: null }),
        hostKeyOf('a', { externalId: 'y', sealedHostKey: null }),
      ]).size,
    ).toBe(3);
  });

  it('has counters that only grow while it runs', () => {
    const machine = makeMachine(machineSpecFor(), 'seed', startMs);
    fc.assert(
      fc.property(fc.nat(10 ** 9), fc.nat(10 ** 9), (a, b) => {
        const [early, late] = [Math.min(a, b), Math.max(a, b)].map((ms) =>
          metricsAt(machine, 's', startMs + 1 + ms),
        );
        for (const counter of ['cpuSeconds', 'networkInBytes', 'networkOutBytes'] as const) {
          expect(late?.[counter]).toBeGreaterThanOrEqual(early?.[counter] ?? Number.NaN);
        }
      }),
    );
  });

  it('splits a line into plain words, and returns null for anything that needs a shell', () => {
    expect(splitLine(` echo  'a  b' "c"d `)).toEqual(['echo', 'a  b', 'cd']);
    for (const line of [
      'a; b',
      'a && b',
      'a | b',
      '$(id)',
      '`id`',
      'a > b',
      "echo 'open",
      'echo "$HOME"',
      'a\\ b',
    ]) {
      expect(splitLine(line), line).toBeNull();
    }
  });

  it('exits with 127 for unknown commands', () => {
    const machine = makeMachine(machineSpecFor(), 'seed', startMs);
    const [node = expect.fail('There are nodes.')] = defaultLayout.nodes;
    const inside = { machine, node, seed: 's', nowMs: startMs + 10_000, maxBytes: 1_000 };
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 5 }), (words) => {
        expect(runCommand(['curl', ...words], inside).exitCode).toBe(127);
      }),
    );
    for (const name of ['constructor', '__proto__', 'toString', '']) {
      expect(runCommand([name], inside).exitCode, name).toBe(127);
      expect(runCommand(['cat', name], inside).exitCode, name).toBe(1);
    }
    expect(runCommand(['seq', '1', '9007199254740991'], inside).stdout.length).toBeLessThanOrEqual(1_000);
  });
});
