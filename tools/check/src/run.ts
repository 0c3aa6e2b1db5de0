import { spawn } from 'node:child_process';
import { join } from 'node:path';

import type { Step } from './steps.ts';

const repositoryRoot = join(import.meta.dirname, '../../..');

export interface Outcome {
  readonly step: Step;
  readonly ok: boolean;
  readonly elapsedMs: number;
  readonly output: string;
}

/** Runs one command of the repository and returns its output. */
export async function runCommand(command: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(join(repositoryRoot, 'tools/run'), command, {
      cwd: repositoryRoot,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', (error) => resolve({ code: 127, output: error.message }));
    child.on('close', (code, signal) => {
      const ending = signal === null ? '' : `\nEnded by ${signal}.`;
      resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString('utf8') + ending });
    });
  });
}

/** Runs the steps in order, at most `width` at once. A failing step does not stop the others. */
export async function runSteps(
  steps: readonly Step[],
  width: number,
  run: typeof runCommand,
  onOutcome: (outcome: Outcome) => void,
): Promise<readonly Outcome[]> {
  const waiting = [...steps];
  const outcomes: Outcome[] = [];
  const runWaiting = async (): Promise<void> => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const startedMs = performance.now();
      const { code, output } = await run(step.command);
      const outcome = { step, ok: code === 0, elapsedMs: performance.now() - startedMs, output };
      outcomes.push(outcome);
      onOutcome(outcome);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, steps.length) }, runWaiting));
  return outcomes;
}

export function outcomeLine({ step, ok, elapsedMs }: Outcome): string {
  const seconds = `${(elapsedMs / 1000).toFixed(1)} s`;
  return `${ok ? 'ok  ' : 'FAIL'} ${step.name.padEnd(16)} ${seconds.padStart(7)}`;
}

/** The output of failed steps, with the command that repeats each. */
export function failureReport(outcomes: readonly Outcome[]): string {
  const failed = outcomes.filter((outcome) => !outcome.ok);
  const reports = failed.map(({ step, output }) => {
    const again = `npm run check -- --only ${step.name}${step.fix ? ' [--fix]' : ''}`;
    return `\n--- ${step.name}: ${step.finds} (run again: ${again})\n${output.trim()}\n`;
  });
  const passed = outcomes.length - failed.length;
  return [...reports, `${passed} passed, ${failed.length} failed`].join('\n');
}
