import { parseArgs } from 'node:util';

import { parseWholeNumber } from '../common/cli.ts';
import type { Output } from '../common/cli.ts';
import { UsageError, listNames, loadDefinition } from '../common/load-definition.ts';
import type { DefinitionLocation } from '../common/load-definition.ts';
import { freshSeed } from '@millrace/testing/random';
import type { Sim } from './define.ts';
import { allEvents, runEvents } from './run.ts';
import type { Failure, SimResult } from './run.ts';
import { shrinkList } from './shrink.ts';

const help = `npm run sim -- NAME [--seed S] [--events N]
npm run sim -- --all [--seed S] [--events N]

Runs N random events of tests/sim/NAME.sim.ts and checks its rules after each.
The same seed and number of events always give the same run.

  --seed S      a whole number; by default a new one, which is printed
  --events N    number of events; default 10000
  --seeds K     run K seeds from S upwards; default 1
  --all         every simulation, then 'N passed, N failed'; a simulation with ciEvents runs
                that many events instead of N
  --list        list the simulations
`;

const defaultEvents = '10000';

export async function simCommand(
  place: DefinitionLocation,
  args: readonly string[],
  output: Output,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string', default: '1' },
      events: { type: 'string', default: defaultEvents },
      all: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return writeLine(output, help);
  if (values.list) return writeLine(output, listNames(place).join('\n'));
  if (positionals.length !== (values.all ? 0 : 1)) throw new UsageError(help);

  const request: Request = {
    firstSeed: values.seed === undefined ? freshSeed() : parseWholeNumber('seed', values.seed),
    seeds: parseWholeNumber('seeds', values.seeds),
    events: parseWholeNumber('events', values.events),
  };
  const names = values.all ? listNames(place) : positionals;
  let failed = 0;
  for (const name of names) {
    const sim = await loadDefinition<Sim<unknown>>(place, name);
    const events = values.all ? (sim.ciEvents ?? request.events) : request.events;
    if (!(await runSeeds(sim, { ...request, events }, output))) failed += 1;
  }
  if (values.all) output.line(`${names.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

interface Request {
  readonly firstSeed: number;
  readonly seeds: number;
  readonly events: number;
}

/** Stops at the first seed that fails. */
async function runSeeds(sim: Sim<unknown>, request: Request, output: Output): Promise<boolean> {
  const { firstSeed, seeds, events } = request;
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const result = await runEvents(sim, seed, allEvents(events));
    if (result.failure) {
      await reportFailure(sim, seed, result, result.failure, output);
      return false;
    }
    output.line(
      `${sim.name}: seed ${seed}, ${events} events, no rule violated (${actionCountsText(result)})`,
    );
  }
  return true;
}

async function reportFailure(
  sim: Sim<unknown>,
  seed: number,
  result: SimResult,
  failure: Failure,
  output: Output,
): Promise<void> {
  const { event, action, where, message } = failure;
  output.line(`${sim.name}: seed ${seed} FAILED at event ${event} (${action}): ${where}: ${message}`);
  output.line(`  ${sim.about}`);
  output.line(`  last events: ${result.trace.map((step) => `${step.event} ${step.action}`).join(', ')}`);
  const shrunk = await shrinkList(
    allEvents(event + 1),
    async (candidate) => (await runEvents(sim, seed, candidate)).failure?.where === where,
    sim.shrinkAttempts ?? 200,
  );
  if (shrunk.length <= event) output.line(`  also fails with only these events: ${shrunk.join(', ')}`);
  output.line(`  run again: npm run sim -- ${sim.name} --seed ${seed} --events ${event + 1}`);
}

function actionCountsText({ happened }: SimResult): string {
  const entries = Object.entries(happened).toSorted(([a], [b]) => a.localeCompare(b));
  return entries.map(([action, count]) => `${action} ${count}`).join(', ');
}

function writeLine(output: Output, text: string): number {
  output.line(text);
  return 0;
}
