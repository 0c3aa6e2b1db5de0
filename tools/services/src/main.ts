import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

import { help, parseInvocation, type Invocation } from './args.ts';
import { down, findNode, install, killNode, up, type EngineNote, type EngineOutcome } from './commands.ts';
import { Failure } from './failure.ts';
import { logFile, openSite } from './site.ts';
import { renderStatus, status } from './status.ts';
import { elapsedMs, formatSeconds } from './time.ts';

const startedMs = elapsedMs();

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function printTimed(subject: string, message: string): void {
  print(`${formatSeconds(elapsedMs() - startedMs).padStart(8)}  ${subject.padEnd(9)} ${message}`);
}

const note: EngineNote = (engine, message) => printTimed(engine, message);

function printFailure(failure: Failure): void {
  const lines = [failure.message, failure.remedy];
  if (failure.logTail !== '') lines.push(...failure.logTail.split('\n').map((line) => `  | ${line}`));
  process.stderr.write(`${lines.join('\n')}\n`);
}

async function main(invocation: Invocation): Promise<number> {
  switch (invocation.command) {
    case 'help':
      print(help);
      return 0;
    case 'up':
      return report(await up(invocation.names, { ...invocation, note }), invocation);
    case 'install':
      await install(invocation.names, { ...invocation, note });
      printTimed('install', 'all requirements are installed');
      return 0;
    case 'down': {
      const stopped = await down(invocation.names, { ...invocation, note });
      printTimed('down', stopped === 0 ? 'nothing was running' : `processes stopped: ${stopped}`);
      return 0;
    }
    case 'status': {
      const nodes = await status(invocation);
      print(invocation.json ? JSON.stringify(nodes, null, 2) : renderStatus(nodes));
      return nodes.some((node) => node.state === 'dead' || node.state === 'running') ? 1 : 0;
    }
    case 'kill':
      await killNode(invocation.node, { ...invocation, note });
      printTimed('kill', `killed ${invocation.node}`);
      return 0;
    case 'logs':
      return showLog(invocation);
  }
}

function report(outcomes: readonly EngineOutcome[], place: { stateDir: string | undefined }): number {
  const site = openSite({ stateDir: place.stateDir });
  const failed = outcomes.filter((outcome) => outcome.result === 'failed');
  for (const { engine, result, failure } of outcomes) {
    if (result === 'skipped') printTimed(engine.name, `skipped: ${failure?.message}`);
  }
  for (const { engine, failure } of failed) {
    if (failure === undefined) continue;
    process.stderr.write(`\n${engine.title}: `);
    printFailure(failure);
  }
  if (failed.length > 0) {
    process.stderr.write(`\n${failed.length} of ${outcomes.length} engines did not start.\n`);
    return 1;
  }
  printTimed('up', `all ready; state in ${site.stateDir}`);
  return 0;
}

function showLog(invocation: Invocation & { command: 'logs' }): Promise<number> {
  const site = openSite(invocation);
  const { node } = findNode(site, invocation.node);
  const file = logFile(site, node.name);
  if (!existsSync(file)) throw new Failure(`${node.name} has no log yet.`, 'Start it with `up`.');
  const flags = invocation.follow ? ['-n', '100', '-F'] : ['-n', '100'];
  const child = spawn('tail', [...flags, file], { stdio: 'inherit' });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 0)));
}

try {
  process.exitCode = await main(parseInvocation(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  printFailure(error);
  process.exitCode = 2;
}
