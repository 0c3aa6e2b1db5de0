import { machineLine } from '../common/machine.ts';
import type { Machine, Revision } from '../common/machine.ts';
import type { ProofReport } from './define.ts';

const preamble = `# Figures

Figures that the long proofs measured. \`npm run prove -- NAME\` replaces the section of its proof. Do not edit values by hand.
`;

export interface Section {
  readonly name: string;
  readonly proves: string;
  readonly report: ProofReport;
  readonly revision: Revision;
  readonly date: string;
  readonly seed: number;
  readonly machine: Machine;
  readonly elapsedSeconds: number;
}

const row = (name: string, value: string | number): string => `| ${cell(name)} | ${cell(String(value))} |`;
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export function renderSection(section: Section): string {
  const { revision, report } = section;
  const dirty = revision.changedFiles.length > 0 ? ' **with uncommitted changes**' : '';
  const facts = [
    row('commit', `${revision.commit}${dirty}`),
    row('date', section.date),
    row('seed', section.seed),
    row('machine', machineLine(section.machine)),
    row('took', `${section.elapsedSeconds} s`),
  ];
  const figures = Object.entries(report.figures).map(([name, value]) => row(name, value));
  const run = ['| run | |', '| --- | --- |', ...facts];
  const measured = ['| figure | value |', '| --- | --- |', ...figures];
  return [`## ${section.name}`, '', section.proves, '', ...run, '', ...measured, ''].join('\n');
}

/** Replaces the section of this name; sections are in order of name. */
export function replaceSection(document: string, name: string, rendered: string): string {
  const sections = new Map<string, string>();
  for (const part of document.split(/^(?=## )/m)) {
    const heading = /^## (.+)$/m.exec(part)?.[1];
    if (heading !== undefined && part.startsWith('## ')) sections.set(heading, part.trimEnd());
  }
  sections.set(name, rendered.trimEnd());
  const ordered = [...sections].toSorted(([a], [b]) => a.localeCompare(b)).map(([, text]) => text);
  return `${[preamble.trimEnd(), ...ordered].join('\n\n')}\n`;
}
