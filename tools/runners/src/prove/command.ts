import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { errorText, parseWholeNumber } from '../common/cli.ts';
import type { Output } from '../common/cli.ts';
import { UsageError, listNames, loadDefinition } from '../common/load-definition.ts';
import type { DefinitionLocation } from '../common/load-definition.ts';
import { describeMachine } from '../common/machine.ts';
import type { Revision } from '../common/machine.ts';
import { createRandom, freshSeed } from '@millrace/testing/random';
import { UnsupportedHostError } from './define.ts';
import type { Proof, ProofReport } from './define.ts';
import { renderSection, replaceSection } from './figures.ts';

const help = `npm run prove -- NAME [--seed S] [--short]
npm run prove -- --all --short

Runs tests/prove/NAME.prove.ts. If the long form passes, it writes its figures to docs/figures.md with commit, seed
and machine. It refuses to start with uncommitted changes, because the commit would not identify the code.

  --seed S        a whole number; default 1 for the short form, a new one for the long form, which prints it
  --short         run the short form, as CI does; writes no figures
  --all           every proof, each in its own process, several at once if they allow it; a failed
                  proof runs a second time at the end, alone
  --allow-dirty   write figures despite uncommitted changes, and mark them
  --list          list the proofs

A proof without a short form is optional and only run by hand; \`--all --short\` skips it. Exits with 1 if a proof
failed, and with 3 if it was not run because it is optional or this machine does not meet its requirements.
`;

const notRunCode = 3;
const shortSeed = 1;
const figuresFile = 'docs/figures.md';

export interface ProveOptions {
  readonly place: DefinitionLocation;
  readonly revision: () => Revision;
  /** Runs `prove` in another process and returns its exit code. */
  readonly again: (args: readonly string[]) => Promise<number>;
}

export async function proveCommand(
  setting: ProveOptions,
  args: readonly string[],
  output: Output,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      short: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      'allow-dirty': { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const names = listNames(setting.place);
  if (values.help || values.list) {
    output.line(values.help ? help : names.join('\n'));
    return 0;
  }
  const passedOn = args.filter((argument) => argument !== '--all');
  if (values.all) return proveAll(setting, names, passedOn, output);
  const [name] = positionals;
  if (name === undefined || positionals.length > 1) throw new UsageError(help);

  const proof = await loadDefinition<Proof>(setting.place, name);
  const givenSeed = values.seed === undefined ? undefined : parseWholeNumber('seed', values.seed);
  if (values.short) return proveShort(proof, givenSeed ?? shortSeed, output);
  return proveLong(setting, proof, givenSeed ?? freshSeed(), values['allow-dirty'], output);
}

async function proveAll(
  setting: ProveOptions,
  names: readonly string[],
  args: readonly string[],
  output: Output,
): Promise<number> {
  const codes = await proveInParallel(setting, names, args);
  await rerunFailed(setting, codes, args, output);
  const passed = names.filter((name) => codes.get(name) === 0);
  const left = names.filter((name) => codes.get(name) === notRunCode);
  const failed = names.length - passed.length - left.length;
  if (left.length > 0) output.line(`not run: ${left.join(', ')}`);
  output.line(`${passed.length} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Runs one group per engine that proofs wait for and one for the rest concurrently, then the `alone` proofs one by one. */
async function proveInParallel(
  setting: ProveOptions,
  names: readonly string[],
  args: readonly string[],
): Promise<Map<string, number>> {
  const codes = new Map<string, number>();
  const groups = new Map<string, string[]>();
  const alone: string[] = [];
  for (const name of names) {
    const { company } = await loadDefinition<Proof>(setting.place, name);
    const group = company === undefined || company === 'alone' ? 'busy' : company.waitsFor;
    if (company === 'alone') alone.push(name);
    else groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  const inTurn = async (group: readonly string[]): Promise<void> => {
    for (const name of group) codes.set(name, await setting.again([name, ...args]));
  };
  await Promise.all([...groups.values()].map(inTurn));
  await inTurn(alone);
  return codes;
}

/** Runs each failed proof a second time, alone, and names those that pass. */
async function rerunFailed(
  setting: ProveOptions,
  codes: Map<string, number>,
  args: readonly string[],
  output: Output,
): Promise<void> {
  const passed: string[] = [];
  for (const [name, code] of codes) {
    if (code === 0 || code === notRunCode) continue;
    output.line(`${name} failed; running it again, alone`);
    const second = await setting.again([name, ...args]);
    codes.set(name, second);
    if (second === 0) passed.push(name);
  }
  if (passed.length > 0) output.line(`passed only when run again: ${passed.join(', ')}`);
}

/** A proof that was not run counts neither as passed nor as failed; the exit code reports it. */
function notRun(reason: string, output: Output): number {
  output.line(`  NOT RUN: ${reason}`);
  output.line('0 passed, 0 failed');
  return notRunCode;
}

async function proveShort(proof: Proof, seed: number, output: Output): Promise<number> {
  output.line(`${proof.name} (short, seed ${seed}): ${proof.proves}`);
  if (proof.short === null) {
    return notRun(`it is optional. Run it by hand: npm run prove -- ${proof.name}`, output);
  }
  const { report } = await runProof(proof.short, { name: proof.name, form: 'short', seed }, output);
  return reportOutcome(report, output);
}

async function proveLong(
  setting: ProveOptions,
  proof: Proof,
  seed: number,
  allowDirty: boolean,
  output: Output,
): Promise<number> {
  const revision = setting.revision();
  // Figures of an earlier proof are a change too, but not of code.
  const changedFiles = revision.changedFiles.filter((file) => file !== figuresFile);
  if (changedFiles.length > 0 && !allowDirty) {
    throw new UsageError(
      `${changedFiles.length} files have uncommitted changes (${changedFiles.slice(0, 3).join(', ')} …), so the figures could not ` +
        'name their commit. Commit first, or pass --allow-dirty, which marks the figures.',
    );
  }
  output.line(`${proof.name} (long, seed ${seed}): ${proof.proves}`);
  const outcome = await runProof(proof.long, { name: proof.name, form: 'long', seed }, output).catch(
    (error: unknown) => {
      if (error instanceof UnsupportedHostError) return error;
      throw error;
    },
  );
  if (outcome instanceof UnsupportedHostError) return notRun(outcome.message, output);
  const { report, elapsedSeconds } = outcome;
  if (!isProven(report)) {
    output.line(`  ${figuresFile} is unchanged: only a run that passes writes figures`);
    return reportOutcome(report, output);
  }
  const section = renderSection({
    name: proof.name,
    proves: proof.proves,
    report,
    revision: { ...revision, changedFiles },
    date: new Date().toISOString().slice(0, 10),
    seed,
    machine: describeMachine(),
    elapsedSeconds,
  });
  const file = join(setting.place.root, figuresFile);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  writeFileSync(file, replaceSection(before, proof.name, section));
  output.line(`  figures written to ${figuresFile}`);
  return reportOutcome(report, output);
}

async function runProof(
  prove: Proof['long'],
  { name, form, seed }: { readonly name: string; readonly form: 'short' | 'long'; readonly seed: number },
  output: Output,
): Promise<{ report: ProofReport; elapsedSeconds: number }> {
  const startedMs = performance.now();
  let report: ProofReport;
  try {
    report = await prove({ seed, random: createRandom(seed), note: (line) => output.line(`  ${line}`) });
  } catch (error) {
    if (error instanceof UnsupportedHostError) throw error;
    report = {
      figures: {},
      failures: [error instanceof Error ? (error.stack ?? error.message) : errorText(error)],
    };
  }
  const elapsedSeconds = Math.round((performance.now() - startedMs) / 1000);
  for (const [figure, value] of Object.entries(report.figures)) output.line(`  ${figure}: ${value}`);
  for (const failure of report.failures ?? []) output.line(`  FAILED: ${failure}`);
  if (!isProven(report)) {
    const again = form === 'short' ? ' --short' : '';
    output.line(`  run again: npm run prove -- ${name} --seed ${seed}${again}`);
  }
  output.line(`  took ${elapsedSeconds} s`);
  return { report, elapsedSeconds };
}

const isProven = ({ failures = [] }: ProofReport): boolean => failures.length === 0;

function reportOutcome(report: ProofReport, output: Output): number {
  const proven = isProven(report);
  output.line(proven ? '1 passed, 0 failed' : '0 passed, 1 failed');
  return proven ? 0 : 1;
}
