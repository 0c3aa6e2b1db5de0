#!/usr/bin/env node
import { runCommandLine } from './framework/runner.ts';
import { exitCodes } from './framework/exit-codes.ts';
import { createInterrupts } from './interrupts.ts';
import { manifest } from './manifest.generated.ts';
import { loadClient } from './sdk.ts';
import { createSystem } from './system.ts';

const interrupts = createInterrupts();
process.on('SIGINT', () => {
  // The first Ctrl-C aborts the command; the second one ends the process.
  if (!interrupts.raise()) process.exit(exitCodes.cancelled);
});
// The reader may close the pipe: `millrace rental list | head -1` is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.ok);
  process.stderr.write(`Error: Cannot write to standard output: ${error.message}.\n`);
  process.exit(exitCodes.failure);
});
// A closed standard error must not interrupt the work.
process.stderr.on('error', () => undefined);

process.exitCode = await runCommandLine(
  { manifest, loadClient },
  createSystem(process.env, interrupts),
  process.argv.slice(2),
);
