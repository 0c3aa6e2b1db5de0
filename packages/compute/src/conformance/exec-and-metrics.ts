import { systemClock } from '@millrace/platform/clock';
import { expect, it } from 'vitest';
import type { ExecResult, MachineRef } from '../driver.ts';
import { expectFailure, type Suite } from './suite-context.ts';

const execLimits = { timeoutMs: 10_000, maxBytes: 65_536 };
const defaultGpuListing = { argv: ['ls', '/dev'], pattern: /^nvidia\d+$/ };

/** Runs a command as soon as the machine has booted. */
function exec(stage: Suite, machine: MachineRef, argv: readonly string[]): Promise<ExecResult> {
  return stage.until(`a result of ${argv[0]}`, stage.facts.bounds.bootMs, () =>
    stage.whileTimePasses(stage.driver.exec(machine, { argv, ...execLimits }, stage.signal())),
  );
}

export function describeExecAndMetrics(stage: Suite): void {
  if (stage.harness.abilities.exec) describeExec(stage);
  else describeNoExec(stage);
  if (stage.harness.abilities.exec && stage.harness.runsPrograms) describeIsolation(stage);
  if (stage.harness.abilities.consoleLog) describeConsole(stage);
  if (stage.harness.abilities.metrics) describeMetrics(stage);
}

function describeIsolation(stage: Suite): void {
  it('machines on one node cannot reach each other, whatever their organisations', async () => {
    const [one, other] = [await stage.make(), await stage.make({ orgId: stage.otherOrgId })];
    const addressOf = (machine: MachineRef): Promise<string> =>
      stage.until('an address', stage.facts.bounds.bootMs, async () =>
        (await stage.view(machine)).privateIps.find((address) => address.includes('.')),
      );
    const ping = async (address: string): Promise<number | null> =>
      (await exec(stage, one, ['ping', '-c', '1', '-W', '2', address])).exitCode;
    // Pinging the own address shows that ping works.
    expect(await ping(await addressOf(one))).toBe(0);
    expect(await ping(await addressOf(other))).not.toBe(0);
  });
}

function describeNoExec(stage: Suite): void {
  it('exec is unsupported on this engine', async () => {
    const command = { argv: ['true'], ...execLimits };
    await expectFailure(stage.driver.exec(stage.unknownMachine(), command, stage.signal()), ['unsupported']);
  });
}

function describeConsole(stage: Suite): void {
  it('consoleLog returns the end within the byte limit, and the complete output of a machine that is off', async () => {
    const spec = await stage.make();
    const whole = await stage.until('something on the console', stage.facts.bounds.bootMs, async () => {
      const text = await stage.driver.consoleLog(spec, { maxBytes: 65_536 }, stage.signal());
      return text.length > 8 && text;
    });
    expect(Buffer.byteLength(whole)).toBeLessThanOrEqual(65_536);
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    const read = (maxBytes: number): Promise<string> =>
      stage.driver.consoleLog(spec, { maxBytes }, stage.signal());
    const [before, some, after] = [await read(65_536), await read(8), await read(65_536)];
    expect(after).toBe(before);
    expect(before.endsWith(some)).toBe(true);
    expect(some).not.toBe('');
    expect(Buffer.byteLength(some)).toBeLessThanOrEqual(8);
  });
}

function describeMetrics(stage: Suite): void {
  it('metrics are plausible values or null, never an unmeasured 0', async () => {
    const spec = await stage.make({ gpuPciAddresses: [stage.gpu(stage.node(0), 0)] });
    (await stage.login(spec)).end();
    const { at, gpus, ...figures } = await stage.driver.metrics(spec, stage.signal());
    expect(Number.isFinite(at.getTime())).toBe(true);
    for (const [name, figure] of Object.entries(figures)) {
      if (figure !== null) expect(figure, name).toBeGreaterThanOrEqual(0);
    }
    // A booted machine has used memory and CPU time, so 0 would be invented.
    expect(figures.ramUsedBytes).not.toBe(0);
    expect(figures.cpuSeconds).not.toBe(0);
    for (const gpu of gpus ?? []) {
      expect(spec.gpuPciAddresses).toContain(gpu.pciAddress);
      if (gpu.utilisationPercent !== null) expect(gpu.utilisationPercent).toBeLessThanOrEqual(100);
    }
  });

  it('metrics of a machine that is off are null, not 0', async () => {
    const spec = await stage.make();
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    const figures = await stage.driver.metrics(spec, stage.signal());
    expect([figures.ramUsedBytes, figures.cpuSeconds]).toEqual([null, null]);
  });
}

function describeExec(stage: Suite): void {
  it('a machine sees exactly its own GPUs, or none', async () => {
    const node = stage.node(1);
    const { argv, pattern } = stage.harness.gpuDevices ?? defaultGpuListing;
    for (const gpuPciAddresses of [[stage.gpu(node, 0), stage.gpu(node, 1)], []]) {
      const spec = await stage.make({ nodeName: node.name, gpuPciAddresses });
      const { stdout } = await exec(stage, spec, argv);
      const seen = stdout.split(/\s+/).filter((name) => pattern.test(name));
      expect(seen).toHaveLength(gpuPciAddresses.length);
      expect((await stage.view(spec)).gpuPciAddresses.toSorted()).toEqual(gpuPciAddresses.toSorted());
    }
  });

  it('exec runs a command without a shell and returns exit code and output within the byte limit', async () => {
    const spec = await stage.make();
    const literal = '$HOME; id | cat > /tmp/x `id`';
    expect(await exec(stage, spec, ['echo', literal])).toEqual({
      exitCode: 0,
      stdout: `${literal}\n`,
      stderr: '',
    });
    expect((await exec(stage, spec, ['false'])).exitCode).not.toBe(0);
    const missing = await exec(stage, spec, ['ls', '/no/such/folder']);
    expect(missing.exitCode).not.toBe(0);
    expect(missing.stderr).not.toBe('');
    const long = { argv: ['seq', '1', '20000'], timeoutMs: 10_000, maxBytes: 100 };
    const { stdout } = await stage.driver.exec(spec, long, stage.signal());
    expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(100);
    expect(stdout.startsWith('1\n2\n3\n')).toBe(true);
  });

  it('exec fails at its timeout', async () => {
    const spec = await stage.make();
    await exec(stage, spec, ['true']);
    const startedMs = systemClock.monotonicMs();
    const slow = { argv: ['sleep', '600'], timeoutMs: 500, maxBytes: 100 };
    await expectFailure(stage.whileTimePasses(stage.bare.exec(spec, slow, stage.signal())), [
      'unavailable',
      'failed',
    ]);
    expect(systemClock.monotonicMs() - startedMs).toBeLessThan(stage.facts.bounds.callMs);
  });
}
