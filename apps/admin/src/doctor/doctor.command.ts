import { CommandError, optionalText, type Command } from '../command.ts';
import type { Effects } from './check.ts';
import { findingKinds } from './finding-kinds.ts';
import type { Finding } from './finding.ts';
import { readInstallation } from './installation.ts';
import { runChecks } from './run-checks.ts';
import { systemEffects } from './system-effects.ts';

const defaultFolder = '/etc/millrace';

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'check an installation, and print what is wrong and how to repair it',
  flags: {
    folder: { describe: `folder with the settings (default: ${defaultFolder})`, value: 'FOLDER' },
    json: { describe: 'print one JSON object' },
  },
  example: 'millrace-admin doctor',
  run: async ({ out }, flags) => {
    const folder = optionalText(flags, 'folder') ?? defaultFolder;
    const isJson = flags['json'] === true;
    const findings = await findProblems(folder, systemEffects, (title) => {
      if (!isJson) out(`checked  ${title}\n`);
    });
    out(isJson ? `${JSON.stringify(toJson(findings))}\n` : formatFindings(findings));
    if (findings.length > 0) {
      throw new CommandError(findings.length === 1 ? '1 finding.' : `${findings.length} findings.`);
    }
  },
};

export function findProblems(
  folder: string,
  effects: Effects,
  onDone: (title: string) => void = () => undefined,
): Promise<readonly Finding[]> {
  return runChecks({ installation: readInstallation(folder), effects }, ({ title }) => onDone(title));
}

export function formatFindings(findings: readonly Finding[]): string {
  if (findings.length === 0) return '\nNothing is wrong.\n';
  const texts = findings.map(({ id, about, problem, remedy }) =>
    [
      `${about}: ${problem}`,
      `  Why:    ${findingKinds[id].meaning}`,
      `  Remedy: ${remedy}`,
      `  Id:     ${id}`,
    ].join('\n'),
  );
  return `\n${texts.join('\n\n')}\n\n`;
}

export function toJson(findings: readonly Finding[]): object {
  return {
    findings: findings.map(({ id, about, problem, remedy }) => {
      return { id, about, problem, meaning: findingKinds[id].meaning, remedy };
    }),
  };
}
