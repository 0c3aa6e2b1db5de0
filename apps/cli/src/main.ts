#!/usr/bin/env node
import { runCommandLine } from './framework/runner.ts';
import { exitCodes } from './framework/exit-codes.ts';
import { createInterrupts } from './interrupts.ts';
import { manifest } from './manifest.generated.ts';
import { loadClient } from './sdk.ts';
import { createSystem } from './system.ts';

const interrupts = createInterrupts();
process.on('SIGINT', () => {
  // The first Ctrl-C asks; whoever presses it again does not want to wait.
  if (!interrupts.raise()) process.exit(exitCodes.cancelled);
});
// Whoever reads us may stop reading: `millrace rental list | head -1` is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.ok);
  process.stderr.write(`Error: Standard output cannot be written: ${error.message}.\n`);
  process.exit(exitCodes.failure);
});
// Nobody hears remarks any more, which is no reason to leave the work half done.
process.stderr.on('error', () => undefined);

process.exitCode = await runCommandLine(
  { manifest, loadClient },
  createSystem(process.env, interrupts),
  process.argv.slice(2),
);
