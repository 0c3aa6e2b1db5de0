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

Proves what tests/prove/NAME.prove.ts claims. If the long form passes, it writes its figures to docs/figures.md,
with commit, seed and machine; it refuses to start when files are changed, since the commit would then not
say what ran.

  --seed S        a whole number; the short form takes 1, the long one a fresh one, and prints it
  --short         the form that CI runs; writes nothing
  --all           every proof, each in a process of its own, several at once where they do not mind; one that
                  failed runs once more at the end, alone
  --allow-dirty   write figures although files are changed, and say so in them
  --list          the proofs there are

A proof without a short form is optional and run by hand only; \`--all --short\` passes over it. Ends with 1 when a
proof failed, and with 3 when one was not run because it is optional or this machine lacks something.
`;

/** Unlike success, and unlike failure. */
const notRunCode = 3;
const shortSeed = 1;
const figuresFile = 'docs/figures.md';

export interface ProveOptions {
  readonly place: DefinitionLocation;
  readonly revision: () => Revision;
  /** Runs `prove` again in its own process and gives its exit code. */
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

/** A lane for each engine that proofs wait for, another for the rest; after these, one by one, those that want to be alone. */
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

/** Gives each failed proof a second run with nothing beside it, and names those that passed then. */
async function rerunFailed(
  setting: ProveOptions,
  codes: Map<string, number>,
  args: readonly string[],
  output: Output,
): Promise<void> {
  const passed: string[] = [];
  for (const [name, code] of codes) {
    if (code === 0 || code === notRunCode) continue;
    output.line(`${name} failed; it runs again, alone`);
    const second = await setting.again([name, ...args]);
    codes.set(name, second);
    if (second === 0) passed.push(name);
  }
  if (passed.length > 0) output.line(`passed only when run again: ${passed.join(', ')}`);
}

/** Neither passed nor failed: it counts as neither, and whoever asked for it alone is told by the code. */
function notRun(reason: string, output: Output): number {
  output.line(`  NOT RUN: ${reason}`);
  output.line('0 passed, 0 failed');
  return notRunCode;
}

async function proveShort(proof: Proof, seed: number, output: Output): Promise<number> {
  output.line(`${proof.name} (short, seed ${seed}): ${proof.proves}`);
  if (proof.short === null) {
    return notRun(`it is optional. By hand: npm run prove -- ${proof.name}`, output);
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
  // The figures of the proof before this one are a change too, but not of anything that runs.
  const changedFiles = revision.changedFiles.filter((file) => file !== figuresFile);
  if (changedFiles.length > 0 && !allowDirty) {
    throw new UsageError(
      `${changedFiles.length} files are changed (${changedFiles.slice(0, 3).join(', ')} …), so figures could not ` +
        'name the commit they belong to. Commit first, or pass --allow-dirty, which marks them.',
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
    output.line(`  ${figuresFile} is left as it is: only a run that passes writes figures`);
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
    output.line(`  again: npm run prove -- ${name} --seed ${seed}${again}`);
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
