import { spawn } from 'node:child_process';

import { runMain } from '../common/cli.ts';
import { repositoryRoot } from '../common/load-definition.ts';
import { describeRevision } from '../common/machine.ts';
import { proveCommand } from './command.ts';

// Kills a short proof that hangs. The slowest takes two minutes on two idle cores.
const shortLimitMs = 30 * 60_000;

const rerun = async (args: readonly string[]): Promise<number> =>
  new Promise((resolve, reject) => {
    const limit = args.includes('--short') ? { timeout: shortLimitMs, killSignal: 'SIGKILL' as const } : {};
    const child = spawn(process.execPath, [...process.execArgv, import.meta.filename, ...args], {
      stdio: ['inherit', 'pipe', 'pipe'],
      ...limit,
    });
    // Proofs may run concurrently, so the output of each is printed in one piece when it ends.
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => output.push(part));
    child.on('error', reject);
    child.on('close', (code) => {
      process.stdout.write(Buffer.concat(output));
      resolve(code ?? 1);
    });
  });

await runMain((args, output) =>
  proveCommand(
    {
      place: { root: repositoryRoot, folder: 'tests/prove', suffix: '.prove.ts', exportName: 'proof' },
      revision: () => describeRevision(repositoryRoot),
      again: rerun,
    },
    args,
    output,
  ),
);
