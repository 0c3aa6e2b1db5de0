import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isDriverError } from '../driver-error.ts';
import type { ComputeDriver, EngineEvent, MachineRef } from '../driver.ts';
import { injectedFaults, readInjectedFault } from './faults.ts';
import { faultySpec, mockEngine, longTimeout, machineSpecFor } from './mock-engine.fixture.ts';

const minuteMs = 60_000;
const kindOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: unknown) => (isDriverError(error) ? error.kind : String(error)),
  );
const powerOf = async (driver: ComputeDriver, machine: MachineRef): Promise<string | undefined> =>
  (await driver.describe(machine, longTimeout()))?.power;
const listed = async (driver: ComputeDriver, { externalId }: MachineRef) =>
  (await driver.listOwned(longTimeout())).machines.find((machine) => machine.externalId === externalId);
const ran = (driver: ComputeDriver, machine: MachineRef, ...argv: string[]) =>
  driver.exec(machine, { argv, timeoutMs: 1_000, maxBytes: 10_000 }, longTimeout());

describe('injected fault', () => {
  it('boot-fails: the machine gets error at the end of each boot and can be terminated', async () => {
    const { clock, connect } = mockEngine();
    const driver = connect();
    const spec = faultySpec('boot-fails');
    await driver.create(spec, longTimeout());
    expect(await powerOf(driver, spec)).toBe('on');
    await clock.advance(10_000);
    expect(await powerOf(driver, spec)).toBe('error');
    expect(await driver.consoleLog(spec, { maxBytes: 10_000 }, longTimeout())).toContain('Kernel panic');
    await driver.reboot(spec, { graceMs: 0 }, longTimeout());
    await clock.advance(10_000);
    expect(await powerOf(driver, spec)).toBe('error');
    await driver.terminate(spec, longTimeout());
    expect(await driver.describe(spec, longTimeout())).toBeNull();
  });

  it('slow-boot: the machine is on, but does not respond until the time is over', async () => {
    const { clock, connect } = mockEngine();
    const driver = connect();
    const spec = faultySpec('slow-boot', { after_ms: 90_000 });
    await driver.create(spec, longTimeout());
    await clock.advance(89_999);
    expect(await powerOf(driver, spec)).toBe('on');
    expect(await kindOf(ran(driver, spec, 'true'))).toBe('unavailable');
    await clock.advance(1);
    expect(await kindOf(ran(driver, spec, 'true'))).toBe('done');
  });

  it('host-dies: the machine is unreachable and still listed, and boots again with its host', async () => {
    const { clock, connect } = mockEngine();
    const driver = connect();
    const spec = faultySpec('host-dies', { after_ms: minuteMs, for_ms: 5 * minuteMs });
    await driver.create(spec, longTimeout());
    await clock.advance(minuteMs);
    expect(await kindOf(ran(driver, spec, 'true'))).toBe('done');
    await clock.advance(10_000);
    expect(await powerOf(driver, spec)).toBe('error');
    expect(await listed(driver, spec)).toMatchObject({ power: 'error' });
    expect(await kindOf(driver.terminate(spec, longTimeout()))).toBe('unavailable');
    expect(await kindOf(driver.cutAccess(spec, longTimeout()))).toBe('unavailable');
    await clock.advance(5 * minuteMs);
    expect(await powerOf(driver, spec)).toBe('on');
    await clock.advance(10_000);
    expect((await ran(driver, spec, 'uptime')).stdout).toMatch(/^up \d{1,2} seconds\n$/);
    await driver.terminate(spec, longTimeout());
  });

  it('engine-silent: every call about the machine fails, and the list has it as error', async () => {
    const { clock, connect } = mockEngine();
    const driver = connect();
    const spec = faultySpec('engine-silent', { after_ms: 30_000, for_ms: minuteMs });
    const neighbour = machineSpecFor();
    await driver.create(spec, longTimeout());
    await driver.create(neighbour, longTimeout());
    await clock.advance(30_000);
    expect(await kindOf(driver.describe(spec, longTimeout()))).toBe('unavailable');
    expect(await kindOf(driver.terminate(spec, longTimeout()))).toBe('unavailable');
    expect(await listed(driver, spec)).toMatchObject({ power: 'error' });
    expect(await powerOf(driver, neighbour)).toBe('on');
    expect((await driver.listOwned(longTimeout())).unreachableNodes).toEqual([]);
    await clock.advance(minuteMs);
    expect(await powerOf(driver, spec)).toBe('on');
  });

  it('stuck-terminate: terminate is busy until the time is over, in every process', async () => {
    const { clock, connect } = mockEngine();
    const [driver, other] = [connect(), connect()];
    const spec = faultySpec('stuck-terminate', { for_ms: minuteMs });
    await driver.create(spec, longTimeout());
    await driver.cutAccess(spec, longTimeout());
    expect(await kindOf(driver.terminate(spec, longTimeout()))).toBe('busy');
    await clock.advance(minuteMs - 1);
    expect(await kindOf(other.terminate(spec, longTimeout()))).toBe('busy');
    expect(await powerOf(driver, spec)).toBe('changing');
    expect(await kindOf(driver.create(spec, longTimeout()))).toBe('busy');
    await clock.advance(1);
    expect(await kindOf(other.terminate(spec, longTimeout()))).toBe('done');
    expect(await driver.describe(spec, longTimeout())).toBeNull();
  });

  it('wrong-gpu-count: the operating system sees fewer GPUs than the engine reports', async () => {
    const { clock, connect } = mockEngine();
    const driver = connect();
    const spec = faultySpec('wrong-gpu-count');
    await driver.create(spec, longTimeout());
    await clock.advance(10_000);
    expect((await driver.describe(spec, longTimeout()))?.gpuPciAddresses).toHaveLength(2);
    expect((await ran(driver, spec, 'nvidia-smi', '-L')).stdout.trim().split('\n')).toHaveLength(1);
    expect((await ran(driver, spec, 'ls', '/dev')).stdout).not.toContain('nvidia1\n');
  });

  it('create-fails: create fails and leaves no machine', async () => {
    const driver = mockEngine().connect();
    const spec = faultySpec('create-fails');
    expect(await kindOf(driver.create(spec, longTimeout()))).toBe('failed');
    expect(await driver.describe(spec, longTimeout())).toBeNull();
  });

  it('create-late: the machine exists long before create resolves, and a repeat waits again', async () => {
    const { clock, connect } = mockEngine();
    const driver = connect();
    const spec = faultySpec('create-late', { after_ms: minuteMs });
    const response = kindOf(driver.create(spec, longTimeout()));
    await clock.advance(minuteMs - 1);
    expect(await powerOf(driver, spec)).toBe('on');
    expect(await Promise.race([response, Promise.resolve('waiting')])).toBe('waiting');
    await clock.advance(1);
    expect(await response).toBe('done');
    expect(await kindOf(driver.create(spec, AbortSignal.timeout(20)))).toBe('unavailable');
  });

  it('lost-events: the machine has no events, and its neighbour has', async () => {
    const { clock, connect } = mockEngine();
    const driver = connect();
    const abort = new AbortController();
    const received: EngineEvent[] = [];
    const listening = (async () => {
      for await (const event of driver.events(abort.signal)) received.push(event);
    })();
    await clock.advance(1_000);
    const [lost, seen] = [faultySpec('lost-events'), machineSpecFor()];
    for (const spec of [lost, seen]) {
      await driver.create(spec, longTimeout());
      await driver.terminate(spec, longTimeout());
    }
    await clock.advance(5_000);
    abort.abort();
    await listening;
    expect(received).toEqual(
      ['created', 'terminated'].map((what) => ({ kind: 'machine', externalId: seen.externalId, what })),
    );
  });

  it('flaky: every third call fails, counted over all processes', async () => {
    const { connect } = mockEngine();
    const drivers = [connect(), connect()];
    const spec = faultySpec('flaky', { every: 3 });
    await drivers[0]?.create(spec, longTimeout());
    const outcomes: string[] = [];
    for (let call = 0; call < 9; call += 1) {
      const driver = drivers[call % 2] ?? expect.fail('There are two drivers.');
      outcomes.push(await kindOf(driver.describe(spec, longTimeout())));
    }
    expect(outcomes).toEqual(Array.from({ length: 3 }, () => ['done', 'done', 'unavailable']).flat());
  });

  it('flaky: ends after a day, so that every machine can be terminated eventually', async () => {
    const { clock, connect } = mockEngine();
    const driver = connect();
    const spec = faultySpec('flaky', { every: 2 });
    await driver.create(spec, longTimeout());
    const lookAndEnd = async (): Promise<boolean> => {
      await driver.describe(spec, longTimeout());
      return driver.terminate(spec, longTimeout()).then(
        () => true,
        () => false,
      );
    };
    expect([await lookAndEnd(), await lookAndEnd(), await lookAndEnd()]).toEqual([false, false, false]);
    await clock.advance(24 * 60 * 60_000);
    expect(await lookAndEnd()).toBe(true);
  });

  it('is refused if the name is unknown or an argument is unknown or out of range', async () => {
    const driver = mockEngine().connect();
    const invalid = [
      faultySpec('boot-fail'),
      faultySpec('boot-fails', { after_ms: 1 }),
      faultySpec('host-dies', { for_ms: 100_000_000 }),
      faultySpec('flaky', { every: 1 }),
      machineSpecFor({ labels: { 'millrace.fault': 'slow-boot', 'millrace.fault.after_ms': '-5' } }),
      machineSpecFor({ labels: { 'millrace.fault.after_ms': '5' } }),
      machineSpecFor({ labels: { 'millrace.fault': 'constructor' } }),
    ];
    for (const spec of invalid) {
      expect(await kindOf(driver.create(spec, longTimeout())), JSON.stringify(spec.labels)).toBe('refused');
    }
  });
});

describe('table of faults in the README', () => {
  it('lists every fault and argument with its default, and no other', () => {
    const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8');
    const rows = [...readme.matchAll(/^\| `([a-z-]+)` +\| ([^|]*) \|/gm)].map(([, name, values = '']) => [
      name,
      [...values.matchAll(/`([a-z_]+)` \((\d+)\)/g)].map(([, key, standard]) => [key, Number(standard)]),
    ]);
    const expected = Object.entries(injectedFaults).map(([name, values]) => [
      name,
      Object.entries(values).map(([key, argument]: [string, { default: number }]) => [key, argument.default]),
    ]);
    expect(rows).toEqual(expected);
    expect(readInjectedFault({ 'millrace.fault': 'flaky' })).toEqual({ name: 'flaky', every: 3 });
  });
});
