import { CommandError, optionalText, type Command } from '../command.ts';
import type { Effects } from './check.ts';
import { findingKinds } from './finding-kinds.ts';
import { foldersInSettings } from './files.check.ts';
import { unresponsiveFolder, type Finding } from './finding.ts';
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

export async function findProblems(
  folder: string,
  effects: Effects,
  onDone: (title: string) => void = () => undefined,
): Promise<readonly Finding[]> {
  const unresponsive = await unresponsiveFolders(effects, [folder]);
  if (unresponsive.length > 0) return unresponsive;
  const installation = readInstallation(folder);
  // All checks read these files, and would never end.
  const ofSettings = await unresponsiveFolders(effects, foldersInSettings(installation));
  if (ofSettings.length > 0) return ofSettings;
  return runChecks({ installation, effects }, ({ title }) => onDone(title));
}

async function unresponsiveFolders(
  effects: Effects,
  folders: readonly string[],
): Promise<readonly Finding[]> {
  const spaces = await Promise.all(folders.map((folder) => effects.freeSpace(folder)));
  return folders.filter((_folder, index) => spaces[index] === 'unresponsive').map(unresponsiveFolder);
}

export function formatFindings(findings: readonly Finding[]): string {
  if (findings.length === 0) return '\nNo problems found.\n';
  const texts = findings.map(({ id, component, problem, remedy }) =>
    [
      `${component}: ${problem}`,
      `  Meaning: ${findingKinds[id].meaning}`,
      `  Remedy:  ${remedy}`,
      `  Id:      ${id}`,
    ].join('\n'),
  );
  return `\n${texts.join('\n\n')}\n\n`;
}

export function toJson(findings: readonly Finding[]): object {
  return {
    findings: findings.map(({ id, component, problem, remedy }) => {
      return { id, component, problem, meaning: findingKinds[id].meaning, remedy };
    }),
  };
}
