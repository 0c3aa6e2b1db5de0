import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

import { failureReport, outcomeLine, runCommand, runSteps } from './src/run.ts';
import { chooseSteps, steps } from './src/steps.ts';

const help = `npm run check [-- --only NAME[,NAME]] [--fix]

Runs all static checks concurrently and prints the output of those that fail.

  --only NAME   run only these steps; may be repeated
  --fix         first fix what can be fixed automatically
  --list        list the steps and what each finds
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      fix: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  if (values.list) {
    for (const step of steps) console.log(`${step.name.padEnd(16)} ${step.finds}`);
    return 0;
  }
  const chosen = chooseSteps(steps, values.only);
  if (values.fix) {
    // One after the other, because two fixers could overwrite each other. The formatter is the last step.
    for (const step of chosen) if (step.fix) await runCommand(step.fix);
  }
  const outcomes = await runSteps(chosen, Math.max(2, availableParallelism()), runCommand, (outcome) =>
    console.log(outcomeLine(outcome)),
  );
  console.log(failureReport(outcomes));
  return outcomes.every((outcome) => outcome.ok) ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
