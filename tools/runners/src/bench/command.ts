import { parseArgs } from 'node:util';

import { errorText, type Output } from '../common/cli.ts';
import { UsageError, listNames, loadDefinition } from '../common/load-definition.ts';
import type { DefinitionLocation } from '../common/load-definition.ts';
import { describeMachine, machineLine } from '../common/machine.ts';
import type { Pinning } from './cores.ts';
import type { Bench } from './define.ts';
import { measureVariants, measureRound } from './measure.ts';
import type { CpuUse, MeasureOptions } from './measure.ts';
import { renderReport, reportJson } from './report.ts';

const help = `npm run bench -- NAME [--quick | --short]
npm run bench -- --all --short

Runs bench/NAME.bench.ts, which compares our code with a baseline in the same run. Prints a table and, as the
last line, one JSON object {"bench","machine","figures","bars"}. Exits with 1 if an assertion fails.

  --quick   short rounds, to check that the bench works; do not quote the figures
  --short   only figures that do not depend on the machine's speed: statements, query plans, bytes, allocations
  --all     every bench, one after the other; failed ones run a second time; only with --short
  --list    list the benches
`;

const fullRounds: MeasureOptions = { concurrency: 32, rounds: 5, roundMs: 2000 };
const quickRounds = { rounds: 1, roundMs: 100 };

export async function benchCommand(
  place: DefinitionLocation,
  pin: () => Pinning,
  args: readonly string[],
  output: Output,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help || values.list) {
    output.line(values.help ? help : listNames(place).join('\n'));
    return 0;
  }
  if (values.all) {
    if (!values.short || positionals.length > 0) throw new UsageError(help);
    return runAllCounts(place, output);
  }
  const [name] = positionals;
  if (name === undefined || positionals.length > 1) throw new UsageError(help);

  const bench = await loadDefinition<Bench>(place, name);
  if (values.short) return (await runCounts(bench, output)) === false ? 1 : 0;
  // Read before pinning, because afterwards the process sees only the load cores.
  const machine = describeMachine();
  const pinning = pin();
  try {
    const { plan } = pinning;
    const cores = plan ? `server on ${plan.server.join(',')}, load on ${plan.load.join(',')}` : 'not pinned';
    output.line(`${bench.name}: ${bench.about}\n${machineLine(machine)}; cores: ${cores}\n`);
    const readCpu = (servers: readonly number[] | null): CpuUse => {
      const { user, system } = process.cpuUsage();
      return { ownUs: user + system, serverUs: pinning.serverCpuUs(servers) };
    };
    const report = await bench.run({
      measure: async (sides, options = {}) =>
        measureVariants(
          sides,
          { ...fullRounds, ...options, ...(values.quick ? quickRounds : {}) },
          (call, rounds, servers) => measureRound(call, rounds, () => readCpu(servers)),
        ),
      pinServer: (pid) => pinning.pinServer(pid),
      note: (line) => output.line(`  ${line}`),
      quick: values.quick,
    });
    output.line(`${renderReport(report)}\n`);
    output.line(reportJson(bench.name, { ...machine, pinned: plan }, report));
    return report.bars.every((bar) => bar.ok) ? 0 : 1;
  } finally {
    pinning.release();
  }
}

async function runAllCounts(place: DefinitionLocation, output: Output): Promise<number> {
  const results = new Map<string, boolean | null>();
  for (const name of listNames(place)) results.set(name, await runNamedCounts(place, name, output));
  const failed = [...results].filter(([, ok]) => ok === false).map(([name]) => name);
  for (const name of failed) {
    output.line(`${name} failed; running it again`);
    results.set(name, await runNamedCounts(place, name, output));
  }
  const passedAgain = failed.filter((name) => results.get(name) === true);
  if (passedAgain.length > 0) output.line(`passed only when run again: ${passedAgain.join(', ')}`);
  const passed = [...results.values()].filter((ok) => ok === true).length;
  const stillFailed = failed.length - passedAgain.length;
  output.line(`${passed} passed, ${stillFailed} failed`);
  return stillFailed === 0 ? 0 : 1;
}

async function runNamedCounts(
  place: DefinitionLocation,
  name: string,
  output: Output,
): Promise<boolean | null> {
  const bench = await loadDefinition<Bench>(place, name);
  return runCounts(bench, output).catch((error: unknown) => {
    output.line(`  FAILED: ${error instanceof Error ? (error.stack ?? error.message) : errorText(error)}\n`);
    return false;
  });
}

/** Whether every assertion of the short form passed; null if the bench has no short form. */
async function runCounts(bench: Bench, output: Output): Promise<boolean | null> {
  if (bench.counts === null) {
    output.line(`${bench.name} (short): not run, because it only measures speed\n`);
    return null;
  }
  output.line(`${bench.name} (short): ${bench.about}`);
  const report = await bench.counts({ note: (line) => output.line(`  ${line}`) });
  output.line(`${renderReport(report)}\n`);
  return report.bars.every((bar) => bar.ok);
}
